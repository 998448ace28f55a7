"""The counts of the key risk indicators over a program's accounts and entities: balances, overdrafts, freezes,
decisions on entities, and the newest screening of each entity.

Window  30 days of events; older ones are dropped at a measurement, and now never goes back
Unit    instants in microseconds; 16 bytes an entity, 40 an account with a balance

A breach lasts as long as less than a day lies between two findings of its detector. An indicator that goes back and
forth over its line is therefore in one breach, and 180 days hold no more than 180 of them.

History are the events of days before the program was declared; each of its days gets one snapshot as of its end. It
begins with the program's first event and is over with the first event of a later day; a program that begins with live
events has none.
"""

from array import array
from typing import Any, Final, NamedTuple

import numpy as np

from clearhold.features.core.instants import DAY_US, DAYS_30
from clearhold.features.core.vocabulary import band_word
from clearhold.features.policy.bodies import RescreenDays
from clearhold.features.state.party_details import EntityProfile, SnapshotOrder
from clearhold.features.state.score_memory import LastScores
from clearhold.features.windows.id_index import IdIndex, key_of
from clearhold.features.windows.series import ALWAYS

_NO_CADENCE: Final = -(2**63)
_UNDECIDED: Final = -(2**63)
_MAX_SCORE: Final = 100
_NEVER: Final = _NO_CADENCE + 1
REMEMBERED_US: Final = 180 * DAY_US


class Balances:
    """The balance of each account by its newest snapshot."""

    __slots__ = ("_cents", "_events", "_numbers", "_ranks", "_updates")

    def __init__(self) -> None:
        self._numbers = IdIndex()
        self._cents = array("q")
        self._updates = array("q")  # with the event's time and the state's rank, the order of the newest snapshot
        self._events = array("q")
        self._ranks = array("b")

    def set(self, account_id: str, cents: int, order: SnapshotOrder) -> None:
        """Store a snapshot's balance, unless a newer one is stored."""
        key = key_of(account_id)
        number = self._numbers.get(key)
        if number is None:
            self._numbers.enter(key, len(self._cents))
            self._cents.append(cents)
            self._updates.append(order.updated_at)
            self._events.append(order.event_at)
            self._ranks.append(order.rank)
            return
        stored = SnapshotOrder(self._updates[number], self._events[number], self._ranks[number])
        if not order.is_before(stored):
            self._cents[number] = cents
            self._updates[number], self._events[number], self._ranks[number] = max(order, stored)

    def cents(self, account_id: str) -> int | None:
        """The balance of the account; None when the bank has stated none."""
        number = self._numbers.get(key_of(account_id))
        return None if number is None else self._cents[number]

    def dump(self) -> tuple[Any, ...]:
        columns = (self._cents, self._updates, self._events, self._ranks)
        return (self._numbers.dump(), *(column.tobytes() for column in columns))

    def load(self, dumped: Any) -> None:
        numbers, *columns = dumped
        self._numbers.load(numbers)
        for column, values in zip((self._cents, self._updates, self._events, self._ranks), columns, strict=True):
            column.frombytes(values)


class KriFacts:
    __slots__ = ("_decided", "_freezes", "_overdrafts", "_screened", "balances", "reserve_account_id")

    def __init__(self) -> None:
        self.reserve_account_id: str | None = None
        self.balances = Balances()
        self._overdrafts: dict[str, int] = {}  # by account, its newest overdraft
        self._freezes: set[tuple[int, str]] = set()
        self._decided = array("q")  # by actor: twice the instant of its newest decision, and 1 when that denied it
        self._screened = array("q")  # by actor

    def reserve_cents(self) -> int | None:
        """The balance of the reserve account; None without one, or when the bank has stated none."""
        return None if self.reserve_account_id is None else self.balances.cents(self.reserve_account_id)

    def overdraft(self, account_id: str, at: int) -> None:
        self._overdrafts[account_id] = max(at, self._overdrafts.get(account_id, at))

    def freeze(self, account_id: str, at: int) -> None:
        self._freezes.add((at, account_id))

    def decide(self, actor: int, at: int, *, denied: bool) -> None:
        """Store the newest decision on an entity."""
        _reach(self._decided, actor, _UNDECIDED)
        self._decided[actor] = 2 * at + denied

    def screen(self, actor: int, profile: EntityProfile) -> None:
        """Store when an entity was screened, if it has to be or ever was."""
        _reach(self._screened, actor, _NO_CADENCE)
        screened_at = profile.last_screened_at
        if screened_at is None:
            screened_at = _NEVER if profile.words.requires_screening else _NO_CADENCE
        self._screened[actor] = screened_at

    def forget_before(self, now: int) -> None:
        """Drop the events before the window of 30 days, which no later measurement reaches."""
        oldest = now - DAYS_30
        self._overdrafts = {account: at for account, at in self._overdrafts.items() if at > oldest}
        self._freezes = {each for each in self._freezes if each[0] > oldest}
        decided = np.frombuffer(self._decided, np.int64)
        decided[decided < _since(now)] = _UNDECIDED

    def overdrafted(self, now: int) -> int:
        return sum(at > now - DAYS_30 for at in self._overdrafts.values())

    def freezes(self, now: int) -> int:
        return sum(at > now - DAYS_30 for at, _ in self._freezes)

    def troubled_accounts(self, now: int) -> list[str]:
        """The accounts that were overdrafted or frozen, the newest last."""
        events = [*((at, account) for account, at in self._overdrafts.items()), *self._freezes]
        return list(dict.fromkeys(account for at, account in sorted(events) if at > now - DAYS_30))

    def denied(self, now: int) -> list[int]:
        """The actors whose newest decision denied them, the newest last."""
        decided = np.frombuffer(self._decided, np.int64)
        denied = np.flatnonzero((decided & 1) & (decided >= _since(now)))
        actors: list[int] = denied[np.argsort(decided[denied], kind="stable")].tolist()
        return actors

    def denied_and_decided(self, now: int) -> tuple[int, int]:
        decided = np.frombuffer(self._decided, np.int64)
        is_decided = decided >= _since(now)
        return int(np.count_nonzero((decided & 1) & is_decided)), int(np.count_nonzero(is_decided))

    def stale_and_screened(self, scores: LastScores, days: RescreenDays, now: int) -> tuple[int, int]:
        """Entities past the cadence of their band, in whole days, and all entities with a cadence."""
        screened = np.frombuffer(self._screened, np.int64)
        cadence = [days.unscored, *(getattr(days, band_word(score)) for score in range(_MAX_SCORE + 1))]
        due_before = now - (np.array(cadence) + 1) * DAY_US
        n = int(np.count_nonzero(screened != _NO_CADENCE))
        overdue = int(np.count_nonzero(screened <= scores.looked_up(due_before, screened.size)))
        return overdue - (screened.size - n), n  # those without a cadence are before any instant

    def dump(self) -> tuple[Any, ...]:
        return (
            self.reserve_account_id,
            self.balances.dump(),
            list(self._overdrafts.items()),
            sorted(self._freezes),
            self._decided.tobytes(),
            self._screened.tobytes(),
        )

    def load(self, dumped: Any) -> None:
        self.reserve_account_id, balances, overdrafts, freezes, decided, screened = dumped
        self.balances.load(balances)
        self._overdrafts = dict(overdrafts)
        self._freezes = {(at, account) for at, account in freezes}
        self._decided.frombytes(decided)
        self._screened.frombytes(screened)


def _reach(column: "array[int]", actor: int, missing: int) -> None:
    """Make room for the actor; earlier actors without a value get ``missing``."""
    column.extend([missing] * (actor + 1 - len(column)))


def _since(now: int) -> int:
    """The least value in ``_decided`` of a decision within the window."""
    return 2 * (now - DAYS_30 + 1)


class Breach(NamedTuple):
    """The present breach: whether it has just begun, and the starts of earlier ones in 180 days, oldest first."""

    is_new: bool
    earlier: tuple[int, ...]


class KriMemory:
    """The newest breach of each detector of the program with those before it, and the snapshots taken already."""

    __slots__ = ("_breaches", "_requested", "quarter")

    def __init__(self) -> None:
        # By detector: when its newest breach was found last, when that breach began, and the earlier ones.
        self._breaches: dict[str, tuple[int, int, tuple[int, ...]]] = {}
        self._requested = IdIndex()
        self.quarter = ALWAYS  # the quarter of an hour, since the epoch, of the newest scheduled snapshot

    def add_request(self, snapshot_id: str) -> bool:
        """Remember the id of a requested snapshot; False when it was taken before."""
        return self._requested.add(snapshot_id)

    def add_breach(self, detector: str, at: int) -> Breach:
        """Remember that the detector finds the program over its line; instants never go back."""
        last, began, earlier = self._breaches.get(detector, (at, at, ()))
        is_new = detector not in self._breaches or at - last >= DAY_US
        if is_new and began != at:
            earlier, began = (*earlier, began), at
        earlier = tuple(start for start in earlier if start > at - REMEMBERED_US)
        self._breaches[detector] = (at, began, earlier)
        return Breach(is_new, earlier)

    def dump(self) -> Any:
        return list(self._breaches.items()), self._requested.dump(), self.quarter

    def load(self, dumped: Any) -> None:
        breaches, requested, self.quarter = dumped
        self._breaches = {detector: (last, began, tuple(earlier)) for detector, (last, began, earlier) in breaches}
        self._requested.load(requested)


class KriHistory:
    """Days are UTC, counted since the epoch."""

    __slots__ = ("day", "has_events", "is_over", "is_quiet", "live_from")

    def __init__(self) -> None:
        self.live_from: int | None = None  # the day of the program's first declaration
        self.day: int | None = None  # the first one without a snapshot; None before the first event
        self.has_events = False  # of that day or later
        self.is_quiet = False  # no event since the last tick
        self.is_over = False

    @property
    def is_loading(self) -> bool:
        """Whether past days are being loaded: bands are then of the day that the history has reached."""
        return self.day is not None and not self.is_over and (self.has_events or not self.is_quiet)

    def dump(self) -> Any:
        return (self.live_from, self.day, self.has_events, self.is_quiet, self.is_over)

    def load(self, dumped: Any) -> None:
        self.live_from, self.day, self.has_events, self.is_quiet, self.is_over = dumped
