"""Pre-flights that no landed transfer has matched yet.

Window  a landed transfer matches when its bank creation time lies in [asked - 1 s, asked + 24 h], with the same
        counterparty and amount; the oldest open pre-flight first, one each
How     both sides are found under everything that is known of their counterparty: its id, its account, its name. Who
        shares a name is the same unless both sides carry account details that differ
"""

from collections import deque
from typing import Any, Final, NamedTuple

from features.core.instants import HOUR_US, SECOND_US
from features.state.parties import folded

MATCH_WINDOW_US: Final = 24 * HOUR_US
EARLY_US: Final = SECOND_US

Key = tuple[str, int]
_NAME: Final = "name:"


class OtherSide(NamedTuple):
    """What is known of a counterparty; all None when there is none."""

    id: str | None
    routing: str | None
    last4: str | None
    name: str | None

    def keys(self, cents: int) -> list[Key]:
        """Everything it can be found under, with the amount."""
        keys: list[Key] = []
        if self.id:
            keys.append((f"id:{self.id}", cents))
        if self.routing and self.last4:
            keys.append((f"account:{self.routing}:{self.last4}", cents))
        if self.name:
            keys.append((f"{_NAME}{folded(self.name)}", cents))
        return keys or [("none", cents)]

    def differs(self, other: "OtherSide") -> bool:
        """Both carry an account detail, and it is not the same one."""
        if self.last4 and other.last4 and self.last4 != other.last4:
            return True
        return bool(self.routing and other.routing and self.routing != other.routing)


class _Open(NamedTuple):
    asked_at: int
    preflight_id: str
    other_side: OtherSide
    cents: int


class OpenPreflights:
    """The open ones under each of their keys, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._of_key: dict[Key, deque[_Open]] = {}
        self._by_age: deque[tuple[int, str]] = deque()

    def __len__(self) -> int:
        return len(self._open)

    def add(self, preflight_id: str, other_side: OtherSide, cents: int, asked_at: int) -> None:
        if preflight_id in self._open:
            return
        self._by_age.append((asked_at, preflight_id))
        self._await(_Open(asked_at, preflight_id, other_side, cents))

    def match(self, landed: OtherSide, cents: int, landed_at: int) -> str | None:
        """Take out and return the oldest pre-flight that asked about this counterparty and amount in the window."""
        best: _Open | None = None
        for key in landed.keys(cents):
            by_name = key[0].startswith(_NAME)
            for held in self._of_key.get(key, ()):
                if not held.asked_at - EARLY_US <= landed_at <= held.asked_at + MATCH_WINDOW_US:
                    continue
                if by_name and held.other_side.differs(landed):
                    continue
                if best is None or held.asked_at < best.asked_at:
                    best = held
                break
        if best is None:
            return None
        self._take_out(best)
        return best.preflight_id

    def forget(self, at: int) -> None:
        """Drop what is too old to match anything that can still land; called as the log's time passes."""
        while self._by_age and self._by_age[0][0] < at - 2 * MATCH_WINDOW_US:
            held = self._open.get(self._by_age.popleft()[1])
            if held is not None:
                self._take_out(held)

    def dump(self) -> tuple[Any, ...]:
        return (list(self._open.values()), list(self._by_age))

    def load(self, dumped: Any) -> None:
        opened, by_age = dumped
        self._open, self._of_key = {}, {}
        for asked_at, preflight_id, other_side, cents in opened:
            self._await(_Open(asked_at, preflight_id, OtherSide(*other_side), cents))
        self._by_age = deque((asked_at, preflight_id) for asked_at, preflight_id in by_age)

    def _await(self, held: _Open) -> None:
        self._open[held.preflight_id] = held
        for key in held.other_side.keys(held.cents):
            self._of_key.setdefault(key, deque()).append(held)

    def _take_out(self, held: _Open) -> None:
        del self._open[held.preflight_id]
        for key in held.other_side.keys(held.cents):
            waiting = self._of_key[key]
            waiting.remove(held)
            if not waiting:
                del self._of_key[key]
