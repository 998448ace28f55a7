"""Transfers that persons have cleared: their points end in the scores of actors.

A transfer is cleared by a person's label ok. Without a label it is cleared by a person's decision that closes an alert
on it (release, close or no_action), while no other alert on it waits. A later label bad brings its points back, a
person's or the bank's; so does a person who holds or escalates an alert on it. Without a label, so does an alert on it
that opens or is appealed later, until that is decided. A change of a counterparty's account gives points until all the
transfers that brought it are cleared.

Unit    2 bytes a transfer; by row in the table of transfers
Cost    a decision costs the same for each transfer of its alert, however many came before
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.windows.edges import NOBODY

_CLEARED, _CLOSED = 1, 2  # the transfer is cleared; a person closed an alert on it
_NUMBER_BIT: Final = 2
_NO_ROWS: Final = array("I")


class Clearings:
    """By row of a transfer. A change takes effect when the rows of ``take_changed`` are cleared or restored."""

    __slots__ = ("_changed", "_contradicted", "_labels", "_marks", "_returns", "_waiting")

    def __init__(self) -> None:
        self._marks = array("H")  # and a number: how many alerts wait, or the shares of the points that ended
        self._waiting: dict[int, int] = {}  # how many alerts wait on a cleared transfer, if any
        self._labels: dict[int, bool] = {}  # a person's newest label: True for ok
        self._contradicted: set[int] = set()  # labelled bad by the bank, after a person's label
        self._returns: dict[int, array[int]] = {}  # cleared transfers with a return, sorted, by node of a party
        self._changed: list[int] = []

    def is_cleared(self, row: int) -> bool:
        return row < len(self._marks) and self._marks[row] & _CLEARED > 0

    def has_waiting(self, row: int) -> bool:
        """Whether an alert on the transfer waits."""
        return row < len(self._marks) and self._waiting_on(row) > 0

    def wait(self, row: int) -> None:
        """One more alert on the transfer waits."""
        self._marks_to(row)
        self._set_waiting(row, self._waiting_on(row) + 1)
        if self._marks[row] & _CLEARED:
            self._changed.append(row)

    def decide(self, rows: Sequence[int], *, waited: bool, waits: bool, by_person: bool) -> None:
        """A decision on the alert of these transfers, after which it waits or is closed."""
        for row in rows:
            if waits and not waited:
                self.wait(row)
            elif waited and not waits:
                self._set_waiting(row, self._waiting_on(row) - 1)
            if not by_person:
                continue
            if not waits:
                self._marks_to(row)[row] |= _CLOSED
            elif self._labels.get(row):
                del self._labels[row]
        self._changed += rows

    def _waiting_on(self, row: int) -> int:
        marks = self._marks[row]
        return self._waiting.get(row, 0) if marks & _CLEARED else marks >> _NUMBER_BIT

    def _set_waiting(self, row: int, count: int) -> None:
        marks = self._marks[row]
        if not marks & _CLEARED:
            self._marks[row] = count << _NUMBER_BIT | marks & _CLOSED
        elif count:
            self._waiting[row] = count
        else:
            self._waiting.pop(row, None)

    def _marks_to(self, row: int) -> "array[int]":
        """The marks, with one for the row."""
        if row >= len(self._marks):
            self._marks.extend([0] * (row + 1 - len(self._marks)))
        return self._marks

    def label(self, row: int, label: LabelValue) -> None:
        """A person's label, which replaces every earlier one."""
        self._labels[row] = label is LabelValue.OK
        self._contradicted.discard(row)
        self._changed.append(row)

    def contradict(self, row: int) -> None:
        """The bank labels the transfer bad: it was returned as unauthorized, or its holder won a dispute."""
        self._contradicted.add(row)
        self._changed.append(row)

    def withdraw(self, row: int) -> bool:
        """The bank's label bad is lifted; True when a person's label ok counts again."""
        is_ok_again = row in self._contradicted and self._labels.get(row, False)
        self._contradicted.discard(row)
        self._changed.append(row)
        return is_ok_again

    def take_changed(self) -> list[int]:
        """The rows that are to be cleared, or restored, since the last call."""
        if not self._changed:
            return self._changed
        changed = [row for row in dict.fromkeys(self._changed) if self.is_cleared(row) != self._should_be_cleared(row)]
        self._changed = []
        return changed

    def clear(self, row: int, shares: int) -> None:
        """``shares`` are of its points, which may come back."""
        marks = self._marks_to(row)
        if waiting := self._waiting_on(row):
            self._waiting[row] = waiting
        marks[row] = shares << _NUMBER_BIT | marks[row] & _CLOSED | _CLEARED

    def restore(self, row: int) -> int:
        """The shares of the points that come back."""
        marks = self._marks[row]
        self._marks[row] = self._waiting.pop(row, 0) << _NUMBER_BIT | marks & _CLOSED
        return marks >> _NUMBER_BIT

    def set_return(self, row: int, nodes: Iterable[int], *, counts: bool) -> None:
        """Note whether a cleared transfer has a return that counts, for the parties at these nodes."""
        for node in nodes:
            rows = self._returns.get(node, _NO_ROWS)
            place = bisect_left(rows, row)
            is_known = place < len(rows) and rows[place] == row
            if counts and not is_known:
                self._returns.setdefault(node, array("I")).insert(place, row)
            elif is_known and not counts:
                del rows[place]

    def returns_of(self, node: int) -> Sequence[int]:
        """The cleared transfers of a party with a return that counts."""
        return self._returns.get(node, _NO_ROWS)

    def merge_node(self, old: int, new: int) -> None:
        """Give the cleared returns of one node to another."""
        rows = {*self._returns.pop(old, ()), *self._returns.get(new, ())}
        if rows:
            self._returns[new] = array("I", sorted(rows))

    def _should_be_cleared(self, row: int) -> bool:
        is_ok = False if row in self._contradicted else self._labels.get(row)
        if is_ok is not None:
            return is_ok
        return row < len(self._marks) and self._marks[row] & _CLOSED > 0 and not self._waiting_on(row)

    def dump(self) -> Iterator[tuple[str, Any]]:
        yield "alerts", (self._marks.tobytes(), list(self._waiting.items()))
        yield "people", (list(self._labels.items()), sorted(self._contradicted))
        yield "returns", [(node, rows.tobytes()) for node, rows in sorted(self._returns.items()) if rows]

    def load(self, dumped: Any) -> None:
        part, content = dumped
        if part == "alerts":
            self._marks.frombytes(content[0])
            self._waiting = dict(content[1])
        elif part == "returns":
            self._returns = {node: array("I", rows) for node, rows in content}
        else:
            self._labels, self._contradicted = dict(content[0]), set(content[1])


class AccountChanges:
    """When counterparties came with other account details, by counterparty and row of the transfer with them."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[int, dict[int, int]] = {}

    def add(self, counterparty: int, at: int, row: int = NOBODY) -> None:
        """The first payment to an account replaces the statement of its details alone, which has no row."""
        changes = self._of.setdefault(counterparty, {})
        if row != NOBODY:
            changes.pop(NOBODY, None)
        changes[row] = max(at, changes.get(row, at))

    def drop(self, counterparty: int, row: int) -> None:
        """Forget a transfer that is not a first one to another account any more, or has another counterparty."""
        changes = self._of.get(counterparty)
        if changes is not None:
            changes.pop(row, None)

    def newest(self, counterparty: int, clearings: Clearings) -> int | None:
        """When it last came with other account details, apart from transfers that a person has cleared."""
        changes = self._of.get(counterparty)
        if changes is None:
            return None
        stand = (at for row, at in changes.items() if row == NOBODY or not clearings.is_cleared(row))
        return max(stand, default=None)

    def dump(self) -> list[Any]:
        return [(index, list(each.items())) for index, each in self._of.items()]

    def load(self, dumped: Any) -> None:
        self._of = {index: dict(changes) for index, changes in dumped}
