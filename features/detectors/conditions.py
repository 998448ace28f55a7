"""What detectors ask beyond a reason: whose structuring it is, sums and counts that only the state has."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from features.catalogue.thresholds import structuring_zones
from features.core.instants import DAYS_7, DAYS_30, HOURS_24, HOURS_48
from features.core.reason import Reason
from features.core.vocabulary import Direction, SubjectType
from features.detectors.detector import HARD, HIGH, MEDIUM, Gravity, Scene, Subject
from features.detectors.subjects import named_actor, named_counterparty, the_actor, the_counterparty, the_payee
from features.scorers.trs_v1.amount import MICRO_COUNT, STRUCTURING_7D_COUNT, STRUCTURING_24H_COUNT
from features.scorers.trs_v1.flow import PASSED_ON_FROM_CENTS
from features.scorers.trs_v1.timing import VELOCITY_COUNT_FLOOR
from features.state.parties import Actor, Counterparty
from features.windows.edges import NOBODY
from features.windows.series import AmountSeries, EventTimes
from features.windows.series_kinds import Lane

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


def the_structurer(scene: Scene, reason: Reason) -> Subject | None:
    """The entity when its own transfers are the pattern, else the counterparty when those of several entities are."""
    actor, party = scene.actor, scene.counterparty
    if actor is not None and _structures(scene, actor):
        return named_actor(actor)
    return the_counterparty(scene, reason) if party is not None and many_pay(scene, party) else None


def _structures(scene: Scene, party: Actor | Counterparty) -> bool:
    missing = 0 if scene.program.transfers.read(scene.landed.place).moved else 1  # in the windows it is, if it moved
    for threshold in structuring_zones(scene.vector.amount_cents):
        times = (party.zones or {}).get(threshold)
        if times is None:
            continue
        if times.count(scene.at - HOURS_24, scene.at) + missing >= STRUCTURING_24H_COUNT:
            return True
        if times.count(scene.at - DAYS_7, scene.at) + missing >= STRUCTURING_7D_COUNT:
            return True
    return False


def weigh_structuring(scene: Scene, subject: Subject) -> Gravity:
    """Hard when somebody decided on it before: it goes on all the same."""
    return HARD if scene.program.alerts.was_decided(STRUCTURING, subject.type, subject.id) else HIGH


def weigh_velocity(scene: Scene, _subject: Subject) -> Gravity | None:
    """Half as much again as on the entity's busiest day of five weeks; of cents, also as the program's 95th percentile.

    Three times the mean of all days is an ordinary transfer to an entity that moves money on few days, and a pay day to
    one that pays wages.
    """
    v = scene.vector
    count, cents = v.velocity_24h_count * 100 // BUSIEST_PERCENT, v.velocity_24h_sum_cents * 100 // BUSIEST_PERCENT
    many, much = v.velocity_24h_count >= VELOCITY_COUNT_FLOOR, cents >= (v.program_p95_cents or 0)
    if not many and not much:
        return None
    most_count, most_cents = busiest_day(scene)
    return MEDIUM if (many and count >= most_count) or (much and cents >= most_cents) else None


def busiest_day(scene: Scene) -> tuple[int, int]:
    """The most transfers and the most cents of the actor on one day of the five weeks before its last 24 h."""
    return (0, 0) if scene.actor is None else _busiest(scene.actor.amounts, scene.at, HOURS_24)


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


def weigh_rapid(scene: Scene, _subject: Subject) -> Gravity | None:
    """What came in was there before it went, a fifth of it at most is left, and so much has not come in of late.

    Whoever regularly receives and pays on, such as an employer, is no mule for it: the busiest 48 hours of five weeks
    are what is usual.
    """
    peak, end = balance_48h(scene)
    if peak < PASSED_ON_FROM_CENTS or end * 100 > LEFT_PERCENT * peak:
        return None
    return HIGH if scene.vector.entity_in_48h_cents * 100 >= BUSIEST_PERCENT * most_received_48h(scene) else None


def most_received_48h(scene: Scene) -> int:
    """The most that came in, cards apart, in 48 hours of the five weeks before the last ones."""
    series = (scene.actor.lanes or {}).get(Lane.RECEIVED) if scene.actor is not None else None
    return _busiest(series, scene.at, HOURS_48)[1] if isinstance(series, AmountSeries) else 0


def balance_48h(scene: Scene) -> tuple[int, int]:
    """The highest balance and the last one of what the actor moved in 48 h, cards apart, counted from nothing on."""
    if scene.actor is None:
        return 0, 0
    lanes, moved = scene.actor.lanes or {}, Counter(_amounts(scene.actor.amounts, scene.at - HOURS_48, scene.at))
    after = min((at for at, _ in moved), default=scene.at) - 1
    received, cards = (Counter(_amounts(lanes.get(lane), after, scene.at)) for lane in (Lane.RECEIVED, Lane.CARD))
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


def many_pay(scene: Scene, party: Counterparty) -> bool:
    """Whether several actors share the pattern of transfers just under a line with one counterparty."""
    zones = frozenset(structuring_zones(scene.vector.amount_cents))
    program, actors = scene.program, set[int]()
    for side in (program.graph.into, program.graph.out):
        edges = side.get(program.node_of(party))
        if edges is None:
            continue
        near = edges.near(scene.at - DAYS_7, scene.at, but=NOBODY, as_of=scene.at)
        for row, other in zip(near.rows, near.others, strict=True):
            if zones.intersection(structuring_zones(program.series.cents_of(row, scene.at))):
                actors.add(other)
    return len(actors) >= STRUCTURING_ENTITIES


def weigh_dormant(scene: Scene, _subject: Subject) -> Gravity:
    days = scene.vector.typology_dormant_days
    long = days is not None and days >= DORMANT_HIGH_DAYS and scene.vector.direction == _OUTGOING
    return HIGH if long else MEDIUM


def weigh_round_trip(scene: Scene, subject: Subject) -> Gravity:
    """Hard at the third that comes back to the same side in 30 days."""
    trips = scene.program.alerts.tally(
        ROUND_TRIP, subject.type, subject.id, at=scene.at, row=scene.landed.place, within_us=DAYS_30
    )
    return HARD if trips >= ROUND_TRIPS_HARD else HIGH


def weigh_unverified(scene: Scene, _subject: Subject) -> Gravity | None:
    return MEDIUM if seven_day_cents(scene) >= UNVERIFIED_7D_CENTS else None


def seven_day_cents(scene: Scene) -> int:
    """What the actor moved in 7 days, the transfer included if it moved."""
    return 0 if scene.actor is None else scene.actor.amounts.measure(scene.at - DAYS_7, scene.at)[1]


def the_chain_end(scene: Scene, reason: Reason) -> Subject:
    """The entity that the chain ended at; when it left the program, the last one of the program."""
    end = the_payee(scene, reason)
    return the_actor(scene, reason) if end.type is SubjectType.COUNTERPARTY else end


def the_returning_entity(scene: Scene, reason: Reason) -> Subject | None:
    enough = scene.vector.entity_unauthorized_returns_60d >= UNAUTHORIZED_RETURNS
    return the_actor(scene, reason) if enough and scene.actor is not None else None


def the_returning_counterparty(scene: Scene, _reason: Reason) -> Subject | None:
    party = scene.counterparty
    enough = scene.vector.counterparty_prior_unauthorized_returns >= UNAUTHORIZED_RETURNS
    return named_counterparty(party) if enough and party is not None and not party.unlisted else None


def micro_sender(scene: Scene, reason: Reason) -> Subject | None:
    return the_actor(scene, reason) if scene.vector.entity_micro_24h >= MICRO_COUNT else None


def micro_program(scene: Scene, _reason: Reason) -> Subject | None:
    """The program when no single entity of it reaches the line."""
    if scene.vector.entity_micro_24h >= MICRO_COUNT:
        return None
    return Subject(SubjectType.PROGRAM, scene.program.id)


def _of_unverified(scene: Scene) -> dict[str, int | str]:
    return {"entity.sum7dCents": seven_day_cents(scene)}


def _of_velocity(scene: Scene) -> dict[str, int | str]:
    count, cents = busiest_day(scene)
    return {"entity.busiestDay35dCount": count, "entity.busiestDay35dCents": cents}


def _of_rapid(scene: Scene) -> dict[str, int | str]:
    peak, end = balance_48h(scene)
    return {
        "entity.peak48hCents": peak,
        "entity.left48hCents": end,
        "entity.mostIn48hOf35dCents": most_received_48h(scene),
    }


FIGURES_OF: Final[dict[str, Callable[[Scene], dict[str, int | str]]]] = {
    "kyc_unverified_moving": _of_unverified,
    "rapid_in_out": _of_rapid,
    "velocity_spike": _of_velocity,
}
"""Evidence that is no feature of the vector, by detector."""
