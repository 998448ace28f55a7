"""The Program Risk Score from the status of each indicator: by hand, and as the snapshots of random streams have it."""

import json
from random import Random
from typing import Any

import msgspec
import pytest

from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.parties import KriSnapshotRow, ScoreRow
from clearhold.features.shard.shard import ShardState
from tests.checks.kri_oracle import LINES, program_score
from tests.checks.random_kri_streams import kri_stream


def statuses(**named: str) -> dict[str, str]:
    return dict.fromkeys(LINES, "unmeasured") | named


@pytest.mark.parametrize(
    ("measured", "score", "n", "confidence"),
    [
        ({}, None, 0, None),
        ({"volume_velocity": "breach", "hold_share": "breach"}, None, 2, None),
        ({"volume_velocity": "ok", "hold_share": "ok", "card_decline_rate": "ok"}, 0, 3, 0.17),
        ({"volume_velocity": "watch", "hold_share": "ok", "card_decline_rate": "breach"}, 35, 3, 0.17),
        ({"ach_unauthorized_return_rate": "breach", "reserve_coverage": "breach", "hold_share": "ok"}, 70, 3, 0.17),
        (dict.fromkeys(LINES, "breach"), 100, 18, 1.0),
        (dict.fromkeys(LINES, "ok") | {"ach_unauthorized_return_rate": "watch"}, 10, 18, 1.0),
    ],
)
def test_given_statuses_when_scored_by_hand_then_points_add_up_to_a_hundred_at_most(
    measured: dict[str, str], score: int | None, n: int, confidence: float | None
) -> None:
    assert program_score(statuses(**measured)) == (score, n, confidence)


@pytest.mark.parametrize("seed", range(12))
def test_given_a_random_stream_when_a_snapshot_is_taken_then_its_score_is_the_sum_of_its_indicators(seed: int) -> None:
    chance, state = Random(seed), ShardState(0)
    entries = kri_stream(chance, 12 * (seed % 4 + 1))
    for entry in entries:
        state.apply(entry, lambda _row: None)
    taken, last = entries[-1].appended_at + 1, entries[-1].offset
    body = msgspec.json.encode(SnapshotEntry(id="11111111-1111-4111-8111-111111111111", at=taken))
    rows: list[Any] = []
    state.apply(LogEntry(0, last + 1, EntryKind.SNAPSHOT, "prg_1", taken, body), rows.append)

    (snapshot,) = [row for row in rows if isinstance(row, KriSnapshotRow)]
    measured = {name: reading["status"] for name, reading in json.loads(snapshot.kris).items()}
    score, n, confidence = program_score(measured)

    assert measured.keys() == LINES.keys()
    assert (snapshot.program_score, snapshot.program_score_n) == (score, n)
    for row in rows:
        if isinstance(row, ScoreRow) and row.subject_type == "program":
            assert (row.score, row.n, row.confidence) == (score, n, confidence)
            assert sum(reason["weight"] for reason in json.loads(row.reasons)) == (score or 0)
