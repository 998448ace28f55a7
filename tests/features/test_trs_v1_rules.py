"""trs-v1, rule by rule: what makes it fire, and what it stays silent for though almost everything fits."""

from typing import Any, Final, NamedTuple

import pytest

from features.reason import Reason, Score
from features.scorers import trs_v1
from features.scorers.trs_v1_rules import RULES
from features.vocabulary import Band, Rail
from tests.support.builders import a_vector


class Case(NamedTuple):
    """A rule's reason, what makes it fire, and what it stays silent for though almost everything fits."""

    rule: str
    reason_id: str
    weight: int
    fires: dict[str, Any]
    misses: tuple[dict[str, Any], ...]
    hard: bool = False


IN_ZONE: Final = {"amount_cents": 2_500_00, "program_p95_cents": 5_000_00, "program_median_cents": 2_500_00}
BUSY: Final = {"velocity_24h_count": 6, "entity_count_30d": 60, "velocity_24h_sum_cents": 100_00}
MUCH: Final = {"velocity_24h_sum_cents": 2_500_00, "entity_sum_cents_30d": 25_000_00}
ASLEEP: Final = {"typology_dormant_days": 90, "amount_cents": 500_00}
LARGE_FIRST: Final = {"counterparty_first_time": True, "amount_cents": 2_500_00, "program_median_cents": 2_500_00}
ABUSE: Final = {"rail": "ach", "type": "DEBIT", "entity_returns_30d": 2, "entity_ach_debits_30d": 10}
CLEAN: Final = {"entity_prior_transfers": 60, "counterparty_n": 20}

CASES: Final = {
    "structuring in a day": Case(
        "structuring_pattern",
        "TRS-AMT-01",
        30,
        {**IN_ZONE, "structuring_24h_count": 3, "structuring_window_count": 3},
        (
            {"structuring_24h_count": 2},
            {"rail": Rail.CARD, "declared_rails": ""},
            {"amount_cents": 2_399_99},
            {"amount_cents": 3_000_00},
        ),
    ),
    "structuring in a week": Case(
        "structuring_pattern",
        "TRS-AMT-01",
        30,
        {**IN_ZONE, "structuring_24h_count": 1, "structuring_window_count": 4},
        ({"structuring_window_count": 3}, {"amount_cents": 100_00}),
    ),
    "just below": Case(
        "just_below_threshold",
        "TRS-AMT-02",
        8,
        {"typology_just_below_threshold": True},
        ({"typology_just_below_threshold": False}, {"rail": Rail.CARD, "declared_rails": ""}),
    ),
    "amount spike": Case(
        "amount_spike",
        "TRS-AMT-03",
        15,
        {"amount_cents": 500_01},
        (
            {"amount_cents": 500_00},
            {"program_p95_cents": None, "program_median_cents": None, "program_n_90d": None},
            {"entity_sum_cents_90d": 10_000_00},
        ),
    ),
    "often in a day": Case(
        "velocity_spike",
        "TRS-VEL-01",
        15,
        BUSY,
        ({"velocity_24h_count": 5}, {"entity_count_30d": 61}, {"entity_count_30d": 9, "velocity_24h_count": 50}),
    ),
    "much in a day": Case(
        "velocity_spike",
        "TRS-VEL-01",
        15,
        MUCH,
        ({"velocity_24h_sum_cents": 2_499_99}, {"entity_sum_cents_30d": 25_000_01}, {"entity_count_30d": 9}),
    ),
    "asleep, then large": Case(
        "dormant_reactivation",
        "TRS-VEL-02",
        15,
        ASLEEP,
        ({"typology_dormant_days": 89}, {"typology_dormant_days": None}, {"amount_cents": 499_99}),
    ),
    "asleep, then much": Case(
        "dormant_reactivation",
        "TRS-VEL-02",
        15,
        {"typology_dormant_days": 400, "velocity_24h_sum_cents": 5_000_00, "entity_count_30d": 0},
        ({"velocity_24h_sum_cents": 4_999_99}, {"typology_dormant_days": 0}),
    ),
    "first time": Case(
        "first_time_counterparty",
        "TRS-CPY-01",
        5,
        {"counterparty_first_time": True},
        (
            {"counterparty_first_time": False},
            {"counterparty_first_time": None},
            {"rail": Rail.CARD, "declared_rails": ""},
        ),
    ),
    "first time and large": Case(
        "first_time_counterparty",
        "TRS-CPY-02",
        20,
        LARGE_FIRST,
        ({"amount_cents": 2_499_99}, {"program_p95_cents": 2_500_01}, {"counterparty_first_time": None}),
    ),
    "another account": Case(
        "changed_account_details",
        "TRS-CPY-03",
        15,
        {"counterparty_account_changed": True},
        ({"counterparty_account_changed": False},),
    ),
    "one unauthorized return of the entity": Case(
        "unauthorized_return",
        "TRS-RET-01",
        15,
        {"entity_unauthorized_returns_60d": 1},
        ({"entity_unauthorized_returns_60d": 0, "entity_prior_returns": 9},),
    ),
    "two unauthorized returns with the counterparty": Case(
        "unauthorized_return",
        "TRS-RET-01",
        30,
        {"counterparty_prior_unauthorized_returns": 2},
        ({"counterparty_prior_unauthorized_returns": 0, "counterparty_prior_returns": 9},),
    ),
    "many returns": Case(
        "return_code_abuse",
        "TRS-RET-02",
        20,
        ABUSE,
        ({"entity_returns_30d": 1, "entity_ach_debits_30d": 1}, {"entity_ach_debits_30d": 11}, {"rail": "wire"}),
    ),
    "denied": Case(
        "verification",
        "TRS-KYC-01",
        60,
        {"entity_verification_status": "DENIED"},
        ({"entity_verification_status": "VERIFIED"}, {"entity_verification_status": None}),
        hard=True,
    ),
    **{
        f"{status} and moving": Case(
            "verification",
            "TRS-KYC-02",
            15,
            {"entity_verification_status": status},
            ({"entity_verification_status": "VERIFIED"}, {"entity_verification_status": None}),
        )
        for status in ("UNVERIFIED", "PENDING", "MANUAL_REVIEW")
    },
    "exposed person": Case(
        "pep",
        "TRS-SCR-01",
        15,
        {"entity_pep_status": "yes"},
        ({"entity_pep_status": "potential"}, {"entity_pep_status": "not_checked"}, {"entity_pep_status": None}),
    ),
    "perhaps an exposed person": Case(
        "pep", "TRS-SCR-02", 8, {"entity_pep_status": "potential"}, ({"entity_pep_status": "no"},)
    ),
    "high risk": Case(
        "high_risk_entity",
        "TRS-SCR-03",
        15,
        {"entity_is_high_risk": True},
        ({"entity_is_high_risk": False}, {"entity_is_high_risk": None}),
    ),
    "never screened": Case(
        "screening",
        "TRS-SCR-04",
        20,
        {"entity_requires_screening": True, "entity_screening_age_days": None},
        (
            {"entity_screening_age_days": 0},
            {"entity_requires_screening": False},
            {"entity_requires_screening": None},
        ),
    ),
    "screened long ago": Case(
        "screening",
        "TRS-SCR-05",
        8,
        {"entity_screening_age_days": 366},
        ({"entity_screening_age_days": 365}, {"entity_screening_age_days": None}),
    ),
    "call for action": Case(
        "high_risk_geography",
        "TRS-GEO-01",
        40,
        {"counterparty_country": "IR", "declared_countries": ""},
        ({"counterparty_country": "IE"}, {"counterparty_country": None}),
        hard=True,
    ),
    "increased monitoring": Case(
        "high_risk_geography",
        "TRS-GEO-02",
        12,
        {"counterparty_country": "VE", "declared_countries": "VE"},
        ({"counterparty_country": "ES"}, {"counterparty_country": None}),
    ),
    "undeclared country": Case(
        "country_outside_declared",
        "TRS-DEC-01",
        20,
        {"counterparty_country": "FR"},
        ({"counterparty_country": "DE"}, {"counterparty_country": None}, {"declared_countries": ""}),
    ),
    "undeclared rail": Case(
        "rail_outside_declared",
        "TRS-DEC-02",
        15,
        {"rail": "intl_wire"},
        ({"rail": "wire"}, {"declared_rails": ""}, {"declared_rails": "ach,intl_wire"}),
    ),
    "clean history": Case(
        "clean_history",
        "TRS-HIS-01",
        -5,
        CLEAN,
        (
            {"entity_prior_transfers": 59},
            {"counterparty_n": 19},
            {"entity_prior_returns": 1},
            {"counterparty_prior_returns": 1},
        ),
    ),
}


def found(score: Score, reason_id: str) -> list[Reason]:
    return [reason for reason in score.reasons if reason.id == reason_id]


def scored(**over: Any) -> Score:
    return trs_v1.score(a_vector(**over), degraded=False)


def test_given_the_rules_of_the_scorer_then_each_has_a_case() -> None:
    assert {case.rule for case in CASES.values()} == {rule.__name__ for rules in RULES.values() for rule in rules}


def test_given_a_quiet_transfer_when_it_is_scored_then_it_is_nought_without_a_reason() -> None:
    score = scored()

    assert (score.value, score.band, score.reasons) == (0, Band.CLEAR, ())


@pytest.mark.parametrize("name", CASES)
def test_given_what_a_rule_looks_for_when_it_is_there_then_the_rule_fires(name: str) -> None:
    case = CASES[name]

    (reason,) = found(scored(**case.fires), case.reason_id)

    assert (reason.weight, reason.hard) == (case.weight, case.hard)
    assert reason.sentence.endswith(".")


@pytest.mark.parametrize(
    ("name", "miss"), [(name, miss) for name, case in CASES.items() for miss in case.misses], ids=str
)
def test_given_what_a_rule_looks_for_when_one_thing_is_missing_then_the_rule_is_silent(
    name: str, miss: dict[str, Any]
) -> None:
    case = CASES[name]

    assert found(scored(**case.fires | miss), case.reason_id) == []
