"""Differences between the results of the state and of the naive oracle for the same entries."""

from typing import Any, Final

import msgspec

from features.catalogue.vector import FeatureVector, TransferFeaturesRow
from features.core.log_entry import LogEntry
from features.core.rows.events import QuarantineRow
from features.scorers.trs_v1 import scorer as trs_v1
from features.shard.shard import ShardState
from tests.support.oracle import Expected, Oracle

NOT_RECOMPUTED: Final = ("entity_rescreen_days",)
QUANTILES: Final = ("program_median_cents", "program_p95_cents")


def rows_of(state: ShardState, entries: list[LogEntry]) -> list[msgspec.Struct]:
    rows: list[msgspec.Struct] = []
    for entry in entries:
        state.apply(entry, rows.append)
    return rows


def disagreements(entries: list[LogEntry]) -> list[str]:
    """The first entry's differences between state and oracle, one line each; empty when they agree throughout."""
    state, oracle = ShardState(0), Oracle()
    for entry in entries:
        found = differences(entry, rows_of(state, [entry]), oracle.apply(entry))
        if found:
            return found
    return []


def differences(entry: LogEntry, rows: list[msgspec.Struct], expected: Expected | None) -> list[str]:
    """The differences between the rows of one entry and what the oracle expects of it."""
    set_aside = [f"set aside: {row.error}" for row in rows if isinstance(row, QuarantineRow)]
    got = [row for row in rows if isinstance(row, TransferFeaturesRow)]
    if set_aside or len(got) != (expected is not None):
        return [*set_aside, f"{len(got)} scorings, expected {expected}; {entry.body!r}"]
    if expected is None:
        return []
    row = got[0]
    score = trs_v1.score(row.vector, degraded=expected.degraded)
    mine = _fields(row.vector) | {
        "transfer": row.transfer_id,
        "taken_at": row.taken_at,
        "degraded": row.degraded,
        "score": row.score,
        "n": row.n,
    }
    theirs = _fields(expected.vector) | {
        "transfer": expected.transfer_id,
        "taken_at": expected.taken_at,
        "degraded": expected.degraded,
        "score": score.value,
        "n": score.n,
    }
    return [
        f"{row.transfer_id}.{name}: {mine[name]} is not {theirs[name]}"
        for name in theirs
        if name not in NOT_RECOMPUTED and not _same(name, mine[name], theirs[name])
    ]


def _fields(vector: FeatureVector) -> dict[str, Any]:
    return {name: getattr(vector, name) for name in vector.__struct_fields__}


def _same(name: str, mine: Any, exact: Any) -> bool:
    if name not in QUANTILES or mine is None or exact is None:
        return bool(mine == exact)
    return bool(abs(mine - exact) * 200 <= exact)
