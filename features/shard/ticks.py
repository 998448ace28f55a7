"""A tick: the passing of one minute, applied to every program of the shard (ruling 3)."""

from collections.abc import Callable
from typing import Final

from clearhold.features.actions.autonomy import narrow_by_itself
from clearhold.features.alerts.clocks import run_clocks
from clearhold.features.core.log_entry import EntryPosition, LogEntry, position_of
from clearhold.features.core.rows.emit import Emit
from clearhold.features.shard.kri_snapshots import snapshot_on_tick
from clearhold.features.shard.metrics_days import store_ended_days
from clearhold.features.state.program import ProgramState

OnTick = Callable[[ProgramState, EntryPosition, Emit], None]


def expire_preflights(program: ProgramState, position: EntryPosition, _emit: Emit) -> None:
    """Remove the open pre-flights that no transfer can match any more."""
    program.preflights.expire(position.appended_at)


ON_TICK: Final[tuple[OnTick, ...]] = (
    expire_preflights,
    run_clocks,
    narrow_by_itself,
    snapshot_on_tick,
    store_ended_days,
)
"""The steps of a tick for every program, in order."""


def apply_tick(program: ProgramState, _body: None, entry: LogEntry, emit: Emit) -> None:
    position = position_of(entry)
    for act in ON_TICK:
        act(program, position, emit)
