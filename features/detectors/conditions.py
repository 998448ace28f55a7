"""What detectors ask beyond a reason: whose structuring it is, sums and counts that only the state has."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from features.catalogue.thresholds import structuring_zones
from features.core.instants import DAYS_7, DAYS_30, HOURS_24, HOURS_48
from features.core.reason import Reason
from features.core.vocabulary import Direction, SubjectType
from features.detectors.detector import HARD, HIGH, MEDIUM, DetectionContext, Grade, Subject
from features.detectors.subjects import (
    actor_subject,
    counterparty_subject,
    named_actor,
    named_counterparty,
    payee_subject,
)
from features.scorers.trs_v1.amount import MICRO_COUNT, STRUCTURING_7D_COUNT, STRUCTURING_24H_COUNT
from features.scorers.trs_v1.flow import PASSED_ON_FROM_CENTS
from features.scorers.trs_v1.timing import VELOCITY_COUNT_FLOOR
from features.state.parties import Actor, Counterparty
from features.windows.edges import NOBODY
from features.windows.series import AmountSeries, EventTimes
from features.windows.series_kinds import SeriesKind

UNVERIFIED_7D_CENTS: Final = 100_000
UNAUTHORIZED_RETURNS: Final = 2
DORMANT_HIGH_DAYS: Final = 365
ROUND_TRIPS_HARD: Final = 3
LEFT_PERCENT: Final = 20
STRUCTURING_ENTITIES: Final = 3
WEEKS_5: Final = 5 * DAYS_7
MOST_LOOKED_AT: Final = 512
BUSIEST_PERCENT: Final = 150
STRUCTURING: Final = "structuring_pattern"
UNAUTHORIZED_RETURN: Final = "unauthorized_return"
ROUND_TRIP: Final = "round_trip"
_OUTGOING: Final = Direction.OUTGOING.value


def structurer_subject(context: DetectionContext, reason: Reason) -> Subject | None:
    """The entity when its own transfers are the pattern, else the counterparty when those of several entities are."""
    actor, party = context.actor, context.counterparty
    if actor is not None and _structures(context, actor):
        return named_actor(actor)
    return counterparty_subject(context, reason) if party is not None and many_pay(context, party) else None


def _structures(context: DetectionContext, party: Actor | Counterparty) -> bool:
    missing = (
        0 if context.program.transfers.read(context.landed.row_index).moved else 1
    )  # in the windows it is, if it moved
    for threshold in structuring_zones(context.vector.amount_cents):
        times = (party.zones or {}).get(threshold)
        if times is None:
            continue
        if times.count(context.at - HOURS_24, context.at) + missing >= STRUCTURING_24H_COUNT:
            return True
        if times.count(context.at - DAYS_7, context.at) + missing >= STRUCTURING_7D_COUNT:
            return True
    return False


def grade_structuring(context: DetectionContext, subject: Subject) -> Grade:
    """Hard when somebody decided on it before: it goes on all the same."""
    return HARD if context.program.alerts.was_decided(STRUCTURING, subject.type, subject.id) else HIGH


def grade_velocity(context: DetectionContext, _subject: Subject) -> Grade | None:
    """Half as much again as on the entity's busiest day of five weeks; of cents, also as the program's 95th percentile.

    Three times the mean of all days is an ordinary transfer to an entity that moves money on few days, and a pay day to
    one that pays wages.
    """
    v = context.vector
    count, cents = v.velocity_24h_count * 100 // BUSIEST_PERCENT, v.velocity_24h_sum_cents * 100 // BUSIEST_PERCENT
    many, much = v.velocity_24h_count >= VELOCITY_COUNT_FLOOR, cents >= (v.program_p95_cents or 0)
    if not many and not much:
        return None
    most_count, most_cents = busiest_day(context)
    return MEDIUM if (many and count >= most_count) or (much and cents >= most_cents) else None


def busiest_day(context: DetectionContext) -> tuple[int, int]:
    """The most transfers and the most cents of the actor on one day of the five weeks before its last 24 h."""
    return (0, 0) if context.actor is None else _busiest(context.actor.amounts, context.at, HOURS_24)


def _busiest(series: AmountSeries, at: int, span: int) -> tuple[int, int]:
    """The most within one span of the five weeks before the last span."""
    held = list(_amounts(series, at - WEEKS_5, at - span))
    most_count = most_cents = first = cents = 0
    for place, (end, amount) in enumerate(held):
        cents += amount
        while held[first][0] <= end - span:
            cents -= held[first][1]
            first += 1
        most_count, most_cents = max(most_count, place - first + 1), max(most_cents, cents)
    return most_count, most_cents


def grade_rapid(context: DetectionContext, _subject: Subject) -> Grade | None:
    """What came in was there before it went, a fifth of it at most is left, and so much has not come in of late.

    Whoever regularly receives and pays on, such as an employer, is no mule for it: the busiest 48 hours of five weeks
    are what is usual.
    """
    peak, end = balance_48h(context)
    if peak < PASSED_ON_FROM_CENTS or end * 100 > LEFT_PERCENT * peak:
        return None
    return HIGH if context.vector.entity_in_cents_48h * 100 >= BUSIEST_PERCENT * most_received_48h(context) else None


def most_received_48h(context: DetectionContext) -> int:
    """The most that came in, cards apart, in 48 hours of the five weeks before the last ones."""
    series = (context.actor.series_by_kind or {}).get(SeriesKind.RECEIVED) if context.actor is not None else None
    return _busiest(series, context.at, HOURS_48)[1] if isinstance(series, AmountSeries) else 0


def balance_48h(context: DetectionContext) -> tuple[int, int]:
    """The highest balance and the last one of what the actor moved in 48 h, cards apart, counted from nothing on."""
    if context.actor is None:
        return 0, 0
    by_kind, moved = (
        context.actor.series_by_kind or {},
        Counter(_amounts(context.actor.amounts, context.at - HOURS_48, context.at)),
    )
    after = min((at for at, _ in moved), default=context.at) - 1
    received, cards = (
        Counter(_amounts(by_kind.get(kind), after, context.at)) for kind in (SeriesKind.RECEIVED, SeriesKind.CARD)
    )
    moved.subtract(received + cards)
    flows = [(at, cents) for at, cents in received.elements()] + [(at, -cents) for at, cents in moved.elements()]
    balance = peak = 0
    for _, cents in sorted(flows, key=lambda flow: (flow[0], -flow[1])):  # at one instant, what comes in is first
        balance += cents
        peak = max(peak, balance)
    return peak, balance


def _amounts(series: EventTimes | None, after: int, upto: int) -> Iterator[tuple[int, int]]:
    """Instants and cents of (after, upto], of the newest ``MOST_LOOKED_AT``."""
    if isinstance(series, AmountSeries):
        times = series.times
        last = bisect_right(times, upto)
        for index in range(max(bisect_right(times, after), last - MOST_LOOKED_AT), last):
            yield times[index], series.amount(index)


def many_pay(context: DetectionContext, party: Counterparty) -> bool:
    """Whether several actors share the pattern of transfers just under a line with one counterparty."""
    zones = frozenset(structuring_zones(context.vector.amount_cents))
    program, actors = context.program, set[int]()
    for side in (program.graph.into, program.graph.out):
        edges = side.get(program.node_of(party))
        if edges is None:
            continue
        near = edges.near(context.at - DAYS_7, context.at, but=NOBODY, as_of=context.at)
        for row, other in zip(near.rows, near.others, strict=True):
            if zones.intersection(structuring_zones(program.series.cents_of(row, context.at))):
                actors.add(other)
    return len(actors) >= STRUCTURING_ENTITIES


def grade_dormant(context: DetectionContext, _subject: Subject) -> Grade:
    days = context.vector.typology_dormant_days
    long = days is not None and days >= DORMANT_HIGH_DAYS and context.vector.direction == _OUTGOING
    return HIGH if long else MEDIUM


def grade_round_trip(context: DetectionContext, subject: Subject) -> Grade:
    """Hard at the third that comes back to the same side in 30 days."""
    trips = context.program.alerts.tally(
        ROUND_TRIP, subject.type, subject.id, at=context.at, row=context.landed.row_index, within_us=DAYS_30
    )
    return HARD if trips >= ROUND_TRIPS_HARD else HIGH


def grade_unverified(context: DetectionContext, _subject: Subject) -> Grade | None:
    return MEDIUM if seven_day_cents(context) >= UNVERIFIED_7D_CENTS else None


def seven_day_cents(context: DetectionContext) -> int:
    """What the actor moved in 7 days, the transfer included if it moved."""
    return 0 if context.actor is None else context.actor.amounts.measure(context.at - DAYS_7, context.at)[1]


def chain_end_subject(context: DetectionContext, reason: Reason) -> Subject:
    """The entity that the chain ended at; when it left the program, the last one of the program."""
    end = payee_subject(context, reason)
    return actor_subject(context, reason) if end.type is SubjectType.COUNTERPARTY else end


def returning_entity_subject(context: DetectionContext, reason: Reason) -> Subject | None:
    enough = context.vector.entity_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return actor_subject(context, reason) if enough and context.actor is not None else None


def returning_counterparty_subject(context: DetectionContext, _reason: Reason) -> Subject | None:
    party = context.counterparty
    enough = context.vector.counterparty_prior_unauthorized_returns >= UNAUTHORIZED_RETURNS
    return named_counterparty(party) if enough and party is not None and not party.unlisted else None


def micro_sender_subject(context: DetectionContext, reason: Reason) -> Subject | None:
    return actor_subject(context, reason) if context.vector.entity_micro_entries_24h >= MICRO_COUNT else None


def micro_program_subject(context: DetectionContext, _reason: Reason) -> Subject | None:
    """The program when no single entity of it reaches the line."""
    if context.vector.entity_micro_entries_24h >= MICRO_COUNT:
        return None
    return Subject(SubjectType.PROGRAM, context.program.id)


def _of_unverified(context: DetectionContext) -> dict[str, int | str]:
    return {"entity.sum7dCents": seven_day_cents(context)}


def _of_velocity(context: DetectionContext) -> dict[str, int | str]:
    count, cents = busiest_day(context)
    return {"entity.busiestDay35dCount": count, "entity.busiestDay35dCents": cents}


def _of_rapid(context: DetectionContext) -> dict[str, int | str]:
    peak, end = balance_48h(context)
    return {
        "entity.peak48hCents": peak,
        "entity.left48hCents": end,
        "entity.mostIn48hOf35dCents": most_received_48h(context),
    }


FIGURES_OF: Final[dict[str, Callable[[DetectionContext], dict[str, int | str]]]] = {
    "kyc_unverified_moving": _of_unverified,
    "rapid_in_out": _of_rapid,
    "velocity_spike": _of_velocity,
}
"""Evidence that is no feature of the vector, by detector."""
