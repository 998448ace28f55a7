"""Who met whom, and how often either side meets somebody new.

A pair is met by the first transfer in the log that moved when it was first seen, at that transfer's own time, for
good: what happens to that transfer later does not undo the acquaintance.

Source  new relationships of quiet accounts: FFIEC BSA/AML manual, appendix F (activity unlike the customer's own);
        the form of the measure is proposed here
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from features.core.instants import DAY_US
from features.windows.edges import NOBODY, Edges
from features.windows.series import EventTimes
from features.windows.slices import Slice, in_slices

WINDOW_US: Final = 90 * DAY_US


class Novelty(NamedTuple):
    """Whether the pair is new, and the acquaintances of 90 days of payer and payee with this one; None: not known."""

    is_new_pair: bool | None
    of_payer: int | None
    of_payee: int | None


UNKNOWN: Final = Novelty(None, None, None)


class Acquaintances:
    """The pairs of one program's graph, and which of its transfers made rare ones."""

    __slots__ = ("_met_by", "_of_payee", "_of_payer", "rare")

    def __init__(self) -> None:
        self._met_by: dict[int, tuple[int, int]] = {}  # pair: (instant, row) of the transfer that met
        self._of_payer: dict[int, EventTimes] = {}
        self._of_payee: dict[int, EventTimes] = {}
        self.rare = Edges()

    def meet(self, payer: int, payee: int, at: int, row: int, *, is_rare: bool) -> None:
        """Take note of a transfer that moved when it was first seen."""
        if is_rare:
            self.rare.add_edge(at, row, NOBODY)
        pair = _pair(payer, payee)
        if NOBODY in (payer, payee) or pair in self._met_by:
            return
        self._met_by[pair] = (at, row)
        self._of_payer.setdefault(payer, EventTimes()).add(at)
        self._of_payee.setdefault(payee, EventTimes()).add(at)

    def novelty(self, payer: int, payee: int, at: int, *, but: int, known_since: int | None) -> Novelty:
        """Of a transfer ``but`` at ``at``; a side nobody has met is any other number. 90 days of history are needed."""
        met = self._met_by.get(_pair(payer, payee)) if payer >= 0 and payee >= 0 else None
        is_known = met is not None and met[0] <= at
        is_new = met is None or met[0] > at or met[1] == but
        if known_since is None or known_since > at - WINDOW_US:
            return Novelty(is_new, None, None)
        also = 0 if is_known else 1
        return Novelty(is_new, _count(self._of_payer, payer, at) + also, _count(self._of_payee, payee, at) + also)

    def rare_in_90d(self, at: int, *, but: int) -> int:
        """Rare pairs that transfers made in 90 days, without the transfer ``but``."""
        return self.rare.count(at - WINDOW_US, at) - self.rare.holds(at, but)

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("pairs", ((pair, *met) for pair, met in self._met_by.items()))
        yield from in_slices("payers", ((node, met.dump()) for node, met in self._of_payer.items()))
        yield from in_slices("payees", ((node, met.dump()) for node, met in self._of_payee.items()))
        yield "rare", [self.rare.dump()]

    def load(self, dumped: Slice) -> None:
        """Take back one slice."""
        which, held = dumped
        if which == "pairs":
            self._met_by.update((pair, (at, row)) for pair, at, row in held)
        elif which == "rare":
            self.rare.load(held[0])
        else:
            side = self._of_payer if which == "payers" else self._of_payee
            for node, part in held:
                side[node] = met = EventTimes()
                met.load(part)


def _pair(payer: int, payee: int) -> int:
    return payer << 32 | payee


def _count(side: dict[int, EventTimes], node: int, at: int) -> int:
    met = side.get(node)
    return 0 if met is None else met.count(at - WINDOW_US, at)
