"""The cases of ars-v1."""

from typing import Any, Final

from hypothesis import strategies as st

from clearhold.features.core.vocabulary import Score, VerificationStatus
from clearhold.features.scorers import ars_v1
from clearhold.features.scorers.ars_v1 import AgentInputs
from tests.checks.scorecards import ScorecardCases, SignalCase

QUIET: Final[dict[str, Any]] = {
    "settlements": 40,
    "settlements_24h": 1,
    "settlements_30d": 30,
    "recent_settlements": 40,
    "distinct_payers": 20,
    "top_payer_settlements": 5,
    "verification_status": "UNVERIFIED",
    "wallet_screening": "clear",
}
SIGNALS: Final = (
    SignalCase("ARS-FLO-01", 12, {"top_payer_settlements": 32}, {"top_payer_settlements": 31}),
    SignalCase(
        "ARS-FLO-01",
        12,
        {"recent_settlements": 10, "top_payer_settlements": 10},
        {"recent_settlements": 9, "top_payer_settlements": 9},
    ),
    SignalCase("ARS-FLO-02", 25, {"self_dealing_settlements": 8}, {"self_dealing_settlements": 7}),
    SignalCase(
        "ARS-FLO-02", 25, {"self_dealing_settlements": 8}, {"self_dealing_settlements": 0, "recent_settlements": 0}
    ),
    SignalCase("ARS-FLO-03", 25, {"round_trips_30d": 1}, {"round_trips_30d": 0}),
    SignalCase("ARS-FLO-03", 25, {"round_trips_30d": 2}, {"round_trips_30d": 3}),
    SignalCase("ARS-FLO-04", 35, {"round_trips_30d": 3}, {"round_trips_30d": 2}),
    SignalCase(
        "ARS-VEL-01", 15, {"settlements_24h": 5, "settlements_30d": 50}, {"settlements_24h": 5, "settlements_30d": 51}
    ),
    SignalCase(
        "ARS-VEL-01", 15, {"settlements_24h": 5, "settlements_30d": 10}, {"settlements_24h": 4, "settlements_30d": 10}
    ),
    SignalCase(
        "ARS-VEL-01", 15, {"settlements_24h": 9, "settlements_30d": 10}, {"settlements_24h": 9, "settlements_30d": 9}
    ),
    SignalCase("ARS-REG-01", 10, {"registration_age_days": 29}, {"registration_age_days": 30}),
    SignalCase("ARS-REG-02", 15, {"owner_changed_days": 29}, {"owner_changed_days": 30}),
    SignalCase("ARS-REG-03", 20, {"active": False}, {"active": None}),
    SignalCase("ARS-REG-03", 20, {"active": False}, {"active": False, "settlements_30d": 0}),
    SignalCase("ARS-REG-04", 20, {"has_wallet": False}, {"has_wallet": None}),
    SignalCase("ARS-REG-04", 20, {"has_wallet": False}, {"has_wallet": False, "settlements_30d": 0}),
    SignalCase(
        "ARS-REP-01",
        10,
        {"feedback_count": 5, "revoked_feedback_count": 1},
        {"feedback_count": 6, "revoked_feedback_count": 1},
    ),
    SignalCase(
        "ARS-REP-01",
        10,
        {"feedback_count": 5, "revoked_feedback_count": 1},
        {"feedback_count": 4, "revoked_feedback_count": 4},
    ),
    SignalCase(
        "ARS-REP-02",
        8,
        {"feedback_count": 11, "paid_feedback_count": 1},
        {"feedback_count": 10, "paid_feedback_count": 1},
    ),
    SignalCase(
        "ARS-REP-02",
        8,
        {"feedback_count": 10, "paid_feedback_count": 0},
        {"feedback_count": 9, "paid_feedback_count": 0},
    ),
    SignalCase("ARS-REP-03", 10, {"starred_count": 5, "starred_mean": 49}, {"starred_count": 5, "starred_mean": 50}),
    SignalCase("ARS-REP-03", 10, {"starred_count": 5, "starred_mean": 49}, {"starred_count": 4, "starred_mean": 0}),
    SignalCase(
        "ARS-REP-04",
        -5,
        {"paid_feedback_count": 10, "revoked_feedback_count": 0},
        {"paid_feedback_count": 9, "revoked_feedback_count": 0},
    ),
    SignalCase("ARS-REP-04", -5, {"paid_feedback_count": 10, "revoked_feedback_count": 0}, {"paid_feedback_count": 10}),
    SignalCase(
        "ARS-VAL-01", 15, {"validation_count": 1, "validation_mean": 49}, {"validation_count": 1, "validation_mean": 50}
    ),
    SignalCase(
        "ARS-VAL-01",
        15,
        {"validation_count": 1, "validation_mean": 0},
        {"validation_count": 0, "validation_mean": None},
    ),
    SignalCase("ARS-KYC-01", 60, {"verification_status": "DENIED"}, {"verification_status": "UNVERIFIED"}),
    SignalCase("ARS-SCR-01", 60, {"wallet_screening": "hit"}, {"wallet_screening": "review"}),
    SignalCase("ARS-SCR-02", 15, {"wallet_screening": "review"}, {"wallet_screening": None}),
    SignalCase("ARS-SCR-03", 8, {"wallet_screening": "not_covered"}, {"wallet_screening": "clear"}),
    SignalCase("ARS-SCR-04", 40, {"listed_payer_settlements": 1}, {"listed_payer_settlements": 0}),
)

COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 40, 64, 1_000)))
DAYS: Final = st.none() | st.sampled_from((0, 29, 30, 400))
FLAGS: Final = st.none() | st.booleans()
MAYBE: Final = st.none() | COUNTS
MEANS: Final = st.none() | st.sampled_from((0, 49, 50, 100))
INPUTS: Final = st.builds(
    AgentInputs,
    settlements=COUNTS,
    volume_cents=COUNTS,
    settlements_24h=COUNTS,
    settlements_30d=COUNTS,
    recent_settlements=COUNTS,
    distinct_payers=COUNTS,
    top_payer_settlements=COUNTS,
    self_dealing_settlements=MAYBE,
    round_trips_30d=MAYBE,
    listed_payer_settlements=COUNTS,
    verification_status=st.none() | st.sampled_from([word.value for word in VerificationStatus]),
    registration_age_days=DAYS,
    owner_changed_days=DAYS,
    active=FLAGS,
    has_wallet=FLAGS,
    feedback_count=MAYBE,
    paid_feedback_count=MAYBE,
    revoked_feedback_count=MAYBE,
    starred_count=MAYBE,
    starred_mean=MEANS,
    validation_count=MAYBE,
    validation_mean=MEANS,
    wallet_screening=st.none() | st.sampled_from(("clear", "hit", "review", "not_covered")),
)


def scored_alone(inputs: AgentInputs) -> Score:
    """The score that an agent gets: of less confidence while its wallet was never screened."""
    return ars_v1.DEFAULT.score(inputs, degraded=ars_v1.is_degraded(inputs))


CASES: Final = ScorecardCases(
    card=ars_v1.DEFAULT,
    score_of=scored_alone,
    inputs_of=AgentInputs,
    quiet=QUIET,
    quiet_n=40,
    quiet_confidence=0.67,
    least=10,
    n_of=lambda inputs: inputs.settlements,
    signals=SIGNALS,
    any_inputs=INPUTS,
)


def scored(**over: Any) -> Score:
    """The score of a quiet agent, with these inputs in place of its own."""
    return CASES.score(over)
