"""Detectors of amounts, of time and of the shapes that money makes.

Source  the reasons' own (``docs/reasons.md``); windows and what conditions add are [P]
"""

from typing import Final

from features.catalogue.thresholds import STRUCTURING_THRESHOLDS_CENTS, STRUCTURING_ZONE_FROM_PERCENT
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
    micro_program,
    micro_sender,
    the_chain_end,
    the_structurer,
    weigh_dormant,
    weigh_rapid,
    weigh_round_trip,
    weigh_structuring,
    weigh_velocity,
)
from features.detectors.detector import HARD, HIGH, LOW, MEDIUM, ONCE, Detector, Line
from features.detectors.subjects import the_actor, the_payee, the_payer, the_transfer
from features.scorers.trs_v1 import amount as trs_v1_amount
from features.scorers.trs_v1 import flow as trs_v1_flow
from features.scorers.trs_v1 import timing as trs_v1_timing

_AMOUNT: Final = (
    Detector(
        STRUCTURING,
        "Several transfers just under one reporting threshold, of one entity or of 3 with one counterparty; hard when "
        "the subject was decided on before.",
        (Line(trs_v1_amount.STRUCTURING.id, the_structurer, HIGH, DAYS_30, weigh_structuring),),
        ("structuring_24h_count", "structuring_window_count"),
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
        (Line(trs_v1_amount.SPIKE.id, the_transfer, MEDIUM, ONCE),),
        ("entity_median_cents_90d", "entity_n_90d", "program_median_cents", "program_p95_cents", "program_n_90d"),
        {"factor": trs_v1_amount.SPIKE_FACTOR},
    ),
    Detector(
        "repeated_amount",
        "The same amount again and again within a day.",
        (Line(trs_v1_amount.REPEATED.id, the_actor, LOW, HOURS_24),),
        ("repeated_amount_24h", "velocity_24h_count"),
        {"count24h": trs_v1_amount.REPEATED_COUNT},
    ),
    Detector(
        "round_amount",
        "Large round amounts within a month.",
        (Line(trs_v1_amount.ROUND.id, the_actor, LOW, DAYS_30),),
        ("round_amount_30d", "entity_count_30d"),
        {
            "count30d": trs_v1_amount.ROUND_COUNT,
            "stepCents": trs_v1_amount.ROUND_STEP_CENTS,
            "fromCents": trs_v1_amount.ROUND_FROM_CENTS,
        },
    ),
    Detector(
        "micro_entry_abuse",
        "Many ACH entries under $1 without a debit beside them; on the program when no single entity sent so many.",
        (
            Line(trs_v1_amount.MICRO.id, micro_sender, MEDIUM, HOURS_24),
            Line(trs_v1_amount.MICRO.id, micro_program, MEDIUM, HOURS_24),
        ),
        ("entity_micro_24h", "program_micro_24h", "entity_forward_debits_24h"),
        {"count24h": trs_v1_amount.MICRO_COUNT, "belowCents": trs_v1_amount.MICRO_BELOW_CENTS},
    ),
)
_TIMING: Final = (
    Detector(
        "velocity_spike",
        "Far more transfers in a day than usual, and half as many again as on the entity's busiest day of 5 weeks; or "
        "so with cents, which are also half as much again as the program's 95th percentile.",
        (Line(trs_v1_timing.VELOCITY.id, the_actor, MEDIUM, HOURS_24, weigh_velocity),),
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
        (Line(trs_v1_timing.DORMANT.id, the_actor, MEDIUM, DAYS_7, weigh_dormant),),
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
    "usualFactor": trs_v1_flow.USUAL_FACTOR,
}
_FLOW: Final = (
    Detector(
        "fan_in",
        "Many payers of one side.",
        (Line(trs_v1_flow.FAN_IN.id, the_payee, MEDIUM, DAYS_7),),
        ("fan_in_24h", "fan_in_7d", "fan_in_usual_week"),
        _FAN_THRESHOLDS,
    ),
    Detector(
        "fan_out",
        "Many payees of one side.",
        (Line(trs_v1_flow.FAN_OUT.id, the_payer, MEDIUM, DAYS_7),),
        ("fan_out_8h", "fan_out_24h", "fan_out_7d", "fan_out_usual_week"),
        _FAN_THRESHOLDS,
    ),
    Detector(
        "scatter_gather",
        "Spread over middle sides and collected again.",
        (Line(trs_v1_flow.SCATTER_GATHER.id, the_payee, HIGH, DAYS_7),),
        ("scatter_gather_middles", "fan_in_7d"),
        {"middles": trs_v1_flow.MIDDLES},
    ),
    Detector(
        "gather_scatter",
        "Collected from many and spread to many.",
        (Line(trs_v1_flow.GATHER_SCATTER.id, the_payer, HIGH, DAYS_7),),
        ("gathered_7d", "gathered_usual_week", "fan_out_7d", "fan_out_usual_week"),
        {"count7d": trs_v1_flow.GATHER_SCATTER_COUNT, "usualFactor": trs_v1_flow.USUAL_FACTOR},
    ),
    Detector(
        "rapid_in_out",
        "What came in goes out again within two days: it was there before, at most a fifth is left, and it is half as "
        "much again as the most that came in in two days of the last 5 weeks.",
        (Line(trs_v1_flow.RAPID.id, the_actor, HIGH, DAYS_7, weigh_rapid),),
        ("entity_in_48h_cents", "entity_out_48h_cents"),
        {
            "fromCents": trs_v1_flow.PASSED_ON_FROM_CENTS,
            "leftPercent": LEFT_PERCENT,
            "busiestPercent": BUSIEST_PERCENT,
        },
    ),
    Detector(
        "funnel_mule",
        "Money of many passed on at once, by somebody young, to a stranger or abroad.",
        (Line(trs_v1_flow.FUNNEL.id, the_actor, HARD, DAYS_7),),
        (
            "gathered_24h",
            "gathered_7d",
            "entity_in_48h_cents",
            "entity_out_48h_cents",
            "entity_age_days",
            "counterparty_first_time",
            "counterparty_country",
        ),
        {**_FAN_THRESHOLDS, "youngDays": trs_v1_flow.YOUNG_DAYS},
    ),
    Detector(
        ROUND_TRIP,
        f"Money comes back to the side that it left; hard at {ROUND_TRIPS_HARD} times in 30 days.",
        (Line(trs_v1_flow.ROUND_TRIP.id, the_payee, HIGH, DAYS_7, weigh_round_trip),),
        ("typology_round_trip", "typology_layering_hops"),
        {"hardCount30d": ROUND_TRIPS_HARD},
        hard_when=f"at {ROUND_TRIPS_HARD} in 30 days",
    ),
    Detector(
        "layering_hops",
        "The end of a chain through several hands.",
        (Line(trs_v1_flow.LAYERING.id, the_chain_end, HIGH, DAYS_7),),
        ("typology_layering_hops", "layering_least_cents"),
        {"hops": trs_v1_flow.LAYERING_HOPS, "leastCents": trs_v1_flow.LAYERING_FROM_CENTS},
    ),
)

ON_MONEY: Final = (*_AMOUNT, *_TIMING, *_FLOW)
