"""A program's memory of scores: the last score of each actor, and the transfers behind an entity's score.

The transfer scores of an entity are stored until they have faded, each until its transfer is scored again or cleared.
All scores decay at the same rate, so their order never changes with time, and the strongest one is the same in any
order of arrival.

The band of a last evaluation holds until an instant at which time alone may change it. That instant is a lower bound,
and a tick looks only at the subjects whose instant has come; it is put and taken in logarithmic time.

Unit    packed: 26 bytes a subject and some 50 for one whose band time can change, 20 bytes more an actor, and 10 a
        transfer score beyond two; instants in microseconds
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Final

import numpy as np

from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.ers_v1 import day_of, fades_at
from clearhold.features.state.clearings import AccountChanges
from clearhold.features.state.parties import Actor, KnownCounterparty

FOREVER: Final = 2**63 - 1
AT_ONCE: Final = 0
_OUTDATED: Final = 1_024  # replaced instants that the heap may have beside one for each subject
_STRONGEST: Final = 2
NEVER: Final = -(2**63)
_POINTS_BITS: Final = 7  # of a score, and of a share of its points
_POINTS_MASK: Final = (1 << _POINTS_BITS) - 1
_ROW_BITS: Final = 32  # of a transfer's row, and of a subject's index
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LAST_DAY: Final = 160_000  # in the year 2408; a later day fits into no entry
_HARD: Final = 0x80
_MARK: Final = 0x100
Strong = tuple[int, int, int, int]
"""The transfer score with the most points today, its day, and its points of identity and of returns."""
NO_TRANSFER: Final[Strong] = (0, 0, 0, 0)
Others = tuple["array[int]", "array[int]"]
"""Entries, the weakest first, and the shares of each."""
_NO_OTHERS: Final[Others] = (array("q"), array("H"))


class BandChanges:
    """By index of the subject.

    >>> changes = BandChanges()
    >>> changes.put(3, 50)
    >>> changes.put(1, 20)
    >>> changes.put(3, 70)
    >>> changes.take(60, most=5), changes.at(3), changes.at(1) == FOREVER
    ([1], 70, True)
    """

    __slots__ = ("_at", "_heap")

    def __init__(self) -> None:
        self._at = array("q")
        self._heap: list[int] = []  # instant and index in one number; one that is not in ``_at`` is outdated

    def at(self, index: int) -> int:
        """The instant of a subject; ``FOREVER`` when time alone changes nothing."""
        return self._at[index] if index < len(self._at) else FOREVER

    def put(self, index: int, at: int) -> None:
        """Replace the instant of a subject."""
        if index >= len(self._at):
            self._at.extend([FOREVER] * (index + 1 - len(self._at)))
        if at == self._at[index]:
            return
        self._at[index] = at
        if at != FOREVER:
            heappush(self._heap, at << _ROW_BITS | index)
            if len(self._heap) > 2 * len(self._at) + _OUTDATED:
                self._sort()

    def take(self, now: int, *, most: int) -> list[int]:
        """The subjects whose instant has come, at most ``most``; they have none until the next ``put``."""
        taken, heap = list[int](), self._heap
        while heap and heap[0] >> _ROW_BITS <= now and len(taken) < most:
            number = heappop(heap)
            index = number & _ROW_MASK
            if self._at[index] == number >> _ROW_BITS:
                self._at[index] = FOREVER
                taken.append(index)
        return taken

    def put_all(self, count: int) -> None:
        """Look at the first ``count`` subjects again: something changed that all their scores read."""
        self._at = array("q", [AT_ONCE]) * count
        self._sort()

    def _sort(self) -> None:
        self._heap = [at << _ROW_BITS | index for index, at in enumerate(self._at) if at != FOREVER]
        heapify(self._heap)

    def dump(self) -> bytes:
        return self._at.tobytes()

    def load(self, dumped: Any) -> None:
        self._at.frombytes(dumped)
        self._sort()


class LastScores:
    """The last score of each subject of one kind, by its index. A subject without a record is unscored.

    ``changes`` are the instants until which the band of a last evaluation holds.
    """

    __slots__ = ("_as_of", "_codes", "changes")

    def __init__(self) -> None:
        self._codes = array("H")  # the score and 1, or 0; a bit for a hard signal; a bit for a mark
        self._as_of = array("q")
        self.changes = BandChanges()

    def __len__(self) -> int:
        return len(self._codes)

    def instant(self, index: int, at: int) -> int:
        """The instant to evaluate the subject at: ``at``, but never before its last evaluation."""
        if index >= len(self._codes):
            missing = index + 1 - len(self._codes)
            self._codes.extend([0] * missing)
            self._as_of.extend([NEVER] * missing)
        if at <= self._as_of[index]:
            return self._as_of[index]
        self._as_of[index] = at
        return at

    def is_due(self, index: int, at: int) -> bool:
        """True for a subject that is unscored, or was not evaluated on the day of ``at``."""
        if index >= len(self._codes) or not self._codes[index] & _POINTS_MASK:
            return True
        return self._as_of[index] // DAY_US != at // DAY_US

    def holds(self, index: int, at: int) -> bool:
        """True when the band of the subject's last evaluation is its band at ``at``, too."""
        return index < len(self._codes) and NEVER < self._as_of[index] <= at < self.changes.at(index)

    def exchange(self, index: int, value: int | None, *, hard: bool, mark: bool = False) -> bool:
        """Store a score with its ``mark``; True when its value, or whether it is hard, differs from the stored one."""
        code = (0 if value is None else value + 1) | (_HARD if hard else 0)
        stored = self._codes[index] & ~_MARK
        self._codes[index] = code | _MARK if mark else code
        return stored != code

    def stays_unscored(self, index: int, *, hard: bool, mark: bool = False) -> bool:
        """True for a subject already stored as unscored, and as equally hard; the mark is stored beside it."""
        code = _HARD if hard else 0
        if self._codes[index] & ~_MARK != code:
            return False
        self._codes[index] = code | _MARK if mark else code
        return True

    def value(self, index: int) -> int | None:
        """The newest score; None for an unscored subject."""
        code = self._codes[index] & _POINTS_MASK if index < len(self._codes) else 0
        return code - 1 if code else None

    def looked_up(self, by_score: "np.ndarray[Any, Any]", count: int) -> "np.ndarray[Any, Any]":
        """For the first ``count`` subjects the entry of a table at the newest score: first unscored, then 0 to 100."""
        places = np.zeros(count, np.uint16)
        known = np.frombuffer(self._codes, np.uint16)[:count]
        np.bitwise_and(known, _POINTS_MASK, out=places[: known.size])
        return by_score[places]

    def is_marked(self, index: int) -> bool:
        return index < len(self._codes) and self._codes[index] & _MARK != 0

    def dump(self) -> tuple[bytes, bytes, bytes]:
        return self._codes.tobytes(), self._as_of.tobytes(), self.changes.dump()

    def load(self, dumped: Any) -> None:
        self._codes.frombytes(dumped[0])
        self._as_of.frombytes(dumped[1])
        self.changes.load(dumped[2])


class StrongestTransfers:
    """The transfer scores of each actor that have points left: the strongest in two places, the others behind them."""

    __slots__ = ("_entries", "_others", "_shares")

    def __init__(self) -> None:
        self._entries = array("q")  # day of fading, score, and the complement of the row; 0 is empty
        self._shares = array("H")  # its points of identity and of returns
        self._others: dict[int, Others] = {}  # by actor

    def add(self, index: int, row: int, at: int, score: int, *, shares: int = 0) -> bool:
        """Add a transfer's score; True when it is the strongest."""
        entries = self._entries
        first = index * _STRONGEST
        if first >= len(entries):
            missing = first + _STRONGEST - len(entries)
            entries.extend([0] * missing)
            self._shares.extend([0] * missing)
        if not score:
            return False
        day = min(max(at // DAY_US, 0), _LAST_DAY)
        entry = ((fades_at(score, day) << _POINTS_BITS | score) << _ROW_BITS) | (_ROW_MASK - row)
        stored = entries[first : first + _STRONGEST]
        weakest = min(stored)
        if entry <= weakest:
            self._keep(index, entry, shares, day)
            return False
        slot = first + stored.index(weakest)
        if weakest:
            self._keep(index, weakest, self._shares[slot], day)
        entries[slot], self._shares[slot] = entry, shares
        return entry > max(stored)

    def _keep(self, index: int, entry: int, shares: int, day: int) -> None:
        """Store one of the others, and drop the ones without points from ``day`` on."""
        entries, of_entries = self._others.get(index) or self._others.setdefault(index, (array("q"), array("H")))
        place = bisect_left(entries, entry)
        entries.insert(place, entry)
        of_entries.insert(place, shares)
        faded = fades_at(1, day) << (_POINTS_BITS + _ROW_BITS)
        if entries[0] < faded:
            count = bisect_left(entries, faded)
            del entries[:count], of_entries[:count]

    def drop(self, index: int, row: int) -> int | None:
        """Remove a transfer that is scored again, has another actor or is cleared; its shares if it was stored."""
        key = _ROW_MASK - row
        entries, of_entries = self._others.get(index, _NO_OTHERS)
        for slot in range(index * _STRONGEST, min((index + 1) * _STRONGEST, len(self._entries))):
            if self._entries[slot] & _ROW_MASK == key:
                shares = self._shares[slot]
                self._entries[slot], self._shares[slot] = (entries.pop(), of_entries.pop()) if entries else (0, 0)
                return shares
        if entries:
            places = np.flatnonzero(np.frombuffer(entries, np.int64) & _ROW_MASK == key)
            if places.size:
                place = int(places[0])
                del entries[place]
                return of_entries.pop(place)
        return None

    def merge(self, index: int, into: int) -> None:
        """Give the transfers of one actor to another."""
        everything = sorted((*self._all(index), *self._all(into)))
        self.add(max(index, into), 0, 0, 0)  # makes room
        others, strongest = everything[:-_STRONGEST], everything[-_STRONGEST:]
        for slot, (entry, share) in enumerate((*strongest, *[(0, 0)] * (_STRONGEST - len(strongest)))):
            self._entries[into * _STRONGEST + slot] = entry
            self._shares[into * _STRONGEST + slot] = share
            self._entries[index * _STRONGEST + slot] = self._shares[index * _STRONGEST + slot] = 0
        self._others.pop(index, None)
        self._others[into] = (array("q", [entry for entry, _ in others]), array("H", [share for _, share in others]))

    def _all(self, index: int) -> Iterator[tuple[int, int]]:
        """Entry and shares of each stored transfer."""
        slots = slice(index * _STRONGEST, (index + 1) * _STRONGEST)
        yield from (each for each in zip(self._entries[slots], self._shares[slots], strict=True) if each[0])
        yield from zip(*self._others.get(index, _NO_OTHERS), strict=True)

    def best(self, index: int) -> Strong:
        """The strongest; of equally strong ones the higher, which is older, then the first that landed."""
        first = index * _STRONGEST
        entries = self._entries[first : first + _STRONGEST]
        entry = max(entries) if entries else 0
        if not entry:
            return NO_TRANSFER
        share = self._shares[first + entries.index(entry)]
        score = entry >> _ROW_BITS & _POINTS_MASK
        return score, day_of(entry >> (_ROW_BITS + _POINTS_BITS), score), share >> _POINTS_BITS, share & _POINTS_MASK

    def dump(self) -> tuple[Any, ...]:
        others = sorted((index, *map(bytes, columns)) for index, columns in self._others.items() if columns[0])
        return self._entries.tobytes(), self._shares.tobytes(), others

    def load(self, dumped: Any) -> None:
        self._entries.frombytes(dumped[0])
        self._shares.frombytes(dumped[1])
        self._others = {index: (array("q", entries), array("H", shares)) for index, entries, shares in dumped[2]}


def packed_shares(identity: int, returns: int) -> int:
    """The points of a score that come from its entity's identity, and from returns, in one number of 14 bits."""
    return identity << _POINTS_BITS | returns


class ScoreMemory:
    """The score memory of one program."""

    __slots__ = ("account_changes", "actors", "counterparties", "program", "transfers")

    def __init__(self) -> None:
        self.actors = LastScores()
        self.counterparties = LastScores()
        self.program = LastScores()
        self.transfers = StrongestTransfers()
        self.account_changes = AccountChanges()

    def look_again(self, party: Actor | KnownCounterparty | None) -> None:
        """Have the next tick evaluate an actor or a counterparty, whose last evaluation holds no longer."""
        if party is not None:
            scores = self.actors if isinstance(party, Actor) else self.counterparties
            scores.changes.put(party.index, AT_ONCE)

    def dump(self) -> tuple[Any, ...]:
        return tuple(each.dump() for each in self._parts())

    def load(self, dumped: Any) -> None:
        for each, part in zip(self._parts(), dumped, strict=True):
            each.load(part)

    def _parts(self) -> tuple[Any, ...]:
        return self.actors, self.counterparties, self.program, self.transfers, self.account_changes
