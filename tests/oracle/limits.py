"""What a program's caps and the limit ladder see, counted from a list of transfers, written from the rules alone.

Every version of every transfer is kept with the time from which it is known. A window asks each transfer for the
version that was known then, and adds up those that moved money in US cents.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from clearhold.features.core.entries.actions import CapKind
from clearhold.features.core.instants import DAY_US, HOURS_24
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.money import ACH_TYPES, RAIL_CLASSES
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import TransferRecord

FOREVER: Final = 2**62
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DEBITS: Final = (CapKind.ACH_DEBIT_DAILY, CapKind.ACH_DEBIT_MONTHLY)
_ENTITY_KINDS: Final = (CapKind.ENTITY_DAILY, CapKind.ENTITY_VELOCITY_24H)


class Version(NamedTuple):
    """A transfer as it is known from an instant on."""

    known_at: int
    record: TransferRecord


class Transfers:
    """The transfers of one program, by row, each with its versions."""

    def __init__(self) -> None:
        self._versions: dict[int, list[Version]] = {}

    def note(self, program: ProgramState, entry: LogEntry, event_at: int) -> None:
        """Read every transfer after an entry; one that differs has a new version, known from the event on."""
        for row in range(len(program.transfers)):
            record = program.transfers.read(row)
            versions = self._versions.setdefault(row, [Version(-FOREVER, record)])
            if versions[-1].record != record:
                versions.append(Version(max(event_at, versions[-1].known_at), record))
        assert entry.appended_at >= event_at

    def known(self, at: int) -> Iterator[TransferRecord]:
        """Every transfer as it was known at an instant."""
        for versions in self._versions.values():
            yield next(version.record for version in reversed(versions) if version.known_at <= at)

    def newest(self, row: int) -> TransferRecord:
        return self._versions[row][-1].record


def start_of_day(at: int) -> int:
    return _instant(_datetime(at).replace(hour=0, minute=0, second=0, microsecond=0))


def start_of_month(at: int) -> int:
    return _instant(_datetime(at).replace(day=1, hour=0, minute=0, second=0, microsecond=0))


def end_of_month(at: int) -> int:
    start = _datetime(at).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    month = start.year * 12 + start.month
    return _instant(start.replace(year=month // 12, month=month % 12 + 1))


def is_outgoing(record: TransferRecord) -> bool:
    return RAIL_CLASSES[record.class_id][1] == "outgoing"


def is_debit(record: TransferRecord) -> bool:
    """An ACH debit that the program originated: rail ach, type DEBIT, direction outgoing."""
    return (*RAIL_CLASSES[record.class_id], ACH_TYPES[record.ach_type]) == ("ach", "outgoing", "DEBIT")


def sum_of(records: Iterator[TransferRecord], after: int, upto: int, keep: Callable[[TransferRecord], bool]) -> int:
    return sum(
        max(record.cents, 0) for record in records if record.moved and after < record.at <= upto and keep(record)
    )


def count_of(records: Iterator[TransferRecord], after: int, upto: int, keep: Callable[[TransferRecord], bool]) -> int:
    return sum(1 for record in records if record.moved and after < record.at <= upto and keep(record))


class LimitsOracle:
    """``owner`` maps an account that was an actor to the entity that owns it now."""

    def __init__(self, transfers: Transfers, program: ProgramState) -> None:
        self._transfers, self._merged = transfers, dict(program.merged)

    def observed(self, kind: CapKind, actor: int, at: int, *, known_at: int) -> int:
        """What a kind of cap limits in the window that ends at an instant, as known at another."""
        records = self._transfers.known(known_at)
        if kind in _DEBITS:
            start = start_of_day(at) if kind is CapKind.ACH_DEBIT_DAILY else start_of_month(at)
            return sum_of(records, start - 1, at, is_debit)
        if kind is CapKind.ENTITY_DAILY:
            return self.sent_by(actor, start_of_day(at), at, known_at=known_at)
        if kind is CapKind.ENTITY_VELOCITY_24H:
            return count_of(records, at - HOURS_24, at, lambda record: self._is_of(record, actor))
        return 0

    def sent_by(self, actor: int, start: int, upto: int, *, known_at: int) -> int:
        records = self._transfers.known(known_at)
        return sum_of(records, start - 1, upto, lambda record: is_outgoing(record) and self._is_of(record, actor))

    def sent_to(self, counterparty: int, start: int, upto: int) -> int:
        records = self._transfers.known(upto)
        return sum_of(
            records, start - 1, upto, lambda record: is_outgoing(record) and record.counterparty == counterparty
        )

    def most_of(self, kind: CapKind, record: TransferRecord, now: int) -> int | None:
        """The most that a transfer, in US dollars, takes a kind of cap to; None when the kind does not limit it.

        That is at its own time as known then, or in its whole period as known now.
        """
        if not record.moved or (kind in _ENTITY_KINDS and record.actor < 0):
            return None
        is_sum = kind is not CapKind.ENTITY_VELOCITY_24H
        if is_sum and (not is_outgoing(record) or (kind in _DEBITS and not is_debit(record))):
            return None
        actor = self._merged.get(record.actor, record.actor)
        if kind is CapKind.PER_TRANSACTION:
            return record.amount
        then = self.observed(kind, actor, record.at, known_at=record.at)
        if kind is CapKind.ENTITY_VELOCITY_24H:
            ends = (each.at for each in self._transfers.known(now) if record.at <= each.at < record.at + HOURS_24)
            return max((then, *(self.observed(kind, actor, end, known_at=now) for end in ends)))
        last = (
            end_of_month(record.at) - 1 if kind is CapKind.ACH_DEBIT_MONTHLY else start_of_day(record.at) + DAY_US - 1
        )
        return max(then, self.observed(kind, actor, last, known_at=now)) + record.amount - record.cents

    def _is_of(self, record: TransferRecord, actor: int) -> bool:
        return self._merged.get(record.actor, record.actor) == actor


def _datetime(at: int) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def _instant(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
