"""The scores of a program's actors: the inputs of each scorer, and the score rows, written when a score changes.

An actor is evaluated when its strongest transfer changes, when one of its transfers is scored again or returned, when
an event states something new about it, and at its first transfer of a day, because baselines and ages change with time
alone; while it is unscored, at every transfer. A row is written when points, band or a hard signal differ from the last
row of that actor; an actor without a row is unscored. On the program ``agents`` entities are agents, and have an
agent's score instead.

Window  windows end at the time of the entry, or at the actor's last evaluation if that is later: a late entry adds its
        facts without moving the windows back
Errors  none; an unknown input is None
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from clearhold.features.core.ids import SCORE_IDS
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60, DAYS_90
from clearhold.features.core.log_entry import EntryPosition
from clearhold.features.core.reason import Reason, Score, band_word
from clearhold.features.core.rows.record import Emit, no_rows
from clearhold.features.core.rows.scores import ScoreRow
from clearhold.features.landing.landing_result import LandingResult
from clearhold.features.measurement.flow import dealing_with
from clearhold.features.measurement.identity import has_fraud_risk, identity_at, rescreen_days
from clearhold.features.parties.agent_inputs import agent_inputs
from clearhold.features.policy.in_force import thresholds_of
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1
from clearhold.features.scorers.crs_v1 import CounterpartyInputs
from clearhold.features.scorers.ers_v1 import EntityInputs
from clearhold.features.scorers.signal import Family
from clearhold.features.scorers.trs_v1.scorer import SCORER as TRANSFER_SCORER
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.windows.edges import NOBODY, Edges
from clearhold.features.windows.series import ALWAYS, NONE_NEAR, Near, Series
from clearhold.features.windows.series_kinds import SeriesKind, count_in

_ENCODE: Final = msgspec.json.Encoder().encode
_SHARED: Final = {
    reason_id: family
    for reason_id, family in TRANSFER_SCORER.families.items()
    if family in (Family.IDENTITY, Family.RETURNS)
}
_ENTITY, _COUNTERPARTY, _AGENT = "entity", "counterparty", "agent"


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
        if party is not None and assessment.vector.counterparty_account_changed:
            scores.set_account_changed(party.index, landed.taken_at)
    if party is not None and (
        landed.updated_counterparty is not None
        or not landed.is_new
        or party.returns is not None
        or shared != scores.counterparties.is_marked(party.index)
        or scores.counterparties.is_due(party.index, position.event_at)
    ):
        emit_counterparty_score(program, party, position, emit)


def add_transfer_score(
    program: ProgramState, actor: Actor, transfer: tuple[int, int], score: Score, *, again: bool
) -> bool:
    """Add a transfer's score to its entity's strongest; True when it is the strongest.

    ``transfer`` is its row in the table and its own time; ``again`` says that an earlier score may be stored.
    """
    transfers, (row, at) = program.scores.transfers, transfer
    if again:
        transfers.drop(actor.index, row)
    slot, is_strongest = transfers.add(actor.index, row, at, score.value or 0)
    if slot < 0:
        return False
    identity, returns = shares_of(score.reasons)
    if identity or returns:
        transfers.set_shares(slot, identity=identity, returns=returns)
    return is_strongest


def shares_of(reasons: Iterable[Reason]) -> tuple[int, int]:
    """The points of a transfer's score from its entity's identity, and from returns."""
    identity = returns = 0
    for reason in reasons:
        family = _SHARED.get(reason.id)
        if family is Family.IDENTITY:
            identity += reason.weight
        elif family is Family.RETURNS:
            returns += reason.weight
    return identity, returns


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
    if program.holds_agents:
        agent = agent_inputs(program, actor, at)
        weighed_agent = ars_v1.DEFAULT.weigh(agent)
        former = last.value(actor.index)
        is_news = last.exchange(actor.index, weighed_agent[0], hard=weighed_agent[1]) or force
        if not is_news or emit is no_rows:
            return
        degraded = ars_v1.is_degraded(agent)
        score = ars_v1.DEFAULT.explain(agent, weighed_agent, degraded=degraded)
        emit(score_row(program, position, (_AGENT, actor.id), score, agent, at=at, former=former, degraded=degraded))
        return
    transfers = actor.amounts.count(at - DAYS_90, at)
    if (
        not force
        and transfers < ers_v1.TRANSFERS_FLOOR
        and last.stays_unscored(actor.index, hard=ers_v1.is_hard(actor.profile_at(at).words.verification_status))
    ):
        return
    inputs = entity_inputs(program, actor, transfers, at)
    weighed = ers_v1.DEFAULT.weigh(inputs)
    former = last.value(actor.index)
    is_news = last.exchange(actor.index, weighed[0], hard=weighed[1]) or force
    if is_news and emit is not no_rows:
        score = ers_v1.DEFAULT.explain(inputs, weighed)
        emit(score_row(program, position, (_ENTITY, actor.id), score, inputs, at=at, former=former))


def emit_counterparty_score(
    program: ProgramState, party: KnownCounterparty, position: EntryPosition, emit: Emit, *, force: bool = False
) -> None:
    """Evaluate a counterparty with an id of the bank; its row is emitted on a change, or when ``force`` is set."""
    last = program.scores.counterparties
    at = last.instant(party.index, position.event_at)
    if party.has_new_account:
        party.has_new_account = False
        program.scores.set_account_changed(party.index, at)
    if party.unlisted:
        return
    transfers = party.times.count(ALWAYS, at)
    if not force and transfers < crs_v1.TRANSFERS_FLOOR:
        shared = _shared_entities(program, party, at) >= crs_v1.SHARED_FLOOR
        lists = thresholds_of(program, at).lists_of(party.country)
        if last.stays_unscored(party.index, hard=crs_v1.is_hard(lists), mark=shared):
            return
    inputs = counterparty_inputs(program, party, transfers, at)
    weighed = crs_v1.DEFAULT.weigh(inputs)
    shared = inputs.shared_entities_30d >= crs_v1.SHARED_FLOOR
    former = last.value(party.index)
    is_news = last.exchange(party.index, weighed[0], hard=weighed[1], mark=shared) or force
    if is_news and emit is not no_rows:
        score = crs_v1.DEFAULT.explain(inputs, weighed)
        emit(score_row(program, position, (_COUNTERPARTY, party.id), score, inputs, at=at, former=former))


def entity_inputs(program: ProgramState, actor: Actor, transfers: int, at: int) -> EntityInputs:
    """The inputs of an entity's score; it reads four transfers, however long the history."""
    score, day, identity, returns = program.scores.transfers.best(actor.index)
    known, probes = identity_at(actor, at), actor.probes
    return EntityInputs(
        transfers,
        score,
        max(0, at // DAY_US - day) if score else 0,
        identity,
        returns,
        known.entity_verification_status,
        known.entity_pep_status,
        known.entity_is_high_risk,
        known.entity_requires_screening,
        known.entity_screening_age_days,
        rescreen_days(actor, program.series, at),
        has_fraud_risk(actor, at),
        count_in(actor.series_by_kind, SeriesKind.DEBIT_RETURN, at - DAYS_30, at),
        _count(actor.ach_debits, at - DAYS_30, at),
        _count(actor.unauthorized, at - DAYS_60, at),
        0 if probes is None else _near(probes, at - DAYS_30, at).distinct(at - DAYS_30),
    )


def counterparty_inputs(program: ProgramState, party: KnownCounterparty, transfers: int, at: int) -> CounterpartyInputs:
    times = party.times
    first_at, changed_at = times.first(at), program.scores.account_changed_at(party.index)
    thresholds = thresholds_of(program, at)
    return CounterpartyInputs(
        transfers,
        times.count(at - DAYS_60, at),
        _count(party.returns, ALWAYS, at),
        _count(party.returns, at - DAYS_60, at),
        _count(party.unauthorized, at - DAYS_60, at),
        _shared_entities(program, party, at),
        None if first_at is None else (at - first_at) // DAY_US,
        None if changed_at is None else max(0, at - changed_at) // DAY_US,
        party.country,
        thresholds.lists_of(party.country),
        thresholds.version,
    )


def _shared_entities(program: ProgramState, party: KnownCounterparty, at: int) -> int:
    return len(dealing_with(program.series, (party.routing, party.last4), at, but=NOBODY))


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
        tenant_id=program.tenant_id,
        program_id=program.id,
        id=score_id(position, score.version, kind, subject_id),
        subject_type=kind,
        subject_id=subject_id,
        shard=position.shard,
        offset=position.offset,
        version=score.version,
        score=score.value,
        band=band_word(score.value),
        former_band=band_word(former),
        n=score.n,
        confidence=score.confidence,
        hard=score.hard,
        degraded=degraded,
        reasons=_ENCODE(score.reasons).decode(),
        inputs=_ENCODE(inputs).decode(),
        scored_at=at,
    )


def score_id(position: EntryPosition, version: str, kind: str, subject_id: str) -> str:
    return SCORE_IDS.id_of(f"{position.shard}/{position.offset}/{version}/{kind}/{subject_id}")


def _near(edges: Edges | None, after: int, upto: int) -> Near:
    return NONE_NEAR if edges is None else edges.near(after, upto, but=NOBODY, as_of=upto)


def _count(series: Series | None, after: int, upto: int) -> int:
    return 0 if series is None else series.count(after, upto)
