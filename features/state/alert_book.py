"""The alerts of one program: what waits, what is decided, and which alert a later hit belongs to.

An alert is found by its id, and by whom it is about and when: it covers its window from the first hit on, and what
arrives late from as far before it. While it can change it is kept whole; decided and with its window over it is
packed, and a closed one then keeps no more than an appeal needs.

Unit    instants in microseconds; windows are taken by the transfers' own time
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any, Final
from zlib import compress, decompress

import msgspec

from features.core.vocabulary import WAITING, AlertStatus
from features.windows.id_index import IdIndex, key_of
from features.windows.slices import in_slices

NEWEST_TRANSFERS: Final = 20
TALLIED: Final = 16
MOST_CENTS: Final = 2**63 - 1  # what a column holds
_CLOSED: Final = AlertStatus.CLOSED.value
_LEVEL: Final = 6


class Alert(msgspec.Struct, kw_only=True, gc=False, array_like=True):
    """One alert as it stands. ``severity``, ``hard`` and ``in_hold`` are those of its gravest hit."""

    id: str
    detector: str
    severity: str
    subject_type: str
    subject_id: str
    transfer_id: str | None
    score: int | None
    band: str | None
    hard: bool
    in_hold: bool
    status: str
    route: str
    policy_version: str
    opened_at: int
    closed_at: int | None
    dedupe_key: str
    due_at: int | None
    escalated_at: int | None
    sla_tier: str
    appeal_of: str | None
    alert_sha256: str
    recommendation: str | None
    ends_at: int  # of its window
    hits: int
    cents: int  # of all hits, ``MOST_CENTS`` at most
    first_at: int
    last_at: int
    newest: tuple[str, ...]  # transfers of the newest hits, the newest last
    made: tuple[str, ...]  # ids of the decisions made on it
    said: bytes  # its texts, packed; none of a closed alert whose window is over

    @property
    def waits(self) -> bool:
        """True while a person is still to decide it."""
        return self.status in WAITING

    @property
    def texts(self) -> tuple[str, str, str | None]:
        """Summary, evidence and draft."""
        summary, evidence, draft = msgspec.msgpack.decode(decompress(self.said))
        return summary, evidence, draft

    def set_texts(self, summary: str, evidence: str, draft: str | None) -> None:
        """Keep its texts."""
        self.said = compress(msgspec.msgpack.encode((summary, evidence, draft)), _LEVEL)

    def count(self, transfer_id: str, at: int, cents: int) -> None:
        """Take in one more hit."""
        self.hits += 1
        self.cents = min(self.cents + cents, MOST_CENTS)
        self.first_at, self.last_at = min(self.first_at, at), max(self.last_at, at)
        self.newest = (*self.newest, transfer_id)[-NEWEST_TRANSFERS:]


class Window(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The time that an alert covers, without its two ends."""

    after: int
    until: int
    alert_id: str


_DECODER: Final = msgspec.msgpack.Decoder(Alert)
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class AlertBook:
    """Alerts by id, whole ones and packed ones; their windows by subject; and two heaps of what time brings."""

    __slots__ = (
        "_decided",
        "_due",
        "_labels",
        "_over",
        "_packed",
        "_rows",
        "_tallies",
        "_whole",
        "_windows",
        "labelled_by_person",
        "labelled_by_return",
    )

    def __init__(self) -> None:
        self._whole: dict[str, Alert] = {}
        self._packed: dict[str, bytes] = {}
        self._windows: dict[str, list[Window]] = {}
        self._due: list[tuple[int, str]] = []
        self._over: list[tuple[int, str]] = []
        self._decided: set[str] = set()
        self._tallies: dict[str, list[tuple[int, int]]] = {}
        self._rows: dict[str, array[int]] = {}  # by alert: the transfers that hit it, where they can hit twice
        self._labels = IdIndex()  # ids of the labels that people gave
        self.labelled_by_return: set[int] = (
            set()
        )  # rows of the transfers that a return has labelled, and that still stands
        self.labelled_by_person: set[int] = set()  # rows of the transfers that a person has labelled

    def __len__(self) -> int:
        return len(self._whole) + len(self._packed)

    @property
    def whole(self) -> int:
        """How many are not packed."""
        return len(self._whole)

    def get(self, alert_id: str) -> Alert | None:
        """The alert; what is changed of it must be given to ``keep``."""
        held = self._whole.get(alert_id)
        if held is not None:
            return held
        packed = self._packed.get(alert_id)
        return None if packed is None else _DECODER.decode(packed)

    def is_packed(self, alert_id: str) -> bool:
        return alert_id in self._packed

    def alert_at(self, subject: str, at: int) -> Alert | None:
        """The newest alert on the subject whose window covers an instant."""
        for window in reversed(self._windows.get(subject, ())):
            if window.after < at < window.until:
                return self.get(window.alert_id)
        return None

    def earlier(self, subject: str) -> int:
        """How many alerts the subject has had."""
        return len(self._windows.get(subject, ()))

    def keep(self, alert: Alert) -> None:
        """Take an alert as it is now, new or changed, and wait for its decision or for the end of its window."""
        self._packed.pop(alert.id, None)
        self._whole[alert.id] = alert
        if alert.waits:
            self._wait_for_clock(alert)
        else:
            heappush(self._over, (alert.ends_at, alert.id))

    def open_window(self, subject: str, after: int, alert: Alert) -> None:
        """Let the alert take in the hits of its window, in place of an older one that covers it too."""
        self._windows.setdefault(subject, []).append(Window(after, alert.ends_at, alert.id))

    def overdue(self, now: int) -> Iterator[Alert]:
        """The waiting alerts whose clock has run out and that nobody was told of, in order of their due times."""
        due = self._due
        while due and due[0][0] <= now:
            due_at, alert_id = heappop(due)
            alert = self._whole.get(alert_id)
            if alert is not None and alert.waits and alert.due_at == due_at and alert.escalated_at is None:
                yield alert

    def pack(self, upto: int) -> None:
        """Pack what is decided and over at ``upto``."""
        over = self._over
        while over and over[0][0] <= upto:
            alert = self._whole.get(heappop(over)[1])
            if alert is None or alert.waits:
                continue
            del self._whole[alert.id]
            self._rows.pop(alert.id, None)
            if alert.status == _CLOSED:
                alert.said, alert.newest = b"", ()
            self._packed[alert.id] = _ENCODE(alert)

    def decide(self, detector: str, subject_type: str, subject_id: str) -> None:
        """Remember that somebody decided on the subject."""
        self._decided.add(key_of_subject(detector, subject_type, subject_id))

    def was_decided(self, detector: str, subject_type: str, subject_id: str) -> bool:
        return key_of_subject(detector, subject_type, subject_id) in self._decided

    def tally(self, detector: str, subject_type: str, subject_id: str, *, at: int, row: int, within_us: int) -> int:
        """Take in one transfer, once, and count those of the time before it, with itself; ``TALLIED`` at most."""
        held = self._tallies.setdefault(key_of_subject(detector, subject_type, subject_id), [])
        if (at, row) not in held:
            insort(held, (at, row))
            del held[:-TALLIED]
        return sum(1 for time, _ in held if at - within_us < time <= at)

    def take_hit(self, alert_id: str, row: int) -> bool:
        """True for a transfer that had not hit the alert before."""
        rows = self._rows.setdefault(alert_id, array("I"))
        place = bisect_left(rows, row)
        if place < len(rows) and rows[place] == row:
            return False
        rows.insert(place, row)
        return True

    def take_label(self, label_id: str) -> bool:
        """True for a label that was not given before."""
        key = key_of(label_id)
        if self._labels.get(key) is not None:
            return False
        self._labels.put(key, 1)
        return True

    def dump(self) -> Iterator[tuple[str, Any]]:
        """In parts, each of which ``load`` takes; an alert or a subject is whole in one of them."""
        yield from in_slices("whole", (_ENCODE(alert) for alert in self._whole.values()))
        yield from in_slices("packed", self._packed.items())
        yield from in_slices("windows", ((subject, list(held)) for subject, held in self._windows.items()))
        yield from in_slices("over", sorted(self._over))
        yield from in_slices("decided", sorted(self._decided))
        yield from in_slices("tallies", self._tallies.items())
        yield from in_slices("rows", ((alert_id, rows.tobytes()) for alert_id, rows in self._rows.items()))
        yield from in_slices("labelled_by_return", sorted(self.labelled_by_return))
        yield from in_slices("labelled_by_person", sorted(self.labelled_by_person))
        yield "labels", self._labels.dump()

    def load(self, dumped: tuple[str, Any]) -> None:
        """Take back one part."""
        part, held = dumped
        if part == "whole":
            for alert in map(_DECODER.decode, held):
                self._whole[alert.id] = alert
                self._wait_for_clock(alert)
        elif part == "packed":
            self._packed.update(held)
        elif part == "windows":
            self._windows.update((subject, [Window(*window) for window in windows]) for subject, windows in held)
        elif part == "over":
            self._over += [(at, alert_id) for at, alert_id in held]  # sorted, and so a heap
        elif part == "tallies":
            self._tallies.update((subject, [(at, row) for at, row in rows]) for subject, rows in held)
        elif part == "rows":
            self._rows.update((alert_id, array("I", rows)) for alert_id, rows in held)
        elif part == "labels":
            self._labels.load(held)
        else:
            sets: dict[str, set[Any]] = {
                "decided": self._decided,
                "labelled_by_return": self.labelled_by_return,
                "labelled_by_person": self.labelled_by_person,
            }
            sets[part].update(held)

    def _wait_for_clock(self, alert: Alert) -> None:
        if alert.waits and alert.due_at is not None and alert.escalated_at is None:
            heappush(self._due, (alert.due_at, alert.id))


def key_of_subject(detector: str, subject_type: str, subject_id: str) -> str:
    """What hits of one detector on one subject share."""
    return f"{detector}:{subject_type}:{subject_id}"
