"""Cases of the signals that hold a transfer against its entity's own habit; the median of the program is 100.00."""

from typing import Final

from tests.checks.trs_v1_case import Case

UNKNOWN: Final = {"entity_prior_transfers": 9}
USUAL_DAY: Final = {"velocity_count_6h": 4, "entity_busiest_day_count_35d": 4}
NEW: Final = {"pair_first_time": True, "program_median_cents": 100_00, "entity_p90_cents_90d": 1_000_000_00}
SELDOM: Final = {"pair_first_time": True, "entity_n_90d": 40, "payer_new_payees_90d": 2}
BACK: Final = {"amount_cents": 80_00, "pair_other_way_cents_24h": 100_00}
HABIT: Final = {
    "card amounts alike": Case(
        *("TRS-AMT-09", 6, {"rail": "card", "repeated_amount_count_24h": 3}),
        ({"repeated_amount_count_24h": 2}, {"pair_regular": True}, UNKNOWN),
        "card",
    ),
    "more card amounts alike": Case(
        *("TRS-AMT-09", 8, {"rail": "card", "repeated_amount_count_24h": 4}), (UNKNOWN,), "card"
    ),
    "two in an hour": Case(
        "TRS-VEL-03", 4, {"velocity_count_1h": 2, "velocity_count_6h": 2}, ({"velocity_count_1h": 1}, UNKNOWN)
    ),
    "three in an hour": Case(
        "TRS-VEL-03", 10, {"velocity_count_1h": 3, "velocity_count_6h": 3}, ({"velocity_count_1h": None}, USUAL_DAY)
    ),
    "three days in six hours": Case(
        *("TRS-VEL-04", 8, {"velocity_count_6h": 4, "entity_count_30d": 40}),
        ({"velocity_count_6h": 3}, {"entity_count_30d": 41}, USUAL_DAY, UNKNOWN),
    ),
    "four days in six hours": Case(
        "TRS-VEL-04", 14, {"velocity_count_6h": 4, "entity_count_30d": 30}, ({"velocity_count_6h": None}, UNKNOWN)
    ),
    "an odd hour": Case(
        *("TRS-VEL-05", 4, {"entity_usual_hour_percent": 7}),
        ({"entity_usual_hour_percent": 8}, {"entity_usual_hour_percent": None}),
    ),
    "new to each other, half of what is usual": Case(
        *("TRS-CPY-07", 5, NEW | {"entity_p90_cents_90d": 200_00}),
        ({"entity_p90_cents_90d": 200_01}, {"pair_first_time": None}, {"entity_p90_cents_90d": None}, UNKNOWN),
    ),
    "new to each other": Case(
        "TRS-CPY-08", 3, NEW, ({"pair_first_time": False}, {"program_median_cents": None}, UNKNOWN)
    ),
    "new to each other, three times the median": Case(
        *("TRS-CPY-08", 8, NEW | {"amount_cents": 300_00}), ({"pair_first_time": False},)
    ),
    "new to each other, ten times the median": Case(
        *("TRS-CPY-08", 16, NEW | {"amount_cents": 1_000_00}), ({"pair_first_time": False},)
    ),
    "one of twenty is new": Case(
        *("TRS-CPY-10", 8, SELDOM),
        ({"payer_new_payees_90d": 3}, {"pair_first_time": False}, {"payer_new_payees_90d": None}),
    ),
    "one of twenty who pay is new": Case(
        *("TRS-CPY-10", 8, SELDOM | {"direction": "incoming", "payee_new_payers_90d": 2, "payer_new_payees_90d": 40}),
        ({"payee_new_payers_90d": 3},),
    ),
    "one of fifty is new": Case(
        *("TRS-CPY-10", 15, SELDOM | {"entity_n_90d": 50, "payer_new_payees_90d": 1}), ({"entity_n_90d": 9},)
    ),
    "two new parties": Case("TRS-CPY-09", 4, {"entity_new_parties_6h": 2}, ({"entity_new_parties_6h": 1}, UNKNOWN)),
    "three new parties": Case("TRS-CPY-09", 6, {"entity_new_parties_6h": 3}, ({"entity_new_parties_6h": None},)),
    "in and out": Case(
        *("TRS-FLO-09", 5, {"entity_received_count_6h": 1}),
        ({"entity_received_count_6h": 0}, {"entity_paid_count_6h": 0}, UNKNOWN),
    ),
    "in and out again": Case(
        *("TRS-FLO-09", 20, {"entity_received_count_6h": 2, "entity_paid_count_6h": 2}),
        ({"entity_received_count_6h": None},),
    ),
    "four fifths come back": Case(
        *("TRS-FLO-10", 30, BACK), ({"amount_cents": 79_99}, {"pair_other_way_cents_24h": None}, UNKNOWN)
    ),
    "a little more comes back": Case("TRS-FLO-10", 30, BACK | {"amount_cents": 105_00}, ({"amount_cents": 105_01},)),
    "one quick hop": Case("TRS-FLO-11", 12, {"quick_hops_2h": 1}, ({"quick_hops_2h": 0}, UNKNOWN)),
    "two quick hops": Case("TRS-FLO-11", 30, {"quick_hops_2h": 2}, ({"quick_hops_2h": None}, UNKNOWN)),
}
PAYING: Final = {
    "it came just before": Case(
        *("TRS-FLO-12", 6, {"entity_received_cents_2h": 80_00}),
        ({"entity_received_cents_2h": 79_99}, {"entity_received_cents_2h": None}, UNKNOWN, {"direction": "incoming"}),
    ),
}
CASES: Final = HABIT | PAYING
