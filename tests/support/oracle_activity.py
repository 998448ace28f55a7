"""The oracle's counts of what an actor, its counterparty and its cards did; the graph has a module of its own."""

from typing import Any, Final

from features.core.instants import DAY_US, HOUR_US
from tests.oracle.flow import flow_of
from tests.support.oracle_facts import Key, Known, Profile, Program, decline_of
from tests.support.oracle_others import NEWEST, Other, newest_of
from tests.support.oracle_reading import Reading

MEDIAN_FLOOR: Final = 5
ROUND_CENTS: Final = 100_000
ROUND_FROM_CENTS: Final = 500_000
MICRO_BELOW_CENTS: Final = 100
SMALL_CARD_CENTS: Final = 500
PROBING: Final = frozenset({"R02", "R03", "R04", "R20"})
STOPPING: Final = frozenset({"R07", "R10", "R11", "R29"})
FRAUD: Final = frozenset({"PIN_OR_CVV", "SUSPECTED_FRAUD"})
FAST_RAILS: Final = frozenset({"realtime", "wire", "intl_wire", "card"})
BANKING_DAYS: Final = 5
THURSDAY: Final = 3  # the weekday of the epoch

Fields = dict[str, Any]


def standing_fields(profile: Profile | None, own: list[Other], at: int) -> Fields:
    """``profile`` is None when the bank has sent none of the entity."""
    starts = [other.own for other in own]
    hit: bool | None = None
    if profile is not None:
        hit = any(reason.casefold() == "fraud_risk" for reason in profile.review_reasons or ())
        if profile.created_at is not None and profile.created_at <= at:
            starts.append(profile.created_at)
    return {
        "entity_age_days": (at - min(starts)) // DAY_US if starts else None,
        "entity_fraud_risk": hit,
        "entity_rescreen_days": None,  # not recomputed here
    }


def amount_fields(subject: Known, own: list[Other], at: int) -> Fields:
    reading, has_actor = subject.reading, subject.actor.last is not None and subject.moved.last
    quarter = sorted((other.own, other.amount) for other in own if other.own > at - 90 * DAY_US)
    amounts = sorted(amount for _, amount in quarter[-NEWEST:])
    of_day = [amount for own_at, amount in quarter[-NEWEST:] if own_at > at - DAY_US]
    alike = [amount for amount in of_day if abs(amount - reading.amount) * 10 <= reading.amount]
    month = [other for other in own if other.own > at - 30 * DAY_US]
    two_days = [other for other in own if other.own > at - 48 * HOUR_US and other.reading.rail != "card"]
    fields: Fields = {
        "entity_median_cents_90d": amounts[(len(amounts) - 1) // 2] if len(amounts) >= MEDIAN_FLOOR else None,
        "repeated_amount_count_24h": len(alike) + has_actor,
        "round_amount_count_30d": sum(_is_round(o.reading.rail, o.amount) for o in month)
        + (has_actor and _is_round(reading.rail, reading.amount)),
    }
    for way in ("in", "out"):
        cents = sum(other.amount for other in two_days if _way(other.reading) == way)
        counts = has_actor and reading.rail != "card" and _way(reading) == way
        fields[f"entity_{way}_cents_48h"] = cents + reading.amount * counts
    return fields


def _way(reading: Reading) -> str:
    return flow_of(reading.rail, reading.direction, reading.type)


def _is_round(rail: str, cents: int) -> bool:
    return rail != "card" and cents >= ROUND_FROM_CENTS and cents % ROUND_CENTS == 0


def ach_fields(subject: Known, own: list[Other], others: list[Other], at: int) -> Fields:
    reading, has_actor = subject.reading, subject.actor.last is not None and subject.moved.last
    since = _two_banking_days_before(at)
    pulled = [o for o in own if o.is_debit and o.own >= since]
    fast = [o for o in own if _is_fast_out(o.reading) and o.own >= since]
    is_micro = _is_micro(reading, reading.amount)
    micro = [[o for o in some if o.own > at - DAY_US and _is_micro(o.reading, o.amount)] for some in (own, others)]
    debits = [other for other in own if other.is_debit]
    return {
        "entity_ach_debits_all": len(debits),
        "entity_pulled_cents_2bd": sum(other.amount for other in pulled),
        "entity_fast_out_cents_2bd": sum(o.amount for o in fast)
        + reading.amount * (has_actor and _is_fast_out(reading)),
        "entity_micro_entries_24h": len(micro[0]) + (has_actor and is_micro),
        "program_micro_entries_24h": len(micro[1]) + (is_micro and subject.moved.last),
        "entity_forward_debits_24h": sum(1 for o in debits if o.own > at - DAY_US and o.amount >= MICRO_BELOW_CENTS),
    }


def _is_fast_out(reading: Reading) -> bool:
    return _way(reading) == "out" and reading.rail in FAST_RAILS


def _is_micro(reading: Reading, cents: int) -> bool:
    return reading.rail == "ach" and cents < MICRO_BELOW_CENTS


def _two_banking_days_before(at: int) -> int:
    """The midnight of the second day from Monday to Friday before the day of an instant."""
    day, left = at // DAY_US, 2
    while left:
        day -= 1
        left -= (day + THURSDAY) % 7 < BANKING_DAYS
    return day * DAY_US


def party_fields(program: Program, subject: Known, own: list[Other], others: list[Other], at: int) -> Fields:
    party = subject.party.last
    sent = [o for o in own if (o.reading.rail, o.reading.direction) == ("ach", "outgoing")]
    probing = {o.party for o in sent if o.code in PROBING and o.returned_at > at - 30 * DAY_US}
    stopped = [
        o.returned_at for o in others if party is not None and o.party == party and o.is_debit and o.code in STOPPING
    ]
    return {
        "entity_new_counterparties_24h": _new_parties(subject, own, others, at),
        "counterparty_shared_entities_30d": _sharing_actors(program, subject, others, at),
        "entity_probing_returns_30d": len(probing - {None}),
        "counterparty_stop_return_days": (at - max(stopped)) // DAY_US if stopped else None,
    }


def _new_parties(subject: Known, own: list[Other], others: list[Other], at: int) -> int:
    if subject.actor.last is None:
        return 0
    edges = [other for other in own if other.party is not None]
    parties = {other.party for other in newest_of(edges, at - DAY_US)} | (
        {subject.party.last} if subject.moved.last else set()
    )
    known = {other.party for other in others if other.own <= at - DAY_US}
    return len(parties - known - {None})


def _sharing_actors(program: Program, subject: Known, others: list[Other], at: int) -> int:
    def details(party: Key | None) -> tuple[str | None, str | None]:
        return (None, None) if party is None else (program.parties[party].routing, program.parties[party].last4)

    mine = details(subject.party.last)
    if None in mine:
        return 0
    sharing = {other.actor for other in others if other.own > at - 30 * DAY_US and details(other.party) == mine}
    return len((sharing | ({subject.actor.last} if subject.moved.last else set())) - {None})


def card_fields(subject: Known, attempts: list[Other], at: int) -> Fields:
    """``attempts`` are all other transfers, moved or not."""
    reading = subject.reading
    if reading.rail != "card":
        return dict.fromkeys(CARD_FIELDS, 0)
    of_program = [
        (o.own, o.amount, o.decline.declined, o.decline.reason, _is_alike(subject, o))
        for o in attempts
        if o.reading.rail == "card"
    ]
    declined, reason = decline_of(reading)
    of_program.append((at, reading.amount, declined, reason, subject.actor.last is not None))

    hour = [attempt for attempt in of_program if attempt[0] > at - HOUR_US]
    own = [attempt for attempt in hour if attempt[4]]
    day = [attempt for attempt in of_program if attempt[0] > at - DAY_US]
    month = [attempt for attempt in of_program if attempt[0] > at - 30 * DAY_US]
    counts = (
        sum(declined for _, _, declined, _, _ in own),
        sum(1 for _, amount, *_ in own if amount < SMALL_CARD_CENTS),
        len(hour),
        sum(declined for _, _, declined, _, _ in hour),
        sum(1 for _, amount, *_ in hour if amount <= SMALL_CARD_CENTS),
        len(day),
        sum(1 for _, _, _, reason, _ in day if reason in FRAUD),
        len(month),
        sum(1 for _, _, _, reason, _ in month if reason in FRAUD),
    )
    return dict(zip(CARD_FIELDS, counts, strict=True))


CARD_FIELDS: Final = (
    "card_declines_1h",
    "card_small_count_1h",
    "program_card_attempts_1h",
    "program_card_declines_1h",
    "program_card_small_count_1h",
    "program_card_attempts_24h",
    "program_card_fraud_declines_24h",
    "program_card_attempts_30d",
    "program_card_fraud_declines_30d",
)


def _is_alike(subject: Known, other: Other) -> bool:
    """The same account, else the same actor when the subject's account is not known."""
    if subject.reading.account_id is not None:
        return other.reading.account_id == subject.reading.account_id
    return subject.actor.last is not None and other.actor == subject.actor.last
