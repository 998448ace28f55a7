"""The record of the scores of a program's actors: score rows, written when a score changes.

An actor is evaluated when its strongest transfer changes, when one of its transfers is scored again or returned, when
an event states something new about it, and at its first transfer of a day; while it is unscored, at every transfer. A
row is written when points, band or a hard signal differ from the last row of that actor; an actor without a row is
unscored. A tick records the bands that time alone has changed. On the program ``agents`` entities are agents, and have
an agent's score instead. Readers of a score evaluate it for their own instant
(``features/measurement/actor_evaluation.py``).

Window  windows end at the time of the entry, or at the actor's last evaluation if that is later: a late entry adds its
        facts without moving the windows back
Errors  none; an unknown input is None
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from clearhold.features.core.canonical import SCORE_IDS, json_text
from clearhold.features.core.instants import DAYS_90
from clearhold.features.core.log_entry import Emit, EntryPosition, no_rows
from clearhold.features.core.rows.parties import ScoreRow
from clearhold.features.core.vocabulary import Reason, Score, band_word
from clearhold.features.landing.movement import note_cleared_return
from clearhold.features.landing.stored_transfer import LandingResult, StoredTransfer
from clearhold.features.measurement.actor_evaluation import (
    Evaluation,
    evaluate_actor,
    evaluate_counterparty,
    is_behind,
    next_change_of_actor,
    next_change_of_counterparty,
    shared_entities,
)
from clearhold.features.measurement.assessment import Assessment
from clearhold.features.policy.in_force import thresholds_of
from clearhold.features.scorers import crs_v1, ers_v1
from clearhold.features.scorers.engine import CEILING
from clearhold.features.scorers.signal import Family
from clearhold.features.scorers.trs_v1.scorer import SCORER as TRANSFER_SCORER
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.score_memory import AT_ONCE, FOREVER, packed_shares
from clearhold.features.windows.series import ALWAYS

MOST_A_TICK: Final = 5_000
"""Actors of one kind and program that a tick evaluates: some 100 ms."""

_SHARED: Final = {
    reason_id: family
    for reason_id, family in TRANSFER_SCORER.families.items()
    if family in (Family.IDENTITY, Family.RETURNS)
}


def score_parties(program: ProgramState, landed: LandingResult, position: EntryPosition, emit: Emit) -> None:
    """Evaluate the parties of a landed transfer, after its own score or after new details of its counterparty."""
    if landed.assessment is None and landed.updated_counterparty is None:
        return
    actor, party = landed.parties
    assessment, scores = landed.assessment, program.scores
    for former in landed.former_parties:
        if isinstance(former, Actor):
            scores.transfers.drop(former.index, landed.row_index)
            emit_entity_score(program, former, position, emit)
        else:
            scores.account_changes.drop(former.index, landed.row_index)
            emit_counterparty_score(program, former, position, emit)
    shared = False
    if assessment is not None:
        if actor is not None:
            transfer, again = (landed.row_index, landed.taken_at), not landed.is_new
            is_strongest = add_transfer_score(program, actor, transfer, assessment.score, again=again)
            if (
                is_strongest
                or not landed.is_new
                or actor.returns is not None
                or program.holds_agents
                or scores.actors.is_due(actor.index, position.event_at)
            ):
                emit_entity_score(program, actor, position, emit)
        shared = assessment.vector.counterparty_shared_entities_30d >= crs_v1.SHARED_FLOOR
        if party is not None:
            note_account_change(program, party, assessment, (landed.row_index, landed.taken_at))
    if party is not None and (
        landed.updated_counterparty is not None
        or not landed.is_new
        or party.returns is not None
        or shared != scores.counterparties.is_marked(party.index)
        or scores.counterparties.is_due(party.index, position.event_at)
    ):
        emit_counterparty_score(program, party, position, emit)


def note_account_change(
    program: ProgramState, party: KnownCounterparty, assessment: Assessment, transfer: tuple[int, int]
) -> None:
    """Store whether a scored transfer, given by its row and its own time, came with other account details."""
    row, at = transfer
    if assessment.vector.counterparty_account_changed:
        program.scores.account_changes.add(party.index, at, row)
        party.has_new_account = False
    else:
        program.scores.account_changes.drop(party.index, row)


def add_transfer_score(
    program: ProgramState, actor: Actor, transfer: tuple[int, int], score: Score, *, again: bool
) -> bool:
    """Add a transfer's score to its entity's strongest; True when it is the strongest.

    ``transfer`` is its row in the table and its own time; ``again`` says that an earlier score may be stored.
    """
    transfers, (row, at) = program.scores.transfers, transfer
    if again:
        transfers.drop(actor.index, row)
    shares = packed_shares(*_shares_of(score.reasons)) if score.value else 0
    if again and program.clearings.is_cleared(row):
        program.clearings.clear(row, shares)
        return False
    return transfers.add(actor.index, row, at, score.value or 0, shares=shares)


def _shares_of(reasons: Iterable[Reason]) -> tuple[int, int]:
    """The points of a transfer's score from its entity's identity, and from returns; a score has no more than 100."""
    identity = returns = 0
    for reason in reasons:
        family = _SHARED.get(reason.id)
        if family is Family.IDENTITY:
            identity += reason.weight
        elif family is Family.RETURNS:
            returns += reason.weight
    return min(max(identity, 0), CEILING), min(max(returns, 0), CEILING)


def emit_entity_score(
    program: ProgramState, actor: Actor, position: EntryPosition, emit: Emit, *, force: bool = False
) -> None:
    """Evaluate an entity or an agent; its row is emitted when its score changed or ``force`` is set.

    An account without a known owner is not an entity, and has no score.
    """
    if actor.is_account:
        return
    last = program.scores.actors
    at = last.instant(actor.index, position.event_at)
    if not force and not program.holds_agents and actor.amounts.count(at - DAYS_90, at) < ers_v1.TRANSFERS_FLOOR:
        is_hard = ers_v1.is_hard(actor.profile_at(at).words.verification_status)
        if last.stays_unscored(actor.index, hard=is_hard):
            last.changes.put(actor.index, AT_ONCE if is_behind(actor, at) else FOREVER)
            return
    evaluation = evaluate_actor(program, actor, at)
    assert evaluation is not None, "no account"
    last.changes.put(actor.index, next_change_of_actor(program, actor, evaluation, at))
    former = last.value(actor.index)
    is_news = last.exchange(actor.index, evaluation.value, hard=evaluation.hard) or force
    if is_news and emit is not no_rows:
        emit(actor_row(program, position, actor.id, evaluation, at=at, former=former))


def emit_counterparty_score(
    program: ProgramState, party: KnownCounterparty, position: EntryPosition, emit: Emit, *, force: bool = False
) -> None:
    """Evaluate a counterparty with an id of the bank; its row is emitted on a change, or when ``force`` is set."""
    last = program.scores.counterparties
    at = last.instant(party.index, position.event_at)
    if party.has_new_account:
        party.has_new_account = False
        program.scores.account_changes.add(party.index, at)
    if party.unlisted:
        return
    if not force and party.times.count(ALWAYS, at) < crs_v1.TRANSFERS_FLOOR:
        shared = shared_entities(program, party, at) >= crs_v1.SHARED_FLOOR
        lists = thresholds_of(program, at).lists_of(party.country)
        if last.stays_unscored(party.index, hard=crs_v1.is_hard(lists), mark=shared):
            last.changes.put(party.index, AT_ONCE if is_behind(party, at) else FOREVER)
            return
    evaluation = evaluate_counterparty(program, party, at)
    assert evaluation is not None, "a listed counterparty"
    last.changes.put(party.index, next_change_of_counterparty(program, party, evaluation, at))
    shared = evaluation.inputs.shared_entities_30d >= crs_v1.SHARED_FLOOR
    former = last.value(party.index)
    is_news = last.exchange(party.index, evaluation.value, hard=evaluation.hard, mark=shared) or force
    if is_news and emit is not no_rows:
        emit(actor_row(program, position, party.id, evaluation, at=at, former=former))


def record_changes_by_time(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """Record the scores of the actors whose band time alone has changed since their last evaluation.

    Only actors whose band may have changed are evaluated, at most ``MOST_A_TICK`` of a kind; the rest follow. While
    history is loaded, none are: its days record the changes as of their ends.
    """
    if not program.kri_history.is_loading:
        record_changes_until(program, position.appended_at, position, emit, most=MOST_A_TICK)


def record_changes_until(program: ProgramState, at: int, position: EntryPosition, emit: Emit, *, most: int) -> None:
    """Record the bands of at most ``most`` actors of a kind that time has changed up to an instant, as of it."""
    scores = program.scores
    as_of = position if position.event_at == at else msgspec.structs.replace(position, event_at=at)
    for index in sorted(scores.actors.changes.take(at, most=most)):
        emit_entity_score(program, program.actors[index], as_of, emit)
    for index in sorted(scores.counterparties.changes.take(at, most=most)):
        emit_counterparty_score(program, program.counterparties.all[index], as_of, emit)


def settle_clearings(program: ProgramState, position: EntryPosition, emit: Emit) -> None:
    """End the points of transfers that persons have cleared, or bring them back, and score their parties again."""
    transfers, clearings = program.scores.transfers, program.clearings
    rows = clearings.take_changed()
    if not rows:
        return
    changed: dict[int, Actor | KnownCounterparty] = {}
    for row in rows:
        stored = StoredTransfer.read(program, row)
        actor, score = stored.actor, max(0, stored.record.score)
        is_back, returned = clearings.is_cleared(row), stored.returned()
        shares = clearings.restore(row) if is_back else 0
        if is_back and actor is not None:
            transfers.add(actor.index, row, stored.record.at, score, shares=shares)
        elif not is_back:
            clearings.clear(row, 0 if actor is None else transfers.drop(actor.index, row) or 0)
        if returned is not None and returned.counts and stored.record.moved:
            note_cleared_return(program, stored.returned_transfer(), counts=not is_back)
        changed.update((id(party), party) for party in stored.parties() if party is not None)
    for party in changed.values():
        if isinstance(party, Actor):
            emit_entity_score(program, party, position, emit)
        else:
            emit_counterparty_score(program, party, position, emit)


def actor_row(
    program: ProgramState,
    position: EntryPosition,
    actor_id: str,
    scored: Evaluation,
    *,
    at: int,
    former: int | None,
) -> ScoreRow:
    """The score of an actor by this entry; ``former`` is its previous score."""
    subject, score, degraded = (scored.kind, actor_id), scored.score(), scored.degraded
    return score_row(program, position, subject, score, scored.inputs, at=at, former=former, degraded=degraded)


def score_row(
    program: ProgramState,
    position: EntryPosition,
    subject: tuple[str, str],
    score: Score,
    inputs: object,
    *,
    at: int,
    former: int | None,
    degraded: bool = False,
) -> ScoreRow:
    """The score of a subject by this entry; ``former`` is its previous score."""
    kind, subject_id = subject
    return ScoreRow(
        program.tenant_id,
        program.id,
        score_id(position, score.version, kind, subject_id),
        kind,
        subject_id,
        position.shard,
        position.offset,
        score.version,
        score.value,
        band_word(score.value),
        band_word(former),
        score.n,
        score.confidence,
        score.hard,
        degraded,
        json_text(score.reasons),
        json_text(inputs),
        at,
    )


def score_id(position: EntryPosition, version: str, kind: str, subject_id: str) -> str:
    return SCORE_IDS.id_of(f"{position.shard}/{position.offset}/{version}/{kind}/{subject_id}")
