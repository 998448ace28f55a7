"""Which nodes have dealt with each other, and how often a node deals with a new one.

Two nodes are acquainted by their first transfer in the log that moved money when it was first seen, from that
transfer's own time on. What happens to that transfer later does not undo the acquaintance.

Source  new relationships of quiet accounts: FFIEC BSA/AML manual, appendix F (activity unlike the customer's own);
        the form of the measure is proposed here
"""

from array import array
from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import Final, NamedTuple

from features.core.instants import DAY_US
from features.windows.edges import NOBODY, Edges
from features.windows.slices import Slice, in_slices

WINDOW_US: Final = 90 * DAY_US
_ROW_BITS: Final = 32
_ROW_MASK: Final = 2**_ROW_BITS - 1

Instants = dict[int, "int | array[int]"]


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
        self._first: dict[int, int] = {}  # pair: instant and row of its first transfer, in one number
        self._of_payer: Instants = {}  # instants; an only one stands without an array
        self._of_payee: Instants = {}
        self.rare = Edges()

    def meet(self, payer: int, payee: int, at: int, row: int, *, is_rare: bool) -> None:
        """Record a transfer that moved money when it was first seen."""
        if is_rare:
            self.rare.add_edge(at, row, NOBODY)
        if NOBODY in (payer, payee) or _pair(payer, payee) in self._first:
            return
        self._remember(payer, payee, at << _ROW_BITS | row)

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

    def _forget(self, payer: int, payee: int) -> int | None:
        """The meeting that is forgotten, if there was one."""
        first = self._first.pop(_pair(payer, payee), None)
        if first is not None:
            _remove(self._of_payer, payer, first >> _ROW_BITS)
            _remove(self._of_payee, payee, first >> _ROW_BITS)
        return first

    def _remember(self, payer: int, payee: int, first: int) -> None:
        self._first[_pair(payer, payee)] = first
        at = first >> _ROW_BITS
        _add(self._of_payer, payer, at)
        _add(self._of_payee, payee, at)

    def novelty(
        self, payer: int, payee: int, at: int, *, but: int, known_since: int | None, counts: bool = True
    ) -> Novelty:
        """The novelty of the transfer ``but`` at ``at``; a node without acquaintances is any other number.

        The counts need 90 days of history: they are None when the program is known for less. They hold the transfer
        itself unless it ``counts`` for nothing.
        """
        first = self._first.get(_pair(payer, payee)) if payer >= 0 and payee >= 0 else None
        is_known = first is not None and first >> _ROW_BITS <= at
        is_new = first is None or not is_known or first & _ROW_MASK == but
        if known_since is None or known_since > at - WINDOW_US:
            return Novelty(is_new, None, None)
        also = 1 if counts and not is_known else 0
        return Novelty(is_new, _count(self._of_payer, payer, at) + also, _count(self._of_payee, payee, at) + also)

    def rare_in_90d(self, at: int, *, but: int) -> int:
        """The transfers of 90 days that made rare pairs, without the transfer ``but``."""
        return self.rare.count(at - WINDOW_US, at) - self.rare.holds(at, but)

    def dump(self) -> Iterator[Slice]:
        pairs = ((pair, first >> _ROW_BITS, first & _ROW_MASK) for pair, first in self._first.items())
        yield from in_slices("pairs", pairs)
        yield from in_slices("payers", ((node, _dumped(instants)) for node, instants in self._of_payer.items()))
        yield from in_slices("payees", ((node, _dumped(instants)) for node, instants in self._of_payee.items()))
        yield "rare", [self.rare.dump()]

    def load(self, dumped: Slice) -> None:
        """Restore one slice of a dump."""
        which, items = dumped
        if which == "pairs":
            self._first.update((pair, at << _ROW_BITS | row) for pair, at, row in items)
        elif which == "rare":
            self.rare.load(items[0])
        else:
            side = self._of_payer if which == "payers" else self._of_payee
            side.update(
                (node, instants if isinstance(instants, int) else array("q", instants)) for node, instants in items
            )


def _pair(payer: int, payee: int) -> int:
    return payer << 32 | payee


def _count(side: Instants, node: int, at: int) -> int:
    """The instants of a node in the window that ends at ``at``."""
    instants = side.get(node)
    if instants is None:
        return 0
    if isinstance(instants, int):
        return 1 if at - WINDOW_US < instants <= at else 0
    last = len(instants) if instants[-1] <= at else bisect_right(instants, at)
    return last - bisect_right(instants, at - WINDOW_US, 0, last)


def _add(side: Instants, node: int, at: int) -> None:
    instants = side.get(node)
    if instants is None:
        side[node] = at
    elif isinstance(instants, int):
        side[node] = array("q", sorted((instants, at)))
    else:
        insort(instants, at)


def _remove(side: Instants, node: int, at: int) -> None:
    instants = side[node]
    if isinstance(instants, int) or len(instants) == 1:
        del side[node]
    else:
        instants.remove(at)


def _dumped(instants: "int | array[int]") -> int | bytes:
    return instants if isinstance(instants, int) else instants.tobytes()
