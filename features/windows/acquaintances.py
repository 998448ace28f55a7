"""The pairs of nodes that have dealt with each other, and how often a node deals with a new one.

Two nodes are acquainted by their first transfer in the log that moved money when first seen, from that transfer's own
time on. Later changes of that transfer do not undo the acquaintance.

Source  new relationships of quiet accounts: FFIEC BSA/AML manual, appendix F (activity unlike the customer's own);
        the form of the measure is proposed here
"""

from array import array
from bisect import bisect_right, insort
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.id_index import IdIndex, Slice

WINDOW_US: Final = 90 * DAY_US
_NEVER: Final = -(2**63)
_SEVERAL: Final = _NEVER + 1
_FORGOTTEN: Final = -1
_SPREAD: Final = 0x9E3779B97F4A7C15  # odd, so that no two pairs have one key
_PAIRS: Final = 2**64 - 1
_HALF: Final = 32
_KEY_BYTES: Final = 8
_NO_LOOKUP: Final = (-1, b"", None)
_NO_MEETINGS: Final = (0, 0, 0)


class Novelty(msgspec.Struct, frozen=True, gc=False):
    """Whether the pair is new, and the acquaintances of payer and payee in 90 days, this one included; None: unknown.

    ``met_at`` is the instant of their first meeting; None without one, or when unknown.
    """

    is_new_pair: bool | None
    of_payer: int | None
    of_payee: int | None
    met_at: int | None = None


UNKNOWN: Final = Novelty(None, None, None)


class Acquaintances:
    """The acquainted pairs of one program's graph, and the transfers that made rare pairs.

    >>> acquaintances = Acquaintances()
    >>> acquaintances.meet(0, 3, at=10, row=0, is_rare=False)
    >>> acquaintances.novelty(0, 3, at=20, but=1, known_since=20 - WINDOW_US)
    Novelty(is_new_pair=False, of_payer=1, of_payee=1, met_at=10)
    >>> acquaintances.novelty(0, 5, at=20, but=1, known_since=20 - WINDOW_US)
    Novelty(is_new_pair=True, of_payer=2, of_payee=1, met_at=None)
    """

    __slots__ = ("_at", "_last_lookup", "_numbers", "_of_payee", "_of_payer", "_rows", "rare")

    def __init__(self) -> None:
        self._numbers = IdIndex(_KEY_BYTES)  # by pair: the number of its first transfer in the two arrays
        self._at = array("q")
        self._rows = array("i")  # ``_FORGOTTEN`` for a meeting that moved to another node
        self._last_lookup: tuple[int, bytes, int | None] = _NO_LOOKUP  # pair, key and number
        self._of_payer = _Meetings()
        self._of_payee = _Meetings()
        self.rare = Edges()

    def meet(self, payer: int, payee: int, at: int, row: int, *, is_rare: bool) -> None:
        """Record a transfer that moved money when first seen."""
        if is_rare:
            self.rare.add_edge(at, row, NOBODY)
        if NOBODY not in (payer, payee):
            self._remember(payer, payee, (at, row))

    def merge_node(self, old: int, new: int, *, paid: set[int], payers: set[int]) -> None:
        """Move the meetings of ``old`` (with ``paid``, ``payers``) to ``new``; of two with a node the earlier stays."""
        for payer, payee in sorted({(old, other) for other in paid} | {(other, old) for other in payers}):
            first = self._forget(payer, payee)
            if first is None:
                continue
            sides = (new if payer == old else payer, new if payee == old else payee)
            known = self._first(*sides)
            if known is None or first < known:
                self._forget(*sides)
                self._remember(*sides, first)

    def _first(self, payer: int, payee: int) -> tuple[int, int] | None:
        """Instant and row of the pair's first transfer."""
        _, number = self._key_and_number(payer, payee)
        row = _FORGOTTEN if number is None else self._rows[number]
        return None if number is None or row == _FORGOTTEN else (self._at[number], row)

    def _forget(self, payer: int, payee: int) -> tuple[int, int] | None:
        """The forgotten meeting, if there was one."""
        (_, number), first = self._key_and_number(payer, payee), self._first(payer, payee)
        if number is not None and first is not None:
            self._rows[number] = _FORGOTTEN
            self._of_payer.remove(payer, first[0])
            self._of_payee.remove(payee, first[0])
        return first

    def _remember(self, payer: int, payee: int, first: tuple[int, int]) -> None:
        """Store the first meeting of a pair that has none."""
        key, number = self._key_and_number(payer, payee)
        if number is None:
            self._numbers.enter(key, len(self._at))
            self._last_lookup = _NO_LOOKUP
            self._at.append(first[0])
            self._rows.append(first[1])
        elif self._rows[number] == _FORGOTTEN:
            self._at[number], self._rows[number] = first
        else:
            return
        self._of_payer.add(payer, first[0])
        self._of_payee.add(payee, first[0])

    def _key_and_number(self, payer: int, payee: int) -> tuple[bytes, int | None]:
        """The key of a pair, and its number if they ever met; a transfer that lands looks up one pair three times."""
        pair = payer << _HALF | payee
        last, key, number = self._last_lookup
        if pair != last:
            key = _key_of(pair)
            number = self._numbers.get(key)
            self._last_lookup = (pair, key, number)
        return key, number

    def novelty(
        self, payer: int, payee: int, at: int, *, but: int, known_since: int | None, counts: bool = True
    ) -> Novelty:
        """The novelty of the transfer ``but`` at ``at``; any unused number is a node without acquaintances.

        The counts need 90 days of history: they are None for a program known for less. They include the transfer itself
        unless ``counts`` is False.
        """
        first = self._first(payer, payee) if payer >= 0 and payee >= 0 else None
        is_known = first is not None and first[0] <= at
        is_new = first is None or not is_known or first[1] == but
        met_at = None if first is None else first[0]
        if known_since is None or known_since > at - WINDOW_US:
            return Novelty(is_new, None, None, met_at)
        also, since = 1 if counts and not is_known else 0, at - WINDOW_US
        of_payer, of_payee = self._of_payer.between(payer, since, at), self._of_payee.between(payee, since, at)
        return Novelty(is_new, of_payer + also, of_payee + also, met_at)

    def met_between(self, node: int, after: int, upto: int) -> int:
        """How often a node first paid, or was first paid by, another node in (after, upto]."""
        return self._of_payer.between(node, after, upto) + self._of_payee.between(node, after, upto)

    def met_at(self, one: int, other: int) -> int | None:
        """The instant at which two nodes first dealt with each other, in either direction."""
        firsts = [first[0] for first in (self._first(one, other), self._first(other, one)) if first is not None]
        return min(firsts, default=None)

    def met_in(self, node: int, since: tuple[int, int, int], upto: int, *, as_payer: bool) -> tuple[int, int, int]:
        """How many others a node first paid, or was first paid by, after each of three instants, the oldest first."""
        return (self._of_payer if as_payer else self._of_payee).after_each(node, since, upto)

    def newest_payer_at(self, node: int, after: int, upto: int) -> int | None:
        """The newest instant in (after, upto] at which a node was first paid by another."""
        return self._of_payee.newest(node, after, upto)

    def rare_in_90d(self, at: int, *, but: int) -> int:
        """The transfers of 90 days that made rare pairs, without the transfer ``but``."""
        return self.rare.count(at - WINDOW_US, at) - (self.rare.place_of(at, but) is not None)

    def dump(self) -> Iterator[Slice]:
        yield "pairs", [self._numbers.dump(), self._at.tobytes(), self._rows.tobytes()]
        yield "payers", self._of_payer.dump()
        yield "payees", self._of_payee.dump()
        yield "rare", [self.rare.dump()]

    def load(self, dumped: Any) -> None:
        """Restore one part of a dump."""
        which, content = dumped
        if which == "pairs":
            self._numbers.load(content[0])
            self._at.frombytes(content[1])
            self._rows.frombytes(content[2])
        elif which == "rare":
            self.rare.load(content[0])
        else:
            (self._of_payer if which == "payers" else self._of_payee).load(content)


class _Meetings:
    """The instants at which each node met others. Most nodes met one; its instant is in an array of all nodes.

    >>> meetings = _Meetings()
    >>> for at in (3, 5):
    ...     meetings.add(0, at)
    >>> meetings.between(0, 2, 4), meetings.between(0, 2, 5), meetings.between(1, 2, 5)
    (1, 2, 0)
    """

    __slots__ = ("_only", "_several")

    def __init__(self) -> None:
        self._only = array("q")  # by node; ``_NEVER`` or ``_SEVERAL`` where it is not one instant
        self._several: dict[int, array[int]] = {}

    def between(self, node: int, after: int, upto: int) -> int:
        """The meetings of a node in (after, upto]."""
        only = self._only[node] if 0 <= node < len(self._only) else _NEVER
        if only != _SEVERAL:
            return 1 if after < only <= upto else 0
        instants = self._several[node]
        last = len(instants) if instants[-1] <= upto else bisect_right(instants, upto)
        return last - bisect_right(instants, after, 0, last)

    def after_each(self, node: int, since: tuple[int, int, int], upto: int) -> tuple[int, int, int]:
        """The meetings of a node up to an instant, after each of three, the oldest first."""
        only = self._only[node] if 0 <= node < len(self._only) else _NEVER
        oldest, middle, newest = since
        if only != _SEVERAL:
            if not oldest < only <= upto:
                return _NO_MEETINGS
            return 1, 1 if only > middle else 0, 1 if only > newest else 0
        instants = self._several[node]
        last = len(instants) if instants[-1] <= upto else bisect_right(instants, upto)
        if not last or instants[last - 1] <= oldest:
            return _NO_MEETINGS
        first = bisect_right(instants, oldest, 0, last)
        second = bisect_right(instants, middle, first, last)
        return last - first, last - second, last - bisect_right(instants, newest, second, last)

    def newest(self, node: int, after: int, upto: int) -> int | None:
        """The newest meeting of a node in (after, upto]."""
        only = self._only[node] if 0 <= node < len(self._only) else _NEVER
        if only != _SEVERAL:
            return only if after < only <= upto else None
        instants = self._several[node]
        place = bisect_right(instants, upto)
        return instants[place - 1] if place and instants[place - 1] > after else None

    def add(self, node: int, at: int) -> None:
        if node >= len(self._only):
            self._only.extend([_NEVER] * (node + 1 - len(self._only)))
        only = self._only[node]
        if only == _NEVER:
            self._only[node] = at
        elif only == _SEVERAL:
            insort(self._several[node], at)
        else:
            self._only[node] = _SEVERAL
            self._several[node] = array("q", sorted((only, at)))

    def remove(self, node: int, at: int) -> None:
        instants = self._several.get(node)
        if instants is None:
            self._only[node] = _NEVER
            return
        instants.remove(at)
        if len(instants) == 1:
            self._only[node] = instants[0]
            del self._several[node]

    def dump(self) -> list[Any]:
        return [self._only.tobytes(), [(node, instants.tobytes()) for node, instants in self._several.items()]]

    def load(self, dumped: Any) -> None:
        self._only.frombytes(dumped[0])
        self._several.update((node, array("q", instants)) for node, instants in dumped[1])


def _key_of(pair: int) -> bytes:
    """The key for ``IdIndex``, whose keys are spread evenly: both steps carry the bits of both nodes to the front."""
    spread = pair * _SPREAD & _PAIRS
    return ((spread ^ spread >> _HALF) * _SPREAD & _PAIRS).to_bytes(_KEY_BYTES, "big")
