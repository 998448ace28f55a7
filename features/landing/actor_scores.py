"""The scores of a program's actors: what they are made from, and the records that are written when they change.

An actor is evaluated when its strongest transfer changes, when one is scored again or returned, when something is said
of it, and at its first transfer of a day, for what time alone changes; as long as it is unscored, at every transfer. A
record is written when points, band or a hard signal differ from the last record of that actor; without a record it is
unscored. An agent is an entity on the program ``agents``, and has an agent's score instead.

Window  windows end at the time of the entry, or at the latest one that the actor was evaluated at: a late entry brings
        its facts, and does not turn back the time
Errors  none; what is not known is None
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from features.core.bands import band_word
from features.core.ids import SCORE_IDS
from features.core.instants import DAY_US, DAYS_30, DAYS_60, DAYS_90
from features.core.reason import Reason, Score
from features.core.rows.emit import Emit
from features.core.rows.scores import ScoreRow
from features.landing.landing import LandingResult
from features.landing.stored_transfer import EntryPosition
from features.measurement.flow import dealing_with
from features.measurement.measure import identity_at, is_sanctions_hit
from features.scorers import ars_v1, crs_v1, ers_v1, prs_v1
from features.scorers.families import Family
from features.scorers.trs_v1.rules import REASONS as TRANSFER_REASONS
from features.state.parties import Actor, Counterparty
from features.state.program import ProgramState
from features.windows.edges import NOBODY, NONE_NEAR, Edges, Near, node_of_actor
from features.windows.series import ALWAYS, EventTimes

_ENCODE: Final = msgspec.json.Encoder().encode
_SHARED: Final = {kind.id: kind.family for kind in TRANSFER_REASONS if kind.family in (Family.IDENTITY, Family.RETURNS)}
_ENTITY, _COUNTERPARTY, _AGENT, _PROGRAM = "entity", "counterparty", "agent", "program"


def emit_after_transfer(program: ProgramState, landed: LandingResult, when: EntryPosition, emit: Emit) -> None:
    """The records that a transfer's score, or what it said of its counterparty, leads to."""
    actor, party = landed.parties
    assessment, scores = landed.assessment, program.scores
    for former in landed.left:
        if isinstance(former, Actor):
            scores.transfers.drop(former.index, landed.place)
            _emit(entity_score_row(program, former, when), emit)
        else:
            _emit(counterparty_score_row(program, former, when), emit)
    shared = False
    if assessment is not None:
        if actor is not None and not actor.is_account:
            place, again = (landed.place, landed.taken_at), not landed.is_new
            is_strongest = keep_transfer_score(program, actor, place, assessment.score, again=again)
            if (
                is_strongest
                or not landed.is_new
                or actor.returns is not None
                or program.holds_agents
                or scores.actors.is_due(actor.index, when.event_at)
            ):
                _emit(entity_score_row(program, actor, when), emit)
        shared = assessment.vector.counterparty_shared_entities_30d >= crs_v1.SHARED_FLOOR
        if party is not None and assessment.vector.counterparty_account_changed:
            scores.account_changed(party.index, landed.taken_at)
    if party is not None and (
        landed.learnt is not None
        or not landed.is_new
        or party.returns is not None
        or shared != scores.counterparties.is_marked(party.index)
        or scores.counterparties.is_due(party.index, when.event_at)
    ):
        _emit(counterparty_score_row(program, party, when), emit)


def keep_transfer_score(
    program: ProgramState, actor: Actor, transfer: tuple[int, int], score: Score, *, again: bool
) -> bool:
    """Let a transfer's score, or its new one, count for its entity; True when it is the strongest.

    ``transfer`` is its row in the table and its own time.
    """
    transfers, (row, at) = program.scores.transfers, transfer
    if again:
        transfers.drop(actor.index, row)
    place, is_strongest = transfers.keep(actor.index, row, at, score.value or 0)
    if place < 0:
        return False
    identity, returns = shares_of(score.reasons)
    if identity or returns:
        transfers.share(place, identity=identity, returns=returns)
    return is_strongest


def shares_of(reasons: Iterable[Reason]) -> tuple[int, int]:
    """How many of a transfer's points come from its entity's identity, and how many from returns."""
    identity = returns = 0
    for reason in reasons:
        family = _SHARED.get(reason.id)
        if family is Family.IDENTITY:
            identity += reason.weight
        elif family is Family.RETURNS:
            returns += reason.weight
    return identity, returns


def entity_score_row(
    program: ProgramState, actor: Actor, when: EntryPosition, *, force: bool = False
) -> ScoreRow | None:
    """Evaluate an entity, or an agent; its record when the score changed or ``force`` asks for one.

    An account whose owner is not known is no entity, and has none.
    """
    if actor.is_account:
        return None
    last = program.scores.actors
    at = last.instant(actor.index, when.event_at)
    if program.holds_agents:
        agent = agent_inputs(program, actor, at)
        weighed_agent = ars_v1.CARD.weigh(agent)
        if not last.exchange(actor.index, weighed_agent[0], hard=weighed_agent[1]) and not force:
            return None
        degraded = ars_v1.is_degraded(agent)
        score = ars_v1.CARD.explain(agent, weighed_agent, degraded=degraded)
        return _record(program, when, (_AGENT, actor.id), score, agent, at=at, degraded=degraded)
    inputs = entity_inputs(program, actor, at)
    weighed = ers_v1.CARD.weigh(inputs)
    if not last.exchange(actor.index, weighed[0], hard=weighed[1]) and not force:
        return None
    return _record(program, when, (_ENTITY, actor.id), ers_v1.CARD.explain(inputs, weighed), inputs, at=at)


def counterparty_score_row(
    program: ProgramState, party: Counterparty, when: EntryPosition, *, force: bool = False
) -> ScoreRow | None:
    """Evaluate a counterparty; its record when the score changed or ``force`` asks for one.

    One that the bank named without giving it an id has none.
    """
    last = program.scores.counterparties
    at = last.instant(party.index, when.event_at)
    if party.account_changed:
        party.account_changed = False
        program.scores.account_changed(party.index, at)
    if party.unlisted:
        return None
    inputs = counterparty_inputs(program, party, at)
    weighed = crs_v1.CARD.weigh(inputs)
    shared = inputs.shared_entities_30d >= crs_v1.SHARED_FLOOR
    if not last.exchange(party.index, weighed[0], hard=weighed[1], mark=shared) and not force:
        return None
    return _record(program, when, (_COUNTERPARTY, party.id), crs_v1.CARD.explain(inputs, weighed), inputs, at=at)


def program_score_row(
    program: ProgramState, readings: Mapping[str, prs_v1.KriReading], when: EntryPosition, *, force: bool = False
) -> ScoreRow | None:
    """Evaluate the program by its indicators; its record when the score changed or ``force`` asks for one."""
    last = program.scores.program
    at = last.instant(0, when.event_at)
    score = prs_v1.score(readings)
    if not last.exchange(0, score.value, hard=score.hard) and not force:
        return None
    return _record(program, when, (_PROGRAM, program.id), score, readings, at=at)


def entity_inputs(program: ProgramState, actor: Actor, at: int) -> ers_v1.EntityInputs:
    """What an entity's score is made from; four transfers are looked at, whatever the history."""
    score, day, identity, returns = program.scores.transfers.best(actor.index)
    probes = actor.probes
    return ers_v1.EntityInputs(
        actor.amounts.count(at - DAYS_90, at),
        score,
        max(0, at // DAY_US - day) if score else 0,
        identity,
        returns,
        *identity_at(actor, at),
        is_sanctions_hit(actor, at),
        _count(actor.returns, at - DAYS_30, at),
        _count(actor.ach_debits, at - DAYS_30, at),
        _count(actor.unauthorized, at - DAYS_60, at),
        0 if probes is None else _near(probes, at - DAYS_30, at).distinct(at - DAYS_30),
    )


def counterparty_inputs(program: ProgramState, party: Counterparty, at: int) -> crs_v1.CounterpartyInputs:
    """What a counterparty's score is made from."""
    times = party.times
    first_at, changed_at = times.first(at), program.scores.account_changed_at(party.index)
    return crs_v1.CounterpartyInputs(
        times.count(ALWAYS, at),
        times.count(at - DAYS_60, at),
        _count(party.returns, ALWAYS, at),
        _count(party.returns, at - DAYS_60, at),
        _count(party.unauthorized, at - DAYS_60, at),
        len(dealing_with(program.series, (party.routing, party.last4), at, but=NOBODY)),
        None if first_at is None else (at - first_at) // DAY_US,
        None if changed_at is None else max(0, at - changed_at) // DAY_US,
        party.country,
    )


def agent_inputs(program: ProgramState, actor: Actor, at: int) -> ars_v1.AgentInputs:
    """What an agent's score is made from. Registration, reputation and screening are None until they are imported."""
    settlements, volume_cents = actor.amounts.measure(ALWAYS, at)
    node = node_of_actor(actor.index)
    paid = _near(program.graph.into.get(node), at - DAYS_90, at)
    payers = Counter(paid.others)
    month = at - DAYS_30
    paid_back = set(_near(program.graph.out.get(node), month, at).others)
    profile = actor.profile_at(at)
    return ars_v1.AgentInputs(
        settlements,
        volume_cents,
        actor.amounts.count(at - DAY_US, at),
        actor.amounts.count(month, at),
        len(paid.others),
        len(payers),
        max(payers.values(), default=0),
        round_trips_30d=len(paid_back.intersection(_near(program.graph.into.get(node), month, at).others)),
        verification_status=profile.verification_status,
        registration_age_days=None if profile.created_at is None else max(0, at - profile.created_at) // DAY_US,
        wallet_screening="hit" if is_sanctions_hit(actor, at) else None,
    )


def _record(
    program: ProgramState,
    when: EntryPosition,
    subject: tuple[str, str],
    score: Score,
    inputs: object,
    *,
    at: int,
    degraded: bool = False,
) -> ScoreRow:
    kind, subject_id = subject
    return ScoreRow(
        program.tenant_id,
        program.id,
        score_id(when, score.version, kind, subject_id),
        kind,
        subject_id,
        when.shard,
        when.offset,
        score.version,
        score.value,
        band_word(score.value),
        score.n,
        score.confidence,
        score.hard,
        degraded,
        _ENCODE(score.reasons).decode(),
        _ENCODE(inputs).decode(),
        at,
    )


def score_id(when: EntryPosition, version: str, kind: str, subject_id: str) -> str:
    """The id of the score that a log entry gave a subject."""
    return SCORE_IDS.id_of(f"{when.shard}/{when.offset}/{version}/{kind}/{subject_id}")


def _emit(row: ScoreRow | None, emit: Emit) -> None:
    if row is not None:
        emit(row)


def _near(edges: Edges | None, after: int, upto: int) -> Near:
    return NONE_NEAR if edges is None else edges.near(after, upto, but=NOBODY, as_of=upto)


def _count(series: EventTimes | None, after: int, upto: int) -> int:
    return 0 if series is None else series.count(after, upto)
