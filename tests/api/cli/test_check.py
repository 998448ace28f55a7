"""``clearhold check`` says what a directory holds, and finds what does not agree."""

import shutil
import subprocess
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import msgspec
import pytest

from clearhold.store.lake.log_segments import LogSegments
from tests.support.lake import move_into_segments
from tests.support.running_service import RunningService
from tests.support.used_bank import TRANSFERS, Bank
from tests.support.warm import ran


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    bank = Bank(tmp_path_factory.mktemp("check") / "data")
    move_into_segments(bank.data, Fraction(2, 3))
    return bank


@pytest.fixture
def bank(used: Bank, tmp_path: Path) -> Bank:
    return used.copied(tmp_path)


def checked(data: Path) -> subprocess.CompletedProcess[str]:
    return ran("check", "--data", data)


def changed(bank: Bank, statement: str) -> None:
    with closing(duckdb.connect(str(bank.data / "clearhold.duckdb"))) as database:
        assert database.execute(statement).fetchall() != [(0,)]


def test_given_a_directory_that_is_whole_when_checked_then_its_parts_are_counted_and_agree(bank: Bank) -> None:
    run = checked(bank.data)

    assert run.returncode == 0, run.stderr
    lines = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    assert f"{TRANSFERS} bank_events, {TRANSFERS} transfers" in lines["database"]
    assert "1 dispositions" in lines["database"]
    assert "entries" in lines["lake"]
    assert "from 20" in lines["log"]
    assert lines["ok:"] == "log, lake, database and record agree"


def test_given_each_kind_of_damage_when_checked_then_it_is_named(bank: Bank) -> None:
    changed(bank, "DELETE FROM bank_events WHERE event_id = (SELECT min(event_id) FROM bank_events)")
    changed(
        bank,
        "UPDATE bank_events SET body_crc32 = body_crc32 + 1 WHERE event_id = (SELECT max(event_id) FROM bank_events)",
    )
    changed(bank, "UPDATE alerts SET status = 'escalated' WHERE id = (SELECT min(id) FROM alerts)")
    changed(bank, "UPDATE record_chain SET body = replace(body, 'right', 'wrong')")

    run = checked(bank.data)

    assert run.returncode == 1
    for sentence in (
        "has no row.",
        "is not the scored one.",
        "of alerts is not what the record says: status.",
        "breaks at seq 0",
        "differs from the database at seq 0",
    ):
        assert sentence in run.stderr


def test_given_a_segment_that_was_written_anew_when_checked_then_it_is_named(bank: Bank, tmp_path: Path) -> None:
    path = bank.segments()[0]
    segments, others = LogSegments(bank.data / "lake"), LogSegments(tmp_path / "other")
    shard = int(path.parent.parent.name.removeprefix("shard="))
    entries = list(segments.shard(shard).read(0, segments.shard(shard).segments[0].last))
    others.shard(shard).write(
        [msgspec.structs.replace(entry, body=entry.body.replace(b"1", b"2")) for entry in entries]
    )
    shutil.copy(others.shard(shard).segments[0].path, path)

    run = checked(bank.data)

    assert run.returncode == 1
    assert f"{path} is not the one that its successor names" in run.stderr
    assert "is not the scored one." in run.stderr


def test_given_a_hole_or_another_log_when_checked_then_it_is_named(bank: Bank) -> None:
    bank.segments()[1].unlink()
    hole = checked(bank.data)
    shutil.rmtree(bank.data / "redis")
    lost = checked(bank.data)

    assert (hole.returncode, lost.returncode) == (1, 1)
    assert "FAIL: The log has a hole: shard=" in hole.stderr
    assert "does not hold: it is empty" in lost.stderr


def test_given_a_service_that_runs_or_no_directory_when_checked_then_a_sentence(bank: Bank, tmp_path: Path) -> None:
    with RunningService(bank.data, "--scorers", "0"):
        in_use = checked(bank.data)
    nothing = checked(tmp_path / "nothing")

    assert (in_use.returncode, nothing.returncode) == (2, 2)
    assert "is in use by another clearhold process" in in_use.stderr
    assert "is not a data directory" in nothing.stderr
