"""Lanes: which further windows of its actor and its program a transfer belongs to, by its kind and amount.

A lane is a series of its own that only some transfers enter, so most actors have none of them.
"""

from enum import StrEnum
from typing import Final

from features.core.vocabulary import AchType, Direction, Rail
from features.windows.series import AmountSeries, EventTimes

MICRO_BELOW_CENTS: Final = 100
ROUND_CENTS: Final = 100_000
ROUND_FROM_CENTS: Final = 500_000
SMALL_CARD_BELOW_CENTS: Final = 500
FRAUD_REASONS: Final = frozenset({"PIN_OR_CVV", "SUSPECTED_FRAUD"})
DECLINED: Final = "DECLINED"


class SeriesKind(StrEnum):
    RECEIVED = "received"  # incoming, cards apart
    CARD = "card"
    PULLED = "pulled"  # ACH debits that the program sent
    FAST = "fast"  # outgoing and final within the day
    ROUND = "round"
    MICRO = "micro"
    MICRO_DEBIT = "micro_debit"
    ATTEMPT = "attempt"
    DECLINE = "decline"
    SMALL = "small"  # a card attempt under $5
    SMALL_OR_5 = "small_or_5"  # a card attempt of at most $5
    FRAUD_DECLINE = "fraud_decline"
    STOP = "stop"  # returns after which a debit must not be repeated


AMOUNT_LANES: Final = frozenset({SeriesKind.RECEIVED, SeriesKind.CARD, SeriesKind.PULLED, SeriesKind.FAST})
_FAST_RAILS: Final = frozenset({Rail.REALTIME, Rail.WIRE, Rail.INTL_WIRE, Rail.CARD})

SeriesByKind = dict[SeriesKind, EventTimes]


def _of_kind(rail: Rail, direction: Direction, ach_type: str | None) -> tuple[SeriesKind, ...]:
    lanes: list[SeriesKind] = []
    if rail is Rail.CARD:
        lanes.append(SeriesKind.CARD)
    elif direction is Direction.INCOMING:
        lanes.append(SeriesKind.RECEIVED)
    if rail in _FAST_RAILS and direction is Direction.OUTGOING:
        lanes.append(SeriesKind.FAST)
    if rail is Rail.ACH and direction is Direction.OUTGOING and ach_type == AchType.DEBIT:
        lanes.append(SeriesKind.PULLED)
    return tuple(lanes)


_OF_KIND: Final = {
    (rail.value, way.value, kind): _of_kind(rail, way, kind)
    for rail in Rail
    for way in Direction
    for kind in (None, AchType.CREDIT.value, AchType.DEBIT.value)
}


def lanes_of(rail: str, direction: str, ach_type: str | None, cents: int) -> tuple[SeriesKind, ...]:
    """The lanes of the actor that a transfer enters when it moves."""
    lanes = _OF_KIND[rail, direction, ach_type]
    if cents < MICRO_BELOW_CENTS and rail == Rail.ACH:
        lanes = (
            (*lanes, SeriesKind.MICRO, SeriesKind.MICRO_DEBIT)
            if ach_type == AchType.DEBIT
            else (*lanes, SeriesKind.MICRO)
        )
    elif cents >= ROUND_FROM_CENTS and cents % ROUND_CENTS == 0 and rail != Rail.CARD:
        lanes = (*lanes, SeriesKind.ROUND)
    return lanes


def attempt_lanes(cents: int, status: str | None, reason: str | None) -> tuple[SeriesKind, ...]:
    """The lanes of a card and its program that a card transfer enters, whether it moved money or not."""
    lanes = [SeriesKind.ATTEMPT]
    if status == DECLINED:
        lanes.append(SeriesKind.DECLINE)
        if reason in FRAUD_REASONS:
            lanes.append(SeriesKind.FRAUD_DECLINE)
    if cents <= SMALL_CARD_BELOW_CENTS:
        lanes.append(SeriesKind.SMALL_OR_5)
        if cents < SMALL_CARD_BELOW_CENTS:
            lanes.append(SeriesKind.SMALL)
    return tuple(lanes)


def enter(lanes: SeriesByKind, lane: SeriesKind, at: int, cents: int, *, known_at: int | None) -> None:
    series = lanes.get(lane)
    if series is None:
        series = lanes[lane] = AmountSeries() if lane in AMOUNT_LANES else EventTimes()
    if isinstance(series, AmountSeries):
        series.add_amount(at, cents, known_at=known_at)
    else:
        series.add(at, known_at=known_at)


def leave(lanes: SeriesByKind, lane: SeriesKind, at: int, cents: int, *, known_at: int) -> None:
    series = lanes[lane]
    if isinstance(series, AmountSeries):
        series.remove_amount(at, cents, known_at=known_at)
    else:
        series.remove(at, known_at=known_at)


def count_in(lanes: SeriesByKind | None, lane: SeriesKind, after: int, upto: int) -> int:
    """How many transfers of the lane lie in (after, upto], as known at ``upto``."""
    series = lanes.get(lane) if lanes else None
    return series.count(after, upto) if series is not None else 0


def cents_in(lanes: SeriesByKind | None, lane: SeriesKind, after: int, upto: int) -> int:
    """What the transfers of the lane in (after, upto] come to."""
    series = lanes.get(lane) if lanes else None
    return series.measure(after, upto)[1] if isinstance(series, AmountSeries) else 0


def dump_lanes(lanes: SeriesByKind | None) -> list[tuple[str, tuple[object, ...]]]:
    return [(lane.value, series.dump()) for lane, series in (lanes or {}).items()]


def load_lanes(dumped: list[tuple[str, object]]) -> SeriesByKind:
    lanes: SeriesByKind = {}
    for word, part in dumped:
        lane = SeriesKind(word)
        series = lanes[lane] = AmountSeries() if lane in AMOUNT_LANES else EventTimes()
        series.load(part)
    return lanes
