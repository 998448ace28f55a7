"""Pre-flights that no landed transfer has matched yet, for match-back.

Window  a landed transfer matches when its bank creation time lies in [asked - 5 s, asked + 24 h], with the same
        counterparty, amount and currency; the oldest open pre-flight first, one each. Both times count in whole
        milliseconds, as answers show them
How     both sides are looked up under every detail of their counterparty: its id, its account, its name. Two
        counterparties of one name are the same unless both carry account details that differ
"""

from collections import deque
from typing import Any, Final, NamedTuple

from clearhold.features.core.instants import HOUR_US, MILLISECOND_US
from clearhold.features.core.plain_text import name_key
from clearhold.features.state.party_details import accounts_differ

MATCH_WINDOW_US: Final = 24 * HOUR_US
MATCH_WINDOW_MS: Final = MATCH_WINDOW_US // MILLISECOND_US
EARLY_MS: Final = 5_000

Key = tuple[str, str]
_NAME: Final = "name:"


class CounterpartyDetails(NamedTuple):
    """The details that match a counterparty; all None when a transfer names none."""

    id: str | None
    routing: str | None
    last4: str | None
    name: str | None

    def keys(self, amount: str) -> list[Key]:
        """The keys of the counterparty, each with the amount, such as ``USD 12500``."""
        keys: list[Key] = []
        if self.id:
            keys.append((f"id:{self.id}", amount))
        if self.routing and self.last4:
            keys.append((f"account:{self.routing}:{self.last4}", amount))
        if self.name:
            keys.append((f"{_NAME}{name_key(self.name)}", amount))
        return keys or [("none", amount)]

    def differs(self, other: "CounterpartyDetails") -> bool:
        return accounts_differ(self.routing, self.last4, other.routing, other.last4)


class _OpenPreflight(NamedTuple):
    asked_at: int
    preflight_id: str
    counterparty: CounterpartyDetails
    amount: str


class OpenPreflights:
    """The open pre-flights under each of their keys, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenPreflight] = {}
        self._of_key: dict[Key, deque[_OpenPreflight]] = {}
        self._by_age: deque[tuple[int, str]] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, preflight_id: str, counterparty: CounterpartyDetails, amount: str, asked_at: int) -> None:
        if preflight_id in self._open:
            return
        self._by_age.append((asked_at, preflight_id))
        self._insert(_OpenPreflight(asked_at, preflight_id, counterparty, amount))

    def match(self, landed: CounterpartyDetails, amount: str, landed_at: int) -> str | None:
        """Remove the oldest pre-flight on this counterparty and amount in the window, and return its id."""
        best: _OpenPreflight | None = None
        landed_ms = landed_at // MILLISECOND_US
        for key in landed.keys(amount):
            by_name = key[0].startswith(_NAME)
            for preflight in self._of_key.get(key, ()):
                asked_ms = preflight.asked_at // MILLISECOND_US
                if not asked_ms - EARLY_MS <= landed_ms <= asked_ms + MATCH_WINDOW_MS:
                    continue
                if by_name and preflight.counterparty.differs(landed):
                    continue
                if best is None or preflight.asked_at < best.asked_at:
                    best = preflight
                break
        if best is None:
            return None
        self._remove(best)
        return best.preflight_id

    def expire(self, at: int) -> None:
        """Remove the pre-flights that are too old for any transfer that can still land, as the log's time passes."""
        while self._by_age and self._by_age[0][0] < at - 2 * MATCH_WINDOW_US:
            preflight = self._open.get(self._by_age.popleft()[1])
            if preflight is not None:
                self._remove(preflight)

    def dump(self) -> tuple[Any, ...]:
        return (list(self._open.values()), list(self._by_age))

    def load(self, dumped: Any) -> None:
        opened, by_age = dumped
        self._open, self._of_key = {}, {}
        for asked_at, preflight_id, counterparty, amount in opened:
            self._insert(_OpenPreflight(asked_at, preflight_id, CounterpartyDetails(*counterparty), amount))
        self._by_age = deque((asked_at, preflight_id) for asked_at, preflight_id in by_age)

    def _insert(self, preflight: _OpenPreflight) -> None:
        self._open[preflight.preflight_id] = preflight
        for key in preflight.counterparty.keys(preflight.amount):
            self._of_key.setdefault(key, deque()).append(preflight)

    def _remove(self, preflight: _OpenPreflight) -> None:
        del self._open[preflight.preflight_id]
        for key in preflight.counterparty.keys(preflight.amount):
            of_key = self._of_key[key]
            of_key.remove(preflight)
            if not of_key:
                del self._of_key[key]
