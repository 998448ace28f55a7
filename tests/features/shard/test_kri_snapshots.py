"""The Program Risk Score on its record: null below three measured indicators, a row for each change, with reasons."""

from typing import Any

import msgspec

from features.core.instants import DAY_US as DAY
from features.core.instants import HOUR_US as HOUR
from features.core.log_entry import EntryKind
from features.core.rows.emit import no_rows
from features.core.rows.kris import KriSnapshotRow
from features.core.rows.scores import ScoreRow
from features.shard.shard import ShardState
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
    for place in range(9):
        story.wire("enti_1", f"cpty_{place % 2}", 100_00, place * DAY)
    story.snapshot(9 * DAY)
    (first,) = score_rows(story)
    story.snapshot(9 * DAY + HOUR)
    assert not score_rows(story), "a snapshot that changes nothing has a row of its own alone"
    assert story.one(KriSnapshotRow).program_score == first.score
    for place in range(2, 8):
        story.wire("enti_1", f"cpty_{place}", 10_00 * place, 9 * DAY + 2 * HOUR)

    story.snapshot(9 * DAY + 3 * HOUR)

    (second,) = score_rows(story)
    measured = [name for name, each in kris_of(story.one(KriSnapshotRow)).items() if each["value"] is not None]
    assert (first.former_band, first.version, first.subject_id) == ("unscored", "prs-v1", story.program.id)
    assert (second.former_band, second.n) == (first.band, len(measured))
    assert first.n >= 3
    reason = next(each for each in msgspec.json.decode(first.reasons) if each["signal"].startswith("counterparty"))
    assert (
        reason["sentence"]
        == "counterparty_concentration is in breach with 0.555556 against a threshold of 0.4 (n = 2)."
    )
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
