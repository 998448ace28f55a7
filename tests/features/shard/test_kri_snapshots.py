"""The Program Risk Score on its record: null below three measured indicators, a row for each change, with reasons."""

from random import Random
from typing import Any

import msgspec
import pytest

from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.log_entry import EntryKind, LogEntry, no_rows
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.shard.shard import ShardState
from tests.oracle.random_streams import stream_of
from tests.support.builders import a_program
from tests.support.stories import ShardStory, detector_story


def score_rows(story: ShardStory) -> list[ScoreRow]:
    return [row for row in story.last(ScoreRow) if row.subject_type == "program"]


def kris_of(row: KriSnapshotRow) -> dict[str, Any]:
    kris: dict[str, Any] = msgspec.json.decode(row.kris)
    return kris


def test_given_fewer_than_three_measured_indicators_then_the_score_is_null_and_no_record_says_otherwise() -> None:
    story = detector_story()
    story.snapshot(HOUR)

    row = story.one(KriSnapshotRow)
    assert (row.program_score, row.band, row.program_score_n) == (None, "unscored", 0)
    assert len(kris_of(row)) == 18
    assert {(reading["value"], reading["status"]) for reading in kris_of(row).values()} == {(None, "unmeasured")}
    assert not score_rows(story)


def test_given_three_measured_indicators_then_the_score_is_on_the_record_once_for_each_change() -> None:
    story = detector_story(declared_rails=("wire",), declared_countries=())
    for place in range(27):
        story.wire("enti_1", f"cpty_{place % 2}", 34_00, place // 3 * DAY)
    story.snapshot(9 * DAY)
    (first,) = score_rows(story)
    story.snapshot(9 * DAY + HOUR)
    assert not score_rows(story), "a snapshot that changes nothing has a row of its own alone"
    assert story.one(KriSnapshotRow).program_score == first.score
    for place in range(2, 8):
        story.wire("enti_1", f"cpty_{place}", 10_00 * place, 9 * DAY + 2 * HOUR)

    story.snapshot(9 * DAY + 3 * HOUR)

    (second,) = score_rows(story)
    measured = [name for name, each in kris_of(story.one(KriSnapshotRow)).items() if each["status"] != "unmeasured"]
    assert (first.former_band, first.version, first.subject_id) == ("unscored", "prs-v1", story.program.id)
    assert (second.former_band, second.n) == (first.band, len(measured))
    assert first.n >= 3
    reason = next(each for each in msgspec.json.decode(first.reasons) if each["signal"].startswith("counterparty"))
    assert reason["sentence"] == "counterparty_concentration is in breach: 0.518519, threshold 0.4 (n = 2)."
    assert (first.score, second.score) == (sum_of(first), sum_of(second))
    assert (first.score, second.score) == (25, 35), "the day's volume is at watch as well"


def sum_of(row: ScoreRow) -> int:
    return sum(reason["weight"] for reason in msgspec.json.decode(row.reasons))


def test_given_a_replay_without_rows_then_alerts_breaches_and_scores_are_the_same_state() -> None:
    story = detector_story()
    for place in range(6):
        story.wire("enti_1", "cpty_1", 5_000_00 * (place + 1), place * DAY)
        story.snapshot(place * DAY + HOUR)
        story.tick(place * DAY + 2 * HOUR)
    assert story.alerts("concentration")

    replayed = ShardState(0)
    for entry in story.entries:
        replayed.apply(entry, no_rows)

    assert list(replayed.dump()) == list(story.state.dump())
    assert {entry.kind for entry in story.entries} >= {EntryKind.SNAPSHOT, EntryKind.TICK}


def with_snapshots(seed: int) -> list[LogEntry]:
    """A random stream of a program that declares everything, with requested snapshots among its entries."""
    chance, stream = Random(seed), stream_of(Random(seed), 60)
    program = a_program(
        id=stream[0].program_id,
        declared_monthly_volume_cents="5000000",
        declared_rails=("ach", "wire"),
        program_reserve_account_id="bacc_1",
    )
    bodies = [(EntryKind.PROGRAM.value, msgspec.json.encode(program), stream[0].appended_at)]
    for entry in stream:
        bodies.append((entry.kind, entry.body, entry.appended_at))
        if chance.random() < 0.3:
            snapshot = SnapshotEntry(id=f"snp_{len(bodies)}", at=entry.appended_at)
            bodies.append((EntryKind.SNAPSHOT.value, msgspec.json.encode(snapshot), entry.appended_at))
    return [
        LogEntry(0, place << 20, kind, program.id, at, body) for place, (kind, body, at) in enumerate(bodies, start=1)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_given_a_random_stream_and_a_restart_then_snapshots_and_their_alerts_are_the_same_rows(seed: int) -> None:
    entries = with_snapshots(seed)
    straight, broken = ShardState(0), ShardState(0)
    rows, others = list[msgspec.Struct](), list[msgspec.Struct]()
    for place, entry in enumerate(entries):
        straight.apply(entry, rows.append)
        broken.apply(entry, others.append)
        if place == len(entries) // 2:
            broken = ShardState.loaded(iter(list(broken.dump())))

    assert rows == others
    assert list(straight.dump()) == list(broken.dump())
    assert any(isinstance(row, AlertRow) and row.transfer_id is None for row in rows)
    assert not [row for row in rows if isinstance(row, QuarantineRow)]


def test_given_a_state_that_no_program_declared_then_ticks_take_no_snapshot_of_it() -> None:
    """The actions and the policies of a whole tenant are in such a state."""
    story = ShardStory()
    for minute in range(31):
        story.tick(minute * HOUR // 60)
    assert not story.all(KriSnapshotRow)

    story.declare(a_program())
    for minute in range(31, 62):
        story.tick(minute * HOUR // 60)
    assert len(story.all(KriSnapshotRow)) in {2, 3}
