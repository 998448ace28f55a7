"""The waiting alerts of a tenant by stack, in memory, and the stacks in each order.

How     A change of an alert marks its stack; the next page computes the sort keys of marked stacks alone, and walks its
        order from the cursor on. One by held money computes the key of every stack
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple

from clearhold.store.duck.waiting_alert import WaitingAlert

NO_KEY: Final = -(2**62)  # the sort key of a stack without the value


class StackSort(StrEnum):
    """The order of stacks; each has the highest key first."""

    WORST = "worst"
    DUE_AT = "dueAt"
    SCORE = "score"
    SIZE = "size"
    HELD_CENTS = "heldCents"


Members = tuple[WaitingAlert, ...]


def _due(alerts: Sequence[WaitingAlert]) -> int:
    return max((-alert.due_at for alert in alerts if alert.due_at is not None), default=NO_KEY)


def _score(alerts: Sequence[WaitingAlert]) -> int:
    return max((alert.score_at_alert for alert in alerts if alert.score_at_alert is not None), default=NO_KEY)


PLACES: Final[dict[StackSort, Callable[[Sequence[WaitingAlert]], int]]] = {
    StackSort.WORST: lambda alerts: max(alert.queue_rank for alert in alerts),
    StackSort.DUE_AT: _due,
    StackSort.SCORE: _score,
    StackSort.SIZE: len,
}
"""The sort key of a stack's alerts, at least one, in each order but the one by held money."""

_Key = tuple[int, str]
"""The negative number of a stack in an order, and its id: the first key is the first in the list."""


class PlacedStack(NamedTuple):
    """A stack with its sort key and the alerts that count."""

    place: int
    id: str
    alerts: Members


class WaitingStacks:
    """Not thread-safe: the index of waiting alerts has the lock."""

    def __init__(self) -> None:
        self._alerts: dict[str, dict[str, WaitingAlert]] = {}  # by stack and id
        self._every: tuple[tuple[str, Members], ...] | None = None
        self._members: dict[str, Members] = {}  # by stack, since they were last read
        self._keys: dict[str, dict[StackSort, _Key]] = {}  # by stack
        self._orders: dict[StackSort, list[_Key]] = {order: [] for order in PLACES}
        self._marked: set[str] = set()

    def add(self, alert: WaitingAlert) -> None:
        if alert.stack_id is not None:
            self._alerts.setdefault(alert.stack_id, {})[alert.id] = alert
            self._mark(alert.stack_id)

    def remove(self, alert: WaitingAlert) -> None:
        if alert.stack_id is not None:
            del self._alerts[alert.stack_id][alert.id]
            self._mark(alert.stack_id)

    def members(self, stack_id: str) -> Members:
        """The waiting alerts of a stack; none of one that does not wait."""
        return self._members_of(stack_id) if self._alerts.get(stack_id) else ()

    def every(self) -> Sequence[tuple[str, Members]]:
        """The same sequence until a stack changes."""
        if self._every is None:
            every = [(stack_id, self._members_of(stack_id)) for stack_id, alerts in self._alerts.items() if alerts]
            self._every = tuple(every)
        return self._every

    def after(self, order: StackSort, after: tuple[int, str] | None) -> Iterator[PlacedStack]:
        """The stacks behind a sort key and an id, of all their waiting alerts."""
        self._sort()
        keys = self._orders[order]
        start = 0 if after is None else bisect_right(keys, (-after[0], after[1]))
        for number, stack_id in islice(keys, start, None):
            yield PlacedStack(-number, stack_id, self._members_of(stack_id))

    def _mark(self, stack_id: str) -> None:
        self._marked.add(stack_id)
        self._members.pop(stack_id, None)
        self._every = None

    def _members_of(self, stack_id: str) -> Members:
        """The same tuple until the stack changes."""
        members = self._members.get(stack_id)
        if members is None:
            members = self._members[stack_id] = tuple(self._alerts[stack_id].values())
        return members

    def _sort(self) -> None:
        """Bring the marked stacks to their places."""
        is_first = not self._keys
        for stack_id in self._marked:
            former, alerts = self._keys.pop(stack_id, {}), tuple(self._alerts[stack_id].values())
            keys = {order: (-place(alerts), stack_id) for order, place in PLACES.items()} if alerts else {}
            if keys:
                self._keys[stack_id] = keys
            else:
                del self._alerts[stack_id]
            if is_first or keys == former:
                continue
            for order, key in former.items():
                sequence = self._orders[order]
                del sequence[bisect_left(sequence, key)]
            for order, key in keys.items():
                insort(self._orders[order], key)
        self._marked.clear()
        if is_first:
            self._orders = {order: sorted(keys[order] for keys in self._keys.values()) for order in PLACES}


def placed(
    stacks: Iterable[tuple[str, Members]],
    places: Mapping[str, int],
    after: tuple[int, str] | None,
    matches: Callable[[WaitingAlert], bool],
    limit: int,
) -> list[PlacedStack]:
    """The first ``limit`` stacks behind ``after`` by these places; one of a stack's alerts has to match."""
    ordered = sorted([(-places.get(stack_id, NO_KEY), stack_id, alerts) for stack_id, alerts in stacks], key=_place)
    start = 0 if after is None else bisect_right(ordered, (-after[0], after[1]), key=_place)
    behind = islice(ordered, start, None)
    fitting = (
        PlacedStack(-number, stack_id, alerts) for number, stack_id, alerts in behind if any(map(matches, alerts))
    )
    return [*islice(fitting, limit)]


_place: Final = itemgetter(0, 1)
