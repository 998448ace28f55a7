"""A scorer without its card: its signals, the families that a card may cap, and the observations behind its scores."""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from clearhold.features.scorers.signal import Family, Overlap, Signal, SignalGroup

Inputs = TypeVar("Inputs")


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

    def cap_id(self, family: Family) -> str:
        """The id of the reason that a cap of the family gives."""
        return f"{self.prefix}-CAP-{self.capped.index(family) + 1:02d}"

    @property
    def families(self) -> dict[str, Family | None]:
        """The family of each reason by its id, the caps among them."""
        caps = {self.cap_id(family): family for family in self.capped}
        return {signal.id: signal.family for signal in self.signals.values()} | caps
