"""Where the money of a transfer goes. ``direction`` says who originated it, which for an ACH debit is the other way.

Baselines and snapshots contain the numbers of rail classes and ACH types: a new rail is added at the end of ``Rail``,
and no rail is moved.

Errors  KeyError for words outside of ``Rail``, ``Direction`` and ``AchType``
Source  the bank's public event pages: an outgoing ACH debit pulls money in, an incoming one takes it out. Directions of
        checks are inverted by their reader (``features/bank/transfers.py``): here they are our own.
"""

from itertools import product
from typing import Final

from clearhold.features.core.vocabulary import AchType, Direction, Rail

RAIL_CLASSES: Final = tuple((rail.value, direction.value) for rail in Rail for direction in Direction)
ACH_TYPES: Final = (None, AchType.CREDIT.value, AchType.DEBIT.value)

OUTGOING_CLASSES: Final = frozenset(
    number for number, (_, direction) in enumerate(RAIL_CLASSES) if direction == Direction.OUTGOING
)
CARD_CLASSES: Final = frozenset(number for number, (rail, _) in enumerate(RAIL_CLASSES) if rail == Rail.CARD)
ACH_CLASSES: Final = frozenset(number for number, (rail, _) in enumerate(RAIL_CLASSES) if rail == Rail.ACH)
ORIGINATED_CLASS: Final = RAIL_CLASSES.index((Rail.ACH.value, Direction.OUTGOING.value))
ACH_DEBIT: Final = ACH_TYPES.index(AchType.DEBIT.value)
ACH_CREDIT: Final = ACH_TYPES.index(AchType.CREDIT.value)

_NUMBERS: Final = {rail_class: number for number, rail_class in enumerate(RAIL_CLASSES)}


def class_of(rail: str, direction: str) -> int:
    """The number of a rail and direction, 0 to 13."""
    return _NUMBERS[rail, direction]


def _leaves(rail: Rail, direction: Direction, ach_type: AchType | None) -> bool:
    against = rail is Rail.ACH and ach_type is AchType.DEBIT
    return (direction is Direction.OUTGOING) is not against


_LEAVES: Final = {
    (rail.value, direction.value, None if ach_type is None else ach_type.value): _leaves(rail, direction, ach_type)
    for rail, direction, ach_type in product(Rail, Direction, (None, *AchType))
}


def money_leaves(rail: str, direction: str, ach_type: str | None) -> bool:
    """True when the program's own side pays, False when it is paid; the type matters on ach alone."""
    return _LEAVES[rail, direction, ach_type]


def originates_debit(rail: str, direction: str, ach_type: str | None) -> bool:
    """True for an ACH debit that the program's own side originated."""
    return (rail, direction, ach_type) == _ORIGINATED_DEBIT


_ORIGINATED_DEBIT: Final = (Rail.ACH.value, Direction.OUTGOING.value, AchType.DEBIT.value)
