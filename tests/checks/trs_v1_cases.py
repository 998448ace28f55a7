"""Cases of the rules on amounts, timing, relationships, identity, places and history."""

from typing import Final

from tests.checks.trs_v1_case import BUT_CARD, BUT_CHECK_AND_CARD, Case

IN_ZONE: Final = {"amount_cents": 2_500_00, "program_p95_cents": 5_000_00, "program_median_cents": 2_500_00}
YOUNG: Final = {"entity_count_30d": 9, "entity_sum_cents_30d": 1_000_00}
LARGE_FIRST: Final = {"counterparty_first_time": True, "amount_cents": 2_500_00, "program_median_cents": 2_500_00}
RARE_PAIR: Final = {"pair_first_time": True, "payer_new_payees_90d": 3, "payee_new_payers_90d": 3}
MICRO: Final = {"rail": "ach", "amount_cents": 99, "entity_micro_entries_24h": 10, "program_micro_entries_24h": 9}

AMOUNT: Final = {
    "structuring in a day": Case(
        "TRS-AMT-01",
        10,
        IN_ZONE | {"structuring_count_24h": 3, "structuring_window_count": 3},
        ({"structuring_count_24h": 2}, {"amount_cents": 2_399_99}, {"amount_cents": 3_000_00}, {"pair_regular": True}),
        BUT_CARD,
    ),
    "structuring in a week": Case(
        "TRS-AMT-01",
        10,
        IN_ZONE | {"amount_cents": 9_999_99, "structuring_count_24h": 1, "structuring_window_count": 4},
        ({"structuring_window_count": 3}, {"amount_cents": 7_999_99}, {"amount_cents": 10_000_00}),
        BUT_CARD,
    ),
    "just below": Case(
        "TRS-AMT-02",
        4,
        {"typology_just_below_threshold": True},
        ({"typology_just_below_threshold": False},),
        BUT_CARD,
    ),
    # 40 of the entity against 20 of the program: (40 x 250.00 + 20 x 100.00) / 60 = 200.00, and 3 times that
    "amount spike, own median": Case(
        "TRS-AMT-03",
        10,
        {"amount_cents": 600_01, "entity_median_cents_90d": 250_00},
        (
            {"amount_cents": 600_00},
            {"entity_median_cents_90d": 250_01},
            {"entity_n_90d": 41},
            {"program_median_cents": 100_01},
            {"program_p95_cents": 600_01},
            {"program_median_cents": None, "program_p95_cents": None, "program_n_90d": None},
        ),
    ),
    "amount spike, ten times the median": Case(
        "TRS-AMT-03",
        18,
        {"amount_cents": 2_000_00, "entity_median_cents_90d": 250_00},
        ({"program_median_cents": None, "program_p95_cents": None, "program_n_90d": None},),
    ),
    "amount spike, the program's median": Case(
        "TRS-AMT-03",
        10,
        {"amount_cents": 500_01, "entity_median_cents_90d": None, "program_median_cents": 166_66},
        ({"amount_cents": 500_00}, {"program_median_cents": 166_67}),
    ),
    "amount spike, of one that deals with the counterparty first but has a usual": Case(
        "TRS-AMT-03",
        18,
        {"amount_cents": 2_500_00, "counterparty_first_time": True, "rail": "wire"},
        ({"entity_median_cents_90d": None},),
    ),
    "repeated amount": Case(
        "TRS-AMT-04",
        6,
        {"repeated_amount_count_24h": 5, "pair_regular": False},
        ({"repeated_amount_count_24h": 4}, {"pair_regular": True}),
        BUT_CHECK_AND_CARD,
    ),
    "round amount": Case(
        "TRS-AMT-05",
        6,
        {"round_amount_count_30d": 3, "amount_cents": 5_000_00},
        (
            {"round_amount_count_30d": 2},
            {"amount_cents": 4_000_00},
            {"amount_cents": 5_000_01},
            {"amount_cents": 5_500_00},
        ),
        BUT_CHECK_AND_CARD,
    ),
    "micro-entries of the entity": Case(
        "TRS-AMT-06",
        12,
        MICRO,
        (
            {"entity_micro_entries_24h": 9},
            {"amount_cents": 1_00},
            {"entity_forward_debits_24h": 1},
        ),
        "ach",
    ),
    "micro-entries of the program": Case(
        "TRS-AMT-06",
        12,
        MICRO | {"entity_micro_entries_24h": 1, "program_micro_entries_24h": 10},
        ({"program_micro_entries_24h": 9},),
        "ach",
    ),
}
TIMING: Final = {
    "often in a day": Case(
        "TRS-VEL-01",
        12,
        {"velocity_24h_count": 6, "entity_count_30d": 60, "entity_busiest_day_count_35d": 4},
        (
            {"velocity_24h_count": 5},
            {"entity_count_30d": 61},
            {"entity_busiest_day_count_35d": 5},
            {"entity_busiest_day_count_35d": None},
        ),
    ),
    "often in a day of a quiet month": Case(
        "TRS-VEL-01", 12, {"velocity_24h_count": 5, "entity_count_30d": 10}, ({"velocity_24h_count": 4},)
    ),
    "often, for one that is hardly known": Case(
        "TRS-VEL-01",
        12,
        YOUNG | {"velocity_24h_count": 5},
        ({"velocity_24h_count": 4}, {"program_median_cents": None, "program_p95_cents": None, "program_n_90d": None}),
    ),
    "often, in a program without a baseline": Case(
        "TRS-VEL-01",
        12,
        {"velocity_24h_count": 5, "entity_count_30d": 10, "program_median_cents": None, "program_p95_cents": None},
        ({"entity_count_30d": 9},),
    ),
    "much in a day, for a usual of nothing": Case(
        "TRS-VEL-01",
        12,
        {"velocity_24h_sum_cents": 2_500_00, "entity_sum_cents_30d": 0},
        ({"velocity_24h_sum_cents": 2_499_99}, {"entity_busiest_day_cents_35d": None}),
    ),
    "much in a day, beside the busiest day": Case(
        "TRS-VEL-01",
        12,
        {"velocity_24h_sum_cents": 3_000_00, "entity_sum_cents_30d": 0, "entity_busiest_day_cents_35d": 2_000_00},
        ({"velocity_24h_sum_cents": 2_999_99}, {"entity_busiest_day_cents_35d": 2_000_01}),
    ),
    "much in a day": Case(
        "TRS-VEL-01",
        12,
        {"velocity_24h_sum_cents": 2_500_00, "entity_sum_cents_30d": 25_000_00, "entity_count_30d": 10},
        ({"velocity_24h_sum_cents": 2_499_99}, {"entity_sum_cents_30d": 25_000_01}),
    ),
    # (9 x 1,000.00 / 30 + 20 x 1,435.00) / 29 = 1,000.00 a day
    "much, for one that is hardly known": Case(
        "TRS-VEL-01",
        12,
        YOUNG | {"velocity_24h_sum_cents": 3_000_00, "program_median_cents": 1_435_00, "program_p95_cents": 9_000_00},
        (
            {"velocity_24h_sum_cents": 2_999_99},
            {"program_median_cents": 1_435_01},
            {"entity_sum_cents_30d": 1_000_04},
            {"program_median_cents": None, "program_p95_cents": None},
        ),
    ),
    "much at the second transfer, for one that is hardly known": Case(
        "TRS-VEL-01",
        12,
        YOUNG | {"amount_cents": 9_000_00, "velocity_24h_sum_cents": 9_000_00, "velocity_24h_count": 2},
        ({"velocity_24h_count": 1},),
    ),
    "asleep, then large": Case(
        "TRS-VEL-02",
        15,
        {"typology_dormant_days": 90, "amount_cents": 500_00},
        (
            {"typology_dormant_days": 89},
            {"typology_dormant_days": None},
            {"amount_cents": 499_99},
            {"program_p95_cents": None},
        ),
    ),
    "asleep, then much": Case(
        "TRS-VEL-02",
        15,
        {"typology_dormant_days": 400, "velocity_24h_sum_cents": 5_000_00},
        ({"velocity_24h_sum_cents": 4_999_99}, {"typology_dormant_days": 0}),
    ),
}
RELATIONSHIP: Final = {
    "first time": Case(
        "TRS-CPY-01",
        5,
        {"counterparty_first_time": True},
        ({"counterparty_first_time": False}, {"counterparty_first_time": None}),
        BUT_CARD,
    ),
    "first time and large": Case(
        "TRS-CPY-02",
        20,
        LARGE_FIRST,
        (
            {"amount_cents": 2_499_99},
            {"program_p95_cents": 2_500_01},
            {"program_p95_cents": None},
            {"counterparty_first_time": None},
            {"moved": False},
        ),
        BUT_CARD,
    ),
    "another account": Case(
        "TRS-CPY-03", 20, {"counterparty_account_changed": True}, ({"counterparty_account_changed": False},)
    ),
    "many strangers": Case(
        "TRS-CPY-04",
        12,
        {"entity_new_counterparties_24h": 5},
        ({"entity_new_counterparties_24h": 4},),
        BUT_CARD,
    ),
    "a shared account": Case(
        "TRS-CPY-05",
        20,
        {"counterparty_shared_entities_30d": 3},
        ({"counterparty_shared_entities_30d": 2},),
        "ach wire realtime",
    ),
    **{
        f"a rare new pair, {rare} of {n} are such": Case(
            "TRS-CPY-06",
            weight,
            RARE_PAIR | {"program_rare_pairs_90d": rare, "program_transfers_90d": n},
            (
                *misses,
                {"pair_first_time": False},
                {"pair_first_time": None},
                {"payer_new_payees_90d": 4},
                {"payer_new_payees_90d": None},
                {"payee_new_payers_90d": 4},
                {"payee_new_payers_90d": None},
            ),
            BUT_CARD,
        )
        for rare, n, weight, misses in (
            (1, 100, 30, ({"program_transfers_90d": 99, "program_rare_pairs_90d": 0}, {"program_rare_pairs_90d": 4})),
            (10, 1_000, 30, ({"program_rare_pairs_90d": 31},)),
            (11, 1_000, 15, ({"program_rare_pairs_90d": 31},)),
            (30, 1_000, 15, ({"program_transfers_90d": 999}, {"program_paired_count_90d": 999})),
        )
    },
}
IDENTITY: Final = {
    "denied": Case(
        "TRS-KYC-01",
        60,
        {"entity_verification_status": "DENIED"},
        ({"entity_verification_status": "VERIFIED"}, {"entity_verification_status": None}, {"moved": False}),
        hard=True,
    ),
    "denied, in a vector kept before attempts were told apart": Case(
        "TRS-KYC-01", 60, {"entity_verification_status": "DENIED", "moved": None}, (), hard=True
    ),
    "denied and trying": Case(
        "TRS-KYC-03",
        15,
        {"entity_verification_status": "DENIED", "moved": False},
        ({"moved": True}, {"entity_verification_status": "PENDING"}, {"entity_verification_status": None}),
    ),
    **{
        f"{status} and moving": Case(
            "TRS-KYC-02",
            15,
            {"entity_verification_status": status},
            ({"entity_verification_status": "VERIFIED"}, {"entity_verification_status": None}, {"moved": False}),
        )
        for status in ("UNVERIFIED", "PENDING", "MANUAL_REVIEW")
    },
    "exposed person": Case(
        "TRS-SCR-01",
        15,
        {"entity_pep_status": "yes"},
        ({"entity_pep_status": "potential"}, {"entity_pep_status": "not_checked"}, {"entity_pep_status": None}),
    ),
    "perhaps an exposed person": Case(
        "TRS-SCR-02", 8, {"entity_pep_status": "potential"}, ({"entity_pep_status": "no"},)
    ),
    "high risk": Case(
        "TRS-SCR-03", 15, {"entity_is_high_risk": True}, ({"entity_is_high_risk": False}, {"entity_is_high_risk": None})
    ),
    "never screened": Case(
        "TRS-SCR-04",
        20,
        {"entity_requires_screening": True, "entity_screening_age_days": None},
        ({"entity_screening_age_days": 0}, {"entity_requires_screening": False}, {"entity_requires_screening": None}),
    ),
    "screened long ago": Case(
        "TRS-SCR-05",
        8,
        {"entity_screening_age_days": 181, "entity_rescreen_days": 180},
        (
            {"entity_screening_age_days": 180},
            {"entity_screening_age_days": None},
            {"entity_rescreen_days": 181},
            {"entity_rescreen_days": None},
        ),
    ),
    "fraud risk": Case(
        "TRS-SCR-07", 20, {"entity_fraud_risk": True}, ({"entity_fraud_risk": False}, {"entity_fraud_risk": None})
    ),
}
PLACE: Final = {
    **{
        f"call for action: {country}": Case(
            "TRS-GEO-01",
            40,
            {"counterparty_country": country},
            ({"counterparty_country": "CU"}, {"counterparty_country": None}),
            hard=True,
        )
        for country in ("IR", "KP", "MM")
    },
    "increased monitoring": Case(
        "TRS-GEO-02",
        12,
        {"counterparty_country": "VE"},
        ({"counterparty_country": "ES"}, {"counterparty_country": None}),
    ),
    **{
        f"sanctioned: {country}": Case(
            "TRS-GEO-03",
            40,
            {"counterparty_country": country},
            ({"counterparty_country": "MM"}, {"counterparty_country": "SY"}, {"counterparty_country": None}),
            hard=True,
        )
        for country in ("CU", "IR", "KP")
    },
    "unknown country": Case(
        "TRS-GEO-04",
        20,
        {"counterparty_country": None, "rail": "intl_wire"},
        ({"counterparty_country": "DE", "rail": "intl_wire"}, {"counterparty_country": None, "rail": "wire"}),
        rails="intl_wire",
    ),
    "undeclared country": Case(
        "TRS-DEC-01",
        20,
        {"counterparty_country": "FR"},
        ({"counterparty_country": "DE"}, {"counterparty_country": None}, {"declared_countries": ""}),
    ),
    "undeclared rail": Case(
        "TRS-DEC-02",
        15,
        {"rail": "intl_wire"},
        ({"rail": "wire"}, {"declared_rails": ""}, {"declared_rails": "ach,intl_wire"}),
        "realtime book intl_wire check card",
    ),
    "undeclared rail whose name is part of a declared one": Case(
        "TRS-DEC-02",
        15,
        {"rail": "wire", "declared_rails": "intl_wire"},
        ({"rail": "intl_wire"},),
        "ach wire realtime book check card",
    ),
}
HISTORY: Final = {
    "clean history": Case(
        "TRS-HIS-01",
        -5,
        {"entity_prior_transfers": 60, "counterparty_n": 5, "pair_count_of_newest_64": 5},
        (
            {"entity_prior_transfers": 59},
            {"counterparty_n": 5_000, "pair_count_of_newest_64": 4},
            {"pair_count_of_newest_64": None},
            {"entity_prior_returns": 1},
            {"counterparty_prior_returns": 1},
        ),
    ),
}
CASES: Final = AMOUNT | TIMING | RELATIONSHIP | IDENTITY | PLACE | HISTORY
