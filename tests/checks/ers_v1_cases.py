"""The cases of ers-v1."""

from typing import Any, Final

from hypothesis import strategies as st

from clearhold.features.core.vocabulary import PepStatus, Score, VerificationStatus
from clearhold.features.scorers import ers_v1
from clearhold.features.scorers.ers_v1 import EntityInputs
from tests.checks.scorecards import ScorecardCases, SignalCase

QUIET: Final[dict[str, Any]] = {
    "transfers_90d": 20,
    "verification_status": "VERIFIED",
    "pep_status": "no",
    "is_high_risk": False,
    "requires_screening": True,
    "screening_age_days": 365,
    "rescreen_days": 365,
    "fraud_risk": False,
}
SIGNALS: Final = (
    SignalCase("ERS-TRF-01", 1, {"transfer_score": 1}, {"transfer_score": 1, "transfer_score_days": 1}),
    SignalCase("ERS-KYC-01", 60, {"verification_status": "DENIED"}, {"verification_status": None}),
    SignalCase("ERS-KYC-02", 15, {"verification_status": "PENDING"}, {"verification_status": "DENIED"}),
    SignalCase("ERS-KYC-02", 15, {"verification_status": "UNVERIFIED"}, {"verification_status": None}),
    SignalCase("ERS-KYC-02", 15, {"verification_status": "MANUAL_REVIEW"}, {"verification_status": "VERIFIED"}),
    SignalCase("ERS-SCR-01", 15, {"pep_status": "yes"}, {"pep_status": "potential"}),
    SignalCase("ERS-SCR-02", 8, {"pep_status": "potential"}, {"pep_status": "not_checked"}),
    SignalCase("ERS-SCR-03", 15, {"is_high_risk": True}, {"is_high_risk": None}),
    SignalCase(
        "ERS-SCR-04", 20, {"screening_age_days": None}, {"screening_age_days": None, "requires_screening": None}
    ),
    SignalCase("ERS-SCR-05", 8, {"screening_age_days": 366}, {"screening_age_days": 365}),
    SignalCase(
        "ERS-SCR-05",
        8,
        {"screening_age_days": 31, "rescreen_days": 30},
        {"screening_age_days": 31, "rescreen_days": None},
    ),
    SignalCase("ERS-SCR-07", 20, {"fraud_risk": True}, {"fraud_risk": None}),
    SignalCase("ERS-RET-01", 15, {"unauthorized_returns_60d": 1}, {"unauthorized_returns_60d": 0}),
    SignalCase("ERS-RET-02", 30, {"unauthorized_returns_60d": 2}, {"unauthorized_returns_60d": 1}),
    SignalCase("ERS-RET-03", 20, {"returns_30d": 2, "ach_debits_30d": 10}, {"returns_30d": 2, "ach_debits_30d": 11}),
    SignalCase("ERS-RET-03", 20, {"returns_30d": 2, "ach_debits_30d": 2}, {"returns_30d": 1, "ach_debits_30d": 1}),
    SignalCase("ERS-RET-03", 20, {"returns_30d": 2, "ach_debits_30d": 1}, {"returns_30d": 2, "ach_debits_30d": 0}),
    SignalCase("ERS-RET-04", 20, {"probed_counterparties_30d": 2}, {"probed_counterparties_30d": 1}),
)

COUNTS: Final = st.one_of(st.integers(0, 12), st.sampled_from((19, 20, 60, 1_000)))
DAYS: Final = st.sampled_from((0, 1, 13, 14, 90, 365, 366, 4_000))
FLAGS: Final = st.none() | st.booleans()
INPUTS: Final = st.builds(
    EntityInputs,
    transfers_90d=COUNTS,
    transfer_score=st.integers(0, 100),
    transfer_score_days=DAYS,
    transfer_identity_points=st.sampled_from((0, 8, 15, 60)),
    transfer_returns_points=st.sampled_from((0, 15, 45)),
    verification_status=st.none() | st.sampled_from([word.value for word in VerificationStatus]),
    pep_status=st.none() | st.sampled_from([word.value for word in PepStatus]),
    is_high_risk=FLAGS,
    requires_screening=FLAGS,
    screening_age_days=st.none() | DAYS,
    rescreen_days=st.none() | DAYS,
    fraud_risk=FLAGS,
    returns_30d=COUNTS,
    ach_debits_30d=COUNTS,
    unauthorized_returns_60d=COUNTS,
    probed_counterparties_30d=COUNTS,
)
CASES: Final = ScorecardCases(
    card=ers_v1.DEFAULT,
    score_of=ers_v1.DEFAULT.score,
    inputs_of=EntityInputs,
    quiet=QUIET,
    quiet_n=20,
    quiet_confidence=0.5,
    least=5,
    n_of=lambda inputs: inputs.transfers_90d,
    signals=SIGNALS,
    any_inputs=INPUTS,
)


def scored(**over: Any) -> Score:
    """The score of a quiet entity, with these inputs in place of its own."""
    return CASES.score(over)
