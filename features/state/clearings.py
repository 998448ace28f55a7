"""Transfers that persons have cleared: their points end in the scores of actors.

A transfer is cleared by a person's label ok. Without a label it is cleared by a person's decision that closes an alert
on it (release, close or no_action), while no other alert on it waits. A later label bad brings its points back, a
person's or the bank's; so does a person who holds or escalates an alert on it. Without a label, so does an alert on it
that opens or is appealed later, until that is decided.

Unit    8 bytes a transfer in an alert, 15 an alert; 2 a transfer up to the last one cleared
Cost    a decision reads all pairs of alerts and transfers once, in one pass over packed numbers
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import numpy as np

from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.windows.id_index import IdIndex, key_of

_NO_ROWS: Final[frozenset[int]] = frozenset()
_WAITS, _CLOSED_BY_PERSON, _CLOSED_BY_POLICY = 0, 1, 2  # an alert


class Clearings:
    """By row of a transfer. A change takes effect when the rows of ``take_changed`` are cleared or restored."""

    __slots__ = (
        *("_alerts", "_changed", "_cleared", "_contradicted", "_labels", "_numbers", "_returns", "_rows", "_states"),
    )

    def __init__(self) -> None:
        self._numbers = IdIndex()  # of alerts, by their ids
        self._states = bytearray()  # by number of an alert
        self._rows = array("I")  # transfers in alerts, sorted, and beside each the number of its alert
        self._alerts = array("I")
        self._labels: dict[int, bool] = {}  # a person's newest label: True for ok
        self._contradicted: set[int] = set()  # labelled bad by the bank, after a person's label
        self._cleared = array("H")  # by row: 1 and the shares of its points, which may come back; 0 if not cleared
        self._returns: dict[int, set[int]] = {}  # cleared transfers with a return, by node of a party
        self._changed: list[int] = []

    def is_cleared(self, row: int) -> bool:
        return row < len(self._cleared) and self._cleared[row] > 0

    def add_transfer(self, alert_id: str, row: int, *, waits: bool) -> None:
        """Take in a transfer of an alert that no person has closed."""
        number = self._numbers.get(key_of(alert_id))
        if number is None:
            number = len(self._states)
            self._numbers.put(key_of(alert_id), number)
            self._states.append(_WAITS if waits else _CLOSED_BY_POLICY)
        if number not in self._alerts_of(row):
            place = bisect_right(self._rows, row)
            self._rows.insert(place, row)
            self._alerts.insert(place, number)
            if self.is_cleared(row):
                self._changed.append(row)

    def decide(self, alert_id: str, *, waits: bool) -> None:
        """A person's decision, after which the alert waits or is closed."""
        number = self._numbers.get(key_of(alert_id))
        if number is None:
            return
        self._states[number] = _WAITS if waits else _CLOSED_BY_PERSON
        rows = self._rows_of(number)
        for row in rows if waits else ():
            if self._labels.get(row):
                del self._labels[row]
        self._changed += rows

    def appeal(self, alert_id: str, appealed_id: str) -> None:
        """An alert that waits on the transfers of the one that it appeals."""
        number = self._numbers.get(key_of(appealed_id))
        for row in () if number is None else self._rows_of(number):
            self.add_transfer(alert_id, row, waits=True)

    def label(self, row: int, label: LabelValue) -> None:
        """A person's label, which replaces every earlier one."""
        self._labels[row] = label is LabelValue.OK
        self._contradicted.discard(row)
        self._changed.append(row)

    def contradict(self, row: int) -> None:
        """The bank labels the transfer bad: it was returned as unauthorized, or its holder won a dispute."""
        self._contradicted.add(row)
        self._changed.append(row)

    def withdraw(self, row: int) -> None:
        """The bank's label bad is lifted."""
        self._contradicted.discard(row)
        self._changed.append(row)

    def take_changed(self) -> list[int]:
        """The rows that are to be cleared, or restored, since the last call."""
        if not self._changed:
            return self._changed
        changed = [row for row in dict.fromkeys(self._changed) if self.is_cleared(row) != self._should_be_cleared(row)]
        self._changed = []
        return changed

    def clear(self, row: int, shares: int) -> None:
        self._cleared.extend([0] * (row + 1 - len(self._cleared)))
        self._cleared[row] = 1 + shares

    def restore(self, row: int) -> int:
        """The shares of the points that come back."""
        shares, self._cleared[row] = self._cleared[row] - 1, 0
        return shares

    def set_return(self, row: int, nodes: Iterable[int], *, counts: bool) -> None:
        """Note whether a cleared transfer has a return that counts, for the parties at these nodes."""
        for node in nodes:
            if counts:
                self._returns.setdefault(node, set()).add(row)
            else:
                self._returns.get(node, set()).discard(row)

    def returns_of(self, node: int) -> Collection[int]:
        """The cleared transfers of a party with a return that counts."""
        return self._returns.get(node, _NO_ROWS)

    def merge_node(self, old: int, new: int) -> None:
        """Give the cleared returns of one node to another."""
        self._returns.setdefault(new, set()).update(self._returns.pop(old, ()))

    def _should_be_cleared(self, row: int) -> bool:
        is_ok = False if row in self._contradicted else self._labels.get(row)
        if is_ok is not None:
            return is_ok
        states = {self._states[number] for number in self._alerts_of(row)}
        return _CLOSED_BY_PERSON in states and _WAITS not in states

    def _alerts_of(self, row: int) -> "array[int]":
        first = bisect_left(self._rows, row)
        return self._alerts[first : bisect_right(self._rows, row, first)]

    def _rows_of(self, number: int) -> list[int]:
        rows, alerts = np.frombuffer(self._rows, np.uint32), np.frombuffer(self._alerts, np.uint32)
        of_alert: list[int] = rows[alerts == number].tolist()
        return of_alert

    def dump(self) -> Iterator[tuple[str, Any]]:
        yield "alerts", (self._numbers.dump(), bytes(self._states))
        yield "transfers", (self._rows.tobytes(), self._alerts.tobytes())
        yield "people", (list(self._labels.items()), sorted(self._contradicted), self._cleared.tobytes())
        yield "returns", [(node, sorted(rows)) for node, rows in sorted(self._returns.items()) if rows]

    def load(self, dumped: Any) -> None:
        part, content = dumped
        if part == "alerts":
            self._numbers.load(content[0])
            self._states.extend(content[1])
        elif part == "transfers":
            self._rows.frombytes(content[0])
            self._alerts.frombytes(content[1])
        elif part == "returns":
            self._returns = {node: set(rows) for node, rows in content}
        else:
            self._labels, self._contradicted = dict(content[0]), set(content[1])
            self._cleared.frombytes(content[2])
