"""The oracle's busiest day, and the money that passes through an actor within two days."""

from typing import Any, Final

from features.core.instants import DAY_US
from tests.support.oracle_facts import Known
from tests.support.oracle_graph import edges_of
from tests.support.oracle_others import Other

BUSIEST: Final = ("entity_busiest_day_count_35d", "entity_busiest_day_cents_35d")
PASSING: Final = ("entity_peak_cents_48h", "entity_left_cents_48h", "entity_new_money_cents_48h")

Fields = dict[str, Any]


def passing_fields(subject: Known, own: list[Other], others: list[Other], at: int) -> Fields:
    """``others`` are all of the program's that moved, ``own`` those of the actor."""
    fields: Fields = dict.fromkeys((*BUSIEST, *PASSING))
    if subject.actor.last is None:
        return fields
    return fields | _busiest(subject, own, at) | _passing(subject, own, others, at)


def _busiest(subject: Known, own: list[Other], at: int) -> Fields:
    day = [other for other in own if other.own > at - DAY_US]
    if len(day) + 1 < 5 and sum(other.amount for other in day) + subject.reading.amount < 250_000:
        return {}
    days = [[o for o in own if at - (k + 1) * DAY_US < o.own <= at - k * DAY_US] for k in range(1, 35)]
    return dict(zip(BUSIEST, (max(map(len, days)), max(sum(o.amount for o in day) for day in days)), strict=True))


def _passing(subject: Known, own: list[Other], others: list[Other], at: int) -> Fields:
    reading = subject.reading
    recent = [other for other in own if other.own > at - 2 * DAY_US and other.reading.rail != "card"]
    flows = [(other.own, other.reading.direction, other.amount) for other in recent]
    if reading.rail != "card":
        flows.append((at, reading.direction, reading.amount))
    came = sum(cents for _, direction, cents in flows if direction == "incoming")
    left = sum(cents for _, direction, cents in flows if direction == "outgoing")
    if came < 100_000 or reading.direction != "outgoing" or left * 100 < came * 80:
        return {}
    balance = peak = 0
    for _, direction, cents in sorted(flows):
        balance += cents if direction == "incoming" else -cents
        peak = max(peak, balance)
    edges = edges_of(others)
    new = 0
    for other in recent:
        if other.reading.direction == "incoming":
            paid = [edge.own for edge in edges if (edge.source, edge.target) == (other.node, other.actor)]
            new += other.amount if min(paid, default=at) > at - 60 * DAY_US else 0
    return dict(zip(PASSING, (peak, balance, new), strict=True))
