"""Signals: the measures of a scorer, before any points; and a scorer without its card: its signals, the families that a
card may cap, and the observations behind its scores. A card gives the points of a measure.

A signal is one row of ``docs/reasons.md``; its id, meaning and source are written once, beside its measure. Signals of
the bank's statements on an entity stand here, as its transfers and the entity itself have them. Cards are data of
``features/core/scorecards.py``. A scorer caps what each family may add, so that related signals are not counted twice.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from clearhold.features.core.vocabulary import Rail, Reason


class Family(StrEnum):
    AMOUNT = "amount"
    TIMING = "timing"
    RELATIONSHIP = "relationship"
    RETURNS = "returns"
    IDENTITY = "identity"
    GEOGRAPHY = "geography"
    DECLARED = "declared"
    HISTORY = "history"
    FLOW = "flow"
    CARD = "card"


Inputs = TypeVar("Inputs")

ANY_RAIL: Final = frozenset(rail.value for rail in Rail)
BUT_CARD: Final = ANY_RAIL - {Rail.CARD.value}
BUT_CHECK_AND_CARD: Final = BUT_CARD - {Rail.CHECK.value}
ACH_ONLY: Final = frozenset({Rail.ACH.value})
CARD_ONLY: Final = frozenset({Rail.CARD.value})


PROPOSED: Final = "[P]"

BESIDE_ITSELF: Final = 2
"""The least of a count that includes the scored transfer: 1 is the transfer itself."""

_FAMILY_OF_ID: Final = {
    "AMT": Family.AMOUNT,
    "VEL": Family.TIMING,
    **dict.fromkeys(("CPY", "REP", "VAL"), Family.RELATIONSHIP),
    "RET": Family.RETURNS,
    **dict.fromkeys(("KYC", "SCR"), Family.IDENTITY),
    "GEO": Family.GEOGRAPHY,
    **dict.fromkeys(("DEC", "REG"), Family.DECLARED),
    "HIS": Family.HISTORY,
    "FLO": Family.FLOW,
    "CRD": Family.CARD,
}
"""By the middle of a signal's id; other signals have no family."""


class Signal(msgspec.Struct, Generic[Inputs], frozen=True):
    """One signal. ``measure`` gives an integer, a check 1 or 0; None is not measured, and has no points.

    The sentence is only built when the signal is shown; without one the meaning is shown.
    """

    id: str
    name: str
    meaning: str
    measure: Callable[[Inputs], int | None]
    sentence: Callable[[Inputs, int], str] | None = None
    source: str = PROPOSED
    unit: str = ""  # of the measure; empty for a check
    hard: bool = False
    least: int = 1  # where bins may begin: a lower measure never has points
    rises: bool = True  # more is worse, so that points must not fall, nor begin under 0
    mitigates: bool = False  # speaks for the scored subject, so that points must not be over 0
    worked_out: bool = False  # the measure is the points, and no card sets them
    rails: frozenset[str] = ANY_RAIL
    of_attempts: bool = False  # reads attempts too: its finding holds although no money moved
    edges: Callable[[Inputs, Sequence[int]], Iterable[int]] | None = None
    """The amounts in cents from which the measure may differ, or may pass one of the edges of the card's bins."""
    family: Family | None = None  # follows from the id

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "family", _FAMILY_OF_ID.get(self.id.split("-")[1]))

    def reason(self, inputs: Inputs, measured: int, points: int) -> Reason:
        sentence = self.meaning if self.sentence is None else self.sentence(inputs, measured)
        detail = f"{self.unit}: {measured}" if self.unit and not self.worked_out else None
        return Reason(id=self.id, signal=self.name, weight=points, hard=self.hard, sentence=sentence, detail=detail)


_PEPS: Final = "FATF recommendation 12; weight [P]"
_OF_ENTITY: Final = {
    "SCR-01": ("pep", "The entity is a politically exposed person.", _PEPS),
    "SCR-02": ("pep_potential", "The entity may be a politically exposed person.", _PEPS),
    "SCR-03": ("high_risk_entity", "The bank marks the entity as high risk.", PROPOSED),
    "SCR-04": ("never_screened", "The entity requires screening and was never screened.", PROPOSED),
    "SCR-07": (
        "fraud_risk_flagged",
        "The bank's review of the entity names a fraud risk or a list of sanctions.",
        "The bank's review reasons; weight [P]",
    ),
}


def of_entity(reason_id: str, measure: Callable[[Inputs], int | None], *, of_attempts: bool = False) -> Signal[Inputs]:
    """The signal of one of the bank's statements on an entity, by the end of its id."""
    name, meaning, source = _OF_ENTITY[reason_id.partition("-")[2]]
    return Signal(reason_id, name, meaning, measure, source=source, of_attempts=of_attempts)


class SignalGroup(NamedTuple, Generic[Inputs]):
    """Signals measured together. Where ``may_fire`` is false, each of them measures None or less than its least."""

    signals: Collection[Signal[Inputs]]
    may_fire: Callable[[Inputs], object] | None = None


class Overlap(NamedTuple, Generic[Inputs]):
    """Points of a family that are already in another score, which is added whole: ``points`` are subtracted.

    ``lender`` is the id of the signal that adds that score.
    """

    id: str
    name: str
    family: Family
    meaning: str
    source: str
    points: Callable[[Inputs], int]
    sentence: Callable[[int], str]
    lender: str


class Fact(NamedTuple):
    """One fact that several signals of a family see. A card may cap their points together, by the name of the fact."""

    name: str
    family: Family
    meaning: str
    signals: frozenset[str]  # their ids; a signal is of one fact at most


class Common(NamedTuple, Generic[Inputs]):
    """Signals that say little where they are common. A card may cap the points that those of them which are common
    around the scored subject add together; ``of`` gives their ids, divided by spaces, and None where that is unknown.
    """

    signals: frozenset[str]
    of: Callable[[Inputs], str | None]


COMMON: Final = "common"
"""The name of that cap."""


class InputKind(NamedTuple):
    """One kind of inputs, with the signals that read it: the transfers of a rail, or the attempts."""

    name: str = ""
    rail: str | None = None  # None is any
    attempts: bool = False

    def holds(self, signal: Signal[Inputs]) -> bool:
        return (self.rail is None or self.rail in signal.rails) and (signal.of_attempts or not self.attempts)


ONE_KIND: Final = InputKind()


class Scorer(NamedTuple, Generic[Inputs]):
    """One scorer.

    ``observations`` gives n and whether n suffices, from the inputs, the card's floor and its floor of the program.
    ``whole`` is the n at which the confidence is 1, of a scorer whose confidence is a share; others have n / (n + 20).
    """

    version: str
    groups: tuple[SignalGroup[Inputs], ...]
    observations: Callable[[Inputs, int, int], tuple[int, bool]]
    capped: tuple[Family, ...] = ()
    overlaps: tuple[Overlap[Inputs], ...] = ()
    facts: tuple[Fact, ...] = ()
    common: Common[Inputs] | None = None
    kinds: tuple[InputKind, ...] = (ONE_KIND,)
    kind_of: Callable[[Inputs], str] | None = None  # the name; None with one kind
    whole: int | None = None
    has_program_floor: bool = False

    @property
    def name(self) -> str:
        """The scorer's name on a card, such as trs."""
        return self.version[: self.version.index("-")]

    @property
    def prefix(self) -> str:
        """The beginning of the ids of its reasons, such as TRS."""
        return self.name.upper()

    @property
    def signals(self) -> dict[str, Signal[Inputs]]:
        """By id, in the order in which they are measured."""
        return {signal.id: signal for group in self.groups for signal in group.signals}

    @property
    def caps(self) -> dict[str, frozenset[str]]:
        """What a card may cap, by name: families, facts and common signals, each with the ids of its signals."""
        of_families = {
            family.value: frozenset(each.id for each in self.signals.values() if each.family is family)
            for family in self.capped
        }
        of_common = {} if self.common is None else {COMMON: self.common.signals}
        return of_families | {fact.name: fact.signals for fact in self.facts} | of_common

    def cap_id(self, name: str) -> str:
        """The id of the reason that a cap gives."""
        names = [*self.capped, *(fact.name for fact in self.facts), COMMON]
        return f"{self.prefix}-CAP-{names.index(name) + 1:02d}"

    @property
    def families(self) -> dict[str, Family | None]:
        """The family of each reason by its id, caps among them."""
        caps = {self.cap_id(family): family for family in self.capped}
        facts = {self.cap_id(fact.name): fact.family for fact in self.facts}
        common: dict[str, Family | None] = {} if self.common is None else {self.cap_id(COMMON): None}
        return {signal.id: signal.family for signal in self.signals.values()} | caps | facts | common
