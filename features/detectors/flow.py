"""Detectors of the shapes of money flows: fans, funnels, chains, round trips, and money in and out in two days.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.catalogue.thresholds import SCATTER_GATHER_MIDDLES, USUAL_WEEK_FACTOR
from clearhold.features.core.instants import DAYS_7, DAYS_30, DAYS_60
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.detectors.detector import (
    HARD,
    HIGH,
    MEDIUM,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    SaidBefore,
    Trigger,
    actor_subject,
    payee_subject,
    payer_subject,
)
from clearhold.features.measurement.rhythm import known_money
from clearhold.features.scorers.trs_v1 import flow as rules
from clearhold.features.windows.edges import node_of_actor

ROUND_TRIP: Final = "round_trip"
ROUND_TRIPS_HARD: Final = 3
_FAN_THRESHOLDS: Final = {
    "shortCount": rules.FAN_COUNT,
    "longCount": rules.FAN_COUNT_LONG,
    "usualFactor": USUAL_WEEK_FACTOR,
}


def grade_round_trip(context: DetectionContext, subject: AlertSubject) -> Grade:
    """Hard at the third round trip to the same side in 30 days."""
    trips = context.program.alerts.tally(
        ROUND_TRIP, subject.type, subject.id, at=context.at, row=context.landed.row_index, within_us=DAYS_30
    )
    return HARD if trips >= ROUND_TRIPS_HARD else HIGH


def chain_end_subject(context: DetectionContext) -> AlertSubject:
    """The entity at the end of the chain; when the money left the program, the last entity of the program."""
    end = payee_subject(context)
    return actor_subject(context) if end.type is SubjectType.COUNTERPARTY else end


def passes_on_as_before(context: DetectionContext, since: int) -> bool:
    """Whether the money is from payers, and goes to a payee, that the actor had already dealt with at an instant.

    This is the exception of ``rapid_in_out``, with the earlier alert in place of the 60 days. An employer that is paid
    by the same customer and pays the same staff gets one alert until its customer is known for 60 days; a mule with a
    new payer gets a further alert each time.
    """
    actor, program, v = context.actor, context.program, context.vector
    payer, payee = context.transfer.nodes()
    paid = program.graph.out.get(payer)
    if actor is None or paid is None or payer != node_of_actor(actor.index):
        return False
    firsts = paid.firsts_of({payee}, context.at, but=context.landed.row_index)
    known = known_money(actor, program.series, context.at, since, but=context.landed.row_index)
    is_new_money = v.entity_in_cents_48h - known >= rules.NEW_MONEY_FROM_CENTS
    return not is_new_money and payee in firsts and firsts[payee] <= since


def grade_fan_in(context: DetectionContext, _subject: AlertSubject) -> Grade | None:
    """Many payers are normal for an agent: it is compared with its own weeks alone, once it has any."""
    has_weeks = context.vector.fan_in_usual_week is not None
    return MEDIUM if has_weeks or not context.program.holds_agents else None


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id="fan_in",
        opens_when="Many payers of one party; for an agent, once it has a usual week to compare with.",
        triggers=(Trigger(rules.FAN_IN.id, payee_subject, MEDIUM, DAYS_7, regrade=grade_fan_in),),
        features=("fan_in_count_24h", "fan_in_count_7d", "fan_in_usual_week"),
        thresholds=_FAN_THRESHOLDS,
        unexplained="what the many payers have in common and why they pay the same side at this time",
        next_step="list the payers, their ages on the program and the stated purposes of their payments",
    ),
    Detector(
        id="fan_out",
        opens_when="Many payees of one party, several of them new to it.",
        triggers=(Trigger(rules.FAN_OUT.id, payer_subject, MEDIUM, DAYS_7),),
        features=(
            "fan_out_count_8h",
            "fan_out_count_24h",
            "fan_out_count_7d",
            "fan_out_usual_week",
            "fan_out_new_count_24h",
        ),
        thresholds={**_FAN_THRESHOLDS, "newPayees24h": rules.FAN_NEW_PAYEES},
        unexplained="who the many payees are, and the purpose of their payments",
        next_step="list the payees, how many of them are new, and compare the run with earlier ones",
    ),
    Detector(
        id="scatter_gather",
        opens_when="Money spread over intermediaries and collected again.",
        triggers=(Trigger(rules.SCATTER_GATHER.id, payee_subject, HIGH, DAYS_7),),
        features=("scatter_gather_middles", "fan_in_count_7d"),
        thresholds={"middles": SCATTER_GATHER_MIDDLES},
        unexplained="why money of one origin takes several ways to the same end",
        next_step="follow the transfers by their ids and ask the program how the middle parties are related",
    ),
    Detector(
        id="gather_scatter",
        opens_when="Money collected from many parties and spread to many.",
        triggers=(Trigger(rules.GATHER_SCATTER.id, payer_subject, HIGH, DAYS_7),),
        features=("gathered_count_7d", "gathered_usual_week", "fan_out_count_7d", "fan_out_usual_week"),
        thresholds={"count7d": rules.GATHER_SCATTER_COUNT, "usualFactor": USUAL_WEEK_FACTOR},
        unexplained="why money is collected from many and at once paid to many others",
        next_step="compare the two lists of parties and ask the program for the business behind them",
    ),
    Detector(
        id="rapid_in_out",
        opens_when=(
            "Received money goes out again within two days and at most a fifth of it is left; not the money of payers "
            "known for 60 days to a payee who was paid before."
        ),
        triggers=(
            Trigger(rules.RAPID.id, actor_subject, HIGH, DAYS_7, said_before=SaidBefore(DAYS_60, passes_on_as_before)),
        ),
        features=(
            "entity_in_cents_48h",
            "entity_out_cents_48h",
            "entity_peak_cents_48h",
            "entity_left_cents_48h",
            "entity_new_money_cents_48h",
            "pair_first_time",
        ),
        thresholds={
            "fromCents": rules.PASSED_ON_FROM_CENTS,
            "sentOnPercent": rules.PASSED_ON_PERCENT,
            "leftPercent": rules.LEFT_PERCENT,
            "newMoneyFromCents": rules.NEW_MONEY_FROM_CENTS,
        },
        unexplained="why nearly all that came in leaves again within two days",
        next_step="look at who sent it and who received it, and ask whether the entity acts for others",
    ),
    Detector(
        id="funnel_mule",
        opens_when="Money of many payers passed on at once, by a new entity, to an unknown party or abroad.",
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
        unexplained="whose money it is that many pay in and one passes on at once",
        next_step=(
            "stop further outgoing transfers of the entity until the program has explained the payers and the payee"
        ),
    ),
    Detector(
        id=ROUND_TRIP,
        opens_when=f"Money returns to the party that sent it; hard at {ROUND_TRIPS_HARD} times in 30 days.",
        triggers=(Trigger(rules.ROUND_TRIP.id, payee_subject, HIGH, DAYS_7, regrade=grade_round_trip),),
        features=("typology_round_trip", "typology_layering_hops"),
        thresholds={"hardCount30d": ROUND_TRIPS_HARD},
        hard_when=f"at {ROUND_TRIPS_HARD} in 30 days",
        unexplained="the purpose of money that returns to its origin",
        next_step="follow the path by its transfers and ask for the agreements behind each hop",
    ),
    Detector(
        id="layering_hops",
        opens_when="The end of a chain of transfers through several parties.",
        triggers=(Trigger(rules.LAYERING.id, chain_end_subject, HIGH, DAYS_7),),
        features=("typology_layering_hops", "layering_least_cents"),
        thresholds={"hops": rules.LAYERING_HOPS, "leastCents": rules.LAYERING_FROM_CENTS},
        unexplained="why the money passes through several hands in a short time",
        next_step="follow the chain by its transfers and ask who the parties in the middle are to each other",
    ),
)
