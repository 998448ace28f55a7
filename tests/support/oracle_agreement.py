"""Differences between the results of the state and of the naive oracle for the same entries."""

from typing import Any

import msgspec

from clearhold.features.catalogue.vector import FEATURES, FeatureVector, TransferFeaturesRow, values_by_name
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.shard.shard import ShardState
from tests.oracle.comparing import differences as feature_differences
from tests.oracle.oracle import Expected, Oracle


def rows_of(state: ShardState, entries: list[LogEntry]) -> list[msgspec.Struct]:
    rows: list[msgspec.Struct] = []
    for entry in entries:
        state.apply(entry, rows.append)
    return rows


def disagreements(entries: list[LogEntry]) -> list[str]:
    """The first entry's differences between state and oracle, one line each; empty when they agree throughout."""
    state, oracle = ShardState(0), Oracle()
    for entry in entries:
        lines = differences(entry, rows_of(state, [entry]), oracle.apply(entry))
        if lines:
            return lines
    return []


def differences(entry: LogEntry, rows: list[msgspec.Struct], expected: Expected | None) -> list[str]:
    """The differences between the rows of one entry and what the oracle expects of it."""
    set_aside = [f"set aside: {row.error}" for row in rows if isinstance(row, QuarantineRow)]
    scorings = [row for row in rows if isinstance(row, TransferFeaturesRow)]
    if set_aside or len(scorings) != (expected is not None):
        return [*set_aside, f"{len(scorings)} scorings, expected {expected}; {entry.body!r}"]
    if expected is None:
        return []
    (row,) = scorings
    score = trs_v1.DEFAULT.score(row.vector, degraded=row.degraded)
    facts = {
        "transfer": (row.transfer_id, expected.transfer_id),
        "taken_at": (row.taken_at, expected.taken_at),
        "score": (row.score, score.value),
        "n": (row.n, score.n),
    }
    return [
        *(
            f"{row.transfer_id}.{name}: {mine} is not {theirs}"
            for name, (mine, theirs) in facts.items()
            if mine != theirs
        ),
        *feature_differences(values_by_name(row.vector), expected),
    ]


def vector_of(expected: Expected) -> FeatureVector:
    """The oracle's features as a vector."""
    values: dict[str, Any] = {feature.column: expected.features.get(feature.name) for feature in FEATURES}
    return FeatureVector(**values)
