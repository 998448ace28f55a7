"""The alerts of one program: waiting and decided ones, and the alert that a later finding belongs to.

An alert is found by its id, or by its subject and an instant: its window begins with the first finding and covers late
findings for the same time before it. An alert that can change is stored unpacked; a decided one whose window is over
rests. From the next tick on, a closed alert keeps only the fields that an appeal and a late finding need. Texts are
large: they are packed, except the newest, which are likely to be written again. Those of an alert that a finding joined
are made when they are read, or when the page of entries ends.

Unit    instants in microseconds; windows are taken by the transfers' own time
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.core.instants import DAYS_60
from clearhold.features.core.vocabulary import AlertStatus, SubjectType
from clearhold.features.state.alert_state import AlertState, Texts, WaitingAlerts, packed_ids
from clearhold.features.state.alert_storage import AlertWindows, RestingAlerts, TextPacker
from clearhold.features.state.stack_book import StackBook
from clearhold.features.windows.id_index import IdIndex, in_slices

TALLIED: Final = 16
DISPUTE_WAITS_US: Final = DAYS_60
"""For its transfer, by the log's time: as long as a payment may come back as unauthorized."""
LOOSE_TEXTS: Final = 64  # alerts of a program whose texts are not packed

_ALERTED, _IN_HOLD = 1, 2  # in an alert that a person decides; in such an alert in the hold band
_DECODER: Final = msgspec.msgpack.Decoder(AlertState)
_TEXTS_DECODER: Final = msgspec.msgpack.Decoder(Texts)
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class DecidedAt(NamedTuple):
    """The newest decision on a dispute of a transfer, and whether the holder won."""

    at: int
    is_won: bool


class WaitingDispute(NamedTuple):
    """A decision on a dispute of an unknown transfer, and the log's time of it."""

    decided: DecidedAt
    since: int


class AlertBook:
    """Alerts by id, unpacked and at rest; their windows by subject; two heaps, of due times and of ends of windows."""

    def __init__(self) -> None:
        self._unpacked: dict[str, AlertState] = {}
        self.waiting = WaitingAlerts()
        self.stacks = StackBook()
        self._resting = RestingAlerts()
        self._closed: list[str] = []  # since the last tick
        self._packer = TextPacker()
        self.unwritten: dict[str, Callable[[], Texts]] = {}  # by alert: makes the texts when they are read
        self._loose: dict[str, AlertState] = {}  # with texts that are not packed, the one written last behind
        self._windows = AlertWindows()
        self._due: list[tuple[int, str]] = []
        self._over: list[tuple[int, str]] = []
        self._decided: set[str] = set()
        self._alerted = bytearray()  # by row of a transfer: ``_ALERTED`` or ``_IN_HOLD``, 0 for one in no alert
        self._tallies: dict[str, list[tuple[int, int]]] = {}
        self._rows: dict[str, array[int]] = {}  # by alert: its transfers, where one can be found twice
        self._commands = IdIndex()  # ids of the labels, splits and decisions on several alerts that people recorded
        self.labelled_by_return: set[int] = set()  # rows of transfers labelled by a return that is not dishonoured
        self.disputes: dict[int, DecidedAt] = {}  # by row of a transfer
        self.disputes_waiting: dict[str, WaitingDispute] = {}  # by id of an unknown transfer, the oldest first
        self.labelled_by_person: set[int] = set()  # rows of transfers labelled by a person

    def __len__(self) -> int:
        return len(self._unpacked) + self._resting.count

    def get(self, alert_id: str) -> AlertState | None:
        """The alert; a changed one must be given to ``put``."""
        alert = self._unpacked.get(alert_id)
        return self._resting.get(alert_id) if alert is None else alert

    def texts(self, alert: AlertState) -> Texts:
        """Summary, evidence and draft."""
        write = self.unwritten.pop(alert.id, None)
        if write is not None:
            self.set_texts(alert, write())
        stored = alert.stored_texts
        if isinstance(stored, bytes):
            texts: Texts = _TEXTS_DECODER.decode(self._packer.unpack(stored))
            return texts
        return self._resting.texts(stored) if isinstance(stored, int) else stored

    def held_alerts(self) -> list[AlertState]:
        """The held alerts, in the order of opening."""
        alerts = (self._unpacked[alert_id] for alert_id in self.waiting.held_ids())
        return sorted(alerts, key=lambda alert: (alert.opened_at, alert.id))

    def is_resting(self, alert_id: str) -> bool:
        return alert_id in self._resting

    def alert_at(self, subject: str, at: int) -> AlertState | None:
        """The newest alert on the subject whose window covers an instant."""
        alert_id = self._windows.newest_over(subject, at)
        return None if alert_id is None else self.get(alert_id)

    def newest_alert(self, subject: str) -> AlertState | None:
        """The newest alert on the subject."""
        alert_id = self._windows.newest(subject)
        return None if alert_id is None else self.get(alert_id)

    def alert_count(self, subject: str) -> int:
        """How many alerts were opened on the subject."""
        return self._windows.count(subject)

    def put(self, alert: AlertState) -> None:
        """Store an alert whose texts were just set, and schedule its due time or the end of its window."""
        self._resting.wake(alert.id)
        self._hold_unpacked(alert)
        if not alert.waits:
            heappush(self._over, (alert.ends_at, alert.id))
        if alert.status is AlertStatus.CLOSED:
            self._closed.append(alert.id)

    def set_texts(self, alert: AlertState, texts: Texts) -> None:
        """Replace the texts of an alert; the oldest unpacked texts are packed to make room."""
        kind = _kind_of(alert)
        if kind not in self._packer:
            self._packer.add(kind, _ENCODE(texts))
        alert.stored_texts = texts
        self.waiting.note(alert)
        self._loose.pop(alert.id, None)
        self._loose[alert.id] = alert
        if len(self._loose) > LOOSE_TEXTS:
            self._pack_texts(self._loose.pop(next(iter(self._loose))))

    def write_later(self, alert: AlertState, write: Callable[[], Texts]) -> None:
        self.unwritten[alert.id] = write
        self.waiting.note(alert)

    def write_next(self) -> None:
        """Make the texts of one alert of ``unwritten``."""
        self.texts(self._unpacked[next(iter(self.unwritten))])

    def open_window(self, subject: str, after: int, alert: AlertState) -> None:
        """Later findings within the window join the alert, in place of an older one that covers them too."""
        self._windows.open(subject, after, alert.ends_at, alert.id)

    def overdue(self, now: int) -> Iterator[AlertState]:
        """The waiting alerts past their due time that were not escalated yet, in order of due time."""
        due = self._due
        while due and due[0][0] <= now:
            due_at, alert_id = heappop(due)
            alert = self._unpacked.get(alert_id)
            if alert is not None and alert.waits and alert.due_at == due_at and alert.escalated_at is None:
                yield alert

    def rest(self, upto: int) -> None:
        """Lay to rest decided alerts with windows over by ``upto``; trim the alerts closed since the last call."""
        for alert_id in self._closed:
            self._loose.pop(alert_id, None)
            self._unpacked[alert_id].trim()
        self._closed.clear()
        over = self._over
        while over and over[0][0] <= upto:
            alert = self._unpacked.get(heappop(over)[1])
            if alert is None or alert.waits:
                continue
            texts = None if alert.status is AlertStatus.CLOSED else self.texts(alert)
            del self._unpacked[alert.id]
            self._rows.pop(alert.id, None)
            self._loose.pop(alert.id, None)
            self._resting.lay(alert, texts)

    def _pack_texts(self, alert: AlertState) -> None:
        if isinstance(alert.stored_texts, tuple):
            alert.stored_texts = self._packer.pack(_kind_of(alert), _ENCODE(alert.stored_texts))

    def mark_decided(self, detector: str, subject_type: SubjectType, subject_id: str) -> None:
        """Remember that an alert of the detector on the subject was decided."""
        self._decided.add(key_of_subject(detector, subject_type, subject_id))

    def was_decided(self, detector: str, subject_type: SubjectType, subject_id: str) -> bool:
        return key_of_subject(detector, subject_type, subject_id) in self._decided

    def tally(
        self, detector: str, subject_type: SubjectType, subject_id: str, *, at: int, row: int, within_us: int
    ) -> int:
        """Count a transfer once, and return the count of the time before it, itself included; ``TALLIED`` at most."""
        tally = self._tallies.setdefault(key_of_subject(detector, subject_type, subject_id), [])
        if (at, row) not in tally:
            insort(tally, (at, row))
            del tally[:-TALLIED]
        return sum(1 for time, _ in tally if at - within_us < time <= at)

    def add_transfer(self, alert_id: str, row: int) -> bool:
        """Count a transfer in the alert; False when it was counted before."""
        rows = self._rows.setdefault(alert_id, array("I"))
        place = bisect_left(rows, row)
        if place < len(rows) and rows[place] == row:
            return False
        rows.insert(place, row)
        return True

    def rename_transfer(self, transfer_id: str, new_id: str) -> None:
        """Name a transfer by its new id in the alerts that wait: a decision on them is one on the transfer, too."""
        for alert in self._unpacked.values():
            if alert.waits and transfer_id in (ids := alert.newest_transfers):
                alert.packed_transfers = packed_ids(tuple(new_id if each == transfer_id else each for each in ids))

    def note_alerted(self, row: int, *, in_hold: bool) -> None:
        """Remember that an alert which a person decides has the transfer, and whether in the hold band."""
        if row >= len(self._alerted):
            self._alerted.extend(bytes(row + 1 - len(self._alerted)))
        self._alerted[row] = max(self._alerted[row], _IN_HOLD if in_hold else _ALERTED)

    def is_alerted(self, row: int, *, in_hold: bool) -> bool:
        """Whether an alert has the transfer; with ``in_hold`` whether one has it in the hold band."""
        return row < len(self._alerted) and self._alerted[row] >= (_IN_HOLD if in_hold else _ALERTED)

    def add_command(self, entry_id: str) -> bool:
        """Remember the id of a label, of a split, or of a decision on several alerts; False when it came before."""
        return self._commands.add(entry_id)

    def wait_for_transfer(self, transfer_id: str, decided: DecidedAt, now: int) -> None:
        """Store the decision on a dispute until its transfer is known, or for ``DISPUTE_WAITS_US``."""
        self.disputes_waiting.pop(transfer_id, None)
        self.disputes_waiting[transfer_id] = WaitingDispute(decided, now)

    def end_waits(self, now: int) -> None:
        """Drop the disputes whose transfers did not come in time."""
        waiting = self.disputes_waiting
        while waiting and waiting[oldest := next(iter(waiting))].since <= now - DISPUTE_WAITS_US:
            del waiting[oldest]

    def dump(self) -> Iterator[tuple[str, Any]]:
        """The book in parts, each of which ``load`` restores; an alert or a subject is never split between parts."""
        while self.unwritten:
            self.write_next()
        for alert in self._loose.values():
            self._pack_texts(alert)
        self._loose.clear()
        yield "samples", self._packer.dump()
        yield from self.stacks.dump()
        yield from in_slices("whole", (_ENCODE(alert) for alert in self._unpacked.values()))
        yield from in_slices("closed", self._closed)
        yield from (("resting", part) for part in self._resting.dump())
        yield from self._windows.dump()
        yield from in_slices("over", sorted(self._over))
        yield from in_slices("decided", sorted(self._decided))
        yield "alerted", bytes(self._alerted)
        yield from in_slices("tallies", self._tallies.items())
        yield from in_slices("rows", ((alert_id, rows.tobytes()) for alert_id, rows in self._rows.items()))
        yield from in_slices("labelled_by_return", sorted(self.labelled_by_return))
        yield from in_slices("disputes", self.disputes.items())
        yield from in_slices("disputes_waiting", self.disputes_waiting.items())
        yield from in_slices("labelled_by_person", sorted(self.labelled_by_person))
        yield "commands", self._commands.dump()

    def load(self, dumped: Any) -> None:
        """Restore one part."""
        part, content = dumped
        loaders: dict[str, Callable[[Any], None]] = {
            "samples": self._packer.load,
            "stacks": self.stacks.load,
            "whole": self._load_unpacked,
            "closed": self._closed.extend,
            "resting": self._resting.load,
            "windows": self._windows.load,
            "over": lambda part: self._over.extend((at, alert_id) for at, alert_id in part),  # sorted, and so a heap
            "decided": self._decided.update,
            "alerted": self._alerted.extend,
            "tallies": lambda part: self._tallies.update((key, [(at, row) for at, row in rows]) for key, rows in part),
            "rows": lambda part: self._rows.update((alert_id, array("I", rows)) for alert_id, rows in part),
            "labelled_by_return": self.labelled_by_return.update,
            "disputes": self._load_disputes,
            "disputes_waiting": self._load_disputes_waiting,
            "labelled_by_person": self.labelled_by_person.update,
            "commands": self._commands.load,
        }
        loaders[part](content)

    def _load_unpacked(self, dumped: Any) -> None:
        for alert in map(_DECODER.decode, dumped):
            self._hold_unpacked(alert)

    def _load_disputes(self, dumped: Any) -> None:
        self.disputes.update((row, DecidedAt(*decided)) for row, decided in dumped)

    def _load_disputes_waiting(self, dumped: Any) -> None:
        for transfer_id, (decided, since) in dumped:
            self.wait_for_transfer(transfer_id, DecidedAt(*decided), since)

    def _hold_unpacked(self, alert: AlertState) -> None:
        self._unpacked[alert.id] = alert
        self.waiting.note(alert)
        self.stacks.note(alert)
        if alert.waits and alert.due_at is not None and alert.escalated_at is None:
            heappush(self._due, (alert.due_at, alert.id))


def _kind_of(alert: AlertState) -> str:
    """The kind of its texts for packing: the detector, or ``rule`` for all rules, whose number is unlimited."""
    return alert.detector.partition(":")[0]


def key_of_subject(detector: str, subject_type: SubjectType, subject_id: str) -> str:
    """The key that the alerts of one detector on one subject share."""
    return f"{detector}:{subject_type}:{subject_id}"
