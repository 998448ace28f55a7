"""What the key risk indicators count of a program's accounts and entities: balances, overdrafts, freezes, decisions on
entities, and when each entity was screened last.

Window  30 days of events; what is older is dropped as it is measured, and now never goes back
Unit    instants in microseconds; 8 bytes an entity
"""

from array import array
from typing import Any, Final, NamedTuple

import numpy as np

from features.core.bands import HOLD_FROM, REVIEW_FROM
from features.core.instants import DAY_US, DAYS_30
from features.policy.bodies import RescreenDays
from features.state.entity_profile import EntityProfile
from features.state.score_memory import LastScores

_NO_CADENCE: Final = -(2**63)
_NEVER: Final = _NO_CADENCE + 1
_RESERVE_TYPE: Final = "RESERVE"  # ends the type of a reserve account: PROGRAM_RESERVE, OVERDRAFT_RESERVE

Order = tuple[int, int]


class Balance(NamedTuple):
    """What an account holds, by its newest snapshot; ``order`` is the snapshot's."""

    order: Order
    cents: int


class KriFacts:
    __slots__ = ("_balances", "_decided", "_freezes", "_overdrafts", "_reserves", "_screened", "reserve_account_id")

    def __init__(self) -> None:
        self.reserve_account_id: str | None = None
        self._reserves: set[str] = set()  # accounts that were ever declared as the reserve
        self._balances: dict[str, Balance] = {}  # of reserve accounts
        self._overdrafts: dict[str, int] = {}  # by account, its newest overdraft
        self._freezes: set[tuple[int, str]] = set()
        self._decided: dict[int, tuple[int, bool]] = {}  # by actor: its newest decision, and whether it was denied
        self._screened = array("q")  # by actor

    def declare_reserve(self, account_id: str | None) -> None:
        self.reserve_account_id = account_id
        if account_id is not None:
            self._reserves.add(account_id)

    def set_balance(self, account_id: str, account_type: str | None, cents: int, order: Order) -> None:
        """Store a balance that the bank states; of an account that is no reserve nothing is stored."""
        if account_id not in self._reserves and not (account_type or "").endswith(_RESERVE_TYPE):
            return
        known = self._balances.get(account_id)
        if known is None or order >= known.order:
            self._balances[account_id] = Balance(order, cents)

    def reserve_cents(self) -> int | None:
        """What the reserve account holds; None without one, or when the bank has stated no balance of it."""
        balance = None if self.reserve_account_id is None else self._balances.get(self.reserve_account_id)
        return None if balance is None else balance.cents

    def overdraft(self, account_id: str, at: int) -> None:
        self._overdrafts[account_id] = max(at, self._overdrafts.get(account_id, at))

    def freeze(self, account_id: str, at: int) -> None:
        self._freezes.add((at, account_id))

    def decide(self, actor: int, at: int, *, denied: bool) -> None:
        """Store the newest decision on an entity."""
        self._decided[actor] = (at, denied)

    def screen(self, actor: int, profile: EntityProfile) -> None:
        """Store when an entity was screened, if it has to be or ever was."""
        missing = actor + 1 - len(self._screened)
        if missing > 0:
            self._screened.extend([_NO_CADENCE] * missing)
        screened_at = profile.last_screened_at
        if screened_at is None:
            screened_at = _NEVER if profile.requires_screening else _NO_CADENCE
        self._screened[actor] = screened_at

    def forget_before(self, now: int) -> None:
        """Drop what has left the window of 30 days."""
        oldest = now - DAYS_30
        self._overdrafts = {account: at for account, at in self._overdrafts.items() if at > oldest}
        self._freezes = {each for each in self._freezes if each[0] > oldest}
        self._decided = {actor: each for actor, each in self._decided.items() if each[0] > oldest}

    @property
    def overdrafted(self) -> int:
        return len(self._overdrafts)

    @property
    def freezes(self) -> int:
        return len(self._freezes)

    def troubled_accounts(self) -> list[str]:
        """The accounts that were overdrafted or frozen, the newest last."""
        events = sorted([*((at, account) for account, at in self._overdrafts.items()), *self._freezes])
        return list(dict.fromkeys(account for _, account in events))

    def denied(self) -> list[int]:
        """The actors whose newest decision denied them, the newest last."""
        return [actor for _, actor in sorted((at, actor) for actor, (at, denied) in self._decided.items() if denied)]

    def denied_and_decided(self) -> tuple[int, int]:
        decided = self._decided.values()
        return sum(denied for _, denied in decided), len(decided)

    def stale_and_screened(self, scores: LastScores, days: RescreenDays, now: int) -> tuple[int, int]:
        """Entities past the cadence of their band, in whole days, and all that have a cadence."""
        screened = np.frombuffer(self._screened, np.int64)
        actors = np.flatnonzero(screened != _NO_CADENCE)
        if not actors.size:
            return 0, 0
        screened = screened[actors]
        values = scores.values(actors)
        places = (values >= 0).astype(np.int8) + (values >= REVIEW_FROM) + (values >= HOLD_FROM)
        cadence = np.array([days.unscored, days.clear, days.review, days.hold])[places]
        stale = (screened == _NEVER) | (screened <= now - (cadence + 1) * DAY_US)
        return int(np.count_nonzero(stale)), int(actors.size)

    def dump(self) -> tuple[Any, ...]:
        return (
            self.reserve_account_id,
            sorted(self._reserves),
            list(self._balances.items()),
            list(self._overdrafts.items()),
            sorted(self._freezes),
            list(self._decided.items()),
            self._screened.tobytes(),
        )

    def load(self, dumped: Any) -> None:
        self.reserve_account_id, reserves, balances, overdrafts, freezes, decided, screened = dumped
        self._reserves = set(reserves)
        self._balances = {account: Balance((order[0], order[1]), cents) for account, (order, cents) in balances}
        self._overdrafts = dict(overdrafts)
        self._freezes = {(at, account) for at, account in freezes}
        self._decided = {actor: (at, denied) for actor, (at, denied) in decided}
        self._screened.frombytes(screened)
