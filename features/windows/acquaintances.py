"""Which nodes have dealt with each other, and how often a node deals with a new one.

Two nodes are acquainted by their first transfer in the log that moved money when it was first seen, from that
transfer's own time on. What happens to that transfer later does not undo the acquaintance.

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
    """Whether the pair is new, and the acquaintances of payer and payee in 90 days, this one counted; None: unknown."""

    is_new_pair: bool | None
    of_payer: int | None
    of_payee: int | None


UNKNOWN: Final = Novelty(None, None, None)


class Acquaintances:
    """The acquainted pairs of one program's graph, and the transfers that made rare pairs.

    >>> acquaintances = Acquaintances()
    >>> acquaintances.meet(0, 3, at=10, row=0, is_rare=False)
    >>> acquaintances.novelty(0, 3, at=20, but=1, known_since=20 - WINDOW_US)
    Novelty(is_new_pair=False, of_payer=1, of_payee=1)
    >>> acquaintances.novelty(0, 5, at=20, but=1, known_since=20 - WINDOW_US)
    Novelty(is_new_pair=True, of_payer=2, of_payee=1)
    """

    __slots__ = ("_first", "_of_payee", "_of_payer", "rare")

    def __init__(self) -> None:
        self._first: dict[int, tuple[int, int]] = {}  # pair: instant and row of its first transfer
        self._of_payer: dict[int, EventTimes] = {}
        self._of_payee: dict[int, EventTimes] = {}
        self.rare = Edges()

    def meet(self, payer: int, payee: int, at: int, row: int, *, is_rare: bool) -> None:
        """Record a transfer that moved money when it was first seen."""
        if is_rare:
            self.rare.add_edge(at, row, NOBODY)
        if NOBODY in (payer, payee) or _pair(payer, payee) in self._first:
            return
        self._remember(payer, payee, (at, row))

    def merge_node(self, old: int, new: int, *, paid: set[int], payers: set[int]) -> None:
        """Let one node have met whom another met, of two meetings with one node the earlier one.

        ``paid`` and ``payers`` are the nodes that the old one may have met.
        """
        for payer, payee in sorted({(old, other) for other in paid} | {(other, old) for other in payers}):
            first = self._forget(payer, payee)
            if first is None:
                continue
            sides = (new if payer == old else payer, new if payee == old else payee)
            known = self._first.get(_pair(*sides))
            if known is None or first < known:
                self._forget(*sides)
                self._remember(*sides, first)

    def _forget(self, payer: int, payee: int) -> tuple[int, int] | None:
        """The meeting that is forgotten, if there was one."""
        first = self._first.pop(_pair(payer, payee), None)
        if first is not None:
            self._of_payer[payer].times.remove(first[0])
            self._of_payee[payee].times.remove(first[0])
        return first

    def _remember(self, payer: int, payee: int, first: tuple[int, int]) -> None:
        self._first[_pair(payer, payee)] = first
        self._of_payer.setdefault(payer, EventTimes()).add(first[0])
        self._of_payee.setdefault(payee, EventTimes()).add(first[0])

    def novelty(
        self, payer: int, payee: int, at: int, *, but: int, known_since: int | None, counts: bool = True
    ) -> Novelty:
        """The novelty of the transfer ``but`` at ``at``; a node without acquaintances is any other number.

        The counts need 90 days of history: they are None when the program is known for less. They hold the transfer
        itself unless it ``counts`` for nothing.
        """
        first = self._first.get(_pair(payer, payee)) if payer >= 0 and payee >= 0 else None
        is_known = first is not None and first[0] <= at
        is_new = first is None or first[0] > at or first[1] == but
        if known_since is None or known_since > at - WINDOW_US:
            return Novelty(is_new, None, None)
        also = 1 if counts and not is_known else 0
        return Novelty(is_new, _count(self._of_payer, payer, at) + also, _count(self._of_payee, payee, at) + also)

    def rare_in_90d(self, at: int, *, but: int) -> int:
        """The transfers of 90 days that made rare pairs, without the transfer ``but``."""
        return self.rare.count(at - WINDOW_US, at) - self.rare.holds(at, but)

    def dump(self) -> Iterator[Slice]:
        yield from in_slices("pairs", ((pair, *first) for pair, first in self._first.items()))
        yield from in_slices("payers", ((node, times.dump()) for node, times in self._of_payer.items()))
        yield from in_slices("payees", ((node, times.dump()) for node, times in self._of_payee.items()))
        yield "rare", [self.rare.dump()]

    def load(self, dumped: Slice) -> None:
        """Restore one slice of a dump."""
        which, items = dumped
        if which == "pairs":
            self._first.update((pair, (at, row)) for pair, at, row in items)
        elif which == "rare":
            self.rare.load(items[0])
        else:
            side = self._of_payer if which == "payers" else self._of_payee
            for node, part in items:
                side[node] = times = EventTimes()
                times.load(part)


def _pair(payer: int, payee: int) -> int:
    return payer << 32 | payee


def _count(side: dict[int, EventTimes], node: int, at: int) -> int:
    times = side.get(node)
    return 0 if times is None else times.count(at - WINDOW_US, at)
