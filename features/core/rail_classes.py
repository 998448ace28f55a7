"""The numbers that stand for rail with direction, and for ACH type, in a stored transfer.

Baselines and snapshots contain these numbers: a new rail is added at the end of ``Rail``, and no rail is moved.

Errors  ``class_of`` raises KeyError for words outside of ``Rail`` and ``Direction``
"""

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
