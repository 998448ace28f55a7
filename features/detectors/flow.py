"""Detectors of the shapes that money makes: fans, funnels, chains, round trips, and money in and out in two days.

Source  the reasons' own (``docs/reasons.md``); windows and what a detector requires beyond its reasons are [P]
"""

from collections import Counter
from typing import Final

from features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from features.core.instants import DAYS_7, DAYS_30, HOURS_48
from features.core.reason import Reason
from features.core.vocabulary import SubjectType
from features.detectors.busiest import BUSIEST_PERCENT, amounts_between, busiest_span
from features.detectors.detector import (
    HARD,
    HIGH,
    MEDIUM,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    ReviewQuestion,
    Trigger,
)
from features.detectors.subjects import actor_subject, payee_subject, payer_subject
from features.scorers.trs_v1 import flow as rules
from features.windows.series import AmountSeries
from features.windows.series_kinds import SeriesKind

ROUND_TRIP: Final = "round_trip"
ROUND_TRIPS_HARD: Final = 3
LEFT_PERCENT: Final = 20
_FAN_THRESHOLDS: Final = {
    "shortCount": rules.FAN_COUNT,
    "longCount": rules.FAN_COUNT_LONG,
    "usualFactor": USUAL_WEEK_FACTOR,
}


def grade_rapid(context: DetectionContext, _subject: AlertSubject) -> Grade | None:
    """High when money came in before it left, a fifth at most remains, and the inflow is unusually large; else None.

    An entity that regularly receives and pays on, such as an employer, is no mule: its busiest 48 hours of five weeks
    are its usual inflow.
    """
    peak, end = balance_48h(context)
    if peak < rules.PASSED_ON_FROM_CENTS or end * 100 > LEFT_PERCENT * peak:
        return None
    return HIGH if context.vector.entity_in_cents_48h * 100 >= BUSIEST_PERCENT * most_received_48h(context) else None


def most_received_48h(context: DetectionContext) -> int:
    """The largest inflow, without cards, in any 48 hours of the five weeks before the last 48."""
    series = (context.actor.series_by_kind or {}).get(SeriesKind.RECEIVED) if context.actor is not None else None
    return busiest_span(series, context.at, HOURS_48)[1] if isinstance(series, AmountSeries) else 0


def balance_48h(context: DetectionContext) -> tuple[int, int]:
    """The highest and the last balance of the actor's flows in 48 h, without cards, counted from zero."""
    if context.actor is None:
        return 0, 0
    by_kind = context.actor.series_by_kind or {}
    moved = Counter(amounts_between(context.actor.amounts, context.at - HOURS_48, context.at))
    after = min((at for at, _ in moved), default=context.at) - 1
    received = Counter(amounts_between(by_kind.get(SeriesKind.RECEIVED), after, context.at))
    cards = Counter(amounts_between(by_kind.get(SeriesKind.CARD), after, context.at))
    moved.subtract(received + cards)
    flows = [(at, cents) for at, cents in received.elements()] + [(at, -cents) for at, cents in moved.elements()]
    balance = peak = 0
    for _, cents in sorted(flows, key=lambda flow: (flow[0], -flow[1])):  # at one instant, what comes in is first
        balance += cents
        peak = max(peak, balance)
    return peak, balance


def _rapid_figures(context: DetectionContext) -> dict[str, int | str]:
    peak, end = balance_48h(context)
    return {
        "entity.peak48hCents": peak,
        "entity.left48hCents": end,
        "entity.mostIn48hOf35dCents": most_received_48h(context),
    }


def grade_round_trip(context: DetectionContext, subject: AlertSubject) -> Grade:
    """Hard at the third round trip to the same side in 30 days."""
    trips = context.program.alerts.tally(
        ROUND_TRIP, subject.type, subject.id, at=context.at, row=context.landed.row_index, within_us=DAYS_30
    )
    return HARD if trips >= ROUND_TRIPS_HARD else HIGH


def chain_end_subject(context: DetectionContext, reason: Reason) -> AlertSubject:
    """The entity at the end of the chain; when the money left the program, the last entity of the program."""
    end = payee_subject(context, reason)
    return actor_subject(context, reason) if end.type is SubjectType.COUNTERPARTY else end


DETECTORS: Final = (
    Detector(
        id="fan_in",
        opens_when="Many payers of one side.",
        triggers=(Trigger(rules.FAN_IN.id, payee_subject, MEDIUM, DAYS_7),),
        features=("fan_in_count_24h", "fan_in_count_7d", "fan_in_usual_week"),
        thresholds=_FAN_THRESHOLDS,
        review=ReviewQuestion(
            unexplained="what the many payers have in common and why they pay the same side at this time",
            next_step="list the payers, their ages on the program and what they say they pay for",
        ),
    ),
    Detector(
        id="fan_out",
        opens_when="Many payees of one side.",
        triggers=(Trigger(rules.FAN_OUT.id, payer_subject, MEDIUM, DAYS_7),),
        features=("fan_out_count_8h", "fan_out_count_24h", "fan_out_count_7d", "fan_out_usual_week"),
        thresholds=_FAN_THRESHOLDS,
        review=ReviewQuestion(
            unexplained="who the many payees are and what they are paid for",
            next_step="list the payees, how many of them are new, and compare the run with earlier ones",
        ),
    ),
    Detector(
        id="scatter_gather",
        opens_when="Spread over middle sides and collected again.",
        triggers=(Trigger(rules.SCATTER_GATHER.id, payee_subject, HIGH, DAYS_7),),
        features=("scatter_gather_middles", "fan_in_count_7d"),
        thresholds={"middles": SCATTER_GATHER_MIDDLES},
        review=ReviewQuestion(
            unexplained="why money of one origin takes several ways to the same end",
            next_step="follow the transfers by their ids and ask the program how the middle parties are related",
        ),
    ),
    Detector(
        id="gather_scatter",
        opens_when="Collected from many and spread to many.",
        triggers=(Trigger(rules.GATHER_SCATTER.id, payer_subject, HIGH, DAYS_7),),
        features=("gathered_count_7d", "gathered_usual_week", "fan_out_count_7d", "fan_out_usual_week"),
        thresholds={"count7d": rules.GATHER_SCATTER_COUNT, "usualFactor": USUAL_WEEK_FACTOR},
        review=ReviewQuestion(
            unexplained="why money is collected from many and at once paid to many others",
            next_step="compare the two lists of parties and ask the program for the business behind them",
        ),
    ),
    Detector(
        id="rapid_in_out",
        opens_when=(
            "What came in goes out again within two days: it was there before, at most a fifth is left, and it is "
            "half as much again as the most that came in in two days of the last 5 weeks."
        ),
        triggers=(Trigger(rules.RAPID.id, actor_subject, HIGH, DAYS_7, regrade=grade_rapid),),
        features=("entity_in_cents_48h", "entity_out_cents_48h"),
        thresholds={
            "fromCents": rules.PASSED_ON_FROM_CENTS,
            "leftPercent": LEFT_PERCENT,
            "busiestPercent": BUSIEST_PERCENT,
        },
        figures=_rapid_figures,
        review=ReviewQuestion(
            unexplained="why nearly all that came in leaves again within two days",
            next_step="look at who sent it and who received it, and ask whether the entity acts for others",
        ),
    ),
    Detector(
        id="funnel_mule",
        opens_when="Money of many passed on at once, by somebody young, to a stranger or abroad.",
        triggers=(Trigger(rules.FUNNEL.id, actor_subject, HARD, DAYS_7),),
        features=(
            "gathered_count_24h",
            "gathered_count_7d",
            "entity_in_cents_48h",
            "entity_out_cents_48h",
            "entity_age_days",
            "counterparty_first_time",
            "counterparty_country",
        ),
        thresholds={**_FAN_THRESHOLDS, "youngDays": rules.YOUNG_DAYS},
        review=ReviewQuestion(
            unexplained="whose money it is that many pay in and one passes on at once",
            next_step=(
                "stop further outgoing transfers of the entity until the program has explained the payers and the payee"
            ),
        ),
    ),
    Detector(
        id=ROUND_TRIP,
        opens_when=f"Money comes back to the side that it left; hard at {ROUND_TRIPS_HARD} times in 30 days.",
        triggers=(Trigger(rules.ROUND_TRIP.id, payee_subject, HIGH, DAYS_7, regrade=grade_round_trip),),
        features=("typology_round_trip", "typology_layering_hops"),
        thresholds={"hardCount30d": ROUND_TRIPS_HARD},
        hard_when=f"at {ROUND_TRIPS_HARD} in 30 days",
        review=ReviewQuestion(
            unexplained="what is gained by money that returns to where it came from",
            next_step="follow the path by its transfers and ask for the agreements behind each hop",
        ),
    ),
    Detector(
        id="layering_hops",
        opens_when="The end of a chain through several hands.",
        triggers=(Trigger(rules.LAYERING.id, chain_end_subject, HIGH, DAYS_7),),
        features=("typology_layering_hops", "layering_least_cents"),
        thresholds={"hops": rules.LAYERING_HOPS, "leastCents": rules.LAYERING_FROM_CENTS},
        review=ReviewQuestion(
            unexplained="why the money passes through several hands in a short time",
            next_step="follow the chain by its transfers and ask who the parties in the middle are to each other",
        ),
    ),
)
