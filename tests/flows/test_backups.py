"""A backup of a service that writes is restored, verifies, and goes on."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pytest

from clearhold.store.backup import Backup, unpacked
from clearhold.store.clock import SystemClock
from clearhold.store.data_dir import DataDir
from clearhold.store.lake.log_segments import LogSegments, Segmenter
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogReader
from tests.api.cli.test_mixed_up import refusal
from tests.support.alerting import outgoing
from tests.support.lake import SHARDS, move_into_segments
from tests.support.redis_process import redis_of_its_own
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed
from tests.support.used_bank import ALONE, TRANSFERS, Bank
from tests.support.waiting import eventually
from tests.support.warm import ran

WRITTEN_MEANWHILE = 200


def run(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return ran(*arguments, environment=environment)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    bank = Bank(tmp_path_factory.mktemp("backup") / "data")
    move_into_segments(bank.data, Fraction(1, 2))
    return bank


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path)


@contextmanager
def writing(bank: Bank, service: RunningService) -> Iterator[list[str]]:
    """Events are posted until the end; yields the ids of the transfers that were acknowledged."""
    acknowledged: list[str] = []
    stopping = threading.Event()

    def post() -> None:
        for number in count():
            if stopping.is_set():
                return
            ids = [f"acht_more_{number}_{each}" for each in range(10)]
            post_until_taken(service, bank.program, [outgoing(each) for each in ids], within_s=60)
            acknowledged.extend(ids)

    writer = threading.Thread(target=post)
    writer.start()
    try:
        yield acknowledged
    finally:
        stopping.set()
        writer.join()


def events_in(data: Path) -> list[tuple[Any, ...]]:
    """Events and transfers of a stopped service, in the order of the log."""
    queries = (
        'SELECT shard, "offset", event_id, result, body_crc32 FROM bank_events ORDER BY ALL',
        'SELECT shard, "offset", id, score FROM transfers ORDER BY ALL',
        "SELECT tenant_id, chain, seq, hash FROM record_chain ORDER BY ALL",
    )
    with closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as database:
        return [row for query in queries for row in database.execute(query).fetchall()]


def exported(bank: Bank, service: RunningService, folder: Path) -> list[Path]:
    """What an examiner needs to verify the record offline, each in a file."""
    paths = []
    for name, path in (
        ("dispositions", "/api/record/checkpoint?chain=dispositions"),
        ("actions", "/api/record/checkpoint?chain=actions"),
        ("export", "/api/record/export"),
        ("jwks", "/.well-known/jwks.json"),
    ):
        (folder / name).write_bytes(bank.text(service, path))
        paths.append(folder / name)
    dispositions, actions, export, jwks = paths
    return [export, jwks, dispositions, actions]


def test_given_a_service_that_writes_when_backed_up_and_restored_then_all_verifies_and_it_goes_on(
    bank: Bank, tmp_path: Path
) -> None:
    with RunningService(bank.data, *ALONE) as service, writing(bank, service) as acknowledged:
        eventually(lambda: len(acknowledged) >= WRITTEN_MEANWHILE)
        before = list(acknowledged)
        taken = run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets")
        eventually(lambda: len(acknowledged) > len(before) + 10)  # it went on, and was not in the way
    assert taken.returncode == 0, taken.stderr

    made = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")

    assert made.returncode == 0, made.stderr
    original, restored = events_in(bank.data), events_in(tmp_path / "restored")
    assert set(restored) < set(original)
    assert {f"evnt_{each}" for each in before} - {row[2] for row in restored} == set()
    assert run("check", "--data", tmp_path / "restored").returncode == 0
    with RunningService(tmp_path / "restored", *ALONE) as service:
        assert bank.get(service, "/api/record/verify")["ok"]
        assert len(bank.get(service, "/api/dispositions")["data"]) >= 1
        assert post_until_taken(service, bank.program, [outgoing("acht_restored")], within_s=60) == 0
        wait_until_committed(service, bank.token, "acht_restored")
        files = exported(bank, service, tmp_path)
    verified = run("verify", *files)
    assert verified.returncode == 0, verified.stderr
    assert "ok dispositions" in verified.stdout


def test_given_entries_that_move_into_segments_while_they_are_copied_then_each_is_in_the_backup_once(
    bank: Bank, tmp_path: Path
) -> None:
    server = EmbeddedRedis(bank.data)
    server.start()
    try:
        with DataDir.open(bank.data) as data_dir, closing(connect_sync(server.socket_path)) as client:
            plain = LogReader(client, range(SHARDS))
            segments = LogSegments(bank.data / "lake")
            expected = [
                [
                    *segments.shard(shard).read(0),
                    *plain.range(shard, segments.shard(shard).last_offset, plain.tail(shard), count=999),
                ]
                for shard in range(SHARDS)
            ]
            Backup(data_dir, Moving(client, bank.data), tmp_path / "backup", clock=SystemClock()).take(
                with_secrets=True, on_progress=lambda _: None
            )
            assert not any(plain.range(shard, 0, plain.tail(shard), count=1) for shard in range(SHARDS))
    finally:
        server.stop()

    copied = LogSegments(tmp_path / "backup" / "lake")
    assert [list(copied.shard(shard).read(0)) for shard in range(SHARDS)] == expected
    assert not any(copied.shard(shard).gaps() for shard in range(SHARDS))


class Moving(LogReader):
    """As if the service moved the shard's entries into segments just before each is read."""

    def __init__(self, client: Any, data: Path) -> None:
        super().__init__(client, range(SHARDS))
        self._client, self._segments = client, LogSegments(data / "lake")

    def range(self, shard: int, after: int, upto: int, *, count: int) -> list[Any]:
        tail = self.tail(shard)
        plain = LogReader(self._client, range(SHARDS))
        Segmenter(plain, self._segments, page_entries=3, linger_ms=0).run_once(shard, tail, tail)
        return super().range(shard, after, upto, count=count)


def test_given_a_backup_that_was_changed_or_cut_when_restored_then_it_is_refused(bank: Bank, tmp_path: Path) -> None:
    assert run("backup", "--data", bank.data, "--to", tmp_path / "backup").returncode == 0
    again = run("backup", "--data", bank.data, "--to", tmp_path / "backup")
    inside = run("backup", "--data", bank.data, "--to", bank.data / "backups" / "today")
    path = next((tmp_path / "backup" / "lake").rglob("*.parquet"))
    whole = path.read_bytes()

    path.write_bytes(whole[:-1] + b"x")
    changed = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")
    path.unlink()
    missing = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")
    (tmp_path / "backup" / "backup.json").unlink()
    unfinished = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")
    taken_place = run("restore", tmp_path / "backup", "--data", bank.data)

    assert "is not empty. Name a new folder" in again.stderr
    assert "lies in the data directory, and would be lost with it." in inside.stderr
    assert not (bank.data / "backups").exists()
    for refused in (changed, missing):
        assert f"{path} is missing from the backup, or was changed" in refused.stderr
    assert "one that was not finished" in unfinished.stderr
    assert {each.returncode for each in (again, inside, changed, missing, unfinished, taken_place)} == {2}


def test_given_a_redis_with_something_in_it_when_restored_beside_it_then_nothing_is_written_until_it_is_empty(
    bank: Bank, tmp_path: Path
) -> None:
    assert run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets").returncode == 0
    restored = tmp_path / "restored"
    with redis_of_its_own(tmp_path / "redis"), closing(connect_sync(tmp_path / "redis" / "redis.sock")) as client:
        variable = {"CLEARHOLD_REDIS_URL": f"unix://{tmp_path / 'redis' / 'redis.sock'}"}
        client.set("somebody's", "cache")
        refused = run("restore", tmp_path / "backup", "--data", restored, environment=os.environ | variable)
        assert (refused.returncode, restored.exists()) == (2, False)
        assert "The Redis at CLEARHOLD_REDIS_URL is not empty" in refused.stderr

        client.flushall()
        made = run("restore", tmp_path / "backup", "--data", restored, environment=os.environ | variable)
        assert made.returncode == 0, made.stderr
        with RunningService(restored, *ALONE, environment=variable) as service:
            assert len(bank.get(service, "/api/transfers?limit=100")["data"]) == TRANSFERS


def test_given_a_restore_that_fails_when_it_ends_then_the_folder_is_empty_again(bank: Bank, tmp_path: Path) -> None:
    assert run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets").returncode == 0
    restored = tmp_path / "restored"

    unpacking = unpacked(tmp_path / "backup", restored, master_key=None, is_elsewhere=False)
    unpacking.__enter__()
    assert (restored / "layout.json").is_file()
    assert not unpacking.__exit__(RuntimeError, RuntimeError("the disk is full"), None)

    assert list(restored.iterdir()) == []
    assert run("restore", tmp_path / "backup", "--data", restored).returncode == 0


STALLED: Final = """
import time
from clearhold.api.cli import upkeep
from clearhold.store import backup

def stall(*_, **__):
    print("stalled", flush=True)
    time.sleep(600)

copy, copied = backup._copy_file, []

def copy_some(source, target):
    copy(source, target)
    copied.append(target)
    if len(copied) == 3:
        stall()

{patch}
from clearhold.api.cli.start import main; main()
"""
PATCHES: Final = {"copying": "backup._copy_file = copy_some", "rebuilding": "upkeep.rebuild_database = stall"}


@contextmanager
def stalled_restore(backup: Path, data: Path, patch: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", STALLED.format(patch=PATCHES[patch]), "restore", str(backup), "--data", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stalled\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("patch", PATCHES)
def test_given_a_restore_that_is_interrupted_when_it_ends_then_the_folder_is_empty(
    bank: Bank, tmp_path: Path, patch: str
) -> None:
    assert run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets").returncode == 0
    restored = tmp_path / "restored"

    with stalled_restore(tmp_path / "backup", restored, patch) as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) != 0

    assert list(restored.iterdir()) == []


@pytest.mark.parametrize("patch", PATCHES)
def test_given_a_restore_that_runs_or_was_killed_when_anything_is_started_on_its_folder_then_it_is_refused(
    bank: Bank, tmp_path: Path, patch: str
) -> None:
    """As a supervisor does that starts the service again and again."""
    assert run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets").returncode == 0
    restored = tmp_path / "restored"
    sentence = f"A restore into {restored} runs, or was interrupted: empty the folder, and restore again."

    with stalled_restore(tmp_path / "backup", restored, patch) as process:
        assert refusal(restored) == sentence
        process.kill()
        process.wait(60)
        assert refusal(restored) == sentence
    if patch == "rebuilding":
        assert sentence in run("check", "--data", restored).stderr
    assert "is not empty" in run("restore", tmp_path / "backup", "--data", restored).stderr


def test_given_a_backup_when_restored_then_a_copy_of_the_master_key_is_needed_and_the_admin_token_is_a_new_one(
    bank: Bank, tmp_path: Path
) -> None:
    (bank.data / "admin.token").write_text("adm_ofTheOriginal0123456789\n")
    taken = run("backup", "--data", bank.data, "--to", tmp_path / "backup")
    without = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")
    nowhere = run("restore", tmp_path / "backup", "--data", tmp_path / "restored", "--master-key", tmp_path / "nothing")
    (tmp_path / "another").write_bytes(bytes(32))
    wrong = run("restore", tmp_path / "backup", "--data", tmp_path / "restored", "--master-key", tmp_path / "another")
    key = bank.data / "master.key"
    made = run("restore", tmp_path / "backup", "--data", tmp_path / "restored", "--master-key", key)

    assert (taken.returncode, without.returncode, nowhere.returncode, made.returncode) == (0, 2, 2, 0), made.stderr
    assert "--master-key" in nowhere.stderr
    assert (wrong.returncode, "another is not the key that" in wrong.stderr) == (2, True), wrong.stderr
    assert "was taken without master.key" in without.stderr
    assert "Without the master key and the admin token" in taken.stdout
    assert "The backup has no admin token" in made.stdout
    in_backup = [path.name for path in (tmp_path / "backup").rglob("*")]
    assert not {"master.key", "admin.token"} & set(in_backup)
    assert not (tmp_path / "restored" / "admin.token").exists()
    old, new = (msgspec.json.decode((each / "layout.json").read_bytes()) for each in (bank.data, tmp_path / "restored"))
    assert old["logId"] != new["logId"]
    with RunningService(tmp_path / "restored", *ALONE) as service:
        assert len(bank.get(service, "/api/transfers?limit=100")["data"]) == TRANSFERS


def test_given_a_backup_with_secrets_then_they_are_in_it_and_it_is_restored_with_them(
    bank: Bank, tmp_path: Path
) -> None:
    (bank.data / "admin.token").write_text("adm_ofTheOriginal0123456789\n")
    taken = run("backup", "--data", bank.data, "--to", tmp_path / "backup", "--with-secrets")
    made = run("restore", tmp_path / "backup", "--data", tmp_path / "restored")

    assert (taken.returncode, made.returncode) == (0, 0), made.stderr
    assert "admin token" not in taken.stdout + made.stdout
    for name in ("master.key", "admin.token"):
        assert (tmp_path / "restored" / name).read_bytes() == (bank.data / name).read_bytes()
