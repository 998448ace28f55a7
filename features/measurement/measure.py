"""Taking the feature vector of one transfer, landed or proposed, at one instant.

Window  each feature's own, half-open (t - w, t]; the transfer itself counts only where the name says so
Errors  none: what cannot be measured is None
"""

from typing import Any, Final, NamedTuple

from features.catalogue.thresholds import STRUCTURING_THRESHOLDS_CENTS, is_just_below, structuring_zones
from features.catalogue.vector import FeatureVector
from features.core.instants import DAY_US, DAYS_7, DAYS_30, DAYS_60, DAYS_90
from features.core.vocabulary import Rail
from features.measurement.activity import ach_activity, card_attempts, own_amounts, telling_returns
from features.measurement.flow import follow, new_counterparties, novelty_of, shapes, shared_entities
from features.measurement.subject import OwnContribution, Subject
from features.state.parties import UNKNOWN_PROFILE, Actor
from features.state.program_series import Declared, ProgramSeries
from features.windows.baseline import BaselineValues
from features.windows.series import ALWAYS, AmountSeries, EventTimes

_SANCTIONED: Final = frozenset({"sanctions_match", "ofac_match"})
_CARD: Final = Rail.CARD.value
_NO_AMOUNTS: Final = AmountSeries()


Fields = tuple[Any, ...]
"""Values of the vector's next fields; the oracle holds every one of them against its own."""


class Measured(NamedTuple):
    """The vector, and the transfers (rows of the table, oldest first) on which its two paths run."""

    vector: FeatureVector
    layering: tuple[int, ...]
    round_trip: tuple[int, ...]


def measure(
    subject: Subject, program: ProgramSeries, declared: Declared, baseline: BaselineValues, at: int
) -> Measured:
    """All features of the subject at ``at``, in the order of the vector's fields."""
    longest, back = follow(subject, program, at)
    hops = (None, None) if longest is None else (bool(back), longest.hops)
    least_cents = longest.least_cents if longest is not None and longest.hops else None
    counted = _counted_before(subject, at)
    in_7d, in_24h = _structuring(subject, at, own_actor=counted.own, own_party=counted.own_party)
    values: Fields = (
        *_of_the_interface(subject, program, declared, baseline, at, counted, in_7d),
        *hops,
        None if counted.previous_at is None else (at - counted.previous_at) // DAY_US,
        is_just_below(subject.cents),
        declared.rails,
        *_own_history(subject, at, counted, in_24h),
        *_flow(subject, program, at, least_cents),
        *telling_returns(subject, at, counted.own_return),
        *ach_activity(subject, program, at, counted.own),
        *card_attempts(subject, program, at),
        is_sanctions_hit(subject.actor, at),
        *novelty_of(subject, program, at),
        program.acquaintances.rare_in_90d(at, but=subject.own.row),
        program.amounts.count(at - DAYS_90, at) - (1 if subject.own.moved else 0),
    )
    return Measured(FeatureVector(*values), longest.rows if longest is not None else (), back)


class _Before(NamedTuple):
    """The actor's amounts, and what the subject itself has put into the windows, as counts to take away."""

    amounts: AmountSeries
    own: int
    own_party: int
    own_return: int
    previous_at: int | None


def _counted_before(subject: Subject, at: int) -> _Before:
    own, actor, counterparty = subject.own, subject.actor, subject.counterparty
    amounts = actor.amounts if actor is not None else _NO_AMOUNTS
    own_count = 1 if own.moved and actor is not None and own.actor is actor else 0
    return _Before(
        amounts,
        own_count,
        1 if own.moved and counterparty is not None and own.counterparty is counterparty else 0,
        1 if own.returned_at is not None and own.returned_at <= at else 0,
        amounts.previous(at, skip=own_count),
    )


def _of_the_interface(
    subject: Subject,
    program: ProgramSeries,
    declared: Declared,
    baseline: BaselineValues,
    at: int,
    counted: _Before,
    structuring_7d: int,
) -> Fields:
    """The rule fields of the interface up to the declared countries."""
    own = subject.own
    return (
        subject.cents,
        subject.rail,
        subject.direction,
        subject.type,
        subject.status,
        subject.country,
        subject.card_reason,
        *identity_at(subject.actor, at),
        counted.amounts.count(at - DAYS_30, at) - counted.own,
        *_activity(subject, counted.amounts, at, counted.own, counted.own_return),
        structuring_7d,
        *_relationship(subject, at, counted.own_party, counted.own_return),
        *baseline,
        _daily_average(program.amounts, at, own_cents=own.cents if own.moved else 0),
        declared.monthly_volume_cents,
        _unauthorized_rate(program, at, own, counted.own_return),
        declared.countries,
    )


def _own_history(subject: Subject, at: int, counted: _Before, structuring_24h: int) -> Fields:
    """Sums and counts of the actor, from the sum of 30 days to the cents sent in 48 h."""
    own_cents = subject.own.cents if counted.own else 0
    count_90d, cents_90d = counted.amounts.measure(at - DAYS_90, at)
    return (
        counted.amounts.measure(at - DAYS_30, at)[1] - own_cents,
        count_90d - counted.own,
        cents_90d - own_cents,
        structuring_24h,
        subject.account_changed,
        *_returns_30d(subject, at, counted.own, counted.own_return),
        *own_amounts(subject, at, counted.previous_at is not None),
    )


def _flow(subject: Subject, program: ProgramSeries, at: int, least_cents: int | None) -> Fields:
    """Fans, middlemen and shared or new counterparties."""
    fan_in, fan_out, gathered, middlemen = shapes(subject, program, at)
    return (
        *fan_in.counts,
        fan_in.usual_week,
        *fan_out.counts,
        fan_out.usual_week,
        *gathered.counts,
        gathered.usual_week,
        middlemen,
        least_cents,
        new_counterparties(subject, program, at),
        shared_entities(subject, program, at),
    )


def identity_at(actor: Actor | None, at: int) -> tuple[str | None, str | None, bool | None, bool | None, int | None]:
    """Verification, PEP status, risk mark, screening duty and screening age, as known at ``at``.

    Ruling 8, the scored half: an entity that the bank has sent no event on is stored as ``UNVERIFIED``
    (``features/landing/party_rows.py``), but all five are None here, so it earns no verification points.
    """
    if actor is None or not actor.profiles:
        return None, None, None, None, None
    profile = actor.profile_at(at)
    screened_at = profile.last_screened_at
    age_days = max(0, at - screened_at) // DAY_US if screened_at is not None else None
    return profile.verification_status, profile.pep_status, profile.is_high_risk, profile.requires_screening, age_days


def is_sanctions_hit(actor: Actor | None, at: int) -> bool | None:
    """Whether the bank's review names a sanctions match."""
    profile = UNKNOWN_PROFILE if actor is None or not actor.profiles else actor.profile_at(at)
    if profile is UNKNOWN_PROFILE:
        return None
    return any(reason.casefold() in _SANCTIONED for reason in profile.review_reasons)


def _activity(
    subject: Subject, amounts: AmountSeries, at: int, own_count: int, own_return: int
) -> tuple[int, int, int, int, int, int]:
    """Velocity with the subject; earlier transfers, returns, ACH debits and unauthorized returns without it."""
    own, actor = subject.own, subject.actor
    count_24h, cents_24h = amounts.measure(at - DAY_US, at)
    own_actor_return = own_return if actor is not None and own.actor is actor else 0
    return (
        count_24h - own_count + 1,
        cents_24h - (own.cents if own_count else 0) + subject.cents,
        amounts.count(ALWAYS, at) - own_count,
        _count(actor, "returns", ALWAYS, at) - own_actor_return,
        _count(actor, "ach_debits", at - DAYS_60, at) - (own_count if own.ach_debit else 0),
        _count(actor, "unauthorized", at - DAYS_60, at)
        - (own_actor_return if own.unauthorized and own.ach_debit else 0),
    )


def _returns_30d(subject: Subject, at: int, own_count: int, own_return: int) -> tuple[int, int]:
    """The actor's returns and ACH debits of 30 days, without the subject."""
    own, actor = subject.own, subject.actor
    own_actor_return = own_return if actor is not None and own.actor is actor else 0
    returns = _count(actor, "returns", at - DAYS_30, at) - own_actor_return
    return returns, _count(actor, "ach_debits", at - DAYS_30, at) - (own_count if own.ach_debit else 0)


def _relationship(subject: Subject, at: int, own_party: int, own_return: int) -> tuple[bool | None, int, int, int]:
    """First time, earlier transfers, returns and unauthorized returns with the counterparty."""
    counterparty = subject.counterparty
    if counterparty is None:
        return (True if subject.counterparty_named else None), 0, 0, 0
    own_return = own_return if subject.own.counterparty is counterparty else 0
    n = counterparty.times.count(ALWAYS, at) - own_party
    returns = _count(counterparty, "returns", ALWAYS, at) - own_return
    unauthorized = _count(counterparty, "unauthorized", ALWAYS, at) - (own_return if subject.own.unauthorized else 0)
    return n == 0, n, returns, unauthorized


def _count(party: Any, kind: str, after: int, upto: int) -> int:
    series: EventTimes | None = getattr(party, kind, None)
    return series.count(after, upto) if series is not None else 0


def _structuring(subject: Subject, at: int, *, own_actor: int, own_party: int) -> tuple[int, int]:
    """Most transfers just under one threshold in 7 days and in 24 h, of the actor or to the counterparty.

    When the subject lies under a threshold itself, it counts, and only its own thresholds do.
    """
    if subject.rail == _CARD:
        return 0, 0
    zones = structuring_zones(subject.cents)
    most_7d = most_24h = included = 1 if zones else 0
    own_zones = structuring_zones(subject.own.cents) if own_actor or own_party else ()
    for party, own in ((subject.actor, own_actor), (subject.counterparty, own_party)):
        if party is None or not party.zones:
            continue
        for threshold in zones or STRUCTURING_THRESHOLDS_CENTS:
            series = party.zones.get(threshold)
            if series is not None:
                but_own = included - (own if threshold in own_zones else 0)
                most_7d = max(most_7d, series.count(at - DAYS_7, at) + but_own)
                most_24h = max(most_24h, series.count(at - DAY_US, at) + but_own)
    return most_7d, most_24h


def _daily_average(amounts: AmountSeries, at: int, *, own_cents: int) -> int | None:
    """Cents of 30 days over the days of them that the program exists; None in its first week."""
    first_at = amounts.first(at)
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
    returned = program.unauthorized.count(at - DAYS_60, at) - (own_return if own.unauthorized and own.originated else 0)
    return returned / debits
