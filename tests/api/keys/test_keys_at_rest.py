"""What the data directory knows of a secret: a key's hash, and nothing from which the secret could be read."""

import base64
import hashlib
import http.client
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
import pytest
from redis import Redis

from clearhold.store.redis_log.connect import connect_sync
from tests.support.callers import TRANSFER, bearer
from tests.support.running_service import ADMIN_TOKEN, RunningService

KEY_BODY: Final = {"name": "robot", "mode": "live"}
_AS_TEXT: Final = "SELECT CAST(COLUMNS(*) AS VARCHAR)"
TYPES: Final = ("string", "hash", "stream", "set", "list", "zset")


class Outcome:
    """A service in which keys were made and used, killed and started again; what it answered and what it keeps."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with RunningService(folder / "data") as service:
            with httpx.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
                self._make(service, client)
                self._use(client)
            service.kill()
            service.start()
            with httpx.Client(base_url=f"http://127.0.0.1:{service.port}") as client:
                self._look_again(client)
            with closing(connect_sync(service.data / "redis.sock")) as redis:
                self.in_redis = dict(dumped(redis))
            service.stop()

    def _make(self, service: RunningService, client: httpx.Client) -> None:
        admin = dict(bearer(ADMIN_TOKEN, "root")) | {"Idempotency-Key": "made once"}
        answer = client.post("/api/admin/tenants", json={"slug": "bank", "name": "Bank"}, headers=admin)
        self.tenant = answer.json()
        self.operator = dict(bearer(self.tenant["operatorToken"], "ann"))
        body = {"tenantId": self.tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = client.post("/api/admin/programs", json=body, headers=admin).json()
        once = self.operator | {"Idempotency-Key": "made once"}
        self.created = client.post("/api/keys", json=KEY_BODY, headers=once)
        self.replayed = client.post("/api/keys", json=KEY_BODY, headers=once)
        self.revoked = service.ask("POST", "/api/keys", self._json(), b'{"name":"x","mode":"live"}', expect=201)
        self.was_revoked = client.delete(f"/api/keys/{self.revoked['id']}", headers=self.operator).json()

    def _json(self) -> dict[str, str]:
        return self.operator | {"Content-Type": "application/json"}

    def _use(self, client: httpx.Client) -> None:
        key = dict(bearer(self.created.json()["secret"])) | {"Idempotency-Key": "asked once"}
        body = {"programId": self.program["id"], "transfer": TRANSFER}
        assert client.post("/api/preflight", json=body, headers=key).status_code == http.client.CREATED
        self.listed = client.get("/api/keys", headers=self.operator).json()

    def _look_again(self, client: httpx.Client) -> None:
        self.listed_again = client.get("/api/keys", headers=self.operator).json()
        secrets = [self.created.json()["secret"], self.revoked["secret"]]
        reads = [client.get("/api/programs", headers=dict(bearer(secret))) for secret in secrets]
        self.status_again = [read.status_code for read in reads]
        once = self.operator | {"Idempotency-Key": "made once"}
        self.replayed_again = client.post("/api/keys", json=KEY_BODY, headers=once)

    @property
    def secrets(self) -> dict[str, str]:
        return {
            "key": self.created.json()["secret"],
            "revoked key": self.revoked["secret"],
            "operator token": self.tenant["operatorToken"],
            "ingest secret": self.program["ingestSecret"],
        }


def dumped(redis: Redis) -> Iterator[tuple[str, bytes]]:
    """Every key of the server with all that is in it."""
    for key in redis.scan_iter(count=1_000):
        kind_reply = redis.type(key)
        kind = kind_reply.decode() if isinstance(kind_reply, bytes) else kind_reply
        assert kind in TYPES
        read: dict[str, Any] = {
            "string": lambda key=key: redis.get(key),
            "hash": lambda key=key: redis.hgetall(key),
            "stream": lambda key=key: redis.xrange(key),
            "set": lambda key=key: redis.smembers(key),
            "list": lambda key=key: redis.lrange(key, 0, -1),
            "zset": lambda key=key: redis.zrange(key, 0, -1),
        }
        yield repr(key), flattened(read[kind]())


def flattened(value: Any) -> bytes:
    """All bytes of a value, end to end."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return b"\0".join(flattened(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple | set):
        return b"\0".join(flattened(part) for part in value)
    return repr(value).encode()


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return Outcome(tmp_path_factory.mktemp("at-rest"))


def places_of(outcome: Outcome, needles: list[bytes]) -> list[str]:
    """Files of the data directory, the service's own log, keys of Redis and columns of tables that hold a needle."""
    files = [path for path in outcome.folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    found = [str(path) for path in files if holds(path, needles)]
    found += [key for key, content in outcome.in_redis.items() if any(needle in content for needle in needles)]
    return found + [table for table, text in tables(outcome) if any(needle in text for needle in needles)]


def holds(path: Path, needles: list[bytes]) -> bool:
    content = path.read_bytes()
    return any(needle in content for needle in needles)


def tables(outcome: Outcome) -> Iterator[tuple[str, bytes]]:
    """What is compressed on the disk, as text."""
    with closing(duckdb.connect(str(outcome.folder / "data" / "clearhold.duckdb"), read_only=True)) as connection:
        names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        assert names
        for name in names:
            yield name, flattened(connection.execute(f'{_AS_TEXT} FROM "{name}"').fetchall())
        for segment in (outcome.folder / "data").rglob("*.parquet"):
            rows = connection.execute(f"{_AS_TEXT} FROM read_parquet(?)", [str(segment)]).fetchall()
            yield str(segment), flattened(rows)


def spellings(secret: str) -> list[bytes]:
    """The secret, and what of it nobody may see, as somebody might have written them down."""
    hidden = secret[12:].encode()
    whole = secret.encode()
    return [hidden, whole.hex().encode(), base64.b64encode(whole), base64.urlsafe_b64encode(whole).rstrip(b"=")]


@pytest.mark.parametrize("which", ["key", "revoked key", "operator token", "ingest secret"])
def test_given_a_secret_that_was_shown_when_the_data_is_searched_then_it_is_nowhere(
    outcome: Outcome, which: str
) -> None:
    assert places_of(outcome, spellings(outcome.secrets[which])) == []


@pytest.mark.parametrize("which", ["key", "revoked key", "operator token"])
def test_given_a_token_when_the_data_is_searched_then_its_hash_is_there(outcome: Outcome, which: str) -> None:
    digest = hashlib.sha256(outcome.secrets[which].encode())

    assert places_of(outcome, [digest.digest(), digest.hexdigest().encode(), base64.b64encode(digest.digest())])


def test_given_what_is_stored_when_searched_then_the_search_finds_what_may_be_there(outcome: Outcome) -> None:
    assert places_of(outcome, [outcome.created.json()["prefix"].encode()])
    assert places_of(outcome, [outcome.created.json()["id"].encode()])


def test_given_a_replay_when_the_secret_is_asked_for_again_then_it_is_null(outcome: Outcome) -> None:
    for replay in (outcome.replayed, outcome.replayed_again):
        assert replay.status_code == 201
        assert replay.headers["idempotent-replayed"] == "true"
        assert replay.json() == outcome.created.json() | {"secret": None}
    assert outcome.replayed.content == outcome.replayed_again.content


def test_given_a_kill_when_keys_are_read_again_then_all_that_was_answered_is_still_so(outcome: Outcome) -> None:
    assert [key["id"] for key in outcome.listed] == [outcome.revoked["id"], outcome.created.json()["id"]]
    assert [{**key, "lastUsedAt": None} for key in outcome.listed_again] == [
        {**key, "lastUsedAt": None} for key in outcome.listed
    ]
    assert outcome.listed[1]["lastUsedAt"] is not None
    assert outcome.listed_again[0]["revokedAt"] == outcome.was_revoked["revokedAt"]
    assert outcome.status_again == [200, 401]
