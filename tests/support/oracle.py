"""A second, naive reading of the features' definitions: only the facts are kept, and every field is counted anew.

The facts of a transfer are timelines: what the log said of it, and the event time from which each word counts for the
transfers around it. A vector is taken by walking over all transfers of the program and asking each what it was at
the time in question. Quantiles are exact here; the state may differ from them by half a percent.
"""

import json
from typing import Any, Final, NamedTuple

from features.catalogue.vector import FeatureVector
from features.core.instants import DAY_US
from features.core.log_entry import EntryKind, LogEntry
from tests.support.oracle_activity import ach_fields, amount_fields, card_fields, party_fields, standing_fields
from tests.support.oracle_facts import (
    NOTHING_SAID,
    Baseline,
    Key,
    Known,
    Profile,
    Program,
    instant,
    land,
    learn_account,
    learn_counterparty,
    learn_entity,
)
from tests.support.oracle_graph import graph_fields
from tests.support.oracle_others import Other, attempts_before
from tests.support.oracle_pairs import pair_fields, take_note
from tests.support.oracle_passing import passing_fields
from tests.support.oracle_reading import Reading, normal_name, reading_of

THRESHOLDS: Final = (300_000, 1_000_000)
BASELINE_CLASS_FLOOR: Final = 30
BASELINE_FLOOR: Final = 5

Fields = dict[str, Any]


class Expected(NamedTuple):
    """What one entry must lead to, when it scores a transfer."""

    transfer_id: str
    taken_at: int
    degraded: bool
    vector: FeatureVector


class Oracle:
    """Takes log entries in order; answers the scoring that each leads to, or None."""

    def __init__(self) -> None:
        self.programs: dict[str, Program] = {}

    def apply(self, entry: LogEntry) -> Expected | None:
        program = self.programs.setdefault(entry.program_id, Program())
        if entry.kind == EntryKind.PROGRAM:
            program.declared.append((entry.appended_at, json.loads(entry.body)))
            return None
        if entry.kind != EntryKind.BANK:
            return None
        event = json.loads(entry.body)
        if event["id"] in program.events:
            return None
        program.events.add(event["id"])
        event_at = min(instant(event["created_at"]), entry.appended_at)
        family, data = event["type"].split(".")[0], event["data"]
        learners = {"identity": learn_entity, "account": learn_account, "counterparty": learn_counterparty}
        if family not in learners:
            known = land(program, reading_of(event["type"], data), event_at, entry.appended_at)
            return None if known is None else _taken(program, known)
        learners[family](program, data, event_at)
        return None


def _taken(program: Program, known: Known) -> Expected:
    at = known.own
    attempts = attempts_before(program, known, at)
    others = [attempt for attempt in attempts if attempt.moved]
    is_new = known.baseline is None
    if is_new:
        known.baseline = _baseline(others, known.reading, at)
    degraded = known.country is None and (known.reading.rail == "intl_wire" or known.reading.sec_code == "IAT")
    pairs = pair_fields(program, known, others, at)
    if is_new:
        take_note(program, known, pairs, at)
    return Expected(known.reading.id, at, degraded, _vector(program, known, attempts, at, pairs))


def _baseline(others: list[Other], reading: Reading, at: int) -> Baseline:
    recent = [other for other in others if other.own > at - 90 * DAY_US]
    alike = [o for o in recent if (o.reading.rail, o.reading.direction) == (reading.rail, reading.direction)]
    amounts = sorted(other.amount for other in (alike if len(alike) >= BASELINE_CLASS_FLOOR else recent))
    n = len(amounts)
    if n < BASELINE_FLOOR:
        return Baseline(None, None, None)
    return Baseline(n, amounts[-(-n // 2) - 1], amounts[-(-n * 95 // 100) - 1])


def zone_of(cents: int) -> int | None:
    return next((line for line in THRESHOLDS if line * 80 <= cents * 100 < line * 100), None)


def _structuring(subject: Known, groups: list[list[Other]], after: int) -> int:
    if subject.reading.rail == "card":
        return 0
    own_zone = zone_of(subject.reading.amount)
    largest = 0
    for group in groups:
        for line in THRESHOLDS if own_zone is None else (own_zone,):
            count = sum(1 for o in group if o.reading.rail != "card" and o.own > after and zone_of(o.amount) == line)
            largest = max(largest, count)
    return largest + (own_zone is not None and subject.moved.last)


def _profile_at(program: Program, actor: Key | None, at: int) -> Profile | None:
    if actor is not None and actor[0] == "entity":
        for profile in reversed(program.profiles.get(actor[1], [])):
            if profile.event_at <= at:
                return profile
    return None


def _declared_at(program: Program, at: int) -> Fields:
    if not program.declared:
        return {}
    return next((reading for since, reading in reversed(program.declared) if since <= at), program.declared[0][1])


def _account_changed(program: Program, party: Key | None, others: list[Other]) -> bool:
    """A stranger whose name was seen before, but only ever with other account details."""
    if party is None or any(other.party == party for other in others):
        return False
    mine = program.parties[party]
    if mine.name is None:
        return False
    namesakes = [
        program.parties[key]
        for key in {other.party for other in others if other.party is not None}
        if normal_name(program.parties[key].name) == normal_name(mine.name)
    ]
    differ = [
        any(None not in pair and pair[0] != pair[1] for pair in ((p.routing, mine.routing), (p.last4, mine.last4)))
        for p in namesakes
    ]
    return any(differ)


def _daily_average(others: list[Other], at: int) -> int | None:
    age = at - min((other.own for other in others), default=at)
    if age < 7 * DAY_US:
        return None
    return sum(o.amount for o in others if o.own > at - 30 * DAY_US) * DAY_US // min(30 * DAY_US, age)


def _unauthorized_rate(others: list[Other], at: int) -> float | None:
    debits = [o for o in others if o.is_debit]
    n = sum(1 for o in debits if o.own > at - 60 * DAY_US)
    returned = sum(1 for o in debits if o.unauthorized and o.returned_at > at - 60 * DAY_US)
    return returned / n if n else None


def _vector(program: Program, subject: Known, attempts: list[Other], at: int, pairs: Fields) -> FeatureVector:
    reading, actor, party = subject.reading, subject.actor.last, subject.party.last
    others = [attempt for attempt in attempts if attempt.moved]
    profile = _profile_at(program, actor, at)
    own = [other for other in others if actor is not None and other.actor == actor]
    shared = [other for other in others if party is not None and other.party == party]
    return FeatureVector(
        **pairs,
        amount_cents=reading.amount,
        rail=reading.rail,
        direction=reading.direction,
        type=reading.type,
        status=reading.status,
        counterparty_country=subject.country,
        card_decision_reason=reading.card_reason,
        structuring_window_count=_structuring(subject, [own, shared], at - 7 * DAY_US),
        structuring_count_24h=_structuring(subject, [own, shared], at - DAY_US),
        counterparty_first_time=None if party is None else not shared,
        counterparty_n=len(shared),
        counterparty_prior_returns=sum(1 for other in shared if other.code is not None),
        counterparty_prior_unauthorized_returns=sum(1 for other in shared if other.unauthorized),
        counterparty_unauthorized_returns_60d=sum(
            1 for other in shared if other.unauthorized and other.returned_at > at - 60 * DAY_US
        ),
        counterparty_frozen_returns=sum(
            1 for o in shared if o.code == "R16" and (o.reading.rail, o.reading.direction) == ("ach", "outgoing")
        ),
        moved=subject.moved.last,
        counterparty_account_changed=_account_changed(program, party, others),
        typology_dormant_days=(at - max(other.own for other in own)) // DAY_US if own else None,
        typology_just_below_threshold=any(line * 90 <= reading.amount * 100 < line * 100 for line in THRESHOLDS),
        **_profile_fields(profile or NOTHING_SAID, at),
        **_activity_fields(reading, own, at, moved=subject.moved.last),
        **_program_fields(_declared_at(program, at), subject.baseline, others, at),
        **graph_fields(subject, others, at),
        **standing_fields(profile, own, at),
        **amount_fields(subject, own, at),
        **passing_fields(subject, own, others, at),
        **ach_fields(subject, own, others, at),
        **party_fields(program, subject, own, others, at),
        **card_fields(subject, attempts, at),
    )


def _profile_fields(profile: Profile, at: int) -> Fields:
    screened_at = profile.screened_at
    return {
        "entity_verification_status": profile.verification,
        "entity_pep_status": profile.pep,
        "entity_is_high_risk": profile.high_risk,
        "entity_requires_screening": profile.requires_screening,
        "entity_screening_age_days": None if screened_at is None else max(0, at - screened_at) // DAY_US,
    }


def _activity_fields(reading: Reading, own: list[Other], at: int, *, moved: bool) -> Fields:
    day = [other for other in own if other.own > at - DAY_US]
    month = [other for other in own if other.own > at - 30 * DAY_US]
    quarter = [other for other in own if other.own > at - 90 * DAY_US]
    debits = [other for other in own if other.is_debit]
    return {
        "velocity_24h_count": len(day) + moved,
        "velocity_24h_sum_cents": sum(other.amount for other in day) + reading.amount * moved,
        "entity_count_30d": len(month),
        "entity_sum_cents_30d": sum(other.amount for other in month),
        "entity_n_90d": len(quarter),
        "entity_sum_cents_90d": sum(other.amount for other in quarter),
        "entity_prior_transfers": len(own),
        "entity_prior_returns": sum(1 for other in own if other.code is not None),
        "entity_ach_debits_60d": sum(1 for other in debits if other.own > at - 60 * DAY_US),
        "entity_ach_debits_30d": sum(1 for other in debits if other.own > at - 30 * DAY_US),
        "entity_returns_30d": sum(
            1 for other in debits if other.code is not None and other.returned_at > at - 30 * DAY_US
        ),
        "entity_unauthorized_returns_60d": sum(
            1 for other in debits if other.unauthorized and other.returned_at > at - 60 * DAY_US
        ),
    }


def _program_fields(declared: Fields, baseline: Baseline | None, others: list[Other], at: int) -> Fields:
    assert baseline is not None
    volume = declared.get("declaredMonthlyVolumeCents")
    return {
        "program_n_90d": baseline.n,
        "program_median_cents": baseline.median,
        "program_p95_cents": baseline.p95,
        "program_daily_avg_cents_30d": _daily_average(others, at),
        "program_unauthorized_return_rate_60d": _unauthorized_rate(others, at),
        "program_declared_monthly_volume_cents": None if volume is None else int(volume),
        "declared_countries": ",".join(sorted(declared.get("declaredCountries", ()))),
        "declared_rails": ",".join(sorted(declared.get("declaredRails", ()))),
    }
