"""A second, naive reading of the features' definitions: only the facts are kept, and every field is counted anew.

The facts of a transfer are timelines: what the log said of it, and the event time from which each word counts for the
transfers around it. A vector is taken by walking over all transfers of the program and asking each what it was at
the time in question. Quantiles are exact here; the state may differ from them by half a percent.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from features.instants import DAY_US, parse_instant
from features.log_entry import EntryKind, LogEntry
from features.vector import FeatureVector
from tests.support.oracle_reading import Return, Said, normal_name, read_said

V = TypeVar("V")

ALWAYS: Final = -(1 << 62)
UNAUTHORIZED: Final = frozenset({"R05", "R07", "R10", "R11", "R29", "R51"})
FAILED: Final = frozenset({"REJECTED", "MANUAL_REVIEW_REJECTED", "FAILED", "BLOCKED", "DECLINED"})
CANCELED: Final = frozenset({"CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"})
NOT_MOVED: Final = FAILED | CANCELED
THRESHOLDS: Final = (300_000, 1_000_000)
BASELINE_CLASS_FLOOR: Final = 30
BASELINE_FLOOR: Final = 5

Key = tuple[str, ...]


class Timeline(Generic[V]):
    """Words with the time each counts from; a newer snapshot's word never counts from before the one it replaces."""

    def __init__(self, first: V) -> None:
        self.words: list[tuple[int, V]] = [(ALWAYS, first)]

    def say(self, at: int, value: V) -> None:
        if value != self.words[-1][1]:
            self.words.append((at, value))

    def at(self, instant: int) -> tuple[int, V]:
        return next(word for word in reversed(self.words) if word[0] <= instant)

    @property
    def last(self) -> V:
        return self.words[-1][1]


class Baseline(NamedTuple):
    n: int | None
    median: int | None
    p95: int | None


@dataclass
class Known:
    """A transfer as the log told it so far."""

    said: Said
    own: int
    key: tuple[int, int]
    amount: Timeline[int]
    actor: Timeline[Key | None]
    party: Timeline[Key | None]
    moved: Timeline[bool]
    returned: Timeline[Return | None]
    country: str | None
    changed_at: int = ALWAYS
    baseline: Baseline | None = None


@dataclass
class Profile:
    """A version of an entity that was the newest when it came."""

    event_at: int
    verification: str | None
    pep: str | None
    high_risk: bool | None
    requires_screening: bool | None
    screened_at: int | None


@dataclass
class Party:
    name: str | None = None
    routing: str | None = None
    last4: str | None = None
    country: str | None = None


@dataclass
class Program:
    transfers: dict[str, Known] = field(default_factory=dict)
    events: set[str] = field(default_factory=set)
    owners: dict[str, str] = field(default_factory=dict)
    account_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    profiles: dict[str, list[Profile]] = field(default_factory=dict)
    entity_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    parties: dict[Key, Party] = field(default_factory=dict)
    party_keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    declared: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


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
        learners = {"identity": _learn_entity, "account": _learn_account, "counterparty": _learn_counterparty}
        if family not in learners:
            return _land(program, read_said(event["type"], data), event_at, entry.appended_at)
        learners[family](program, data, event_at)
        return None


def instant(text: str) -> int:
    at = parse_instant(text)
    assert at is not None
    return at


def _version(data: dict[str, Any], event_at: int) -> tuple[int, int]:
    updated = data.get("updated_at")
    return (instant(updated) if updated is not None else event_at, event_at)


def _learn_entity(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.entity_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.entity_keys[data["id"]] = key
    profiles = program.profiles.setdefault(data["id"], [])
    screened = instant(data["last_screened_at"]) if data["last_screened_at"] is not None else None
    profiles.append(
        Profile(
            event_at,
            data["verification_status"],
            data["person_details"]["pep_status"],
            data["is_high_risk"],
            data["requires_screening"],
            profiles[-1].screened_at if screened is None and profiles else screened,
        )
    )


def _learn_account(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.account_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.account_keys[data["id"]] = key
    program.owners[data["id"]] = data["owners"][0]


def _learn_counterparty(program: Program, data: dict[str, Any], event_at: int) -> None:
    key = _version(data, event_at)
    if key < program.party_keys.get(data["id"], (ALWAYS, ALWAYS)):
        return
    program.party_keys[data["id"]] = key
    party = program.parties.setdefault(("id", data["id"]), Party())
    party.name = data["name"] or party.name
    party.routing = data["routing_number"] or party.routing
    party.last4 = data["account_number"][-4:] if data["account_number"] else party.last4
    party.country = data["address"]["country_code"] if data["address"] else party.country


def _party_of(program: Program, said: Said) -> Key | None:
    """Whom the snapshot names as its other side, after learning what it says of them."""
    if said.counterparty_id is not None:
        key: Key = ("id", said.counterparty_id)
    elif said.name is not None:
        key = ("name", normal_name(said.name), said.routing or "", said.last4 or "")
    else:
        return None
    party = program.parties.setdefault(key, Party())
    party.name = said.name or party.name
    party.routing = said.routing or party.routing
    party.last4 = said.last4 or party.last4
    party.country = said.country or party.country
    return key


def _actor_of(program: Program, said: Said) -> Key | None:
    if said.entity_id is not None:
        return ("entity", said.entity_id)
    if said.account_id is None:
        return None
    owner = program.owners.get(said.account_id)
    return ("entity", owner) if owner is not None else ("account", said.account_id)


def _land(program: Program, said: Said, event_at: int, appended_at: int) -> Expected | None:
    known = program.transfers.get(said.id)
    if known is None:
        known = program.transfers[said.id] = _first_sight(program, said, event_at, appended_at)
        return _taken(program, known)
    key = (said.updated_at if said.updated_at is not None else event_at, event_at)
    if key >= known.key:
        known.key = key
        return _taken(program, known) if _revise(program, known, said, event_at) else None
    if said.returned is None or known.returned.last is not None:
        return None
    known.changed_at = max(event_at, known.changed_at)
    known.returned.say(max(known.own, known.changed_at), said.returned)
    return _taken(program, known)


def _first_sight(program: Program, said: Said, event_at: int, appended_at: int) -> Known:
    own = min(said.created_at if said.created_at is not None else event_at, appended_at)
    actor, party = _actor_of(program, said), _party_of(program, said)
    known = Known(
        said,
        own,
        (said.updated_at if said.updated_at is not None else event_at, event_at),
        Timeline(said.amount),
        Timeline(actor),
        Timeline(party),
        Timeline(said.status not in NOT_MOVED),
        Timeline(None),
        said.country or (program.parties[party].country if party is not None else None),
    )
    if said.returned is not None:
        known.returned.say(max(own, event_at), said.returned)
    return known


def _revise(program: Program, known: Known, said: Said, event_at: int) -> bool:
    """Take over a newer snapshot; True when it changed what a transfer is scored again for."""
    actor, party, country = known.actor.last, known.party.last, said.country or known.country
    if said.entity_id is not None or actor is None:
        actor = _actor_of(program, said)
    named = _party_of(program, said)
    if named is not None and (party is None or named[0] == "id" or party[0] == "name") and named != party:
        party, country = named, said.country or program.parties[named].country
    returned = said.returned if said.returned is not None else known.returned.last
    after = (said.amount, actor, party, country, returned)
    changed = after != (known.amount.last, known.actor.last, known.party.last, known.country, known.returned.last)
    if changed or (said.status not in NOT_MOVED) != known.moved.last:
        known.changed_at = max(event_at, known.changed_at)
    at = known.changed_at
    known.said, known.country = said, country
    known.amount.say(at, said.amount)
    known.actor.say(at, actor)
    known.party.say(at, party)
    known.moved.say(at, said.status not in NOT_MOVED)
    known.returned.say(max(known.own, at), returned)
    return changed


def _taken(program: Program, known: Known) -> Expected:
    at = known.own
    others = _others(program, known, at)
    if known.baseline is None:
        known.baseline = _baseline(others, known.said, at)
    degraded = known.country is None and (known.said.rail == "intl_wire" or known.said.sec_code == "IAT")
    return Expected(known.said.id, at, degraded, _vector(program, known, others, at))


class Other(NamedTuple):
    """Another transfer, as it was known at an instant."""

    said: Said
    own: int
    amount: int
    actor: Key | None
    party: Key | None
    returned_at: int
    code: str | None

    @property
    def is_debit(self) -> bool:
        return self.said.rail == "ach" and self.said.type == "DEBIT"

    @property
    def unauthorized(self) -> bool:
        return self.code in UNAUTHORIZED


def _others(program: Program, subject: Known, at: int) -> list[Other]:
    """The moved transfers other than the subject, up to an instant and as of that instant."""
    found = []
    for known in program.transfers.values():
        if known is subject or known.own > at or not known.moved.at(at)[1]:
            continue
        returned_at, returned = known.returned.at(at)
        code = returned.code if returned is not None and not returned.undone else None
        found.append(
            Other(
                known.said,
                known.own,
                known.amount.at(at)[1],
                known.actor.at(at)[1],
                known.party.at(at)[1],
                returned_at,
                code,
            )
        )
    return found


def _baseline(others: list[Other], said: Said, at: int) -> Baseline:
    recent = [other for other in others if other.own > at - 90 * DAY_US]
    alike = [o for o in recent if (o.said.rail, o.said.direction) == (said.rail, said.direction)]
    amounts = sorted(other.amount for other in (alike if len(alike) >= BASELINE_CLASS_FLOOR else recent))
    n = len(amounts)
    if n < BASELINE_FLOOR:
        return Baseline(None, None, None)
    return Baseline(n, amounts[-(-n // 2) - 1], amounts[-(-n * 95 // 100) - 1])


def zone_of(cents: int) -> int | None:
    return next((line for line in THRESHOLDS if line * 80 <= cents * 100 < line * 100), None)


def _structuring(subject: Known, groups: list[list[Other]], after: int) -> int:
    if subject.said.rail == "card":
        return 0
    own_zone = zone_of(subject.said.amount)
    largest = 0
    for group in groups:
        for line in THRESHOLDS if own_zone is None else (own_zone,):
            count = sum(1 for o in group if o.said.rail != "card" and o.own > after and zone_of(o.amount) == line)
            largest = max(largest, count)
    return largest + (own_zone is not None)


def _profile_at(program: Program, actor: Key | None, at: int) -> Profile:
    if actor is not None and actor[0] == "entity":
        for profile in reversed(program.profiles.get(actor[1], [])):
            if profile.event_at <= at:
                return profile
    return Profile(at, None, None, None, None, None)


def _declared_at(program: Program, at: int) -> dict[str, Any]:
    if not program.declared:
        return {}
    return next((said for since, said in reversed(program.declared) if since <= at), program.declared[0][1])


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
    debits = [o for o in others if o.is_debit and o.said.direction == "outgoing"]
    n = sum(1 for o in debits if o.own > at - 60 * DAY_US)
    returned = sum(1 for o in debits if o.unauthorized and o.returned_at > at - 60 * DAY_US)
    return returned / n if n else None


def _vector(program: Program, subject: Known, others: list[Other], at: int) -> FeatureVector:
    said, actor, party, baseline = subject.said, subject.actor.last, subject.party.last, subject.baseline
    assert baseline is not None
    own = [other for other in others if actor is not None and other.actor == actor]
    shared = [other for other in others if party is not None and other.party == party]
    day = [other for other in own if other.own > at - DAY_US]
    month = [other for other in own if other.own > at - 30 * DAY_US]
    quarter = [other for other in own if other.own > at - 90 * DAY_US]
    profile, declared = _profile_at(program, actor, at), _declared_at(program, at)
    volume = declared.get("declaredMonthlyVolumeCents")
    return FeatureVector(
        amount_cents=said.amount,
        rail=said.rail,
        direction=said.direction,
        type=said.type,
        status=said.status,
        counterparty_country=subject.country,
        card_decision_reason=said.card_reason,
        entity_verification_status=profile.verification,
        entity_pep_status=profile.pep,
        entity_is_high_risk=profile.high_risk,
        entity_requires_screening=profile.requires_screening,
        entity_screening_age_days=None if profile.screened_at is None else max(0, at - profile.screened_at) // DAY_US,
        entity_count_30d=len(month),
        velocity_24h_count=len(day) + 1,
        velocity_24h_sum_cents=sum(other.amount for other in day) + said.amount,
        entity_prior_transfers=len(own),
        entity_prior_returns=sum(1 for other in own if other.code is not None),
        entity_ach_debits_60d=sum(1 for other in own if other.is_debit and other.own > at - 60 * DAY_US),
        entity_unauthorized_returns_60d=sum(
            1 for o in own if o.is_debit and o.unauthorized and o.returned_at > at - 60 * DAY_US
        ),
        structuring_window_count=_structuring(subject, [own, shared], at - 7 * DAY_US),
        counterparty_first_time=None if party is None else not shared,
        counterparty_n=len(shared),
        counterparty_prior_returns=sum(1 for other in shared if other.code is not None),
        counterparty_prior_unauthorized_returns=sum(1 for other in shared if other.unauthorized),
        program_n_90d=baseline.n,
        program_median_cents=baseline.median,
        program_p95_cents=baseline.p95,
        program_daily_avg_cents_30d=_daily_average(others, at),
        program_declared_monthly_volume_cents=None if volume is None else int(volume),
        program_unauthorized_return_rate_60d=_unauthorized_rate(others, at),
        declared_countries=",".join(sorted(declared.get("declaredCountries", ()))),
        typology_round_trip=None,
        typology_layering_hops=None,
        typology_dormant_days=(at - max(other.own for other in own)) // DAY_US if own else None,
        typology_just_below_threshold=any(line * 90 <= said.amount * 100 < line * 100 for line in THRESHOLDS),
        declared_rails=",".join(sorted(declared.get("declaredRails", ()))),
        entity_sum_cents_30d=sum(other.amount for other in month),
        entity_n_90d=len(quarter),
        entity_sum_cents_90d=sum(other.amount for other in quarter),
        structuring_24h_count=_structuring(subject, [own, shared], at - DAY_US),
        counterparty_account_changed=_account_changed(program, party, others),
    )
