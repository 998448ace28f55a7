"""Pre-flights that no landed transfer has matched yet.

Window  a landed transfer matches when its bank creation time lies in [asked - 1 s, asked + 24 h], with the same
        counterparty and amount; the oldest open pre-flight first, one each
"""

from collections import deque
from typing import Any, Final

from features.instants import HOUR_US, SECOND_US
from features.state.parties import folded

MATCH_WINDOW_US: Final = 24 * HOUR_US
EARLY_US: Final = SECOND_US

Key = tuple[str, int]


class OpenPreflights:
    """Found by the most exact thing the question said of its counterparty: id, account, name, or nothing."""

    def __init__(self) -> None:
        self._open: dict[Key, deque[tuple[int, str]]] = {}
        self._by_age: deque[tuple[int, Key]] = deque()

    def add(self, preflight_id: str, key: Key, asked_at: int) -> None:
        self._open.setdefault(key, deque()).append((asked_at, preflight_id))
        self._by_age.append((asked_at, key))

    def match(self, keys: list[Key], landed_at: int) -> str | None:
        """Take out and return the oldest pre-flight that any of the keys finds within the window."""
        best: tuple[int, str, Key] | None = None
        for key in keys:
            for asked_at, preflight_id in self._open.get(key, ()):
                if asked_at - EARLY_US <= landed_at <= asked_at + MATCH_WINDOW_US:
                    if best is None or asked_at < best[0]:
                        best = (asked_at, preflight_id, key)
                    break
        if best is None:
            return None
        self._open[best[2]].remove(best[:2])
        if not self._open[best[2]]:
            del self._open[best[2]]
        return best[1]

    def forget(self, at: int) -> None:
        """Drop what is too old to match anything that can still land; called as the log's time passes."""
        while self._by_age and self._by_age[0][0] < at - 2 * MATCH_WINDOW_US:
            asked_at, key = self._by_age.popleft()
            waiting = self._open.get(key)
            if waiting and waiting[0][0] <= asked_at:
                waiting.popleft()
                if not waiting:
                    del self._open[key]

    def dump(self) -> tuple[Any, ...]:
        return ([(key, list(waiting)) for key, waiting in self._open.items()], list(self._by_age))

    def load(self, dumped: Any) -> None:
        opened, by_age = dumped
        self._open = {(key[0], key[1]): deque((at, name) for at, name in waiting) for key, waiting in opened}
        self._by_age = deque((at, (key[0], key[1])) for at, key in by_age)


def key_of_counterparty(
    counterparty_id: str | None, routing: str | None, last4: str | None, name: str | None, cents: int
) -> Key:
    """The key a pre-flight waits under."""
    return keys_of_landing(counterparty_id, routing, last4, name, cents)[0]


def keys_of_landing(
    counterparty_id: str | None, routing: str | None, last4: str | None, name: str | None, cents: int
) -> list[Key]:
    """The keys under which a landed transfer may be awaited, the most exact first."""
    keys: list[Key] = []
    if counterparty_id:
        keys.append((f"id:{counterparty_id}", cents))
    if routing and last4:
        keys.append((f"account:{routing}:{last4}", cents))
    if name:
        keys.append((f"name:{folded(name)}", cents))
    return keys or [("none", cents)]
