"""What a program remembers of its actors' scores: the last one of each, and the transfers that an entity's comes from.

Of an entity's transfers the strongest four are kept, each until it is scored again. All scores fade alike, so which is
the strongest never changes by itself, and whatever order they came in, the same four are kept. Only when four are
scored lower one after the other, a fifth is not found again until the next transfer.

Unit    packed: 1 + 8 bytes a subject, and 40 bytes more an actor; instants in microseconds
"""

from array import array
from typing import Any, Final, NamedTuple

from features.instants import DAY_US
from features.scorers.actor_decay import day_of, fades_at

STRONGEST: Final = 4
NEVER: Final = -(2**63)
_SCORE_BITS: Final = 7
_ROW_BITS: Final = 32
_SCORE_MASK: Final = (1 << _SCORE_BITS) - 1
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_LAST_DAY: Final = 160_000  # in the year 2408; what is later fits into no entry
_HARD: Final = 128


class Strong(NamedTuple):
    """The transfer score that counts most today, with its points of identity and of returns."""

    score: int
    day: int
    identity: int
    returns: int


NO_TRANSFER: Final = Strong(0, 0, 0, 0)


class LastScores:
    """The last score of each subject of one kind, by its index. A subject without a record is unscored."""

    __slots__ = ("_as_of", "_codes")

    def __init__(self) -> None:
        self._codes = bytearray()  # 0 is unscored, else the score and 1; the highest bit is a hard signal
        self._as_of = array("q")

    def instant(self, index: int, at: int) -> int:
        """When the subject is evaluated: at ``at``, but never before it was the last time."""
        if index >= len(self._codes):
            missing = index + 1 - len(self._codes)
            self._codes.extend(bytes(missing))
            self._as_of.extend([NEVER] * missing)
        instant = self._as_of[index] = max(at, self._as_of[index])
        return instant

    def exchange(self, index: int, value: int | None, *, hard: bool) -> bool:
        """Remember a score; True when it is another one than before, or hard for another."""
        code = (0 if value is None else value + 1) | (_HARD if hard else 0)
        if self._codes[index] == code:
            return False
        self._codes[index] = code
        return True

    def dump(self) -> tuple[bytes, bytes]:
        return bytes(self._codes), self._as_of.tobytes()

    def load(self, dumped: Any) -> None:
        self._codes = bytearray(dumped[0])
        self._as_of.frombytes(dumped[1])


class StrongestTransfers:
    """Of each actor the transfers whose scores fade last, in no order."""

    __slots__ = ("_entries", "_shares")

    def __init__(self) -> None:
        self._entries = array("q")  # when it fades, its score and its row and 1; 0 is empty
        self._shares = array("H")  # its points of identity and of returns

    def keep(self, index: int, row: int, at: int, *, score: int, identity: int, returns: int) -> None:
        """Take up a transfer's score in place of the one it had; 0 for a transfer that is no longer the actor's."""
        entries = self._entries
        first = index * STRONGEST
        if first >= len(entries):
            missing = first + STRONGEST - len(entries)
            entries.extend([0] * missing)
            self._shares.extend([0] * missing)
        entry = 0
        if score:
            day = min(max(at // DAY_US, 0), _LAST_DAY)
            entry = ((fades_at(score, day) << _SCORE_BITS | score) << _ROW_BITS) | (row + 1)
        place, weakest = first, entries[first]
        for other in range(first, first + STRONGEST):
            held = entries[other]
            if held & _ROW_MASK == row + 1:
                place, weakest = other, -1
                break
            if held < weakest:
                place, weakest = other, held
        if entry > weakest:
            entries[place] = entry
            self._shares[place] = identity << 8 | returns

    def best(self, index: int) -> Strong:
        """The strongest; of equally strong ones the higher and older, then the one that landed last."""
        first = index * STRONGEST
        held = self._entries[first : first + STRONGEST]
        entry = max(held, default=0)
        if not entry:
            return NO_TRANSFER
        share = self._shares[first + held.index(entry)]
        score = entry >> _ROW_BITS & _SCORE_MASK
        return Strong(score, day_of(entry >> (_ROW_BITS + _SCORE_BITS), score), share >> 8, share & 0xFF)

    def dump(self) -> tuple[bytes, bytes]:
        return self._entries.tobytes(), self._shares.tobytes()

    def load(self, dumped: Any) -> None:
        self._entries.frombytes(dumped[0])
        self._shares.frombytes(dumped[1])


class ScoreMemory:
    """All that one program remembers for the scores of its actors."""

    __slots__ = ("_account_changes", "actors", "counterparties", "program", "transfers")

    def __init__(self) -> None:
        self.actors = LastScores()
        self.counterparties = LastScores()
        self.program = LastScores()
        self.transfers = StrongestTransfers()
        self._account_changes: dict[int, int] = {}

    def account_changed(self, counterparty: int, at: int) -> None:
        """A counterparty came with other account details than were known."""
        self._account_changes[counterparty] = max(at, self._account_changes.get(counterparty, at))

    def account_changed_at(self, counterparty: int) -> int | None:
        return self._account_changes.get(counterparty)

    def dump(self) -> tuple[Any, ...]:
        last = (self.actors.dump(), self.counterparties.dump(), self.program.dump())
        return (*last, self.transfers.dump(), list(self._account_changes.items()))

    def load(self, dumped: Any) -> None:
        actors, counterparties, program, transfers, account_changes = dumped
        self.actors.load(actors)
        self.counterparties.load(counterparties)
        self.program.load(program)
        self.transfers.load(transfers)
        self._account_changes = dict(account_changes)
