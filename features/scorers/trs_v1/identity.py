"""The identity signals of trs-v1: the bank's data on the entity, as known at the transfer's time.

Money of a denied entity always goes to a person. Attempts, which move nothing, count only for a denied entity.

Source  named at each signal; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from clearhold.features.catalogue.vector import FeatureVector, is_attempt
from clearhold.features.core.scorecards import points_when
from clearhold.features.core.vocabulary import PepStatus, VerificationStatus
from clearhold.features.scorers.signal import Signal

# The words themselves: looking a member up costs Python 3.11 as much as the rest of a signal.
_DENIED, _VERIFIED = VerificationStatus.DENIED.value, VerificationStatus.VERIFIED.value
_SETTLED: Final = (None, _VERIFIED, _DENIED)
_PEP, _PEP_POTENTIAL = PepStatus.YES.value, PepStatus.POTENTIAL.value
_PEPS_NAMED: Final = (_PEP, _PEP_POTENTIAL)


def may_fire(v: FeatureVector) -> bool:
    """False when no signal of this module can fire: most entities are verified, and screened in time."""
    return (
        v.entity_verification_status not in (None, _VERIFIED)
        or v.entity_pep_status in _PEPS_NAMED
        or v.entity_is_high_risk is True
        or v.entity_fraud_risk is True
        or (v.entity_screening_age_days is None and v.entity_requires_screening is True)
        or _is_stale(v)
    )


def _is_stale(v: FeatureVector) -> bool:
    """A screening that is older than the cadence of the entity's band [P]."""
    age_days, cadence_days = v.entity_screening_age_days, v.entity_rescreen_days
    return age_days is not None and cadence_days is not None and age_days > cadence_days


DENIED: Final = Signal[FeatureVector](
    "TRS-KYC-01",
    "kyc_denied_moving",
    "The entity was denied and moves money.",
    lambda v: v.entity_verification_status == _DENIED,
    lambda _v, _: "This entity failed verification (DENIED) and moves money.",
    source="31 CFR 1020.220 (customer identification program); weight [P]",
    hard=True,
)
UNVERIFIED: Final = Signal[FeatureVector](
    "TRS-KYC-02",
    "kyc_unverified_moving",
    "The entity's verification is not finished.",
    lambda v: v.entity_verification_status not in _SETTLED,
    lambda v, _: f"This entity's verification is not complete: {v.entity_verification_status}.",
    source="31 CFR 1020.220 (customer identification program); weight [P]",
)
DENIED_ATTEMPT: Final = Signal[FeatureVector](
    "TRS-KYC-03",
    "kyc_denied_attempt",
    "The entity was denied and tries to move money: the transfer was declined, rejected or canceled.",
    lambda v: v.entity_verification_status == _DENIED and is_attempt(v),
    lambda _v, _: "This entity failed verification (DENIED) and tried to move money.",
    source="31 CFR 1020.220 (customer identification program); weight [P]",
    of_attempts=True,
)
PEP: Final = Signal[FeatureVector](
    "TRS-SCR-01",
    "pep",
    "The entity is a politically exposed person.",
    lambda v: v.entity_pep_status == _PEP,
    source="FATF recommendation 12; weight [P]",
    of_attempts=True,
)
PEP_POTENTIAL: Final = Signal[FeatureVector](
    "TRS-SCR-02",
    "pep_potential",
    "The entity may be a politically exposed person.",
    lambda v: v.entity_pep_status == _PEP_POTENTIAL,
    source="FATF recommendation 12; weight [P]",
    of_attempts=True,
)
HIGH_RISK: Final = Signal[FeatureVector](
    "TRS-SCR-03",
    "high_risk_entity",
    "The bank marks the entity as high risk.",
    lambda v: v.entity_is_high_risk is True,
    of_attempts=True,
)
NEVER_SCREENED: Final = Signal[FeatureVector](
    "TRS-SCR-04",
    "never_screened",
    "The entity requires screening and was never screened.",
    lambda v: v.entity_screening_age_days is None and v.entity_requires_screening is True,
    of_attempts=True,
)
SCREENING_STALE: Final = Signal[FeatureVector](
    "TRS-SCR-05",
    "screening_stale",
    "The last screening is older than the policy's cadence for the entity's band.",
    _is_stale,
    lambda v, _: (
        f"This entity was last screened {v.entity_screening_age_days} days ago; its band requires screening every "
        f"{v.entity_rescreen_days} days."
    ),
    of_attempts=True,
)
FRAUD_RISK: Final = Signal[FeatureVector](
    "TRS-SCR-07",
    "fraud_risk_flagged",
    "The bank's review of the entity names a fraud risk or a list of sanctions.",
    lambda v: v.entity_fraud_risk is True,
    source="The bank's review reasons; weight [P]",
    of_attempts=True,
)

SIGNALS: Final = (
    DENIED,
    UNVERIFIED,
    DENIED_ATTEMPT,
    PEP,
    PEP_POTENTIAL,
    HIGH_RISK,
    NEVER_SCREENED,
    SCREENING_STALE,
    FRAUD_RISK,
)
POINTS: Final = (
    points_when(DENIED.id, 60),
    points_when(UNVERIFIED.id, 15),
    points_when(DENIED_ATTEMPT.id, 15),
    points_when(PEP.id, 15),
    points_when(PEP_POTENTIAL.id, 8),
    points_when(HIGH_RISK.id, 15),
    points_when(NEVER_SCREENED.id, 20),
    points_when(SCREENING_STALE.id, 8),
    points_when(FRAUD_RISK.id, 20),
)
"""Of the default card."""
