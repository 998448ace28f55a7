"""The score of an entity, agent or counterparty at an instant: a function of the state and the instant alone.

Everything that reads an actor's score or band calls this module: score records, pre-flights and the limit ladder,
reports, proofs and lists. Points fade and observations count up to the instant, whether or not an event came since.

The cadence of an entity's screening is that of its band, and a stale screening adds points. So the cadence in a score
is that of the band without those points.

Time alone changes an evaluation in three ways: points of a transfer fade at a UTC midnight, a fact leaves a window, and
an age reaches a limit. The next change is the earliest of them that can matter to the band: never too late, but perhaps
too early, as when several signals would have to end together. It costs a few searches in the actor's series.

Window  windows end at the instant; ``FOREVER`` where time changes nothing
Errors  none; an unknown input is None
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple, cast

import msgspec

from clearhold.features.bank.statuses import UNAUTHORIZED_RETURN_CODES
from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60, DAYS_90
from clearhold.features.core.money import ACH_DEBIT, ORIGINATED_CLASS
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM, ActorType, Band, Score, band_of
from clearhold.features.measurement.actor_inputs import UNKNOWN_AGENT, agent_inputs, has_fraud_risk, identity_at
from clearhold.features.measurement.flow import dealing_with
from clearhold.features.policy.bodies import LimitLadder
from clearhold.features.policy.in_force import ladder_in_force, thresholds_of
from clearhold.features.scorers import ars_v1, crs_v1, ers_v1
from clearhold.features.scorers.ars_v1 import OWNER_CHANGE_DAYS, YOUNG_DAYS, AgentInputs
from clearhold.features.scorers.crs_v1 import CounterpartyInputs
from clearhold.features.scorers.engine import CompiledCard, Weighed
from clearhold.features.scorers.ers_v1 import DAY, LIVES, EntityInputs, decayed
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.score_memory import AT_ONCE, FOREVER
from clearhold.features.windows.edges import NOBODY, near_of, node_of_actor, node_of_counterparty
from clearhold.features.windows.series import ALWAYS, Series, count_of
from clearhold.features.windows.series_kinds import SeriesKind, count_in

ENTITY: Final = ActorType.ENTITY.value
COUNTERPARTY: Final = ActorType.COUNTERPARTY.value
AGENT: Final = ActorType.AGENT.value


class Evaluation(NamedTuple):
    """An actor's score before its reasons are worded."""

    kind: str
    card: CompiledCard[Any]
    inputs: Any
    weighed: Weighed[Any]
    degraded: bool = False

    @property
    def value(self) -> int | None:
        return self.weighed[0]

    @property
    def hard(self) -> bool:
        return self.weighed[1]

    def score(self) -> Score:
        return self.card.explain(self.inputs, self.weighed, degraded=self.degraded)


def evaluate_actor(program: ProgramState, actor: Actor, at: int) -> Evaluation | None:
    """The score of an entity, or of an agent; an account without a known owner is neither and has none."""
    if actor.is_account:
        return None
    if program.holds_agents:
        agent = agent_inputs(program, actor, at)
        degraded = ars_v1.is_degraded(agent)
        return Evaluation(AGENT, ars_v1.DEFAULT, agent, ars_v1.DEFAULT.weigh(agent), degraded)
    entity = entity_inputs(program, actor, at)
    return Evaluation(ENTITY, ers_v1.DEFAULT, entity, ers_v1.DEFAULT.weigh(entity))


def evaluate_counterparty(program: ProgramState, party: KnownCounterparty, at: int) -> Evaluation | None:
    """The score of a counterparty; one without an id of the bank has none."""
    if party.unlisted:
        return None
    inputs = counterparty_inputs(program, party, at)
    return Evaluation(COUNTERPARTY, crs_v1.DEFAULT, inputs, crs_v1.DEFAULT.weigh(inputs))


def band_of_actor(program: ProgramState, actor: Actor, at: int) -> Band:
    """The band of ``evaluate_actor``. An entity's is looked up while that of its last evaluation holds; an agent's
    depends on other agents too.
    """
    scores = program.scores.actors
    if scores.holds(actor.index, at) and not program.holds_agents:
        return band_of(scores.value(actor.index))
    evaluation = evaluate_actor(program, actor, at)
    return band_of(None if evaluation is None else evaluation.value)


def band_of_counterparty(program: ProgramState, party: KnownCounterparty, at: int) -> Band:
    evaluation = evaluate_counterparty(program, party, at)
    return band_of(None if evaluation is None else evaluation.value)


def rescreen_days(program: ProgramState, actor: Actor | None, at: int) -> int | None:
    """How often the policy has the actor's band screened; None when no duty to screen it was stated."""
    if actor is None or actor.profile_at(at).words.requires_screening is None:
        return None
    return cadence_of(ladder_in_force(program, at), band_of_actor(program, actor, at))


def entity_inputs(program: ProgramState, actor: Actor, at: int) -> EntityInputs:
    """The inputs of an entity's score; it reads two transfers, however long the history."""
    score, day, identity, returns = program.scores.transfers.best(actor.index)
    known, probes = identity_at(actor, at), actor.probes
    inputs = EntityInputs(
        actor.amounts.count(at - DAYS_90, at),
        score,
        max(0, at // DAY_US - day) if score else 0,
        identity,
        returns,
        known.entity_verification_status,
        known.entity_pep_status,
        known.entity_is_high_risk,
        known.entity_requires_screening,
        known.entity_screening_age_days,
        None,
        has_fraud_risk(actor, at),
        count_in(actor.series_by_kind, SeriesKind.DEBIT_RETURN, at - DAYS_30, at),
        count_of(actor.ach_debits, at - DAYS_30, at),
        count_of(actor.unauthorized, at - DAYS_60, at),
        0 if probes is None else near_of(probes, at - DAYS_30, at).distinct(at - DAYS_30),
    )
    cleared = program.clearings.returns_of(node_of_actor(actor.index))
    if cleared:
        inputs = _without_cleared(program, actor, inputs, cleared, at)
    if known.entity_requires_screening is None:
        return inputs
    band = band_of(ers_v1.DEFAULT.weigh(inputs)[0])
    return msgspec.structs.replace(inputs, rescreen_days=cadence_of(ladder_in_force(program, at), band))


def _without_cleared(
    program: ProgramState, actor: Actor, inputs: EntityInputs, cleared: Collection[int], at: int
) -> EntityInputs:
    """The inputs without the returns of transfers that a person has cleared."""
    of_30d = _returns_among(program, cleared, at - DAYS_30, at)
    of_60d = _returns_among(program, cleared, at - DAYS_60, at)
    near, cleared = near_of(actor.probes, at - DAYS_30, at), set(cleared)
    probed = {other for row, other in zip(near.rows, near.others, strict=True) if row not in cleared}
    return msgspec.structs.replace(
        inputs,
        returns_30d=inputs.returns_30d - sum(each.is_debit for each in of_30d),
        unauthorized_returns_60d=inputs.unauthorized_returns_60d - sum(each.is_unauthorized for each in of_60d),
        probed_counterparties_30d=len(probed),
    )


class _Returned(NamedTuple):
    is_debit: bool  # that the program sent
    is_unauthorized: bool  # and such a debit


def _returns_among(program: ProgramState, rows: Collection[int], after: int, upto: int) -> list[_Returned]:
    """The returns of these transfers in (after, upto]."""
    among = []
    for row in rows:
        returned, record = program.returned[row], program.transfers.glance(row)
        if after < returned.at <= upto:
            is_debit = record.ach_type == ACH_DEBIT and record.class_id == ORIGINATED_CLASS
            among.append(_Returned(is_debit, is_debit and returned.code in UNAUTHORIZED_RETURN_CODES))
    return among


def counterparty_inputs(program: ProgramState, party: KnownCounterparty, at: int) -> CounterpartyInputs:
    times = party.times
    first_at, changed_at = times.first(at), program.scores.account_changes.newest(party.index, program.clearings)
    thresholds, after = thresholds_of(program, at), at - DAYS_60
    cleared = _returns_among(program, program.clearings.returns_of(node_of_counterparty(party.index)), after, at)
    return CounterpartyInputs(
        times.count(ALWAYS, at),
        times.count(after, at),
        count_of(party.returns, ALWAYS, at),
        count_of(party.returns, after, at) - len(cleared),
        count_of(party.unauthorized, after, at) - sum(each.is_unauthorized for each in cleared),
        shared_entities(program, party, at),
        None if first_at is None else (at - first_at) // DAY_US,
        None if changed_at is None else max(0, at - changed_at) // DAY_US,
        party.country,
        thresholds.lists_of(party.country),
        thresholds.version,
    )


def shared_entities(program: ProgramState, party: KnownCounterparty, at: int) -> int:
    return len(dealing_with(program.series, (party.routing, party.last4), at, but=NOBODY))


def cadence_of(ladder: LimitLadder, band: Band) -> int:
    """After how many days the ladder has an actor of that band screened again."""
    days: int = getattr(ladder.rescreen_days, band.value)
    return days


_ROUNDING: Final = 3
"""Points that three fading parts of a score may gain on each other, each cut to whole points."""


def next_change_of_actor(program: ProgramState, actor: Actor, evaluation: Evaluation, at: int) -> int:
    """Of an entity or an agent that was evaluated at ``at``. An unscored one needs a transfer to get a score."""
    if is_behind(actor, at):
        return AT_ONCE
    value = evaluation.value
    if value is None:
        return FOREVER
    if isinstance(evaluation.inputs, AgentInputs):
        instants = _of_agent(program, actor, evaluation.inputs, at)
    else:
        instants = _of_entity(program, actor, cast(EntityInputs, evaluation.inputs), value, at)
    return min((each for each in instants if each > at), default=FOREVER)


def next_change_of_counterparty(
    program: ProgramState, party: KnownCounterparty, evaluation: Evaluation, at: int
) -> int:
    """Time takes points from a counterparty, and adds some only when transfers leave the share of its returns."""
    value, inputs = evaluation.value, cast(CounterpartyInputs, evaluation.inputs)
    if is_behind(party, at):
        return AT_ONCE
    if value is None or (value < REVIEW_FROM and inputs.returns_60d < crs_v1.RETURNS_FLOOR):
        return FOREVER
    instants = _of_counterparty(program, party, inputs, at)
    return min((each for each in instants if each > at), default=FOREVER)


def is_behind(party: Actor | KnownCounterparty, at: int) -> bool:
    """True when facts of the party are known that are later than ``at``: a late entry evaluates the past.

    Each fact is of a transfer or of a return, and so in the series of all its transfers or of all its returns.
    """
    transfers, returns = party.amounts if isinstance(party, Actor) else party.times, party.returns
    return transfers.is_known_after(at) or (returns is not None and returns.is_known_after(at))


def _of_entity(program: ProgramState, actor: Actor, inputs: EntityInputs, value: int, at: int) -> Iterator[int]:
    fifth = actor.amounts.previous(at, skip=ers_v1.TRANSFERS_FLOOR - 1)
    yield FOREVER if fifth is None else fifth + DAYS_90
    day = program.scores.transfers.best(actor.index)[1]
    yield _fading(inputs, value, day, at)
    screened_at, cadence = actor.profile_at(at).last_screened_at, inputs.rescreen_days
    if screened_at is not None and cadence is not None:
        yield screened_at + (cadence + 1) * DAY_US
        if inputs.screening_age_days is not None and inputs.screening_age_days > cadence:
            # The cadence follows from the band without the points of a stale screening.
            other = ers_v1.DEFAULT.weigh(msgspec.structs.replace(inputs, rescreen_days=None))[0]
            yield _fading(inputs, value if other is None else other, day, at)
    if inputs.returns_30d:
        kinds = actor.series_by_kind
        yield _leaving(None if kinds is None else kinds.get(SeriesKind.DEBIT_RETURN), DAYS_30, at)
        others = inputs.ach_debits_30d - inputs.returns_30d * 100 // ers_v1.RETURNS_SHARE_PERCENT
        if others > 0 and inputs.returns_30d >= ers_v1.RETURNS_FLOOR:
            yield _leaving(actor.ach_debits, DAYS_30, at, number=others)
    if inputs.unauthorized_returns_60d:
        yield _leaving(actor.unauthorized, DAYS_60, at)
    if inputs.probed_counterparties_30d:
        yield _leaving(actor.probes, DAYS_30, at)


def _fading(inputs: EntityInputs, value: int, day: int, at: int) -> int:
    """The first midnight at which the points of the strongest transfer may have faded to another band."""
    days, is_shared = inputs.transfer_score_days, inputs.transfer_identity_points or inputs.transfer_returns_points
    if not inputs.transfer_score or (value < REVIEW_FROM and not is_shared):
        return FOREVER
    points = decayed(inputs.transfer_score, days)
    shared = decayed(inputs.transfer_identity_points, days) + decayed(inputs.transfer_returns_points, days)
    above = next((edge for edge in (REVIEW_FROM, HOLD_FROM) if edge > value), None)
    if shared and above is not None and value + max(0, shared - points) + _ROUNDING >= above:
        return (max(at // DAY_US, day) + 1) * DAY_US  # points that count once fade, too, and more points count
    edge = HOLD_FROM if value >= HOLD_FROM else REVIEW_FROM
    left = points - (value - edge + 1)
    if value < edge or left < 0 or not points:
        return FOREVER
    return (day + (LIVES[inputs.transfer_score - 1] - LIVES[left]) // DAY + 1) * DAY_US


def _of_counterparty(
    program: ProgramState, party: KnownCounterparty, inputs: CounterpartyInputs, at: int
) -> Iterator[int]:
    first_at, changed_at = party.times.first(at), program.scores.account_changes.newest(party.index, program.clearings)
    if first_at is not None:
        yield from (first_at + days * DAY_US for days in (crs_v1.NEW_DAYS, crs_v1.YOUNG_DAYS, crs_v1.CLEAN_DAYS))
    if changed_at is not None:
        yield changed_at + crs_v1.CHANGED_DAYS * DAY_US
    yield _leaving(party.returns, DAYS_60, at)
    yield _leaving(party.unauthorized, DAYS_60, at)
    others = inputs.transfers_60d - inputs.returns_60d * 100 // crs_v1.RETURNS_SHARE_PERCENT
    if others > 0 and inputs.returns_60d >= crs_v1.RETURNS_FLOOR:
        yield _leaving(party.times, DAYS_60, at, number=others)
    if inputs.shared_entities_30d >= crs_v1.SHARED_FLOOR:
        for sharing in program.counterparties.sharing(party.routing, party.last4):
            yield _leaving(program.graph.into.get(sharing.node), DAYS_30, at)
            yield _leaving(program.graph.out.get(sharing.node), DAYS_30, at)


def _of_agent(program: ProgramState, actor: Actor, inputs: AgentInputs, at: int) -> Iterator[int]:
    known, node = program.agents.facts.get(actor.index, UNKNOWN_AGENT), node_of_actor(actor.index)
    for window_us in (DAY_US, DAYS_30):
        yield _leaving(actor.amounts, window_us, at)
    for window_us in (DAYS_30, DAYS_90):
        yield _leaving(program.graph.into.get(node), window_us, at)
        yield _leaving(program.graph.out.get(node), window_us, at)
    for own in program.agents.own_parties(actor.index) if inputs.round_trips_30d else ():
        yield _leaving(program.graph.out.get(program.counterparties.all[own].node), DAYS_30, at)
    registered_at = actor.profile_at(at).created_at if known.registered_at is None else known.registered_at
    for since, days in ((registered_at, YOUNG_DAYS), (known.owner_changed_at, OWNER_CHANGE_DAYS)):
        if since is not None:
            yield since + days * DAY_US


def _leaving(series: Series | None, window_us: int, at: int, *, number: int = 1) -> int:
    """When the oldest fact of the window leaves it, or that and the next ones up to ``number``."""
    times = () if series is None else series.instants()
    index = bisect_right(times, at - window_us) + number - 1
    return times[index] + window_us if index < len(times) else FOREVER
