"""When time alone may next change an actor's band: never too late, so that no change is missed.

Between two entries an evaluation changes in three ways: points of a transfer fade at a UTC midnight, a fact leaves a
window, and an age reaches a limit. The earliest of them that can matter to the band is the answer. It may be too early,
as when several signals would have to end together: the actor is then evaluated without a change of its band.

Unit    instants in microseconds; ``FOREVER`` where time changes nothing
Cost    a few searches in the actor's series, however long its history
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, cast

import msgspec

from clearhold.features.core.instants import DAY_US, DAYS_30, DAYS_60, DAYS_90
from clearhold.features.core.vocabulary import HOLD_FROM, REVIEW_FROM
from clearhold.features.measurement.actor_evaluation import Evaluation
from clearhold.features.measurement.actor_inputs import UNKNOWN_AGENT
from clearhold.features.scorers import crs_v1, ers_v1
from clearhold.features.scorers.ars_v1 import OWNER_CHANGE_DAYS, YOUNG_DAYS, AgentInputs
from clearhold.features.scorers.crs_v1 import CounterpartyInputs
from clearhold.features.scorers.ers_v1 import DAY, LIVES, EntityInputs, decayed
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.state.program import ProgramState
from clearhold.features.state.score_memory import AT_ONCE, FOREVER
from clearhold.features.windows.edges import node_of_actor
from clearhold.features.windows.series import Series
from clearhold.features.windows.series_kinds import SeriesKind

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
    first_at, changed_at = party.times.first(at), program.scores.account_changed_at(party.index, program.clearings)
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
