"""One shard: the state of its programs, changed by one log entry after the other.

Applying an entry is a function of the entry and the state: no clock, no chance, no I/O. The same entries in the same
order end in the same state and the same rows.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple
from zlib import crc32

import msgspec

from features.alerts.clocks import run_clocks
from features.alerts.decisions import appeal, decide, label
from features.alerts.opening import run_detectors
from features.bank.event_families import KNOWN_FAMILIES, RAIL_OF_FAMILY, TRANSFER_ID_PREFIXES, TRANSFER_RESOURCES
from features.bank.events import ANY_DECODER, EVENT_DECODER, BankEvent, BankObject, TransferSnapshot, decode_object
from features.bank.transfers import EventKind, read_transfer
from features.core.backfill import BackfillStep
from features.core.commands import AppealEntry, DecisionEntry, LabelEntry
from features.core.instants import parse_instant
from features.core.log_entry import EntryKind, LogEntry
from features.core.preflight import PreflightRecord
from features.core.program import Program
from features.core.rows.emit import Emit
from features.core.rows.events import EventRow, QuarantineRow
from features.core.rows.parties import ProgramRow
from features.core.rows.transfers import PreflightMatchRow, PreflightRow
from features.landing import party_rows as rows
from features.landing.actor_scores import emit_after_transfer
from features.landing.landing import land
from features.landing.preflight import asked_about
from features.landing.stored_transfer import EntryPosition
from features.shard.backfill_step import take_step
from features.state.open_preflights import OtherSide
from features.state.program import ProgramState
from features.windows.id_index import key_of

_PREFLIGHT_DECODER: Final = msgspec.json.Decoder(PreflightRecord)
_PROGRAM_DECODER: Final = msgspec.json.Decoder(Program)
_TYPES_REMEMBERED: Final = 4_096
_BANK, _PREFLIGHT = EntryKind.BANK.value, EntryKind.PREFLIGHT.value
_PROGRAM, _TICK = EntryKind.PROGRAM.value, EntryKind.TICK.value
# What people and backfills ask: the decoder of the entry's body, and what applies it to the program.
_ASKED: Final[dict[str, tuple[msgspec.json.Decoder[Any], Callable[[ProgramState, Any, EntryPosition, Emit], None]]]] = {
    EntryKind.DECISION.value: (msgspec.json.Decoder(DecisionEntry), decide),
    EntryKind.APPEAL.value: (msgspec.json.Decoder(AppealEntry), appeal),
    EntryKind.LABEL.value: (msgspec.json.Decoder(LabelEntry), label),
    EntryKind.BACKFILL.value: (msgspec.json.Decoder(BackfillStep), take_step),
}


_LEARNERS: Final = {
    "identity": rows.learn_entity,
    "counterparty": rows.learn_counterparty,
    "account": rows.learn_account,
}


class EventType(NamedTuple):
    """An event type taken apart; ``kind`` is set when its family is a rail's."""

    family: str
    suffix: str
    kind: EventKind | None
    is_transfer: bool
    is_request: bool  # to return or to draw money: it names a transfer, and is none


@lru_cache(maxsize=_TYPES_REMEMBERED)
def event_type(text: str) -> EventType:
    """``check.incoming_debit.delivery.mailed`` is family check, a transfer, suffix ``delivery.mailed``."""
    family, _, rest = text.partition(".")
    middle, _, suffix = rest.partition(".")
    rail = RAIL_OF_FAMILY.get(family)
    if rail is None:
        return EventType(family, rest, None, is_transfer=False, is_request=False)
    kind = EventKind(rail, middle, suffix)
    is_transfer = f"{family}.{middle}" in TRANSFER_RESOURCES
    return EventType(family, rest, kind, is_transfer=is_transfer, is_request=middle.endswith("_request"))


class ShardState:
    """The programs of one shard and the offset of the last entry applied to them."""

    def __init__(self, shard: int) -> None:
        self.shard = shard
        self.applied_offset = 0
        self.programs: dict[str, ProgramState] = {}

    def program(self, program_id: str) -> ProgramState:
        program = self.programs.get(program_id)
        if program is None:
            program = self.programs[program_id] = ProgramState(program_id)
        return program

    @property
    def transfers(self) -> int:
        """How many transfers the shard's programs hold."""
        return sum(len(program.transfers) for program in self.programs.values())

    @property
    def size(self) -> int:
        """Transfers and parties together: what a dump's cost grows with."""
        programs = self.programs.values()
        return sum(len(each.transfers) + len(each.actors) + len(each.counterparties.all) for each in programs)

    def apply(self, entry: LogEntry, emit: Emit) -> None:
        """Change the state by one entry and emit the rows it leads to."""
        try:
            if entry.kind == _BANK:
                self._bank(entry, emit)
            elif entry.kind == _PREFLIGHT:
                self._preflight(entry, emit)
            elif entry.kind == _PROGRAM:
                self._program(entry, emit)
            elif entry.kind == _TICK:
                self._tick(entry, emit)
            elif entry.kind in _ASKED:
                decoder, apply = _ASKED[entry.kind]
                apply(self.program(entry.program_id), decoder.decode(entry.body), _when(entry), emit)
            else:
                emit(_quarantined(entry, f"unknown kind {entry.kind!r}"))
        except Exception as error:  # noqa: BLE001 - any failure of one entry: it is set aside, the others go on
            emit(_quarantined(entry, f"{type(error).__name__}: {error}"))
        self.applied_offset = entry.offset

    def _bank(self, entry: LogEntry, emit: Emit) -> None:
        event = EVENT_DECODER.decode(entry.body)
        program = self.program(entry.program_id)
        created_at = parse_instant(event.created_at)
        if created_at is None:
            emit(_quarantined(entry, "created_at is not a date-time"))
            return
        checksum = crc32(entry.body)
        key = key_of(event.id)
        held = program.events.get(key)
        if held is not None:
            result = "duplicate" if held == checksum else "conflicting"
        else:
            program.events.put(key, checksum)
            when = EntryPosition(entry.shard, entry.offset, min(created_at, entry.appended_at), entry.appended_at)
            result = _apply_event(program, event, when, emit)
        family = event_type(event.type).family
        emit(
            EventRow(
                program.tenant_id,
                program.id,
                entry.shard,
                entry.offset,
                event.id,
                event.type,
                family,
                created_at,
                entry.appended_at,
                result,
                checksum,
            )
        )

    def _preflight(self, entry: LogEntry, emit: Emit) -> None:
        record = _PREFLIGHT_DECODER.decode(entry.body)
        program = self.program(entry.program_id)
        program.preflights.forget(entry.appended_at)
        program.preflights.add(
            record.answer.preflight_id,
            asked_about(program, record),
            int(record.transfer.amount_cents),
            record.asked_at,
        )
        answer = record.answer
        emit(
            PreflightRow(
                record.tenant_id,
                entry.program_id,
                answer.preflight_id,
                entry.shard,
                entry.offset,
                answer.decision.value,
                answer.score,
                answer.band.value,
                answer.degraded,
                answer.latency_ms,
                record.idempotency_key,
                entry.body.decode(),
                record.asked_at,
            )
        )

    def _program(self, entry: LogEntry, emit: Emit) -> None:
        said = _PROGRAM_DECODER.decode(entry.body)
        self.program(entry.program_id).declare(said, at=entry.appended_at)
        emit(
            ProgramRow(
                said.tenant_id, said.id, entry.shard, entry.offset, said.slug, entry.body.decode(), entry.appended_at
            )
        )

    def _tick(self, entry: LogEntry, emit: Emit) -> None:
        for program in self.programs.values():
            program.preflights.forget(entry.appended_at)
            run_clocks(program, _when(entry), emit)

    def dump(self) -> Iterator[bytes]:
        """The state as a sequence of encoded parts, each small enough not to hold others up."""
        encode = msgspec.msgpack.encode
        yield encode(("shard", self.shard, self.applied_offset))
        for program in self.programs.values():
            for part, dumped in program.dump():
                yield encode((part, program.id, dumped))

    @classmethod
    def loaded(cls, parts: Iterator[bytes | memoryview]) -> "ShardState":
        """The state that ``dump`` was taken of."""
        decode = msgspec.msgpack.decode
        _, shard, applied_offset = decode(next(parts))
        state = cls(shard)
        state.applied_offset = applied_offset
        for encoded in parts:
            part, program_id, dumped = decode(encoded)
            state.program(program_id).load_part(part, dumped)
        return state


def _apply_event(program: ProgramState, event: BankEvent, when: EntryPosition, emit: Emit) -> str:
    """Apply the event's object; the word for ``EventRow.result``."""
    kind = event_type(event.type)
    if kind.family not in KNOWN_FAMILIES:
        return "unknown"
    try:
        if kind.kind is not None:
            said = _said_of_transfer(kind, kind.kind, decode_object(event.data), when)
            return said if isinstance(said, str) else _land(program, said, when, emit)
        data: Any = ANY_DECODER.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        return "unusable"
    learn = _LEARNERS.get(kind.family)
    if not isinstance(data, dict):
        return "unusable"
    return "stored" if learn is None else learn(program, kind.suffix, data, event.data, when, emit)


def _said_of_transfer(
    kind: EventType, rail: EventKind, data: BankObject, when: EntryPosition
) -> TransferSnapshot | str:
    """The snapshot, or the word for why there is none; an unlisted type is a transfer when its id and amount say so."""
    if not kind.is_transfer and (
        kind.is_request or data.amount is None or not (data.id or "").startswith(TRANSFER_ID_PREFIXES)
    ):
        return "stored"
    return read_transfer(rail, data, event_at=when.event_at) or "unusable"


def _land(program: ProgramState, said: TransferSnapshot, when: EntryPosition, emit: Emit) -> str:
    landed = land(program, said, when)
    if program.introduced:
        rows.emit_introduced(program, when, emit)
    if landed.learnt is not None and not landed.learnt.unlisted:
        emit(rows.counterparty_row(program, landed.learnt, None, when))
    if landed.row is not None:
        emit(landed.row)
    if landed.assessment is not None:
        emit(rows.features_row(program, said.id, landed.assessment, landed.taken_at, when))
    if landed.assessment is not None or landed.learnt is not None:
        emit_after_transfer(program, landed, when, emit)
    if landed.assessment is not None and program.is_watched:
        run_detectors(program, landed, when, emit)
    if landed.is_new and len(program.preflights):
        _match_preflight(program, said, landed.taken_at, when, emit)
    return landed.result


def _match_preflight(
    program: ProgramState, said: TransferSnapshot, landed_at: int, when: EntryPosition, emit: Emit
) -> None:
    known = program.counterparties.get(said.counterparty_id) if said.counterparty_id is not None else None
    landed = OtherSide(
        said.counterparty_id,
        said.counterparty_routing or (known.routing if known is not None else None),
        said.counterparty_last4 or (known.last4 if known is not None else None),
        said.counterparty_name or (known.name if known is not None else None),
    )
    preflight_id = program.preflights.match(landed, said.amount_cents or 0, landed_at)
    if preflight_id is not None:
        emit(
            PreflightMatchRow(
                program.tenant_id, program.id, preflight_id, when.shard, when.offset, said.id, when.appended_at
            )
        )


def _when(entry: LogEntry) -> EntryPosition:
    return EntryPosition(entry.shard, entry.offset, entry.appended_at, entry.appended_at)


def _quarantined(entry: LogEntry, error: str) -> QuarantineRow:
    return QuarantineRow(entry.program_id, entry.shard, entry.offset, entry.kind, entry.appended_at, error)
