"""A stored transfer: its packed record read against its program; and the result of one transfer event.

``StoredTransfer`` is the object that landing, rescoring, returns, backfills and detectors share. It knows the
transfer's parties, its contribution to the windows, and its row in the store.
"""

from typing import NamedTuple

import msgspec

from clearhold.features.bank.events import TransferSnapshot
from clearhold.features.bank.statuses import transfer_rank
from clearhold.features.core.log_entry import Emit, EntryPosition, EventFault, EventResult, no_rows
from clearhold.features.core.money import (
    ACH_CREDIT,
    ACH_DEBIT,
    ACH_TYPES,
    CARD_CLASSES,
    ORIGINATED_CLASS,
    RAIL_CLASSES,
    USD,
    money_leaves,
)
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import ShadowScoreRow
from clearhold.features.core.vocabulary import band_word
from clearhold.features.landing.movement import CardAttempt, Movement, ReturnedTransfer
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.state.account_book import card_key
from clearhold.features.state.day_tallies import DayContribution
from clearhold.features.state.kri_windows import RCK
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.transfer_table import NO_INSTANT, UNSCORED, ReturnState, TransferRecord, priced
from clearhold.features.windows.edges import NOBODY, node_of_actor
from clearhold.features.windows.series_kinds import SeriesKind, attempt_kinds, kinds_of


class StoredTransfer:
    """One row of the program's transfer table with the parties that its record names."""

    __slots__ = ("actor", "counterparty", "program", "record", "row_index")

    def __init__(self, program: ProgramState, row_index: int, record: TransferRecord) -> None:
        self.program = program
        self.row_index = row_index
        actor, counterparty = record.actor, record.counterparty
        if actor in program.merged:  # an account whose owner was stated since
            actor = program.merged[actor]
            record = msgspec.structs.replace(record, actor=actor)
        self.record = record
        self.actor: Actor | None = program.actors[actor] if actor >= 0 else None
        self.counterparty: KnownCounterparty | None = (
            program.counterparties.all[counterparty] if counterparty >= 0 else None
        )

    @classmethod
    def read(cls, program: ProgramState, row_index: int) -> "StoredTransfer":
        return cls(program, row_index, program.transfers.read(row_index))

    @classmethod
    def find(cls, program: ProgramState, transfer_id: str) -> "StoredTransfer | None":
        row_index = program.transfers.row_of(transfer_id)
        return None if row_index is None else cls.read(program, row_index)

    def write(self, former: TransferRecord | None = None) -> None:
        """Store and count the present record; ``former`` is the stored one if the caller has it."""
        program, row_index = self.program, self.row_index
        before = program.transfers.glance(row_index) if former is None else former
        program.transfers.write(row_index, self.record)
        program.kri_windows.change(before, self.record)

    def set_score(self, assessment: Assessment, position: EntryPosition) -> None:
        """Replace the score in the record; ``write`` stores it."""
        score = assessment.score
        self.record = msgspec.structs.replace(
            self.record,
            scored_at=position.appended_at,
            scored_offset=position.offset,
            score_n=score.n,
            score=UNSCORED if score.value is None else score.value,
            confidence_permille=0 if score.confidence is None else round(score.confidence * 1_000),
        )

    def parties(self) -> tuple[Actor | None, KnownCounterparty | None]:
        return self.actor, self.counterparty

    def status(self) -> str | None:
        return self.program.strings.text(self.record.status)

    def is_past(self, snapshot: TransferSnapshot) -> bool:
        """Whether the status of a snapshot of the same instant comes before the stored one on this rail."""
        class_id = self.record.class_id
        return snapshot.status is not None and (
            transfer_rank(class_id, snapshot.status) < transfer_rank(class_id, self.status())
        )

    def account_id(self) -> str | None:
        """The program's own account in the transfer."""
        number = self.record.account
        return self.program.accounts.ids[number] if number >= 0 else None

    def is_originated(self) -> bool:
        """True for an ACH debit that the program sent."""
        return self.record.ach_type == ACH_DEBIT and self.record.class_id == ORIGINATED_CLASS

    def nodes(self) -> tuple[int, int]:
        """The payer and the payee, as nodes of the graph."""
        record, counterparty = self.record, self.counterparty
        other = NOBODY if counterparty is None else self.program.node_of(counterparty)
        leaves = money_leaves(*RAIL_CLASSES[record.class_id], ACH_TYPES[record.ach_type])
        own = NOBODY if self.actor is None else node_of_actor(self.actor.index)
        return (own, other) if leaves else (other, own)

    def cents(self) -> int | None:
        """The amount in US cents, None when it is not known."""
        return priced(self.record.cents)

    def card(self) -> int:
        return card_key(self.record.card, self.record.account, self.record.actor)

    def kinds(self) -> tuple[SeriesKind, ...]:
        """The kinds of series that count the transfer."""
        record = self.record
        return kinds_of(*RAIL_CLASSES[record.class_id], ACH_TYPES[record.ach_type], self.cents())

    def returned(self) -> ReturnState | None:
        """The known return of the transfer."""
        return self.program.returned.get(self.row_index)

    def movement(self) -> Movement | None:
        """The contribution of the transfer to the windows; None when it moved no money."""
        if not self.record.moved:
            return None
        return self.movement_between(*self.nodes(), self.kinds())

    def movement_between(self, source: int, target: int, kinds: tuple[SeriesKind, ...]) -> Movement:
        """The contribution of a transfer that moved money between these nodes, counted in these series."""
        record = self.record
        return Movement(
            self.row_index,
            self.actor,
            self.counterparty,
            source,
            target,
            self.cents(),
            record.at,
            record.class_id,
            self.is_originated(),
            record.class_id in CARD_CLASSES,
            kinds,
        )

    def attempt(self) -> CardAttempt | None:
        """The contribution of a card transfer, whether it moved money or not; None on other rails."""
        record = self.record
        if record.class_id not in CARD_CLASSES:
            return None
        text = self.program.strings.text
        return CardAttempt(
            self.card(),
            record.actor,
            record.at,
            attempt_kinds(self.cents(), text(record.status), text(record.card_reason)),
            self.row_index,
        )

    def day_contribution(self) -> DayContribution:
        """The contribution of the transfer to the tallies of its day."""
        return self.program.day_tallies.contribution(self.row_index, self.record, self.returned())

    def returned_transfer(self) -> ReturnedTransfer:
        """The fields of the transfer that the windows of returns need."""
        return ReturnedTransfer(
            actor=self.actor,
            counterparty=self.counterparty,
            moved=self.record.moved,
            outgoing_ach=self.record.class_id == ORIGINATED_CLASS,
            originated=self.is_originated(),
            sends_credit=self.record.class_id == ORIGINATED_CLASS and self.record.ach_type == ACH_CREDIT,
            is_rck=self.program.strings.text(self.record.sec_code) == RCK,
            cents=self.cents(),
            at=self.record.at,
            row_index=self.row_index,
        )

    def row(self, transfer_id: str, position: EntryPosition) -> TransferRow:
        """The transfer after this entry, in the order of the row's fields: one is built an event."""
        program, record, actor, counterparty = self.program, self.record, self.actor, self.counterparty
        rail, direction = RAIL_CLASSES[record.class_id]
        texts = program.strings.texts
        returned, rate = program.returned.get(self.row_index), program.rates.get(self.row_index)
        score = None if record.score == UNSCORED else record.score
        return TransferRow(
            program.tenant_id,
            program.id,
            transfer_id,
            position.shard,
            position.offset,
            rail,
            direction,
            ACH_TYPES[record.ach_type],
            record.amount,
            texts[record.currency] or USD,
            texts[record.status] or "UNKNOWN",
            None if actor is None or actor.is_account else actor.id,
            self.account_id(),
            None if counterparty is None or counterparty.unlisted else counterparty.id,
            texts[record.country],
            texts[record.sec_code],
            returned.code if returned is not None else None,
            returned.returned_at if returned is not None else None,
            None if record.effective_at == NO_INSTANT else record.effective_at,
            record.at,
            texts[record.card_reason],
            score,
            band_word(score),
            program.scorecards.version_at(record.scored_offset),
            record.score_n,
            None if score is None else record.confidence_permille / 1_000,
            record.scored_at,
            record.scored_offset,
            record.raw_offset,
            position.appended_at,
            self.row_index,
            None if rate is None else rate.rate,
            None if rate is None else rate.day,
            None if rate is None else rate.version,
        )


class RenamedTransfer(NamedTuple):
    """A refund that had its purchase's id, under its new one."""

    id: str
    transfer: StoredTransfer
    assessment: Assessment


class LandingResult(msgspec.Struct, frozen=True, gc=False):
    """Without a ``transfer`` nothing changed; without an ``assessment`` the transfer keeps its score."""

    result: EventResult
    transfer_id: str = ""
    transfer: StoredTransfer | None = None  # after the event
    assessment: Assessment | None = None
    taken_at: int = 0  # the transfer's own time, the end of the windows of its vector
    is_new: bool = False
    updated_counterparty: KnownCounterparty | None = None  # set when the snapshot changed its details
    row_index: int = -1  # in the table of transfers
    parties: tuple[Actor | None, KnownCounterparty | None] = (None, None)
    former_parties: tuple[Actor | KnownCounterparty, ...] = ()  # the parties that the transfer had until this event
    fault: EventFault | None = None  # why the event cannot be used, where its own data does not show it
    renamed: RenamedTransfer | None = None


def known_result(transfer_id: str, transfer: StoredTransfer, assessment: Assessment) -> LandingResult:
    """The result for a stored transfer assessed again without an event, and so perhaps without a ``transfer_id``."""
    return LandingResult(
        EventResult.APPLIED,
        transfer_id,
        transfer,
        assessment,
        transfer.record.at,
        row_index=transfer.row_index,
        parties=transfer.parties(),
    )


def emit_shadow_score(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Score the vector of a newly scored transfer with the challenger too, where one runs."""
    challenger, assessment = program.scorecards.challenger, landed.assessment
    if challenger is None or assessment is None or emit is no_rows:
        return
    score, champion = challenger.weigh(assessment.vector)[0], assessment.score
    emit(
        ShadowScoreRow(
            tenant_id=program.tenant_id,
            program_id=program.id,
            transfer_id=landed.transfer_id,
            shard=position.shard,
            offset=position.offset,
            version=challenger.version,
            score=score,
            band=band_word(score),
            champion_version=champion.version,
            champion_score=champion.value,
            champion_band=champion.band.value,
            bank_created_at=landed.taken_at,
            scored_at=position.appended_at,
        )
    )
