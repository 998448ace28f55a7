"""Cases of the rules on flow, returns and cards."""

from typing import Final

from tests.checks.trs_v1_case import BUT_CARD, BUT_CHECK_AND_CARD, Case

GATHER_SCATTER: Final = {
    "gathered_count_7d": 5,
    "gathered_usual_week": 1,
    "fan_out_count_7d": 5,
    "fan_out_usual_week": 1,
}
PASSED_ON: Final = {
    "entity_in_cents_48h": 1_000_00,
    "entity_out_cents_48h": 800_00,
    "entity_peak_cents_48h": 1_000_00,
    "entity_left_cents_48h": 200_00,
    "entity_new_money_cents_48h": 1_000_00,
}
FUNNEL: Final = PASSED_ON | {"gathered_count_24h": 5, "gathered_usual_week": 1}
FUNNEL_OF_A_WEEK: Final = PASSED_ON | {"gathered_count_7d": 8, "gathered_usual_week": 2}
CHAIN: Final = {"typology_layering_hops": 3, "layering_least_cents": 1_000_00}
FLOAT: Final = {
    "rail": "realtime",
    "entity_pulled_cents_2bd": 1_000_01,
    "entity_fast_out_cents_2bd": 800_01,
    "entity_age_days": 30,
}
SENT_DEBIT: Final = {"rail": "ach", "direction": "outgoing", "type": "DEBIT"}
ATTACK: Final = {"program_card_attempts_1h": 50, "program_card_declines_1h": 20, "program_card_small_count_1h": 25}
MIX: Final = {
    "program_card_attempts_24h": 100,
    "program_card_fraud_declines_24h": 10,
    "program_card_attempts_30d": 1_000,
    "program_card_fraud_declines_30d": 50,
}

FLOW: Final = {
    "many payers of one that has no usual yet": Case(
        "TRS-FLO-01",
        0,
        {"fan_in_count_24h": 5, "fan_in_usual_week": None},
        ({"fan_in_count_24h": 4},),
        BUT_CHECK_AND_CARD,
    ),
    "many payers in the week of one that has no usual yet": Case(
        "TRS-FLO-01",
        0,
        {"fan_in_count_7d": 8, "fan_in_usual_week": None},
        ({"fan_in_count_7d": 7},),
        BUT_CHECK_AND_CARD,
    ),
    "many payers in a day": Case(
        "TRS-FLO-01",
        0,
        {"fan_in_count_24h": 6, "fan_in_usual_week": 2},
        ({"fan_in_count_24h": 4, "fan_in_usual_week": None}, {"fan_in_count_24h": 5}, {"fan_in_usual_week": 3}),
        BUT_CHECK_AND_CARD,
    ),
    "many payers in a week": Case(
        "TRS-FLO-01",
        0,
        {"fan_in_count_7d": 8, "fan_in_usual_week": 2},
        ({"fan_in_count_7d": 7, "fan_in_usual_week": None}, {"fan_in_usual_week": 3}),
        BUT_CHECK_AND_CARD,
    ),
    "many payees in a morning": Case(
        "TRS-FLO-02",
        0,
        {"fan_out_count_8h": 5, "fan_out_count_24h": 5, "fan_out_usual_week": 1, "fan_out_new_count_24h": 3},
        (
            {"fan_out_count_8h": 4, "fan_out_usual_week": None},
            {"fan_out_usual_week": 2},
            {"fan_out_new_count_24h": 2},
        ),
        BUT_CHECK_AND_CARD,
    ),
    "many payees in a day": Case(
        "TRS-FLO-02",
        0,
        {"fan_out_count_24h": 8, "fan_out_usual_week": 2},
        ({"fan_out_count_24h": 7, "fan_out_usual_week": None}, {"fan_out_usual_week": 3}),
        BUT_CHECK_AND_CARD,
    ),
    "spread and collected": Case(
        "TRS-FLO-03", 0, {"scatter_gather_middles": 3}, ({"scatter_gather_middles": 2},), BUT_CHECK_AND_CARD
    ),
    "collected and spread": Case(
        "TRS-FLO-04",
        25,
        GATHER_SCATTER,
        (
            {"direction": "incoming"},
            {"gathered_count_7d": 4, "gathered_usual_week": None},
            {"gathered_usual_week": 2},
            {"fan_out_count_7d": 4, "fan_out_usual_week": None},
            {"fan_out_usual_week": 2},
        ),
        BUT_CHECK_AND_CARD,
    ),
    "passed on, almost all": Case(
        "TRS-FLO-05",
        15,
        PASSED_ON,
        (
            {"entity_in_cents_48h": 999_99},
            {"entity_in_cents_48h": 1_000_01},
            {"entity_out_cents_48h": 799_99},
            {"entity_left_cents_48h": 200_01},
            {"entity_peak_cents_48h": 999_99},
            {"entity_peak_cents_48h": 0, "entity_left_cents_48h": 0},
            {"entity_peak_cents_48h": None},
            {"entity_new_money_cents_48h": 999_99},
        ),
        BUT_CARD,
    ),
    "passed on, as somebody's debit": Case(
        "TRS-FLO-05",
        15,
        PASSED_ON | {"direction": "incoming", "type": "DEBIT", "rail": "ach"},
        ({"direction": "outgoing"}, {"type": "CREDIT"}, {"moved": False}),
        "ach",
    ),
    "passed on, and much more": Case("TRS-FLO-05", 15, PASSED_ON | {"entity_out_cents_48h": 5_000_00}, (), BUT_CARD),
    "known payers' money passed on to a stranger": Case(
        "TRS-FLO-05",
        15,
        PASSED_ON | {"entity_new_money_cents_48h": 0, "pair_first_time": True},
        ({"pair_first_time": False},),
        BUT_CARD,
    ),
    "known payers' money passed on to nobody known": Case(
        "TRS-FLO-05",
        15,
        PASSED_ON | {"entity_new_money_cents_48h": 0, "pair_first_time": None},
        (),
        BUT_CARD,
    ),
    "funnel of a young entity": Case(
        "TRS-FLO-06",
        35,
        FUNNEL | {"entity_age_days": 90},
        (
            {"entity_age_days": 91},
            {"entity_age_days": None},
            {"gathered_count_24h": 4, "gathered_usual_week": None},
            {"gathered_usual_week": 2},
            {"entity_out_cents_48h": 799_99},
            {"entity_in_cents_48h": 999_99},
            {"entity_left_cents_48h": 200_01},
            {"entity_peak_cents_48h": None},
        ),
        BUT_CARD,
        hard=True,
    ),
    "funnel of a week to a stranger": Case(
        "TRS-FLO-06",
        35,
        FUNNEL_OF_A_WEEK | {"counterparty_first_time": True},
        (
            {"counterparty_first_time": False},
            {"counterparty_first_time": None},
            {"gathered_count_7d": 7, "gathered_usual_week": None},
            {"gathered_usual_week": 3},
        ),
        BUT_CARD,
        hard=True,
    ),
    "funnel to an undeclared country": Case(
        "TRS-FLO-06",
        35,
        FUNNEL | {"counterparty_country": "FR"},
        ({"counterparty_country": "DE"}, {"counterparty_country": None}),
        BUT_CARD,
        hard=True,
    ),
    "funnel abroad, nothing declared": Case(
        "TRS-FLO-06",
        35,
        FUNNEL | {"counterparty_country": "DE", "declared_countries": ""},
        ({"counterparty_country": "US"}, {"counterparty_country": None}),
        BUT_CARD,
        hard=True,
    ),
    "round trip": Case(
        "TRS-FLO-07",
        25,
        {"typology_round_trip": True},
        ({"typology_round_trip": False}, {"typology_round_trip": None}),
        BUT_CARD,
    ),
    **{
        f"a chain of {hops} hops": Case(
            "TRS-FLO-08",
            weight,
            CHAIN | {"typology_layering_hops": hops},
            (
                {"typology_layering_hops": 2},
                {"typology_layering_hops": None},
                {"layering_least_cents": 999_99},
                {"layering_least_cents": None},
            ),
            BUT_CHECK_AND_CARD,
        )
        for hops, weight in ((3, 15), (4, 20), (5, 25), (6, 30), (7, 30))
    },
}
RETURNS: Final = {
    "one unauthorized return of the entity": Case(
        "TRS-RET-01",
        15,
        SENT_DEBIT | {"entity_unauthorized_returns_60d": 1},
        (
            {"entity_unauthorized_returns_60d": 0, "entity_prior_returns": 9},
            {"direction": "incoming"},
            {"type": "CREDIT"},
            {"type": None},
        ),
        "ach",
    ),
    "one of each": Case(
        "TRS-RET-01",
        15,
        SENT_DEBIT | {"entity_unauthorized_returns_60d": 1, "counterparty_unauthorized_returns_60d": 1},
        (),
        "ach",
    ),
    "two unauthorized returns of the entity": Case(
        "TRS-RET-01", 30, SENT_DEBIT | {"entity_unauthorized_returns_60d": 2}, (), "ach"
    ),
    "two unauthorized returns with the counterparty": Case(
        "TRS-RET-01",
        30,
        SENT_DEBIT | {"counterparty_unauthorized_returns_60d": 2},
        (
            {
                "counterparty_unauthorized_returns_60d": 0,
                "counterparty_prior_unauthorized_returns": 9,
                "counterparty_prior_returns": 9,
            },
        ),
        "ach",
    ),
    "an unauthorized return, and another debit is tried": Case(
        "TRS-RET-01", 15, SENT_DEBIT | {"entity_unauthorized_returns_60d": 1, "moved": False}, (), "ach"
    ),
    "a frozen account": Case(
        "TRS-RET-06", 30, {"counterparty_frozen_returns": 1}, ({"counterparty_frozen_returns": 0},), hard=True
    ),
    "a frozen account, tried again": Case(
        "TRS-RET-06", 30, {"counterparty_frozen_returns": 2, "moved": False}, (), hard=True
    ),
    "many returns": Case(
        "TRS-RET-02",
        20,
        {"rail": "ach", "entity_returns_30d": 2, "entity_ach_debits_30d": 10},
        (
            {"entity_returns_30d": 1, "entity_ach_debits_30d": 1},
            {"entity_ach_debits_30d": 11},
            {"entity_ach_debits_30d": 0},
        ),
        "ach",
    ),
    "a fifth of many": Case(
        "TRS-RET-02",
        20,
        {"rail": "ach", "entity_returns_30d": 20, "entity_ach_debits_30d": 100},
        ({"entity_returns_30d": 19}, {"entity_ach_debits_30d": 101}),
        "ach",
    ),
    "debited again": Case(
        "TRS-RET-03",
        20,
        {"rail": "ach", "type": "DEBIT", "counterparty_stop_return_days": 5},
        (
            {"type": "CREDIT"},
            {"type": None},
            {"direction": "incoming"},
            {"counterparty_stop_return_days": 6},
            {"counterparty_stop_return_days": None},
        ),
        "ach",
        hard=True,
    ),
    "probing": Case(
        "TRS-RET-04",
        20,
        {"rail": "ach", "entity_probing_returns_30d": 2},
        ({"entity_probing_returns_30d": 1},),
        "ach",
    ),
    "float of a young entity": Case(
        "TRS-RET-05",
        25,
        FLOAT,
        (
            {"direction": "incoming"},
            {"entity_age_days": 31},
            {"entity_age_days": None},
            {"entity_pulled_cents_2bd": 0},
            {"entity_pulled_cents_2bd": 1_000_02},
            {"entity_fast_out_cents_2bd": 800_00},
        ),
        "wire realtime intl_wire card",
    ),
    "float of a first debit": Case(
        "TRS-RET-05",
        25,
        FLOAT | {"entity_age_days": None, "entity_ach_debits_all": 1},
        ({"entity_ach_debits_all": 2}, {"entity_ach_debits_all": 0}),
        "wire realtime intl_wire card",
    ),
}
CARD: Final = {
    "a card declined again": Case(
        "TRS-CRD-01", 30, {"rail": "card", "card_declines_1h": 3}, ({"card_declines_1h": 2},), "card"
    ),
    "a card tried with little": Case(
        "TRS-CRD-01", 30, {"rail": "card", "card_small_count_1h": 5}, ({"card_small_count_1h": 4},), "card"
    ),
    "cards tried at the program": Case(
        "TRS-CRD-02",
        45,
        {"rail": "card"} | ATTACK,
        (
            {"program_card_attempts_1h": 49},
            {"program_card_attempts_1h": 51, "program_card_small_count_1h": 26},
            {"program_card_declines_1h": 19},
            {"program_card_small_count_1h": 24},
        ),
        "card",
        hard=True,
    ),
    "many cards tried at the program": Case(
        "TRS-CRD-02",
        45,
        {
            "rail": "card",
            "program_card_attempts_1h": 1_000,
            "program_card_declines_1h": 400,
            "program_card_small_count_1h": 500,
        },
        ({"program_card_declines_1h": 399}, {"program_card_small_count_1h": 499}, {"program_card_attempts_1h": 1_001}),
        "card",
        hard=True,
    ),
    "more fraud declines": Case(
        "TRS-CRD-03",
        12,
        {"rail": "card"} | MIX,
        (
            {"program_card_attempts_24h": 99, "program_card_fraud_declines_30d": 0},
            {"program_card_fraud_declines_24h": 9, "program_card_fraud_declines_30d": 0},
            {"program_card_attempts_24h": 101, "program_card_fraud_declines_30d": 0},
            {"program_card_fraud_declines_30d": 51},
            {"program_card_attempts_30d": 999},
        ),
        "card",
    ),
}
CASES: Final = FLOW | RETURNS | CARD
