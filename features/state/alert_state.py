"""One alert in a program's memory, and its window; and the opening times of waiting alerts.

The opening times of waiting alerts are sorted, so that a percentile of their ages is one look, however many wait. An
alert can wait in the review band and be held.
"""

from array import array
from bisect import bisect_left, insort
from sys import byteorder
from typing import Final

import msgspec

from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS
from clearhold.features.core.vocabulary import (
    WAITING,
    AlertStatus,
    Band,
    Route,
    Severity,
    SlaTier,
    StackKind,
    SubjectType,
)

NEWEST_TRANSFERS: Final = 20
_ROW_BYTES: Final = 4
_BY_SEVERITY: Final = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2}
MOST_CENTS: Final = 2**63 - 1  # the largest value of a BIGINT column

Texts = tuple[str, str, str | None]
"""Summary, evidence and draft."""

_IDS_DECODER: Final = msgspec.msgpack.Decoder(tuple[str, ...])
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_REVIEW, _HOLD, _HELD = 1, 2, 4
_PERCENT: Final = 90


class AlertState(msgspec.Struct, kw_only=True, gc=False, array_like=True):
    """The present state of one alert. ``severity``, ``hard`` and ``in_hold`` are those of its most severe finding."""

    id: str
    detector: str
    severity: Severity
    subject_type: SubjectType
    subject_id: str
    transfer_id: str | None
    score: int | None
    band: Band | None
    hard: bool
    in_hold: bool
    status: AlertStatus
    route: Route
    policy_version: str
    opened_at: int
    closed_at: int | None = None
    dedupe_key: str
    due_at: int | None
    escalated_at: int | None = None
    sla_tier: SlaTier
    from_history: bool  # every finding so far is of the past
    appeal_of: str | None = None
    alert_sha256: str = ""
    recommendation: str | None = None
    ends_at: int  # of its window
    hits: int = 1  # findings
    cents: int  # of all findings, ``MOST_CENTS`` at most
    first_at: int
    last_at: int
    packed_transfers: bytes  # ``newest_transfers`` in a quarter of the bytes
    older_rows: bytearray | None = None  # of the transfers before ``newest_transfers``: sorted, four bytes each
    disposition_ids: tuple[str, ...] = ()  # also the id of the appeal that opened it
    stack_id: str | None = None  # None before it first waits; see features/alerts/stacks.py
    stack_kind: StackKind | None = None
    stack_key: str | None = None
    stored_texts: bytes | Texts | int = b""  # packed, or not, or the number of texts at rest; empty once dropped

    @property
    def waits(self) -> bool:
        """Whether a person has yet to decide it."""
        return self.status in WAITING

    @property
    def queue_rank(self) -> int:
        """Its place in lists, the highest first: hard, then opened in hold, then by severity, then the newest."""
        weight = 6 * self.hard + 3 * (self.band is Band.HOLD) + _BY_SEVERITY[self.severity]
        return (weight << RANK_INSTANT_BITS) + self.opened_at

    @property
    def newest_disposition_id(self) -> str | None:
        """The newest decision on it, if any."""
        decisions = self.disposition_ids[self.appeal_of is not None :]
        return decisions[-1] if decisions else None

    @property
    def newest_transfers(self) -> tuple[str, ...]:
        """The ids of the transfers of its newest findings, the newest last."""
        return _IDS_DECODER.decode(self.packed_transfers)

    @property
    def transfers(self) -> tuple[str, ...]:
        """The transfer that opened it, and those of its newest findings."""
        first = () if self.transfer_id is None else (self.transfer_id,)
        return tuple(dict.fromkeys((*first, *self.newest_transfers)))

    def add_finding(self, transfer_id: str, at: int, cents: int) -> tuple[bool, str | None]:
        """Whether ``newest_transfers`` lacked the transfer; and the id that is no longer among them."""
        self.first_at = min(self.first_at, at)
        if self.status is AlertStatus.CLOSED:
            return False, None
        self.hits += 1
        self.cents = min(self.cents + cents, MOST_CENTS)
        self.last_at = max(self.last_at, at)
        newest = self.newest_transfers
        self.packed_transfers = packed_ids((*newest, transfer_id)[-NEWEST_TRANSFERS:])
        return transfer_id not in newest, newest[0] if len(newest) == NEWEST_TRANSFERS else None

    def older(self) -> "memoryview[int]":
        """The rows of the transfers before ``newest_transfers``, sorted."""
        return memoryview(self.older_rows or b"").cast("I")

    def has_older(self, row: int) -> bool:
        if self._is_newer(row):
            return False
        rows = self.older()
        place = bisect_left(rows, row)
        return place < len(rows) and rows[place] == row

    def add_older(self, row: int) -> None:
        if self.older_rows is None:
            self.older_rows = bytearray()
        if self._is_newer(row):
            self.older_rows += row.to_bytes(_ROW_BYTES, byteorder)
        elif not self.has_older(row):
            place = bisect_left(self.older(), row) * _ROW_BYTES
            self.older_rows[place:place] = row.to_bytes(_ROW_BYTES, byteorder)

    def _is_newer(self, row: int) -> bool:
        """Whether it comes after all of ``older``, as most do."""
        rows = self.older_rows
        return not rows or row > int.from_bytes(rows[-_ROW_BYTES:], byteorder)

    def trim(self) -> None:
        """Drop the fields that a closed alert does not need again; the store has them."""
        self.policy_version = self.dedupe_key = self.alert_sha256 = ""
        self.recommendation = self.closed_at = self.due_at = self.escalated_at = None
        self.stack_id = self.stack_kind = self.stack_key = None
        self.opened_at = self.ends_at = self.last_at = self.hits = self.cents = 0
        self.stored_texts = b""


def packed_ids(ids: tuple[str, ...]) -> bytes:
    """Ids in the form that an alert stores."""
    return _ENCODE(ids)


NO_IDS: Final = packed_ids(())


class WaitingAlerts:
    __slots__ = ("_kinds", "hold", "review")

    def __init__(self) -> None:
        self.review: array[int] = array("q")
        self.hold: array[int] = array("q")
        self._kinds: dict[str, int] = {}  # by alert: which of the two contain it, and whether it is held

    def held_ids(self) -> tuple[str, ...]:
        """The alerts that are held, also those on the program."""
        return tuple(alert_id for alert_id, kinds in self._kinds.items() if kinds & _HELD)

    def note(self, alert: AlertState) -> None:
        """Count an alert by its present state."""
        now, before = _kinds_of(alert), self._kinds.get(alert.id, 0)
        if now == before:
            return
        for kind, opened in ((_REVIEW, self.review), (_HOLD, self.hold)):
            if now & kind and not before & kind:
                insort(opened, alert.opened_at)
            elif before & kind and not now & kind:
                del opened[bisect_left(opened, alert.opened_at)]
        if now:
            self._kinds[alert.id] = now
        else:
            del self._kinds[alert.id]


def p90_of(opened: "array[int]") -> int | None:
    """The opening time of the alert at the 90th percentile of ages by nearest rank; None without waiting alerts."""
    rank = -(-len(opened) * _PERCENT // 100)
    return opened[len(opened) - rank] if opened else None


def _kinds_of(alert: AlertState) -> int:
    if not alert.waits:
        return 0
    bit = _HELD if alert.status is AlertStatus.HELD else 0
    if alert.subject_type is SubjectType.PROGRAM:  # its age would make the program's own indicators worse
        return bit
    in_hold = _HOLD if bit or alert.band is Band.HOLD else 0
    return bit | in_hold | (_REVIEW if alert.band is Band.REVIEW else 0)
