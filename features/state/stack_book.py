"""Stacks of one program's waiting alerts: open stacks, which further alerts may join, by key.

A stack is joined by an alert of its key whose transfer is at most ``JOINED_WITHIN_US`` from those of the stack. It can
be joined while one of its alerts waits. An alert that joins widens it. Stacks are never merged, and an alert stays in
its stack until a person takes it out.

Unit    instants in microseconds, by the transfers' own time; the cost of a join does not grow with a stack
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.core.canonical import ALERT_IDS
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import StackKind
from clearhold.features.state.alert_state import AlertState
from clearhold.features.windows.id_index import Slice, in_slices

JOINED_WITHIN_US: Final = 14 * DAY_US
MOST_OPEN: Final = 32  # stacks of a key that can be joined; of more the oldest stay as they are


class StackKey(NamedTuple):
    """The thing that the alerts of a stack share."""

    kind: StackKind
    id: str


class OpenStack(msgspec.Struct, gc=False, array_like=True):
    """A stack that alerts may join, with the times of its first and last transfer."""

    id: str
    key: StackKey
    first_at: int
    last_at: int

    def covers(self, at: int) -> bool:
        return self.first_at - JOINED_WITHIN_US <= at <= self.last_at + JOINED_WITHIN_US


class StackBook:
    __slots__ = ("_by_id", "_by_key", "_stack_of", "_waiting")

    def __init__(self) -> None:
        self._by_key: dict[StackKey, list[OpenStack]] = {}
        self._by_id: dict[str, OpenStack] = {}
        self._stack_of: dict[str, str] = {}  # by alert that waits
        self._waiting: dict[str, int] = {}  # by stack: its alerts that wait

    def place(self, alert: AlertState, keys: Sequence[StackKey], at: int) -> None:
        """Put an alert in the newest stack of the first key that has one for it, else in a new one."""
        stack = next(filter(None, (self._open_at(key, at) for key in keys)), None)
        if stack is None:
            stack = OpenStack(stack_id_of(alert.id), keys[0], at, at)
            self._add(stack)
        stack.first_at, stack.last_at = min(stack.first_at, at), max(stack.last_at, at)
        alert.stack_id, (alert.stack_kind, alert.stack_key) = stack.id, stack.key

    def note(self, alert: AlertState) -> None:
        """Count an alert in its stack by its present state."""
        stack_id = alert.stack_id if alert.waits else None
        before = self._stack_of.get(alert.id)
        if stack_id == before:
            return
        if before is not None:
            self._leave(alert.id, before)
        if stack_id is not None:
            self._stack_of[alert.id] = stack_id
            self._waiting[stack_id] = self.waiting_in(stack_id) + 1

    def waiting_in(self, stack_id: str) -> int:
        """The number of alerts that wait in a stack."""
        return self._waiting.get(stack_id, 0)

    def _open_at(self, key: StackKey, at: int) -> OpenStack | None:
        return next((stack for stack in reversed(self._by_key.get(key, ())) if stack.covers(at)), None)

    def _add(self, stack: OpenStack) -> None:
        stacks = self._by_key.setdefault(stack.key, [])
        stacks.append(stack)
        self._by_id[stack.id] = stack
        if len(stacks) > MOST_OPEN:
            self._drop(stacks[0])

    def _leave(self, alert_id: str, stack_id: str) -> None:
        del self._stack_of[alert_id]
        self._waiting[stack_id] -= 1
        if not self._waiting[stack_id]:
            del self._waiting[stack_id]
            if stack_id in self._by_id:
                self._drop(self._by_id[stack_id])

    def _drop(self, stack: OpenStack) -> None:
        stacks = self._by_key[stack.key]
        stacks.remove(stack)
        del self._by_id[stack.id]
        if not stacks:
            del self._by_key[stack.key]

    def dump(self) -> Iterator[Slice]:
        """The stacks that can be joined; their alerts are counted as these are loaded."""
        in_order = (stack for stacks in self._by_key.values() for stack in stacks)
        yield from in_slices("stacks", ((each.id, *each.key, each.first_at, each.last_at) for each in in_order))

    def load(self, dumped: Any) -> None:
        """Restore one slice of a dump, before the alerts."""
        for stack_id, kind, key, first_at, last_at in dumped:
            self._add(OpenStack(stack_id, StackKey(StackKind(kind), key), first_at, last_at))


def stack_id_of(cause: str) -> str:
    """The id of the stack that an alert, or the entry of a split, begins."""
    return ALERT_IDS.id_of(f"{cause}/stack")
