"""Detectors of amounts, of time and of the shapes that money makes.

Source  the reasons' own (``docs/reasons.md``); windows and what conditions add are [P]
"""

from typing import Final

from features.catalogue.thresholds import (
    MICRO_BELOW_CENTS,
    ROUND_FROM_CENTS,
    ROUND_STEP_CENTS,
    SCATTER_GATHER_MIDDLES,
    STRUCTURING_THRESHOLDS_CENTS,
    STRUCTURING_ZONE_FROM_PERCENT,
    USUAL_WEEK_FACTOR,
)
from features.core.instants import DAYS_7, DAYS_30, HOURS_24
from features.core.vocabulary import Severity
from features.detectors.conditions import (
    BUSIEST_PERCENT,
    DORMANT_HIGH_DAYS,
    LEFT_PERCENT,
    ROUND_TRIP,
    ROUND_TRIPS_HARD,
    STRUCTURING,
    STRUCTURING_ENTITIES,
    chain_end_subject,
    grade_dormant,
    grade_rapid,
    grade_round_trip,
    grade_structuring,
    grade_velocity,
    micro_program_subject,
    micro_sender_subject,
    structurer_subject,
)
from features.detectors.detector import HARD, HIGH, LOW, MEDIUM, ONCE, Detector, Trigger
from features.detectors.subjects import actor_subject, payee_subject, payer_subject, transfer_subject
from features.scorers.trs_v1 import amount as trs_v1_amount
from features.scorers.trs_v1 import flow as trs_v1_flow
from features.scorers.trs_v1 import timing as trs_v1_timing

_AMOUNT: Final = (
    Detector(
        STRUCTURING,
        "Several transfers just under one reporting threshold, of one entity or of 3 with one counterparty; hard when "
        "the subject was decided on before.",
        (Trigger(trs_v1_amount.STRUCTURING.id, structurer_subject, HIGH, DAYS_30, grade_structuring),),
        ("structuring_count_24h", "structuring_window_count"),
        {
            "count24h": trs_v1_amount.STRUCTURING_24H_COUNT,
            "count7d": trs_v1_amount.STRUCTURING_7D_COUNT,
            "entities": STRUCTURING_ENTITIES,
            "zoneFromPercent": STRUCTURING_ZONE_FROM_PERCENT,
            "lowerThresholdCents": min(STRUCTURING_THRESHOLDS_CENTS),
            "upperThresholdCents": max(STRUCTURING_THRESHOLDS_CENTS),
        },
        hard_when="on repeat",
    ),
    Detector(
        "amount_spike",
        "An amount far over the usual one and over the program's 95th percentile.",
        (Trigger(trs_v1_amount.SPIKE.id, transfer_subject, MEDIUM, ONCE),),
        ("entity_median_cents_90d", "entity_n_90d", "program_median_cents", "program_p95_cents", "program_n_90d"),
        {"factor": trs_v1_amount.SPIKE_FACTOR},
    ),
    Detector(
        "repeated_amount",
        "The same amount again and again within a day.",
        (Trigger(trs_v1_amount.REPEATED.id, actor_subject, LOW, HOURS_24),),
        ("repeated_amount_count_24h", "velocity_24h_count"),
        {"count24h": trs_v1_amount.REPEATED_COUNT},
    ),
    Detector(
        "round_amount",
        "Large round amounts within a month.",
        (Trigger(trs_v1_amount.ROUND.id, actor_subject, LOW, DAYS_30),),
        ("round_amount_count_30d", "entity_count_30d"),
        {
            "count30d": trs_v1_amount.ROUND_COUNT,
            "stepCents": ROUND_STEP_CENTS,
            "fromCents": ROUND_FROM_CENTS,
        },
    ),
    Detector(
        "micro_entry_abuse",
        "Many ACH entries under $1 without a debit beside them; on the program when no single entity sent so many.",
        (
            Trigger(trs_v1_amount.MICRO.id, micro_sender_subject, MEDIUM, HOURS_24),
            Trigger(trs_v1_amount.MICRO.id, micro_program_subject, MEDIUM, HOURS_24),
        ),
        ("entity_micro_entries_24h", "program_micro_entries_24h", "entity_forward_debits_24h"),
        {"count24h": trs_v1_amount.MICRO_COUNT, "belowCents": MICRO_BELOW_CENTS},
    ),
)
_TIMING: Final = (
    Detector(
        "velocity_spike",
        "Far more transfers in a day than usual, and half as many again as on the entity's busiest day of 5 weeks; or "
        "so with cents, which are also half as much again as the program's 95th percentile.",
        (Trigger(trs_v1_timing.VELOCITY.id, actor_subject, MEDIUM, HOURS_24, grade_velocity),),
        (
            "velocity_24h_count",
            "velocity_24h_sum_cents",
            "entity_count_30d",
            "entity_sum_cents_30d",
            "program_median_cents",
        ),
        {
            "countFloor": trs_v1_timing.VELOCITY_COUNT_FLOOR,
            "sumFloorCents": trs_v1_timing.VELOCITY_SUM_FLOOR_CENTS,
            "factor": trs_v1_timing.VELOCITY_FACTOR,
            "busiestDayPercent": BUSIEST_PERCENT,
        },
    ),
    Detector(
        "dormant_reactivation",
        "The first transfer after a long silence, and a large one; high after a year and outgoing.",
        (Trigger(trs_v1_timing.DORMANT.id, actor_subject, MEDIUM, DAYS_7, grade_dormant),),
        ("typology_dormant_days", "velocity_24h_sum_cents", "program_p95_cents"),
        {
            "days": trs_v1_timing.DORMANT_DAYS,
            "highFromDays": DORMANT_HIGH_DAYS,
            "sumFloorCents": trs_v1_timing.DORMANT_SUM_CENTS,
        },
        severities=(Severity.HIGH,),
    ),
)
_FAN_THRESHOLDS: Final = {
    "shortCount": trs_v1_flow.FAN_COUNT,
    "longCount": trs_v1_flow.FAN_COUNT_LONG,
    "usualFactor": USUAL_WEEK_FACTOR,
}
_FLOW: Final = (
    Detector(
        "fan_in",
        "Many payers of one side.",
        (Trigger(trs_v1_flow.FAN_IN.id, payee_subject, MEDIUM, DAYS_7),),
        ("fan_in_count_24h", "fan_in_count_7d", "fan_in_usual_week"),
        _FAN_THRESHOLDS,
    ),
    Detector(
        "fan_out",
        "Many payees of one side.",
        (Trigger(trs_v1_flow.FAN_OUT.id, payer_subject, MEDIUM, DAYS_7),),
        ("fan_out_count_8h", "fan_out_count_24h", "fan_out_count_7d", "fan_out_usual_week"),
        _FAN_THRESHOLDS,
    ),
    Detector(
        "scatter_gather",
        "Spread over middle sides and collected again.",
        (Trigger(trs_v1_flow.SCATTER_GATHER.id, payee_subject, HIGH, DAYS_7),),
        ("scatter_gather_middles", "fan_in_count_7d"),
        {"middles": SCATTER_GATHER_MIDDLES},
    ),
    Detector(
        "gather_scatter",
        "Collected from many and spread to many.",
        (Trigger(trs_v1_flow.GATHER_SCATTER.id, payer_subject, HIGH, DAYS_7),),
        ("gathered_count_7d", "gathered_usual_week", "fan_out_count_7d", "fan_out_usual_week"),
        {"count7d": trs_v1_flow.GATHER_SCATTER_COUNT, "usualFactor": USUAL_WEEK_FACTOR},
    ),
    Detector(
        "rapid_in_out",
        "What came in goes out again within two days: it was there before, at most a fifth is left, and it is half as "
        "much again as the most that came in in two days of the last 5 weeks.",
        (Trigger(trs_v1_flow.RAPID.id, actor_subject, HIGH, DAYS_7, grade_rapid),),
        ("entity_in_cents_48h", "entity_out_cents_48h"),
        {
            "fromCents": trs_v1_flow.PASSED_ON_FROM_CENTS,
            "leftPercent": LEFT_PERCENT,
            "busiestPercent": BUSIEST_PERCENT,
        },
    ),
    Detector(
        "funnel_mule",
        "Money of many passed on at once, by somebody young, to a stranger or abroad.",
        (Trigger(trs_v1_flow.FUNNEL.id, actor_subject, HARD, DAYS_7),),
        (
            "gathered_count_24h",
            "gathered_count_7d",
            "entity_in_cents_48h",
            "entity_out_cents_48h",
            "entity_age_days",
            "counterparty_first_time",
            "counterparty_country",
        ),
        {**_FAN_THRESHOLDS, "youngDays": trs_v1_flow.YOUNG_DAYS},
    ),
    Detector(
        ROUND_TRIP,
        f"Money comes back to the side that it left; hard at {ROUND_TRIPS_HARD} times in 30 days.",
        (Trigger(trs_v1_flow.ROUND_TRIP.id, payee_subject, HIGH, DAYS_7, grade_round_trip),),
        ("typology_round_trip", "typology_layering_hops"),
        {"hardCount30d": ROUND_TRIPS_HARD},
        hard_when=f"at {ROUND_TRIPS_HARD} in 30 days",
    ),
    Detector(
        "layering_hops",
        "The end of a chain through several hands.",
        (Trigger(trs_v1_flow.LAYERING.id, chain_end_subject, HIGH, DAYS_7),),
        ("typology_layering_hops", "layering_least_cents"),
        {"hops": trs_v1_flow.LAYERING_HOPS, "leastCents": trs_v1_flow.LAYERING_FROM_CENTS},
    ),
)

ON_MONEY: Final = (*_AMOUNT, *_TIMING, *_FLOW)
