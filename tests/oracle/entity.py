"""What an actor did: counts, sums, amounts alike, its usual, its busiest day, and the money that passed through."""

from typing import Any, Final

from clearhold.features.core.instants import DAY_US, HOUR_US
from tests.oracle.facts import Profile
from tests.oracle.graph import Edge
from tests.oracle.view import NEWEST, Other, Subject, cents_of, within

MEDIAN_FLOOR: Final = 5
ROUND_CENTS: Final = 100_000
ROUND_FROM_CENTS: Final = 500_000
BUSY_COUNT: Final = 5
BUSY_CENTS: Final = 250_000
BUSIEST_DAYS: Final = range(1, 35)
PASSED_FROM_CENTS: Final = 100_000
NEW_PAYER_US: Final = 60 * DAY_US

Fields = dict[str, Any]


def activity_fields(subject: Subject, own: list[Other]) -> Fields:
    day, month, quarter = (within(own, subject, days * DAY_US) for days in (1, 30, 90))
    count = len(day) + subject.moved
    total = cents_of(day) + ((subject.cents or 0) if subject.moved else 0)
    return {
        "moved": subject.moved,
        "velocity24hCount": count,
        "velocity24hSumCents": total,
        "entity.count30d": len(month),
        "entity.sumCents30d": cents_of(month),
        "entity.n90d": len(quarter),
        "entity.sumCents90d": cents_of(quarter),
        "entity.priorTransfers": len(own),
        "typology.dormantDays": (subject.at - max(other.own for other in own)) // DAY_US if own else None,
        **_busiest_fields(subject, own, count, total),
    }


def _busiest_fields(subject: Subject, own: list[Other], count: int, total: int) -> Fields:
    """Of the 34 days before the last one, each counted back from the transfer's own time.

    When this day is half as many again as each of them, in transfers or in cents, also of the days that end with one
    of the newest 64 transfers before.
    """
    if subject.actor is None or (count < BUSY_COUNT and total < BUSY_CENTS):
        return {"entity.busiestDay35dCount": None, "entity.busiestDay35dCents": None}
    ends = [subject.at - k * DAY_US for k in BUSIEST_DAYS]
    days = [[o for o in own if end - DAY_US < o.own <= end] for end in ends]
    most, largest = max(map(len, days)), max(map(cents_of, days))
    if most and (count * 2 >= most * 3 or total * 2 >= largest * 3):
        before = [o for o in own if subject.at - 35 * DAY_US < o.own <= subject.at - DAY_US]
        newest = sorted(before, key=lambda o: (o.own, o.cents or 0))[-NEWEST:]
        days += [[o for o in newest if end.own - DAY_US < o.own <= end.own] for end in newest]
    return {
        "entity.busiestDay35dCount": max(map(len, days)),
        "entity.busiestDay35dCents": max(map(cents_of, days)),
    }


def profile_fields(subject: Subject, profile: Profile | None, own: list[Other]) -> Fields:
    """``profile`` is None when the bank had said nothing of the entity."""
    starts = [other.own for other in own]
    if profile is not None and profile.created_at is not None and profile.created_at <= subject.at:
        starts.append(profile.created_at)
    said = profile or Profile()
    screened_at = said.screened_at
    words = " ".join(said.review_reasons or ()).casefold().replace("_", " ").split()
    risks = ("fraud risk", "sanction", "watchlist", "watch list", "ofac", "sdn")
    return {
        "entity.verificationStatus": said.verification,
        "entity.pepStatus": said.pep,
        "entity.isHighRisk": said.high_risk,
        "entity.requiresScreening": said.requires_screening,
        "entity.screeningAgeDays": None if screened_at is None else max(0, subject.at - screened_at) // DAY_US,
        "entity.fraudRisk": None if profile is None else any(risk in " ".join(words) for risk in risks),
        "entity.ageDays": (subject.at - min(starts)) // DAY_US if starts else None,
    }


def is_in_zone(cents: int | None, line: int) -> bool:
    """Whether an amount lies just below a threshold."""
    return cents is not None and line * 80 <= cents * 100 < line * 100


def structuring_fields(subject: Subject, own: list[Other], shared: list[Other], lines: tuple[int, ...]) -> Fields:
    cents = subject.cents
    near = any(line * 90 <= cents * 100 < line * 100 for line in lines) if cents is not None else None
    return {
        "structuringWindowCount": _structuring(subject, [own, shared], lines, 7 * DAY_US),
        "structuring24hCount": _structuring(subject, [own, shared], lines, DAY_US),
        "typology.justBelowThreshold": near,
    }


def _structuring(subject: Subject, groups: list[list[Other]], lines: tuple[int, ...], window: int) -> int:
    """Of the zones that it lies in itself when there are any, else of the zone that holds the most."""
    if subject.rail == "card":
        return 0
    own_zones = [line for line in lines if is_in_zone(subject.cents, line)]
    counts = [
        sum(1 for other in within(group, subject, window) if other.rail != "card" and is_in_zone(other.cents, line))
        for group in groups
        for line in own_zones or lines
    ]
    return max(counts) + (bool(own_zones) and subject.moved)


def amount_fields(subject: Subject, own: list[Other]) -> Fields:
    """Median and equal amounts look at the newest 64 that have an amount; of one instant the larger are newer."""
    quarter = sorted((o.own, o.cents) for o in within(own, subject, 90 * DAY_US) if o.cents is not None)[-NEWEST:]
    amounts = sorted(cents for _, cents in quarter)
    alike = 0
    if subject.cents is not None:
        of_day = [cents for own_at, cents in quarter if own_at > subject.at - DAY_US]
        alike = sum(abs(cents - subject.cents) * 10 <= subject.cents for cents in of_day) + subject.counts
    rounds = [o for o in within(own, subject, 30 * DAY_US) if _is_round(o.rail, o.cents)]
    return {
        "entity.medianCents90d": amounts[(len(amounts) - 1) // 2] if len(amounts) >= MEDIAN_FLOOR else None,
        "repeatedAmount24hCount": alike,
        "roundAmount30dCount": len(rounds) + (subject.counts and _is_round(subject.rail, subject.cents)),
    }


def _is_round(rail: str, cents: int | None) -> bool:
    return rail != "card" and cents is not None and cents >= ROUND_FROM_CENTS and cents % ROUND_CENTS == 0


def passing_fields(subject: Subject, own: list[Other], edges: list[Edge]) -> Fields:
    """Money of 48 hours, cards apart. ``edges`` are the payments of the program."""
    recent = [o for o in within(own, subject, 48 * HOUR_US) if o.rail != "card" and o.cents is not None]
    flows = [(o.own, o.flow, o.cents or 0) for o in recent]
    if subject.counts and subject.rail != "card" and subject.cents is not None:
        flows.append((subject.at, subject.flow, subject.cents))
    came = sum(cents for _, flow, cents in flows if flow == "in")
    left = sum(cents for _, flow, cents in flows if flow == "out")
    fields: Fields = {
        "entity.in48hCents": came,
        "entity.out48hCents": left,
        "entity.peak48hCents": None,
        "entity.left48hCents": None,
        "entity.newMoney48hCents": None,
    }
    if subject.actor is None or came < PASSED_FROM_CENTS or subject.flow != "out" or left * 100 < came * 80:
        return fields
    balance = peak = 0
    for _, flow, cents in sorted(flows):  # "in" sorts before "out" at one instant
        balance += cents if flow == "in" else -cents
        peak = max(peak, balance)
    received = [o for o in recent if o.flow == "in"]
    new = [o for o in received if _is_new_payer(o, subject, edges)]
    return fields | {
        "entity.peak48hCents": peak,
        "entity.left48hCents": balance,
        "entity.newMoney48hCents": cents_of(new),
    }


def _is_new_payer(received: Other, subject: Subject, edges: list[Edge]) -> bool:
    if received.node is None:
        return True
    first = min(edge.own for edge in edges if (edge.payer, edge.payee) == (received.node, subject.actor))
    return first > subject.at - NEW_PAYER_US
