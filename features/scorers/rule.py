"""A rule: its check, and the kinds of reason that it can give.

A kind is one row of ``docs/reasons.md``: its weight, its family and its source are written once, where the rule is.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.core.vocabulary import Rail
from features.scorers.families import Family

ANY_RAIL: Final = frozenset(rail.value for rail in Rail)
BUT_CARD: Final = ANY_RAIL - {Rail.CARD.value}
BUT_CHECK_AND_CARD: Final = BUT_CARD - {Rail.CHECK.value}
ACH_ONLY: Final = frozenset({Rail.ACH.value})
CARD_ONLY: Final = frozenset({Rail.CARD.value})


class ReasonKind(NamedTuple):
    """A reason before its sentence. ``weights`` are all that it can carry; none says that its weight is worked out."""

    id: str
    signal: str
    weights: tuple[int, ...]
    family: Family | None
    meaning: str
    source: str
    hard: bool = False
    rails: frozenset[str] = ANY_RAIL

    def reason(self, sentence: str, weight: int | None = None) -> Reason:
        """The reason with its sentence; ``weight`` is for kinds that have more than one, or none of their own."""
        points = self.weights[0] if weight is None else weight
        return Reason(id=self.id, signal=self.signal, weight=points, hard=self.hard, sentence=sentence)


class Rule(NamedTuple):
    """One check over the vector. It runs on the rails of its kinds only.

    ``of_attempts`` says that it looks at attempts too: what it finds is there although no money moved.
    """

    check: Callable[[FeatureVector], Reason | None]
    kinds: tuple[ReasonKind, ...]
    of_attempts: bool = False

    @property
    def family(self) -> Family | None:
        return self.kinds[0].family

    @property
    def rails(self) -> frozenset[str]:
        return frozenset[str]().union(*(kind.rails for kind in self.kinds))
