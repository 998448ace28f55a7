"""A backfill: one step of it applied to its program, and the order in which a replay applies the log.

A step replaces the stored scores of its transfers. A score that a transfer got after the start of the backfill stays,
whether from the stream or from an earlier step. A score of a replaced card changes nothing. So a repeated step changes
nothing, and neither does one that an event has overtaken.

A replay applies the entries by the time of each:

bank event          ``created_at``, at most the append time
settlement          its own instant; a later one of the same transfer has no own time
card, agent, profile  known from the beginning
daily rates         known from the beginning: each entry takes those in force when it was appended
first owner         known from the beginning: an account's history belongs to its owner
others              no own time: they stay behind the newest fact before them, since their effects have own times inside

A log that is in this order leads to the same state when it is replayed in it: see ``Arrivals``.

Entries of one own time are in the order of their objects' lives. Of two snapshots of one instant the one with the later
state is the newer one, whichever was delivered first (``features/bank/statuses.py``). So the one with the earlier state
is applied first. Entries of different objects keep the order of the log, and so do snapshots between which only arrival
decides.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.features.agents.reading import read_settlement
from clearhold.features.alerts.opening import open_for_band, run_actor_detectors
from clearhold.features.bank.event_types import BankEventType, event_type
from clearhold.features.bank.events import (
    ANY_DECODER,
    EVENT_DECODER,
    AccountSnapshot,
    CounterpartySnapshot,
    EntitySnapshot,
    TypedEvent,
    decode_event,
    decode_object,
)
from clearhold.features.bank.parties import read_account, read_counterparty, read_entity
from clearhold.features.bank.statuses import account_rank, counterparty_rank, entity_rank, transfer_rank
from clearhold.features.bank.transfers import read_transfer
from clearhold.features.core.entries.commands import ActorRange, BackfillStep, OwnerEntry, Rescored
from clearhold.features.core.entries.directory import DirectoryEntry, DirectoryKind, SkipReason
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import Emit, EntryKind, EntryPosition, LogEntry, event_time
from clearhold.features.core.money import class_of
from clearhold.features.core.rows.alerts import BackfillRow
from clearhold.features.landing.rescoring import score_again
from clearhold.features.landing.stored_transfer import StoredTransfer, known_result
from clearhold.features.landing.transfer_records import with_baseline
from clearhold.features.measurement.assessment import Assessment, vector_of
from clearhold.features.parties.actor_scores import (
    add_transfer_score,
    emit_counterparty_score,
    emit_entity_score,
    note_account_change,
    settle_clearings,
)
from clearhold.features.parties.party_rows import features_row
from clearhold.features.policy.bodies import FX, prefix_of
from clearhold.features.policy.card_book import CARD_PREFIXES, card_version
from clearhold.features.state.party_details import NEVER_STATED, SnapshotOrder
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.id_index import IdIndex
from clearhold.features.windows.series import ALWAYS

_ACCOUNT: Final = "account"
_BANK: Final = EntryKind.BANK.value
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_POLICIES_KNOWN_ALWAYS: Final = CARD_PREFIXES | {FX}
_KNOWN_ALWAYS: Final = frozenset({EntryKind.AGENT.value, EntryKind.PROFILE.value, EntryKind.AGENT_IMPORT.value})
_OWNER: Final = msgspec.json.Decoder(OwnerEntry)
_DIRECTORY: Final = msgspec.json.Decoder(DirectoryEntry)
_Life = list[tuple[SnapshotOrder, int]]
"""The snapshots of one object, from the earliest state to the latest, each with its place among the entries."""


def apply_step(program: ProgramState, step: BackfillStep, position: EntryPosition, emit: Emit) -> None:
    """Apply one entry of a backfill."""
    started_offset = step.progress.started_offset or position.offset
    program.arrivals.scores_changed |= bool(step.rescored or step.evaluate)
    for rescored in step.rescored:
        _replace_score(program, rescored, step.progress.feature_version, position, emit, started_offset=started_offset)
    if step.evaluate is not None:
        _evaluate(program, step.evaluate, position, emit)
    settle_clearings(program, position, emit)
    emit(
        BackfillRow(
            **{**msgspec.structs.asdict(step.progress), "started_offset": started_offset},
            tenant_id=program.tenant_id,
            program_id=program.id,
            shard=position.shard,
            offset=position.offset,
            updated_at=position.appended_at,
        )
    )


def _replace_score(
    program: ProgramState,
    rescored: Rescored,
    feature_version: str,
    position: EntryPosition,
    emit: Emit,
    *,
    started_offset: int,
) -> None:
    transfer = StoredTransfer.find(program, rescored.transfer_id)
    if transfer is None or transfer.record.scored_offset > started_offset:
        return
    # The card must be the one in force, whichever version of the scorer wrote the step.
    if card_version(rescored.score.version) != card_version(program.scorecards.champion.version):
        return
    assessment = Assessment(vector_of(rescored.vector), rescored.score, rescored.degraded)
    former = transfer.day_contribution()
    transfer.set_score(assessment, position)
    country = program.strings.number(assessment.vector.counterparty_country)  # that of its payee may come late
    transfer.record = msgspec.structs.replace(with_baseline(transfer.record, assessment.vector), country=country)
    transfer.write()
    program.day_tallies.replace(former, transfer.day_contribution())
    actor = transfer.actor
    if actor is not None:
        add_transfer_score(program, actor, (transfer.row_index, transfer.record.at), rescored.score, again=True)
        program.scores.look_again(actor)
    if transfer.counterparty is not None:
        place = (transfer.row_index, transfer.record.at)
        note_account_change(program, transfer.counterparty, assessment, place)
        program.scores.look_again(transfer.counterparty)
    row = transfer.row(rescored.transfer_id, position)
    features = features_row(program, rescored.transfer_id, assessment, rescored.taken_at, position, rescored=True)
    # Later versions of the scorer and of the features read this log back too, so the versions are those of the step.
    emit(msgspec.structs.replace(row, score_version=rescored.score.version))
    emit(msgspec.structs.replace(features, feature_version=feature_version, paths=rescored.paths))
    if program.runs_detectors:
        result = known_result(rescored.transfer_id, transfer, assessment)
        open_for_band(program, result, position, emit)


def _evaluate(program: ProgramState, actor_range: ActorRange, position: EntryPosition, emit: Emit) -> None:
    """Evaluate actors and counterparties at the instant of the step."""
    for actor in program.actors[slice(*actor_range.actors)]:
        emit_entity_score(program, actor, position, emit, force=True)
    for party in program.counterparties.all[slice(*actor_range.counterparties)]:
        emit_counterparty_score(program, party, position, emit, force=True)
    for transfer_id in actor_range.transfers if program.runs_detectors else ():
        transfer = StoredTransfer.find(program, transfer_id)
        if transfer is not None:  # measured again at its own time
            run_actor_detectors(program, known_result(transfer_id, transfer, score_again(transfer)), position, emit)


class _Envelope(msgspec.Struct, gc=False):
    type: str
    created_at: str


class _Version(msgspec.Struct, gc=False):
    version: str


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_VERSION: Final = msgspec.json.Decoder(_Version)


class OwnTimes:
    """Reads one program's entries in log order. ``first_owners`` are then the accounts' first stated owners."""

    def __init__(self) -> None:
        self.first_owners: dict[str, tuple[int, SnapshotOrder, str]] = {}  # own time and order of the statement
        self._newest_at = ALWAYS
        self._settled = IdIndex()

    def of(self, entry: LogEntry) -> int:
        """The own time of the next entry; entries of one own time stay in log order."""
        try:
            own_at = self._stated(entry)
        except _UNREADABLE:
            own_at = None  # it is set aside when it is applied
        if own_at is None:
            return self._newest_at
        self._newest_at = max(self._newest_at, own_at)
        return own_at

    def declare_owners(self, program: ProgramState) -> None:
        """Give each account its first owner, before any entry is applied."""
        for account_id, (*_, entity_id) in self.first_owners.items():
            program.accounts.note(account_id, NEVER_STATED)
            program.set_owner(account_id, entity_id, NEVER_STATED)

    def _stated(self, entry: LogEntry) -> int | None:
        match entry.kind:
            case EntryKind.BANK:
                return self._of_event(entry)
            case EntryKind.SETTLEMENT:
                return self._of_settlement(entry)
            case EntryKind.POLICY:
                prefix = prefix_of(_VERSION.decode(entry.body).version)
                return ALWAYS if prefix in _POLICIES_KNOWN_ALWAYS else None
            case EntryKind.OWNER:
                owner = _OWNER.decode(entry.body)
                order = SnapshotOrder.of(None, entry.appended_at, 0)
                self._note_owner(owner.account_id, owner.entity_id, entry.appended_at, order)
            case EntryKind.DIRECTORY:
                fetched = _DIRECTORY.decode(entry.body)
                if fetched.kind is DirectoryKind.ACCOUNT:
                    fetched_at = event_time(fetched.fetched_at, appended_at=entry.appended_at)
                    self._note_account("", fetched.data, fetched_at, appended_at=entry.appended_at)
        return ALWAYS if entry.kind in _KNOWN_ALWAYS else None

    def _of_event(self, entry: LogEntry) -> int | None:
        envelope = _ENVELOPE.decode(entry.body)
        created_at = parse_instant(envelope.created_at)
        if created_at is None:
            return None
        own_at, kind = event_time(created_at, appended_at=entry.appended_at), event_type(envelope.type)
        if kind.family == _ACCOUNT:
            raw = EVENT_DECODER.decode(entry.body).data
            self._note_account(kind.suffix, raw, own_at, appended_at=entry.appended_at)
        return own_at

    def _of_settlement(self, entry: LogEntry) -> int | None:
        item = read_settlement(entry.body)
        if isinstance(item, SkipReason):
            return None
        if not self._settled.add(item.transfer_id):
            return None
        return event_time(item.settled_at, appended_at=entry.appended_at)

    def _note_account(self, suffix: str, raw: msgspec.Raw, own_at: int, *, appended_at: int) -> None:
        data: Any = ANY_DECODER.decode(raw)
        account = read_account(suffix, data, appended_at=appended_at) if isinstance(data, dict) else None
        if account is not None and account.owner_id is not None:
            order = SnapshotOrder.of(account.updated_at, own_at, account_rank(account.status))
            self._note_owner(account.id, account.owner_id, own_at, order)

    def _note_owner(self, account_id: str, entity_id: str, own_at: int, order: SnapshotOrder) -> None:
        known = self.first_owners.get(account_id)
        if known is None or own_at < known[0] or (own_at == known[0] and order.is_before(known[1])):
            self.first_owners[account_id] = (own_at, order, entity_id)


class _Snapshot(NamedTuple):
    event_id: str
    object: tuple[object, str]  # the class of a transfer or the family of a party, and the id
    order: SnapshotOrder


def order_of_lives(entries: Iterable[LogEntry]) -> list[int]:
    """The places of entries of one own time, in the order in which they are applied."""
    lives: dict[tuple[object, str], _Life] = {}
    life_of_event: dict[str, _Life] = {}
    places = list[int]()
    for place, entry in enumerate(entries):
        places.append(place)
        snapshot = _snapshot(entry) if entry.kind == _BANK else None
        if snapshot is None:
            continue
        event_id, thing, order = snapshot
        repeated = life_of_event.get(event_id)
        if repeated is not None:
            repeated.append((order, place))  # the first event under an id is the one that takes effect
            continue
        life = life_of_event[event_id] = lives.setdefault(thing, [])
        later = (index for index, (each, _) in enumerate(life) if order.is_before(each))
        life.insert(next(later, len(life)), (order, place))
    for life in lives.values():
        sources = [place for _, place in life]
        for target, source in zip(sorted(sources), sources, strict=True):
            places[target] = source
    return places


def _snapshot(entry: LogEntry) -> _Snapshot | None:
    """The snapshot in a bank event; None without a readable one."""
    try:
        event = decode_event(entry.body)
        created_at = parse_instant(event.created_at)
        if created_at is None:
            return None
        event_at = event_time(created_at, appended_at=entry.appended_at)
        kind = event_type(event.type)
        if kind.kind is None:
            return _of_party(kind, event.id, entry, event_at)
        data = event.data if isinstance(event, TypedEvent) else decode_object(event.data)
        if kind.is_dispute or not kind.has_transfer(data):
            return None
        transfer = read_transfer(kind.kind, data, event_at=event_at, appended_at=entry.appended_at)
    except _UNREADABLE:
        return None  # it is set aside when it is applied
    if transfer is None:
        return None
    class_id, status = class_of(transfer.rail, transfer.direction), transfer.status
    rank = 0 if status is None else transfer_rank(class_id, status) + 1  # a word that is not listed has a rank here
    return _Snapshot(event.id, (class_id, transfer.id), SnapshotOrder.of(transfer.updated_at, event_at, rank))


def _of_party(kind: BankEventType, event_id: str, entry: LogEntry, event_at: int) -> _Snapshot | None:
    data: Any = ANY_DECODER.decode(EVENT_DECODER.decode(entry.body).data)
    if not isinstance(data, dict):
        return None
    party: EntitySnapshot | AccountSnapshot | CounterpartySnapshot | None = None
    rank = 0
    match kind.family:
        case "identity":
            party = entity = read_entity(kind.suffix, data, appended_at=entry.appended_at)
            rank = entity_rank(entity.verification_status) if entity is not None else 0
        case "account":
            party = account = read_account(kind.suffix, data, appended_at=entry.appended_at)
            rank = account_rank(account.status) if account is not None else 0
        case "counterparty":
            party = read_counterparty(data, appended_at=entry.appended_at)
            rank = counterparty_rank(kind.suffix)
    if party is None:
        return None
    return _Snapshot(event_id, (kind.family, party.id), SnapshotOrder.of(party.updated_at, event_at, rank))
