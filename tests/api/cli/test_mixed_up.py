"""Redis, data directory and variables mixed up in each way there is: a sentence, and never an empty bank."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from copy import copy
from pathlib import Path
from typing import Any, Final, Self

import duckdb
import msgspec
import pytest

from clearhold.store.redis_log.connect import connect_sync
from tests.support.redis_process import redis_of_its_own
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.waiting import eventually
from tests.support.warm import ran

CANNOT_START: Final = 2
ALONE: Final = ("--scorers", "0")
ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "test"}
JSON: Final = ADMIN | {"Content-Type": "application/json"}


class Bank:
    """A service that was used once, and stopped."""

    def __init__(self, data: Path, environment: Mapping[str, str] | None = None) -> None:
        self.data, self.environment = data, dict(environment or {})
        with RunningService(data, *ALONE, environment=self.environment) as service:
            self.tenant: dict[str, Any] = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})

    def copied(self, data: Path) -> Self:
        """The same bank in a directory of its own, to be spoilt."""
        shutil.copytree(self.data, data)
        twin = copy(self)
        twin.data = data
        return twin

    def tenants(self) -> list[str]:
        """The tenants that a start finds."""
        with RunningService(self.data, *ALONE, environment=self.environment) as service:
            found: Any = service.ask("GET", "/api/admin/tenants", ADMIN)
        return [tenant["slug"] for tenant in found]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """With the log in its directory; nothing may change it."""
    return Bank(tmp_path_factory.mktemp("used") / "data")


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path / "data")


def refusal(data: Path, environment: Mapping[str, str] | None = None) -> str:
    """The sentence with which a start is refused."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLEARHOLD_")}
    arguments = ("serve", "--data", data, "--port", 0, *ALONE)
    run = ran(*arguments, environment=own | dict(environment or {}), within_s=60)
    assert (run.returncode, run.stdout) == (CANNOT_START, ""), run.stderr
    assert "Traceback" not in run.stderr
    return run.stderr.splitlines()[-1]


@contextmanager
def external(folder: Path) -> Iterator[dict[str, str]]:
    """A Redis of its own, as the variable that names it."""
    with redis_of_its_own(folder):
        yield {"CLEARHOLD_REDIS_URL": f"unix://{folder / 'redis.sock'}"}


def test_given_a_new_directory_and_a_new_redis_when_started_twice_then_they_belong_together(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "data")

    assert bank.tenants() == ["bank"]
    log_id = msgspec.json.decode((bank.data / "layout.json").read_bytes())["logId"]
    with closing(duckdb.connect(str(bank.data / "clearhold.duckdb"), read_only=True)) as database:
        assert database.execute("SELECT log_id FROM log_identity").fetchall() == [(log_id,)]


def test_given_a_log_in_another_redis_when_the_variable_is_forgotten_then_it_is_refused(tmp_path: Path) -> None:
    with external(tmp_path / "redis") as at:
        bank = Bank(tmp_path / "data", at)

        sentence = refusal(bank.data)

        assert f"belongs to a log that the Redis in {bank.data}/redis does not hold: it is empty" in sentence
        assert "set CLEARHOLD_REDIS_URL to the Redis of this directory" in sentence
        assert bank.tenants() == ["bank"]


def test_given_an_embedded_log_when_the_variable_is_set_then_it_is_refused(bank: Bank, tmp_path: Path) -> None:
    with external(tmp_path / "redis") as at:
        sentence = refusal(bank.data, at)

    assert "the Redis at CLEARHOLD_REDIS_URL does not hold: it is empty" in sentence
    assert f"unset CLEARHOLD_REDIS_URL for the log in {bank.data}/redis" in sentence
    assert bank.tenants() == ["bank"]


def test_given_the_embedded_log_is_deleted_when_started_then_it_is_refused(bank: Bank) -> None:
    shutil.rmtree(bank.data / "redis")

    first, second = refusal(bank.data), refusal(bank.data)

    assert "it is empty" in first
    assert "--accept-loss" in first
    assert second == first  # being refused has not made the new Redis ours


def test_given_a_redis_that_was_flushed_when_started_then_it_is_refused(tmp_path: Path) -> None:
    with external(tmp_path / "redis") as at:
        bank = Bank(tmp_path / "data", at)
        with closing(connect_sync(at["CLEARHOLD_REDIS_URL"])) as client:
            client.flushall()

        assert "it is empty" in refusal(bank.data, at)


def test_given_a_used_redis_when_a_new_directory_is_started_on_it_then_it_is_refused(tmp_path: Path) -> None:
    with external(tmp_path / "redis") as at:
        bank = Bank(tmp_path / "data", at)

        sentence = refusal(tmp_path / "new", at)

        assert "new is new, but the Redis at CLEARHOLD_REDIS_URL holds the log of another data directory" in sentence
        assert bank.tenants() == ["bank"]


def test_given_two_banks_when_their_redis_are_exchanged_then_both_are_refused(tmp_path: Path) -> None:
    with external(tmp_path / "redis-1") as one, external(tmp_path / "redis-2") as two:
        first, second = Bank(tmp_path / "first", one), Bank(tmp_path / "second", two)

        for sentence in (refusal(first.data, two), refusal(second.data, one)):
            assert "belong to two different logs" in sentence


def test_given_the_database_of_another_bank_when_started_then_it_is_refused(bank: Bank, tmp_path: Path) -> None:
    other = Bank(tmp_path / "other")
    for path in bank.data.glob("clearhold.duckdb*"):
        path.unlink()
    for path in other.data.glob("clearhold.duckdb*"):
        shutil.copy(path, bank.data)

    assert "was made from another log" in refusal(bank.data)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("layout is deleted", "layout.json is missing"),
        ("layout has other shards", "it names 4 shards, and the log has 16"),
        ("layout is of another version", "was made by another version of Clearhold"),
        ("master key is deleted", "master.key is missing"),
        ("master key is replaced", "is not the key that"),
    ],
)
def test_given_what_names_the_log_is_changed_when_started_then_it_is_refused(
    bank: Bank, change: str, sentence: str
) -> None:
    layout, key = bank.data / "layout.json", bank.data / "master.key"
    if change == "layout is deleted":
        layout.unlink()
    elif change == "layout has other shards":
        layout.write_text(layout.read_text().replace('"shards":16', '"shards":4'))
    elif change == "layout is of another version":
        layout.write_text('{"version": 1, "shards": 16}')
    elif change == "master key is deleted":
        key.unlink()
    else:
        key.write_bytes(bytes(32))

    assert sentence in refusal(bank.data)
    assert key.exists() or change == "master key is deleted"


def test_given_a_folder_of_other_things_when_started_on_it_then_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask is
    (folder / "cat.jpg").write_bytes(b"cat")

    assert "is neither empty nor a data directory" in refusal(folder)
    assert [path.name for path in folder.iterdir()] == ["cat.jpg"]
    assert folder.stat().st_mode & 0o777 == 0o755


def test_given_the_master_key_in_a_file_elsewhere_when_started_then_none_is_made_in_the_directory(
    tmp_path: Path,
) -> None:
    at = {"CLEARHOLD_MASTER_KEY_FILE": str(tmp_path / "key")}
    bank = Bank(tmp_path / "data", at)

    assert bank.tenants() == ["bank"]
    assert not (bank.data / "master.key").exists()
    assert "master.key is missing" in refusal(bank.data)


def test_given_a_service_that_runs_when_its_redis_comes_back_empty_then_nothing_is_taken_until_its_own_is_back(
    tmp_path: Path,
) -> None:
    folder, environment = tmp_path / "redis", {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}
    another = msgspec.json.encode({"slug": "another", "name": "Another Bank"})
    with ExitStack() as running:
        with redis_of_its_own(folder):
            service = running.enter_context(RunningService(tmp_path / "data", *ALONE, environment=environment))
            service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        folder.rename(tmp_path / "ours")

        with redis_of_its_own(folder):
            refused = service.ask("POST", "/api/admin/tenants", JSON, another, expect=503)
            readiness = service.ask("GET", "/readyz", {}, expect=503)
        assert refused["code"] == "unavailable"
        assert readiness["components"]["redis"] == "down"
        assert [line for line in service.log_lines if '"log_is_gone"' in line]

        folder.rename(tmp_path / "empty")
        (tmp_path / "ours").rename(folder)
        with redis_of_its_own(folder):
            service.admin("/api/admin/tenants", {"slug": "later", "name": "Later Bank"})
            listed: Any = service.ask("GET", "/api/admin/tenants", ADMIN)
            running.close()
    assert [tenant["slug"] for tenant in listed] == ["later", "bank"]


def readiness(service: RunningService) -> tuple[int, str]:
    """The status of ``/readyz``, and what it says about Redis."""
    with closing(service.connect()) as connection:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        components = msgspec.json.decode(answer.read())["components"]
    return answer.status, components["redis"]


def emptied_but_for_the_id(folder: Path, _: Path, log_id: bytes) -> None:
    folder.mkdir()
    with redis_of_its_own(folder), closing(connect_sync(folder / "redis.sock")) as client:
        client.set("log:identity", log_id)


def set_back(folder: Path, older: Path, _: bytes) -> None:
    shutil.copytree(older, folder)


@pytest.mark.parametrize("replace", [set_back, emptied_but_for_the_id])
def test_given_a_redis_that_lacks_confirmed_entries_when_readiness_is_read_then_it_is_down_until_they_are_back(
    tmp_path: Path, replace: Callable[[Path, Path, bytes], None]
) -> None:
    """As after a failover to a replica that was behind: no write has been tried yet, and none needs to be."""
    folder, environment = tmp_path / "redis", {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}
    with ExitStack() as running:
        with redis_of_its_own(folder), closing(connect_sync(folder / "redis.sock")) as client:
            service = running.enter_context(RunningService(tmp_path / "data", *ALONE, environment=environment))
            tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})["id"]
            log_id = client.get("log:identity")
            assert isinstance(log_id, bytes)
        shutil.copytree(folder, tmp_path / "older", ignore=shutil.ignore_patterns("*.sock"))
        with redis_of_its_own(folder):
            service.admin("/api/admin/programs", {"tenantId": tenant, "slug": "pay", "name": "Pay"})
            eventually(lambda: readiness(service) == (200, "up"))
        folder.rename(tmp_path / "ours")

        replace(folder, tmp_path / "older", log_id)
        with redis_of_its_own(folder):
            eventually(lambda: readiness(service) == (503, "down"))
            refused = service.ask(
                "POST", "/api/admin/tenants", JSON, msgspec.json.encode({"slug": "b", "name": "B"}), expect=503
            )
            with closing(connect_sync(folder / "redis.sock")) as answering:
                assert answering.ping()
            assert readiness(service) == (503, "down")
        assert refused["code"] == "unavailable"

        folder.rename(tmp_path / "other")
        (tmp_path / "ours").rename(folder)
        with redis_of_its_own(folder):
            eventually(lambda: readiness(service) == (200, "up"))
            service.admin("/api/admin/tenants", {"slug": "later", "name": "Later Bank"})
            running.close()
