"""A person who can write to Redis decides nothing: a forged entry has no effect, and every report names it."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from redis import Redis

from clearhold.features.core.log_entry import FORGED, EntryKind, shard_of
from clearhold.features.core.principal import KeyMode
from clearhold.store.control.entries import ApiKeyEntry, ControlKind
from clearhold.store.keys import token_digest
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import control_key, shard_key
from tests.api.cli.test_check import checked
from tests.flows.test_lost_log import rebuilt
from tests.support.alerting import ALERTING, outgoing
from tests.support.lake import SHARDS, move_into_segments
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.used_bank import ALONE, Bank
from tests.support.waiting import eventually

SEALED = [kind for kind in EntryKind if kind is not EntryKind.BANK]
SECRET = "live_" + "A" * 43
IN_CONTROL = 4


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    bank = Bank(tmp_path_factory.mktemp("forged") / "data")
    with RunningService(bank.data, *ALONE) as service:  # an alert that is open, for others to decide
        post_until_taken(service, bank.program, [outgoing("acht_open", **ALERTING)], within_s=60)
        wait_until_committed(service, bank.token, "acht_open")
    return bank


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path)


@contextmanager
def redis_of(bank: Bank) -> Iterator[Redis]:
    """The Redis of a stopped service."""
    server = EmbeddedRedis(bank.data)
    server.start()
    try:
        with closing(connect_sync(server.socket_path)) as client:
            yield client
    finally:
        server.stop()


def fields_of(client: Redis, key: str, kind: str) -> dict[bytes, bytes]:
    """The newest genuine entry of a kind."""
    found: Any = client.xrevrange(key)
    return next(fields for _, fields in found if fields[b"k"] == kind.encode())


def forge(client: Redis, bank: Bank, open_alert: str) -> int:
    """Entries of every kind, and a genuine decision under another alert; control entries. How many in the shard."""
    tenant, program = bank.program["tenantId"], bank.program["id"]
    shard, control = shard_key(shard_of(program, SHARDS)), control_key(tenant)
    genuine = fields_of(client, shard, EntryKind.DECISION)
    was = msgspec.json.decode(genuine[b"b"])["alertId"]
    add: Any = client.xadd
    for kind in SEALED:
        body = genuine[b"b"] if kind is EntryKind.DECISION else b"{}"
        add(shard, {b"k": kind.value, b"p": program, b"t": genuine[b"t"], b"b": body})
    add(shard, genuine | {b"b": genuine[b"b"].replace(was.encode(), open_alert.encode())})
    key = ApiKeyEntry(
        id="11111111-1111-4111-8111-111111111111",
        name="back door",
        mode=KeyMode.LIVE,
        prefix=SECRET[:12],
        program_id=None,
        scopes=(),
        created_at="2026-03-02T15:00:00.000Z",
        created_by="operator:ann",
        secret_sha256=token_digest(SECRET),
    )
    written = fields_of(client, control, ControlKind.PROGRAM)
    add(control, {b"k": ControlKind.API_KEY.value, b"p": b"", b"t": genuine[b"t"], b"b": msgspec.json.encode(key)})
    add(control, written | {b"k": ControlKind.API_KEY.value, b"b": msgspec.json.encode(key)})
    add(control, written | {b"b": written[b"b"].replace(b'"Pay"', b'"Mine"')})
    add(control, written)  # once more, as it is
    return len(SEALED) + 1


def shown(bank: Bank, service: RunningService) -> Any:
    """What the forger would have changed."""
    paths = ("/api/dispositions", "/api/alerts", "/api/programs", "/api/policies", "/api/keys", "/api/actions")
    service.ask("GET", "/api/alerts", {"Authorization": f"Bearer {SECRET}"}, expect=401)
    assert bank.get(service, "/api/record/verify")["ok"]
    return [bank.get(service, path) for path in paths]


def readiness(service: RunningService) -> tuple[str, int | None]:
    report = service.ask("GET", "/readyz", {})
    assert report["status"] == "ready"
    return report["components"]["log"], report.get("forgedEntries")


def open_alert(bank: Bank, service: RunningService) -> str:
    return str(bank.get(service, "/api/alerts?transferId=acht_open&limit=1")["data"][0]["id"])


def quarantined(bank: Bank) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect(str(bank.data / "clearhold.duckdb"), read_only=True)) as database:
        return database.execute("SELECT kind, error FROM quarantine").fetchall()


@pytest.mark.parametrize("scorers", ["0", "1"])
def test_given_entries_forged_live_when_read_then_nothing_changes_and_they_are_named_also_after_a_restart_and_a_rebuild(
    bank: Bank, scorers: str
) -> None:
    with RunningService(bank.data, "--scorers", scorers) as service:
        with closing(connect_sync(bank.data / "redis.sock")) as client:
            before = shown(bank, service)
            assert readiness(service) == ("up", None)
            forged = forge(client, bank, open_alert(bank, service))
        eventually(lambda: readiness(service)[1] == forged)
        assert shown(bank, service) == before
        post_until_taken(service, bank.program, [outgoing("acht_later")], within_s=60)
        wait_until_committed(service, bank.token, "acht_later")
        before = shown(bank, service)
        assert sum("forged_entry" in line for line in service.log_lines) >= forged

    run = checked(bank.data)
    assert sorted(quarantined(bank)) == sorted((kind, FORGED) for kind in (*SEALED, "decision"))
    move_into_segments(bank.data, Fraction(1))
    again = rebuilt(bank)
    shutil.rmtree(bank.data / "checkpoints")
    with RunningService(bank.data, "--scorers", scorers) as service:
        assert shown(bank, service) == before
        assert readiness(service) == ("degraded", forged + IN_CONTROL)

    assert run.returncode == 1
    stream = f"shard={shard_of(bank.program['id'], SHARDS):02d}"
    for name, kind in ((stream, "decision"), (stream, "tick"), (f"tenant={bank.program['tenantId']}", "api_key")):
        assert f"FAIL: {name}: the entry at " in run.stderr
        assert f"({kind}) was not applied. {FORGED}" in run.stderr
    assert again.returncode == 0, again.stderr
    assert sorted(quarantined(bank)) == sorted((kind, FORGED) for kind in (*SEALED, "decision"))


def test_given_entries_forged_before_a_start_when_started_then_nothing_changes_and_they_are_named(bank: Bank) -> None:
    with RunningService(bank.data, *ALONE) as service:
        before, alert = shown(bank, service), open_alert(bank, service)
    with redis_of(bank) as client:
        forged = forge(client, bank, alert)

    with RunningService(bank.data, *ALONE) as service:
        assert shown(bank, service) == before
        assert readiness(service) == ("degraded", forged + IN_CONTROL)
