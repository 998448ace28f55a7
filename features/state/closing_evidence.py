"""The later history of the alerts of one program that were closed without a person, or could have been, by detector.

An alert belongs here when it was opened as closable: the policy closed it, or only the list of closable detectors, or
the tier, prevented that. It is bad as soon as one of its transfers is labelled bad, and ok when at least one is
labelled ok, that label has matured, and none is bad. Its review is the first decision of a person.

Beside it are the transfers that each counted rule matched before: a rule that logs, or one in testing. A rule is known
by its digest, so that a changed text is counted from zero. The matches of a rule are forgotten when it is no longer in
force in that mode: it can then only return with a new start.

Window  a label ok matures 60 days after its transfer; reviews are recent for 30 days, (t - 30 d, t]
Cost    an event costs the same whatever came before; sums are updated, never recounted. Four bytes for a transfer that
        matches a rule at landing, with the highest row so far, as most do; some sixty for one that matches at a change
"""

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterator
from heapq import heappop, heappush
from typing import Any, Final

import msgspec

from clearhold.features.core.entries.actions import DetectorTally
from clearhold.features.core.instants import DAYS_30, DAYS_60
from clearhold.features.core.rules import RuleMode
from clearhold.features.core.vocabulary import LabelValue
from clearhold.features.windows.id_index import IdIndex, in_slices, key_of

MATURES_AFTER_US: Final = DAYS_60
RECENT_US: Final = DAYS_30

_PROVISIONAL, _OK, _BAD = 1, 2, 3  # a transfer's label
_CLOSED_BY_POLICY, _REVIEWED = 1, 2  # of an alert


class ClosingEvidence:
    def __init__(self) -> None:
        self.tallies: dict[str, DetectorTally] = {}
        self._names: list[str] = []  # detectors, in the order of the tallies
        self._numbers = IdIndex()  # of alerts, by their ids
        self._detectors = array("H")  # by number of an alert, as are the next three
        self._flags = bytearray()
        self._bad = array("I")  # transfers labelled bad
        self._ok = array("I")  # transfers labelled ok, matured
        self._rows = array("I")  # transfers in alerts, sorted, and beside each its alert
        self._alerts = array("I")
        self._labels: dict[int, int] = {}  # by row of a transfer
        self._maturing: list[tuple[int, int]] = []  # when a label ok matures, and its transfer: a heap
        self._recent: list[tuple[int, str, bool]] = []  # reviews of the last 30 days, by their time: a heap
        self._turned_bad: set[str] = set()

    def add_alert(self, alert_id: str, detector: str, *, closed_by_policy: bool) -> None:
        """Take in an alert that opens as closable."""
        tally = self.tallies.get(detector)
        if tally is None:
            tally = self.tallies[detector] = DetectorTally()
            self._names.append(detector)
        tally.alerts += 1
        self._numbers.put(key_of(alert_id), len(self._flags))
        self._detectors.append(self._names.index(detector))
        self._flags.append(_CLOSED_BY_POLICY if closed_by_policy else 0)
        self._bad.append(0)
        self._ok.append(0)

    def add_transfer(self, alert_id: str, row: int) -> None:
        """Take in a transfer of a closable alert, once; transfers of other alerts are ignored."""
        alert = self._numbers.get(key_of(alert_id))
        if alert is None or alert in self._alerts_of(row):
            return
        place = bisect_left(self._rows, row)
        self._rows.insert(place, row)
        self._alerts.insert(place, alert)
        label = self._labels.get(row)
        if label in {_OK, _BAD}:
            self._count(alert, label, 1)

    def review(self, alert_id: str, at: int, *, overturned: bool) -> None:
        """Count the first decision of a person on a closable alert; ``overturned`` when it was not a close."""
        alert = self._numbers.get(key_of(alert_id))
        if alert is None or self._flags[alert] & _REVIEWED:
            return
        self._flags[alert] |= _REVIEWED
        detector = self._names[self._detectors[alert]]
        heappush(self._recent, (at, detector, overturned))
        tally = self.tallies[detector]
        tally.reviewed += 1
        tally.overturned += overturned
        tally.recent_reviewed += 1
        tally.recent_overturned += overturned

    def set_label(self, row: int, label: LabelValue, *, transfer_at: int, now: int) -> None:
        """Store the newest label of a transfer."""
        matures_at = transfer_at + MATURES_AFTER_US
        if label is LabelValue.BAD:
            self._replace_label(row, _BAD)
        elif matures_at <= now:
            self._replace_label(row, _OK)
        elif self._labels.get(row) != _PROVISIONAL:
            self._replace_label(row, _PROVISIONAL)
            heappush(self._maturing, (matures_at, row))

    def pass_time(self, now: int) -> None:
        """Mature labels and age reviews."""
        while self._maturing and self._maturing[0][0] <= now:
            row = heappop(self._maturing)[1]
            if self._labels.get(row) == _PROVISIONAL:
                self._replace_label(row, _OK)
        while self._recent and self._recent[0][0] <= now - RECENT_US:
            _, detector, overturned = heappop(self._recent)
            self.tallies[detector].recent_reviewed -= 1
            self.tallies[detector].recent_overturned -= overturned

    def take_turned_bad(self) -> frozenset[str]:
        """The detectors with an alert that the policy had closed and that turned bad since the last call."""
        turned_bad = frozenset(self._turned_bad)
        self._turned_bad.clear()
        return turned_bad

    def _alerts_of(self, row: int) -> "array[int]":
        first = bisect_left(self._rows, row)
        return self._alerts[first : bisect_left(self._rows, row + 1, lo=first)]

    def _replace_label(self, row: int, label: int) -> None:
        before = self._labels.get(row)
        if before == label:
            return
        self._labels[row] = label
        for alert in self._alerts_of(row):
            if before in {_OK, _BAD}:
                self._count(alert, before, -1)
            if label in {_OK, _BAD}:
                self._count(alert, label, 1)

    def _count(self, alert: int, label: int, change: int) -> None:
        """Add a labelled transfer to its alert, or take it away, and update the detector's tally."""
        detector = self._names[self._detectors[alert]]
        tally = self.tallies[detector]
        was_labelled, was_bad = self._is_labelled(alert), self._bad[alert] > 0
        if label == _BAD:
            self._bad[alert] += change
        else:
            self._ok[alert] += change
        is_bad = self._bad[alert] > 0
        tally.labelled += self._is_labelled(alert) - was_labelled
        tally.bad += is_bad - was_bad
        if is_bad and not was_bad and self._flags[alert] & _CLOSED_BY_POLICY:
            self._turned_bad.add(detector)

    def _is_labelled(self, alert: int) -> bool:
        return self._bad[alert] > 0 or self._ok[alert] > 0

    def dump(self) -> Iterator[tuple[str, Any]]:
        """The evidence in parts, each of which ``load`` restores."""
        yield "tallies", [(name, self.tallies[name]) for name in self._names]
        yield "numbers", self._numbers.dump()
        yield "flags", bytes(self._flags)
        yield from ((name, values.tobytes()) for name, values in self._arrays.items())
        yield from in_slices("labels", self._labels.items())
        yield "maturing", sorted(self._maturing)
        yield "recent", sorted(self._recent)
        yield "turned_bad", sorted(self._turned_bad)

    def load(self, dumped: Any) -> None:
        """Restore one part."""
        part, content = dumped
        if part == "tallies":
            self.tallies = {name: msgspec.convert(tally, DetectorTally) for name, tally in content}
            self._names = list(self.tallies)
        elif part == "numbers":
            self._numbers.load(content)
        elif part == "flags":
            self._flags += content
        elif part == "labels":
            self._labels.update(content)
        elif part == "maturing":
            self._maturing = [(at, row) for at, row in content]  # sorted, and so a heap
        elif part == "recent":
            self._recent = [(at, detector, overturned) for at, detector, overturned in content]
        elif part == "turned_bad":
            self._turned_bad.update(content)
        else:
            self._arrays[part].frombytes(content)

    @property
    def _arrays(self) -> "dict[str, array[int]]":
        return {
            "detectors": self._detectors,
            "bad": self._bad,
            "ok": self._ok,
            "rows": self._rows,
            "alerts": self._alerts,
        }


_ROWS_AT_ONCE: Final = 16_384


class RuleMatches:
    """Rows that matched at landing are sorted; rows that first matched at a change are beside them."""

    __slots__ = ("_later", "_rows")

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._later: dict[str, set[int]] = {}

    def add(self, mode: RuleMode, sha256: str, row: int) -> bool:
        """Remember a match; False when the rule matched the transfer in this mode before."""
        key = _key(mode, sha256)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = array("I")
        if not rows or row > rows[-1]:
            rows.append(row)
            return True
        if rows[bisect_left(rows, row)] == row or row in self._later.get(key, ()):
            return False
        self._later.setdefault(key, set()).add(row)
        return True

    def keep(self, mode: RuleMode, hashes: Collection[str]) -> None:
        """Forget the matches in a mode of all rules except these, which are in force now."""
        kept = {_key(mode, sha256) for sha256 in hashes}
        for key in [key for key in self._rows if key.startswith(f"{mode}:") and key not in kept]:
            del self._rows[key]
            self._later.pop(key, None)

    def dump(self) -> Iterator[tuple[str, Any]]:
        """In parts that ``load`` puts together again."""
        for key, rows in self._rows.items():
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                yield "rows", (key, rows[start : start + _ROWS_AT_ONCE].tobytes())
        yield from in_slices("later", ((key, row) for key, later in self._later.items() for row in sorted(later)))

    def load(self, dumped: Any) -> None:
        part, content = dumped
        if part == "rows":
            key, rows = content
            self._rows.setdefault(key, array("I")).frombytes(rows)
            return
        for key, row in content:
            self._later.setdefault(key, set()).add(row)


def _key(mode: RuleMode, sha256: str) -> str:
    return f"{mode}:{sha256}"
