"""Detectors of amounts: structuring below a reporting threshold, spikes, repeated and round amounts, micro entries.

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
from clearhold.features.core.instants import DAYS_7, DAYS_30, HOURS_24
from clearhold.features.core.reason import Reason
from clearhold.features.core.vocabulary import SubjectType
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
    ReviewQuestion,
    Trigger,
)
from clearhold.features.detectors.subjects import actor_subject, counterparty_subject, named_actor, transfer_subject
from clearhold.features.scorers.trs_v1 import amount as rules
from clearhold.features.state.parties import Actor, KnownCounterparty
from clearhold.features.windows.edges import NOBODY

STRUCTURING: Final = "structuring_pattern"
STRUCTURING_ENTITIES: Final = 2  # two accomplices with one counterparty are the smallest group


def structurer_subject(context: DetectionContext, reason: Reason) -> AlertSubject | None:
    """The entity when its own transfers make the pattern, else the counterparty when several entities make it."""
    actor, party = context.actor, context.counterparty
    if actor is not None and _structures(context, actor):
        return named_actor(actor)
    return counterparty_subject(context, reason) if party is not None and many_pay(context, party) else None


def _structures(context: DetectionContext, party: Actor | KnownCounterparty) -> bool:
    v = context.vector
    for threshold in lines_of(v.structuring_thresholds).zones(v.amount_cents):
        times = (party.zones or {}).get(threshold)
        if times is None:
            continue
        if times.count(context.at - HOURS_24, context.at) >= rules.STRUCTURING_24H_COUNT:
            return True
        if times.count(context.at - DAYS_7, context.at) >= rules.STRUCTURING_7D_COUNT:
            return True
    return False


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


def micro_sender_subject(context: DetectionContext, reason: Reason) -> AlertSubject | None:
    return actor_subject(context, reason) if context.vector.entity_micro_entries_24h >= rules.MICRO_COUNT else None


def micro_program_subject(context: DetectionContext, _reason: Reason) -> AlertSubject | None:
    """The program when no single entity reaches the count."""
    if context.vector.entity_micro_entries_24h >= rules.MICRO_COUNT:
        return None
    return AlertSubject(SubjectType.PROGRAM, context.program.id)


DETECTORS: Final[tuple[Detector, ...]] = (
    Detector(
        id=STRUCTURING,
        opens_when=(
            "Several transfers just under one reporting threshold, of one entity, or of two entities "
            "with one counterparty; hard when an earlier alert on the subject was decided."
        ),
        triggers=(Trigger(rules.STRUCTURING.id, structurer_subject, HIGH, DAYS_30, regrade=grade_structuring),),
        features=(
            "structuring_count_24h",
            "structuring_window_count",
            "pair_regular",
            "structuring_thresholds",
            "thresholds_version",
        ),
        thresholds={
            "count24h": rules.STRUCTURING_24H_COUNT,
            "count7d": rules.STRUCTURING_7D_COUNT,
            "entities": STRUCTURING_ENTITIES,
            "zoneFromPercent": STRUCTURING_ZONE_FROM_PERCENT,
        },
        hard_when="on repeat",
        review=ReviewQuestion(
            unexplained="why several amounts stay just under the same reporting line",
            next_step="ask the program for the purpose of each transfer and for the invoices behind them",
        ),
    ),
    Detector(
        id="amount_spike",
        opens_when="An amount far over the usual amounts and over the program's 95th percentile.",
        triggers=(Trigger(rules.SPIKE.id, transfer_subject, MEDIUM, ONCE),),
        features=(
            "entity_median_cents_90d",
            "entity_n_90d",
            "program_median_cents",
            "program_p95_cents",
            "program_n_90d",
        ),
        thresholds={"factor": rules.SPIKE_FACTOR},
        review=ReviewQuestion(
            unexplained="why this amount is far from the usual amounts of the entity and the program",
            next_step="compare it with the entity's order or contract and with the declared activity",
        ),
    ),
    Detector(
        id="repeated_amount",
        opens_when="The same amount repeatedly within a day.",
        triggers=(Trigger(rules.REPEATED.id, actor_subject, LOW, HOURS_24),),
        features=("repeated_amount_count_24h", "velocity_24h_count", "pair_regular"),
        thresholds={"count24h": rules.REPEATED_COUNT},
        review=ReviewQuestion(
            unexplained="why the same amount recurs within a day",
            next_step="check whether it is a batch of a kind that the program declared, such as payroll or payouts",
        ),
    ),
    Detector(
        id="round_amount",
        opens_when="Large round amounts within a month.",
        triggers=(Trigger(rules.ROUND.id, actor_subject, LOW, DAYS_30),),
        features=("round_amount_count_30d", "entity_count_30d"),
        thresholds={
            "count30d": rules.ROUND_COUNT,
            "stepCents": ROUND_STEP_CENTS,
            "fromCents": ROUND_FROM_CENTS,
        },
        review=ReviewQuestion(
            unexplained="the purpose of the large round amounts",
            next_step="ask for one underlying document and compare it with the amounts",
        ),
    ),
    Detector(
        id="micro_entry_abuse",
        opens_when=("Many ACH entries under $1 without a debit; on the program when they come from several entities."),
        triggers=(
            Trigger(rules.MICRO.id, micro_sender_subject, MEDIUM, HOURS_24),
            Trigger(rules.MICRO.id, micro_program_subject, MEDIUM, HOURS_24),
        ),
        features=("entity_micro_entries_24h", "program_micro_entries_24h", "entity_forward_debits_24h"),
        thresholds={"count24h": rules.MICRO_COUNT, "belowCents": MICRO_BELOW_CENTS},
        review=ReviewQuestion(
            unexplained=(
                "whether the small entries verify accounts that are then used, or only test which accounts exist"
            ),
            next_step="ask the program for its account verification process and count the returns of the small entries",
        ),
    ),
)
