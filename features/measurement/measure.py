"""Measures the feature vector of one transfer, landed or proposed, at one instant.

Window  each feature's own, half-open (t - w, t]; the transfer itself counts only where the name says so
Errors  none: an unmeasurable feature is None
"""

from typing import Final

from msgspec.structs import astuple

from clearhold.features.catalogue.amounts import Activity, Facts, History, ProgramFigures, Relationship, Typologies
from clearhold.features.catalogue.flows import MeasuredInForce, Novelties, Standing
from clearhold.features.catalogue.thresholds import Lines, Thresholds
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.instants import DAY_US, DAYS_7, DAYS_30, DAYS_60, DAYS_90
from clearhold.features.core.vocabulary import Rail
from clearhold.features.measurement.activity import ach_entries, amounts_of, card_attempts, returns_of
from clearhold.features.measurement.actor_inputs import has_fraud_risk, identity_at
from clearhold.features.measurement.flow import flow_of, follow, is_asked, is_regular, novelty_of
from clearhold.features.measurement.origins import origins_of
from clearhold.features.measurement.pairs import pair_past_of
from clearhold.features.measurement.purchases import purchases_of
from clearhold.features.measurement.rhythm import passing_of, rhythm_of
from clearhold.features.measurement.shares import Graded, shares_of
from clearhold.features.measurement.subject import Before, OwnContribution, Subject, before_of, surroundings_of
from clearhold.features.measurement.weeks import weeks_of
from clearhold.features.policy.bodies import LADDER
from clearhold.features.policy.in_force import thresholds_of, version_in_force
from clearhold.features.state.program_series import Declared, ProgramSeries
from clearhold.features.windows.acquaintances import Novelty
from clearhold.features.windows.amount_series import AmountSeries
from clearhold.features.windows.baseline import BaselineValues
from clearhold.features.windows.graph import GraphPath
from clearhold.features.windows.prevalence import Reached
from clearhold.features.windows.series import ALWAYS, count_of
from clearhold.features.windows.series_kinds import SeriesKind, count_in

_CARD: Final = Rail.CARD.value


Measured = tuple[FeatureVector, tuple[int, ...], tuple[int, ...], Reached]
"""The vector, the transfers (rows of the table, oldest first) of its two paths, layering and round trip, and what its
shares count of it.
"""


def measure(
    subject: Subject, program: ProgramSeries, declared: Declared, baseline: BaselineValues, at: int
) -> Measured:
    """All features of the subject at ``at``, group by group in the order of the vector."""
    before, around = before_of(subject, program, at), surroundings_of(subject, program.graph)
    novelty = novelty_of(subject, program, at, known_since=before.program_first_at)
    chain, way_back = follow(subject, program, around, at)
    thresholds = thresholds_of(program, at)
    structuring_7d, structuring_24h = _structuring(
        subject, thresholds.lines, at, own_actor=before.own, own_party=before.own_party
    )
    activity, relationship = _activity(subject, before, at, structuring_7d), _relationship(subject, before, at)
    history = _history(subject, before, at, structuring_24h)
    amounts, most_cents = amounts_of(subject, before, at)
    rhythm = rhythm_of(subject, program, around, novelty, at, most_cents)
    weeks = weeks_of(subject, program, novelty, at, known_since=before.program_first_at)
    is_first, new_payers = novelty.is_new_pair, weeks.payer_new_payers_30d
    origins = origins_of(subject, program, around, before, at, is_first=is_first, new_payers=new_payers)
    graded = Graded(activity, history, amounts, rhythm, weeks, origins, is_first, baseline.median_cents)
    shares, reached = shares_of(subject, program, graded, at)
    repeats = is_asked(structuring_24h, structuring_7d, amounts.repeated_amount_count_24h)
    values = (  # the order of groups and vector is held by tests/features/measurement/test_groups.py
        *astuple(_facts(subject)),
        *astuple(identity_at(subject.actor, at)),
        *astuple(activity),
        *astuple(relationship),
        *astuple(_program_figures(subject, program, declared, baseline, before, at)),
        *astuple(_typologies(subject, declared, thresholds.lines, chain, way_back, before, at)),
        *astuple(history),
        *astuple(amounts),
        *astuple(passing_of(subject, program, at, activity, amounts)),
        *astuple(flow_of(subject, program, around, at, chain)),
        *astuple(returns_of(subject, at, before.own_return)),
        *astuple(ach_entries(subject, program, before, at)),
        *astuple(card_attempts(subject, program, at)),
        *astuple(_novelties(subject, program, novelty, at)),
        *astuple(_standing(subject, program, before, at, is_regular(subject, program, at) if repeats else None)),
        *astuple(_in_force(subject, program, thresholds, at)),
        *astuple(rhythm),
        *astuple(weeks),
        *astuple(pair_past_of(subject, around, activity, relationship, at)),
        *astuple(origins),
        *shares,
        *astuple(purchases_of(subject, program, at)),
    )
    return FeatureVector(*values), chain.rows if chain is not None else (), way_back, reached


def _facts(subject: Subject) -> Facts:
    return Facts(
        amount_cents=subject.cents,
        rail=subject.rail,
        direction=subject.direction,
        type=subject.type,
        status=subject.status,
        counterparty_country=subject.country,
        card_decision_reason=subject.card_reason,
    )


def _activity(subject: Subject, before: Before, at: int, structuring_7d: int) -> Activity:
    """Velocity with the subject; earlier transfers, returns, ACH debits and unauthorized returns without it."""
    own, actor, own_return = subject.own, subject.actor, before.own_return_of_actor
    count_24h, cents_24h = before.of_24h
    returns, unauthorized = (None, None) if actor is None else (actor.returns, actor.unauthorized)
    return Activity(
        entity_count_30d=before.of_30d[0] - before.own,
        velocity_24h_count=count_24h - before.own + subject.moved,
        velocity_24h_sum_cents=cents_24h
        - (own.cents or 0 if before.own else 0)
        + (subject.cents or 0 if subject.moved else 0),
        entity_prior_transfers=before.ever[0] - before.own,
        entity_prior_returns=count_of(returns, ALWAYS, at) - own_return,
        entity_ach_debits_60d=count_of(before.debits, at - DAYS_60, at) - before.own_debit,
        entity_unauthorized_returns_60d=count_of(unauthorized, at - DAYS_60, at)
        - (own_return if own.unauthorized else 0),
        structuring_window_count=structuring_7d,
    )


def _relationship(subject: Subject, before: Before, at: int) -> Relationship:
    """First time, earlier transfers, returns and unauthorized returns with the counterparty."""
    counterparty = subject.counterparty
    if counterparty is None:
        return Relationship(True if subject.counterparty_named else None, 0, 0, 0)
    own_return = before.own_return if subject.own.counterparty is counterparty else 0
    n = counterparty.times.count(ALWAYS, at) - before.own_party
    return Relationship(
        counterparty_first_time=n == 0,
        counterparty_n=n,
        counterparty_prior_returns=count_of(counterparty.returns, ALWAYS, at) - own_return,
        counterparty_prior_unauthorized_returns=count_of(counterparty.unauthorized, ALWAYS, at)
        - (own_return if subject.own.unauthorized else 0),
    )


def _program_figures(
    subject: Subject,
    program: ProgramSeries,
    declared: Declared,
    baseline: BaselineValues,
    before: Before,
    at: int,
) -> ProgramFigures:
    own = subject.own
    return ProgramFigures(
        program_n_90d=baseline.n,
        program_median_cents=baseline.median_cents,
        program_p95_cents=baseline.p95_cents,
        program_daily_avg_cents_30d=_daily_average(
            program.amounts, before.program_first_at, at, own_cents=own.cents or 0 if own.moved else 0
        ),
        program_declared_monthly_volume_cents=declared.monthly_volume_cents,
        program_unauthorized_return_rate_60d=_unauthorized_rate(program, at, own, before.own_return),
        declared_countries=declared.countries,
    )


def _typologies(
    subject: Subject,
    declared: Declared,
    lines: Lines,
    chain: GraphPath | None,
    way_back: tuple[int, ...],
    before: Before,
    at: int,
) -> Typologies:
    return Typologies(
        typology_round_trip=None if chain is None else bool(way_back),
        typology_layering_hops=None if chain is None else chain.hops,
        typology_dormant_days=None if before.previous_at is None else (at - before.previous_at) // DAY_US,
        typology_just_below_threshold=None if subject.cents is None else lines.is_just_below(subject.cents),
        declared_rails=declared.rails,
    )


def _history(subject: Subject, before: Before, at: int, structuring_24h: int) -> History:
    own, actor = subject.own, subject.actor
    own_cents = own.cents or 0 if before.own else 0
    count_90d, cents_90d = before.of_90d
    return History(
        entity_sum_cents_30d=before.of_30d[1] - own_cents,
        entity_n_90d=count_90d - before.own,
        entity_sum_cents_90d=cents_90d - own_cents,
        structuring_count_24h=structuring_24h,
        counterparty_account_changed=subject.account_changed,
        entity_returns_30d=0
        if actor is None
        else count_in(actor.series_by_kind, SeriesKind.DEBIT_RETURN, at - DAYS_30, at)
        - (before.own_return_of_actor if own.originated else 0),
        entity_ach_debits_30d=count_of(before.debits, at - DAYS_30, at) - before.own_debit,
    )


def _novelties(subject: Subject, program: ProgramSeries, novelty: Novelty, at: int) -> Novelties:
    return Novelties(
        entity_fraud_risk=has_fraud_risk(subject.actor, at),
        entity_rescreen_days=subject.rescreen_days,
        pair_first_time=novelty.is_new_pair,
        payer_new_payees_90d=novelty.of_payer,
        payee_new_payers_90d=novelty.of_payee,
        program_rare_pairs_90d=program.acquaintances.rare_in_90d(at, but=subject.own.row),
        program_transfers_90d=program.amounts.count(at - DAYS_90, at) - (1 if subject.own.moved else 0),
    )


def _standing(
    subject: Subject,
    program: ProgramSeries,
    before: Before,
    at: int,
    regular: bool | None,  # noqa: FBT001 - by position, as all of a vector
) -> Standing:
    """Whether money moved, relevant returns with the counterparty, and whether the payment is regular or rare."""
    own, counterparty = subject.own, subject.counterparty
    unauthorized = frozen = 0
    if counterparty is not None:
        own_return = before.own_return if own.counterparty is counterparty else 0
        unauthorized = count_of(counterparty.unauthorized, at - DAYS_60, at) - (own_return if own.unauthorized else 0)
        frozen = count_in(counterparty.series_by_kind, SeriesKind.FROZEN, ALWAYS, at)
        frozen -= own_return if own.frozen else 0
    return Standing(
        subject.moved, unauthorized, frozen, regular, _paired_count(program, before.program_first_at, at, own)
    )


def _in_force(subject: Subject, program: ProgramSeries, thresholds: Thresholds, at: int) -> MeasuredInForce:
    return MeasuredInForce(
        counterparty_country_lists=thresholds.lists_of(subject.country),
        structuring_thresholds=thresholds.lines.text,
        thresholds_version=thresholds.version,
        ladder_version=version_in_force(program, LADDER, at).version,
    )


def _paired_count(program: ProgramSeries, first_at: int | None, at: int, own: OwnContribution) -> int:
    """The program's other transfers of 90 days since rare pairs are recognised: from its 90th day on."""
    if first_at is None or first_at > at - DAYS_90:
        return 0
    return program.amounts.count(max(at - DAYS_90, first_at + DAYS_90 - 1), at) - (1 if own.moved else 0)


def _structuring(subject: Subject, lines: Lines, at: int, *, own_actor: int, own_party: int) -> tuple[int, int]:
    """Most transfers just under one threshold in 7 days and in 24 h, of the actor or to the counterparty.

    When the subject lies under a threshold itself, it counts (not an attempt), and only its own thresholds do.
    """
    if subject.rail == _CARD:
        return 0, 0
    zones = lines.zones(subject.cents)
    most_7d = most_24h = included = 1 if zones and subject.moved else 0
    own_zones = lines.zones(subject.own.cents) if own_actor or own_party else ()
    for party, own in ((subject.actor, own_actor), (subject.counterparty, own_party)):
        if party is None or not party.zones:
            continue
        for threshold in zones or lines.cents:
            series = party.zones.get(threshold)
            if series is not None:
                but_own = included - (own if threshold in own_zones else 0)
                most_7d = max(most_7d, series.count(at - DAYS_7, at) + but_own)
                most_24h = max(most_24h, series.count(at - DAY_US, at) + but_own)
    return most_7d, most_24h


def _daily_average(amounts: AmountSeries, first_at: int | None, at: int, *, own_cents: int) -> int | None:
    """Cents of 30 days over the days of the program's existence in them; None in its first week."""
    if first_at is None:
        return None
    age = at - first_at
    if age < DAYS_7:
        return None
    cents = amounts.measure(at - DAYS_30, at)[1] - own_cents
    return cents * DAY_US // min(DAYS_30, age)


def _unauthorized_rate(program: ProgramSeries, at: int, own: OwnContribution, own_return: int) -> float | None:
    """Unauthorized returns received over ACH debits originated, both in 60 days; None without a debit."""
    debits = program.originated.count(at - DAYS_60, at) - (1 if own.moved and own.originated else 0)
    if debits <= 0:
        return None
    returned = program.unauthorized.count(at - DAYS_60, at) - (own_return if own.unauthorized else 0)
    return returned / debits
