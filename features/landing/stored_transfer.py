"""A transfer's packed record against the rest of the program: its parties, its contribution, its row."""

from typing import Final

import msgspec

from features.core.bands import band_word
from features.core.rail_classes import ACH_CLASSES, ACH_DEBIT, ACH_TYPES, CARD_CLASSES, ORIGINATED_CLASS, RAIL_CLASSES
from features.core.rows.transfers import TransferRow
from features.core.vocabulary import Direction
from features.landing.movement import Attempt, Movement
from features.landing.returns import ReturnedTransfer
from features.measurement.assess import Assessment
from features.scorers.trs_v1 import scorer as trs_v1
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState
from features.state.transfer_table import NO_INSTANT, TransferRecord
from features.windows.baseline import BaselineValues
from features.windows.edges import NOBODY, node_of_actor
from features.windows.histogram import bucket_of, middle_of
from features.windows.series_kinds import attempt_kinds, kinds_of

UNMEASURED: Final = -1
_OUTGOING: Final = Direction.OUTGOING.value


class EntryPosition(msgspec.Struct, frozen=True, gc=False):
    """An entry's place in the log and the instants that belong to it."""

    shard: int
    offset: int
    event_at: int  # the event's own time, clamped to appended_at
    appended_at: int


def parties_of(program: ProgramState, record: TransferRecord) -> tuple[Actor | None, Counterparty | None]:
    actor = program.actors[record.actor] if record.actor >= 0 else None
    return actor, program.counterparties.all[record.counterparty] if record.counterparty >= 0 else None


def movement_of(
    program: ProgramState, row: int, record: TransferRecord, actor: Actor | None, counterparty: Counterparty | None
) -> Movement | None:
    """What the transfer adds to the windows; None when it moved nothing."""
    if not record.moved:
        return None
    rail, direction = RAIL_CLASSES[record.class_id]
    source, target = nodes_of(program, direction, actor, counterparty)
    debit = is_ach_debit(record)
    return Movement(
        row,
        actor,
        counterparty,
        source,
        target,
        record.cents,
        record.at,
        record.class_id,
        debit,
        debit and record.class_id == ORIGINATED_CLASS,
        record.class_id in CARD_CLASSES,
        kinds_of(rail, direction, ACH_TYPES[record.ach_type], record.cents),
    )


def nodes_of(
    program: ProgramState, direction: str, actor: Actor | None, counterparty: Counterparty | None
) -> tuple[int, int]:
    """Who pays and who is paid, as nodes of the graph."""
    own = NOBODY if actor is None else node_of_actor(actor.index)
    other = NOBODY if counterparty is None else program.node_of(counterparty)
    return (own, other) if direction == _OUTGOING else (other, own)


def attempt_of(program: ProgramState, record: TransferRecord) -> Attempt | None:
    """What a card transfer adds to its card and its program, whether it moved money or not."""
    if record.class_id not in CARD_CLASSES:
        return None
    word = program.words.word
    card = card_of(record.account, record.actor)
    return Attempt(card, record.at, attempt_kinds(record.cents, word(record.status), word(record.card_reason)))


def card_of(account: int, actor: int) -> int:
    """Whose attempts they are: the account's, else the actor's; -1 when neither is known."""
    if account >= 0:
        return account
    return -2 - actor if actor >= 0 else -1


def returner_of(
    row: int, record: TransferRecord, actor: Actor | None, counterparty: Counterparty | None
) -> ReturnedTransfer:
    debit = is_ach_debit(record)
    originated = debit and record.class_id == ORIGINATED_CLASS
    return ReturnedTransfer(actor, counterparty, record.moved, debit, originated, row)


def is_ach_debit(record: TransferRecord) -> bool:
    return record.ach_type == ACH_DEBIT and record.class_id in ACH_CLASSES


def is_originated(record: TransferRecord) -> bool:
    return record.ach_type == ACH_DEBIT and record.class_id == ORIGINATED_CLASS


def pinned(baseline: BaselineValues) -> tuple[int, int, int]:
    """The baseline as the record keeps it: n and the buckets of median and 95th percentile."""
    if baseline.n is None or baseline.median_cents is None or baseline.p95_cents is None:
        return UNMEASURED, 0, 0
    return baseline.n, bucket_of(baseline.median_cents), bucket_of(baseline.p95_cents)


def baseline_of(record: TransferRecord) -> BaselineValues:
    if record.baseline_n == UNMEASURED:
        return BaselineValues(None, None, None)
    return BaselineValues(record.baseline_n, middle_of(record.baseline_median), middle_of(record.baseline_p95))


def scored(record: TransferRecord, assessment: Assessment, when: EntryPosition) -> TransferRecord:
    """The record with a new score."""
    score = assessment.score
    return record._replace(
        scored_at=when.appended_at,
        scored_offset=when.offset,
        score_n=score.n,
        score=UNMEASURED if score.value is None else score.value,
        confidence_permille=0 if score.confidence is None else round(score.confidence * 1_000),
    )


def version_row(
    program: ProgramState, row: int, record: TransferRecord, transfer_id: str, when: EntryPosition
) -> TransferRow:
    """The transfer as it stands after this entry."""
    rail, direction = RAIL_CLASSES[record.class_id]
    word = program.words.word
    actor, counterparty = parties_of(program, record)
    returned = program.returned.get(row)
    score = None if record.score == UNMEASURED else record.score
    return TransferRow(
        program.tenant_id,
        program.id,
        transfer_id,
        when.shard,
        when.offset,
        rail,
        direction,
        ACH_TYPES[record.ach_type],
        record.cents,
        word(record.currency) or "USD",
        word(record.status) or "UNKNOWN",
        None if actor is None or actor.is_account else actor.id,
        program.account_ids[record.account] if record.account >= 0 else None,
        None if counterparty is None or counterparty.unlisted else counterparty.id,
        word(record.country),
        word(record.sec_code),
        returned.code if returned is not None else None,
        returned.returned_at if returned is not None else None,
        None if record.effective_at == NO_INSTANT else record.effective_at,
        record.at,
        word(record.card_reason),
        score,
        band_word(score),
        trs_v1.VERSION,
        record.score_n,
        None if score is None else record.confidence_permille / 1_000,
        record.scored_at,
        record.scored_offset,
        record.raw_offset,
        when.appended_at,
    )
