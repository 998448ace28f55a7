"""Differences between the service's indicators and the naive recomputation, at an instant of a stream."""

import math
from typing import Any

import msgspec

from clearhold.features.core.log_entry import LogEntry
from clearhold.features.shard.shard import ShardState
from tests.checks.kri_feed import Feed
from tests.checks.kri_oracle import Fleet, kris
from tests.checks.kri_playing import judged_of, readings

RELATIVE = 1e-9


class Compared:
    """One stream told to both."""

    def __init__(self, fleet: Fleet) -> None:
        self.state, self.feed, self.fleet = ShardState(0), Feed(), fleet
        self.rows: list[msgspec.Struct] = []

    def take(self, entry: LogEntry) -> None:
        self.state.apply(entry, self.rows.append)
        self.feed.take(entry)

    def restart(self) -> None:
        """As after a start: the state is what its dump says."""
        self.state = ShardState.loaded(iter(list(self.state.dump())))

    def differences(self, now: int) -> list[str]:
        expected = kris(self.feed, now, judged_of(self.rows), self.fleet)
        measured = readings(self.state, now)
        lines = [f"missing: {name}" for name in expected.keys() - measured.keys()]
        for name, reading in measured.items():
            value, n, status = expected[name]
            if not _same(reading.value, value) or (reading.n, str(reading.status)) != (n, status):
                lines.append(f"{name}: {reading.value} n {reading.n} {reading.status}, not {value} n {n} {status}")
        return lines


def _same(mine: float | None, theirs: Any) -> bool:
    if mine is None or theirs is None:
        return mine is None and theirs is None
    return math.isclose(mine, float(theirs), rel_tol=RELATIVE, abs_tol=0)
