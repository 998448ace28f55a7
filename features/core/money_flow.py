"""Where the money of a transfer goes. ``direction`` says who originated it, which for an ACH debit is the other way.

Errors  KeyError for words outside of ``Rail``, ``Direction`` and ``AchType``
Source  the bank's public event pages: an outgoing ACH debit pulls money in, an incoming one takes it out. Directions of
        checks are inverted by their reader (``features/bank/transfers.py``): here they are our own.
"""

from itertools import product
from typing import Final

from clearhold.features.core.vocabulary import AchType, Direction, Rail


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
