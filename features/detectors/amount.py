"""Detectors of amounts and of time: structuring, spikes, repeated and round amounts, micro entries; velocity, dormancy.

Source  the reasons (``docs/reasons.md``); windows and further conditions of a detector are [P]
"""

from typing import Final

from clearhold.features.catalogue.thresholds import (
    MICRO_BELOW_CENTS,
    ROUND_FROM_CENTS,
    ROUND_STEP_CENTS,
    STRUCTURING_ZONE_FROM_PERCENT,
    lines_of,
)
from clearhold.features.catalogue.vector import pays
from clearhold.features.core.instants import DAYS_7, DAYS_30, HOURS_24
from clearhold.features.core.vocabulary import Severity
from clearhold.features.detectors.detector import (
    HARD,
    HIGH,
    LOW,
    MEDIUM,
    ONCE,
    AlertSubject,
    DetectionContext,
    Detector,
    Grade,
    Trigger,
    actor_subject,
    counterparty_subject,
    named_actor,
    program_subject,
    transfer_subject,
)
from clearhold.features.scorers.trs_v1 import amount as amount_rules
from clearhold.features.scorers.trs_v1 import timing as timing_rules
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.windows.edges import NOBODY

STRUCTURING: Final = "structuring_pattern"
STRUCTURING_ENTITIES: Final = 2  # two accomplices with one counterparty are the smallest group
DORMANT_HIGH_DAYS: Final = 365


def structurer_subject(context: DetectionContext) -> AlertSubject | None:
    """The entity when its own transfers make the pattern, else the counterparty when several entities make it."""
    actor, party = context.actor, context.counterparty
    if actor is not None and _structures(context, actor):
        return named_actor(actor)
    return counterparty_subject(context) if party is not None and many_pay(context, party) else None


def _structures(context: DetectionContext, party: Actor | KnownCounterparty) -> bool:
    v, at, zones = context.vector, context.at, party.zones or {}
    thresholds = lines_of(v.structuring_thresholds).zones(v.amount_cents)
    return any(
        times.count(at - HOURS_24, at) >= amount_rules.STRUCTURING_24H_COUNT
        or times.count(at - DAYS_7, at) >= amount_rules.STRUCTURING_7D_COUNT
        for times in (zones[threshold] for threshold in thresholds if threshold in zones)
    )


def many_pay(context: DetectionContext, party: KnownCounterparty) -> bool:
    """Whether several actors each have a transfer just under one threshold with the same counterparty."""
    lines = lines_of(context.vector.structuring_thresholds)
    zones = frozenset(lines.zones(context.vector.amount_cents))
    program, actors = context.program, set[int]()
    for side in (program.graph.into, program.graph.out):
        edges = side.get(program.node_of(party))
        if edges is None:
            continue
        near = edges.near(context.at - DAYS_7, context.at, but=NOBODY, as_of=context.at)
        for row, other in zip(near.rows, near.others, strict=True):
            if zones.intersection(lines.zones(program.series.cents_of(row, context.at))):
                actors.add(other)
    return len(actors) >= STRUCTURING_ENTITIES


def grade_structuring(context: DetectionContext, subject: AlertSubject) -> Grade:
    """Hard when the pattern continues after a decided alert on the subject."""
    return HARD if context.program.alerts.was_decided(STRUCTURING, subject.type, subject.id) else HIGH


def micro_sender_subject(context: DetectionContext) -> AlertSubject | None:
    enough = context.vector.entity_micro_entries_24h >= amount_rules.MICRO_COUNT
    return actor_subject(context) if enough else None


def micro_program_subject(context: DetectionContext) -> AlertSubject | None:
    """The program when no single entity reaches the count."""
    return None if micro_sender_subject(context) else program_subject(context)


def grade_dormant(context: DetectionContext, _subject: AlertSubject) -> Grade:
    days = context.vector.typology_dormant_days
    long = days is not None and days >= DORMANT_HIGH_DAYS and pays(context.vector)
    return HIGH if long else MEDIUM


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=STRUCTURING,
        opens_when=(
            "Several transfers just under one reporting threshold, of one entity, or of two entities "
            "with one counterparty; hard when an earlier alert on the subject was decided."
        ),
        triggers=(Trigger(amount_rules.STRUCTURING.id, structurer_subject, HIGH, DAYS_30, regrade=grade_structuring),),
        features=(
            "structuring_count_24h",
            "structuring_window_count",
            "pair_regular",
            "structuring_thresholds",
            "thresholds_version",
        ),
        thresholds={
            "count24h": amount_rules.STRUCTURING_24H_COUNT,
            "count7d": amount_rules.STRUCTURING_7D_COUNT,
            "entities": STRUCTURING_ENTITIES,
            "zoneFromPercent": STRUCTURING_ZONE_FROM_PERCENT,
        },
        hard_when="on repeat",
        unexplained="why several amounts stay just under the same reporting line",
        next_step="ask the program for the purpose of each transfer and for the invoices behind them",
    ),
    Detector(
        id="amount_spike",
        opens_when="An amount far over the usual amounts and over the program's 95th percentile.",
        triggers=(Trigger(amount_rules.SPIKE.id, transfer_subject, MEDIUM, ONCE),),
        features=(
            "entity_median_cents_90d",
            "entity_n_90d",
            "program_median_cents",
            "program_p95_cents",
            "program_n_90d",
        ),
        thresholds={"factor": amount_rules.SPIKE_FACTOR},
        unexplained="why this amount is far from the usual amounts of the entity and the program",
        next_step="compare it with the entity's order or contract and with the declared activity",
    ),
    Detector(
        id="repeated_amount",
        opens_when="The same amount repeatedly within a day.",
        triggers=(Trigger(amount_rules.REPEATED.id, actor_subject, LOW, HOURS_24),),
        features=("repeated_amount_count_24h", "velocity_24h_count", "pair_regular"),
        thresholds={"count24h": amount_rules.REPEATED_COUNT},
        unexplained="why the same amount recurs within a day",
        next_step="check whether it is a batch of a kind that the program declared, such as payroll or payouts",
    ),
    Detector(
        id="round_amount",
        opens_when="Large round amounts within a month.",
        triggers=(Trigger(amount_rules.ROUND.id, actor_subject, LOW, DAYS_30),),
        features=("round_amount_count_30d", "entity_count_30d"),
        thresholds={
            "count30d": amount_rules.ROUND_COUNT,
            "stepCents": ROUND_STEP_CENTS,
            "fromCents": ROUND_FROM_CENTS,
        },
        unexplained="the purpose of the large round amounts",
        next_step="ask for one underlying document and compare it with the amounts",
    ),
    Detector(
        id="micro_entry_abuse",
        opens_when=("Many ACH entries under $1 without a debit; on the program when they come from several entities."),
        triggers=(
            Trigger(amount_rules.MICRO.id, micro_sender_subject, MEDIUM, HOURS_24),
            Trigger(amount_rules.MICRO.id, micro_program_subject, MEDIUM, HOURS_24),
        ),
        features=("entity_micro_entries_24h", "program_micro_entries_24h", "entity_forward_debits_24h"),
        thresholds={"count24h": amount_rules.MICRO_COUNT, "belowCents": MICRO_BELOW_CENTS},
        unexplained="whether the small entries verify accounts that are then used, or only test which accounts exist",
        next_step="ask the program for its account verification process and count the returns of the small entries",
    ),
    Detector(
        id="velocity_spike",
        opens_when=(
            "Far more transfers in a day than usual, and 1.5 times the entity's busiest day of 5 weeks; by count or "
            "by amount."
        ),
        triggers=(Trigger(timing_rules.VELOCITY.id, actor_subject, MEDIUM, HOURS_24),),
        features=(
            "velocity_24h_count",
            "velocity_24h_sum_cents",
            "entity_count_30d",
            "entity_sum_cents_30d",
            "program_median_cents",
            "entity_busiest_day_count_35d",
            "entity_busiest_day_cents_35d",
        ),
        thresholds={
            "countFloor": timing_rules.VELOCITY_COUNT_FLOOR,
            "sumFloorCents": timing_rules.VELOCITY_SUM_FLOOR_CENTS,
            "factor": timing_rules.VELOCITY_FACTOR,
            "busiestDayPercent": timing_rules.BUSIEST_PERCENT,
        },
        unexplained="why the entity moves so much more in a day than it usually does",
        next_step="look for an earlier run of the same payees and for a season, a sale or a pay day that explains it",
    ),
    Detector(
        id="dormant_reactivation",
        opens_when="A large first transfer after long inactivity; high severity after a year, for outgoing money.",
        triggers=(Trigger(timing_rules.DORMANT.id, actor_subject, MEDIUM, DAYS_7, regrade=grade_dormant),),
        features=("typology_dormant_days", "velocity_24h_sum_cents", "program_p95_cents"),
        thresholds={
            "days": timing_rules.DORMANT_DAYS,
            "highFromDays": DORMANT_HIGH_DAYS,
            "sumFloorCents": timing_rules.DORMANT_SUM_CENTS,
        },
        severities=(Severity.HIGH,),
        unexplained="who uses the account again after the long silence, and why with this amount",
        next_step=(
            "confirm with the program that the owner is unchanged, and look at new credentials and contact details"
        ),
    ),
)
