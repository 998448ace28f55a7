"""Signals: what a scorer measures, before any points. A card says what a measure is worth.

A signal is one row of ``docs/reasons.md``; its id, meaning and source are written once, where it is measured. Cards are
data of ``features/core/scorecards.py``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from clearhold.features.core.reason import Reason
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.families import Family

Inputs = TypeVar("Inputs")

ANY_RAIL: Final = frozenset(rail.value for rail in Rail)
BUT_CARD: Final = ANY_RAIL - {Rail.CARD.value}
BUT_CHECK_AND_CARD: Final = BUT_CARD - {Rail.CHECK.value}
ACH_ONLY: Final = frozenset({Rail.ACH.value})
CARD_ONLY: Final = frozenset({Rail.CARD.value})


class Signal(NamedTuple, Generic[Inputs]):
    """One thing to look at. ``measure`` gives an integer, a check 1 or 0; None is not measured, and has no points.

    The sentence, the meaning if there is nothing to add, is only built when the signal is shown.
    """

    id: str
    name: str
    family: Family | None
    meaning: str
    source: str
    measure: Callable[[Inputs], int | None]
    sentence: Callable[[Inputs, int], str] | None = None
    unit: str = ""  # of the measure; empty for a check
    hard: bool = False
    least: int = 1  # where bins may begin: a measure below it is nothing to see, and never worth points
    rises: bool = True  # more is worse, so that points must not fall, nor begin under the 0 of nothing at all
    mitigates: bool = False  # speaks for whom is scored, so that points must not be over 0
    worked_out: bool = False  # the measure is the points, and no card sets them
    rails: frozenset[str] = ANY_RAIL
    of_attempts: bool = False  # looks at attempts too: what it finds is there although no money moved
    edges: Callable[[Inputs, Sequence[int]], Iterable[int]] | None = None
    """The amounts in cents from which on the measure may differ, or may pass one of the edges of the card's bins."""

    def reason(self, inputs: Inputs, measured: int, points: int) -> Reason:
        sentence = self.meaning if self.sentence is None else self.sentence(inputs, measured)
        return Reason(id=self.id, signal=self.name, weight=points, hard=self.hard, sentence=sentence)


class SignalGroup(NamedTuple, Generic[Inputs]):
    """Signals measured together. Where ``may_fire`` is false, each of them measures None or less than its least."""

    signals: tuple[Signal[Inputs], ...]
    may_fire: Callable[[Inputs], object] | None = None


class Overlap(NamedTuple, Generic[Inputs]):
    """Points of a family that another score, which is added whole, holds already: they are taken away again.

    ``points`` are those that the other score holds.
    """

    id: str
    name: str
    family: Family
    meaning: str
    source: str
    points: Callable[[Inputs], int]
    sentence: Callable[[int], str]
