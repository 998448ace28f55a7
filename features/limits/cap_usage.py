"""How much of each cap a program uses now.

Window  the day and the month of the calendar (UTC) up to now, and 24 hours; for ``per_transaction`` the day, of which
        the largest outgoing transfer is shown. Of the two kinds on one entity it is the entity that uses most
Cost    one look at the transfers that landed in 24 hours
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.money import OUTGOING_CLASSES
from clearhold.features.limits.caps import period_of
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import UNPRICED


class CapUsage(NamedTuple):
    """The observed use and its number of transfers; None without transfers."""

    observed: int | None
    n: int


UNUSED: Final = CapUsage(None, 0)
_OUTGOING: Final = sorted(OUTGOING_CLASSES)


def cap_usage(program: ProgramState, now: int) -> Mapping[CapKind, CapUsage]:
    """The use of every kind of cap, whether one is in force or not."""
    moved = program.transfers.moved_in_a_day(now)
    sent = np.isin(moved.class_id, _OUTGOING) & (moved.at >= now - now % DAY_US) & (moved.cents != UNPRICED)
    actors, cents = moved.actor[sent], moved.cents[sent]
    return {
        CapKind.ACH_DEBIT_DAILY: _debits(program, CapKind.ACH_DEBIT_DAILY, now),
        CapKind.ACH_DEBIT_MONTHLY: _debits(program, CapKind.ACH_DEBIT_MONTHLY, now),
        CapKind.PER_TRANSACTION: CapUsage(int(cents.max()), len(cents)) if len(cents) else UNUSED,
        CapKind.ENTITY_DAILY: _most_of_one_entity(program, actors, cents),
        CapKind.ENTITY_VELOCITY_24H: _most_of_one_entity(program, moved.actor, np.ones_like(moved.cents)),
    }


def _debits(program: ProgramState, kind: CapKind, now: int) -> CapUsage:
    count, cents = program.originated.measure_now(period_of(kind, now)[0] - 1, now)
    return CapUsage(cents, count) if count else UNUSED


def _most_of_one_entity(
    program: ProgramState, actors: "np.ndarray[Any, Any]", values: "np.ndarray[Any, Any]"
) -> CapUsage:
    """The highest sum of one actor and its number of transfers; an account counts as the entity that owns it."""
    known = actors >= 0
    if not known.any():
        return UNUSED
    numbers, places = np.unique(actors[known], return_inverse=True)
    owners = np.array([program.merged.get(int(number), int(number)) for number in numbers])
    _, places = np.unique(owners[places], return_inverse=True)
    sums, counts = np.zeros(places.max() + 1, dtype=np.int64), np.bincount(places)
    np.add.at(sums, places, values[known])
    most = int(sums.argmax())
    return CapUsage(int(sums[most]), int(counts[most]))
