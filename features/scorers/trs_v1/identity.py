"""The identity rules of trs-v1: the bank's data on the entity, as known at the transfer's time.

Source  named at each rule; [P] is proposed here, to be tuned on labels
"""

from typing import Final

from features.catalogue.vector import FeatureVector, is_attempt
from features.core.reason import Reason
from features.core.vocabulary import PepStatus, VerificationStatus
from features.scorers.families import Family
from features.scorers.rule import ReasonKind, Rule

# The words themselves: looking a member up costs Python 3.11 as much as the rest of a rule.
_DENIED, _VERIFIED = VerificationStatus.DENIED.value, VerificationStatus.VERIFIED.value
_PEP, _PEP_POTENTIAL = PepStatus.YES.value, PepStatus.POTENTIAL.value

DENIED: Final = ReasonKind(
    "TRS-KYC-01",
    "kyc_denied_moving",
    (60,),
    Family.IDENTITY,
    "The entity was denied and moves money.",
    "31 CFR 1020.220 (customer identification program); weight [P]",
    hard=True,
)
UNVERIFIED: Final = ReasonKind(
    "TRS-KYC-02",
    "kyc_unverified_moving",
    (15,),
    Family.IDENTITY,
    "The entity's verification is not finished.",
    "31 CFR 1020.220 (customer identification program); weight [P]",
)
DENIED_ATTEMPT: Final = ReasonKind(
    "TRS-KYC-03",
    "kyc_denied_attempt",
    (15,),
    Family.IDENTITY,
    "The entity was denied and tries to move money: the transfer was declined, rejected or canceled.",
    "31 CFR 1020.220 (customer identification program); weight [P]",
)
PEP: Final = ReasonKind(
    "TRS-SCR-01",
    "pep",
    (15,),
    Family.IDENTITY,
    "The entity is a politically exposed person.",
    "FATF recommendation 12; weight [P]",
)
PEP_POTENTIAL: Final = ReasonKind(
    "TRS-SCR-02",
    "pep_potential",
    (8,),
    Family.IDENTITY,
    "The entity may be a politically exposed person.",
    "FATF recommendation 12; weight [P]",
)
HIGH_RISK: Final = ReasonKind(
    "TRS-SCR-03", "high_risk_entity", (15,), Family.IDENTITY, "The bank marks the entity as high risk.", "[P]"
)
NEVER_SCREENED: Final = ReasonKind(
    "TRS-SCR-04",
    "never_screened",
    (20,),
    Family.IDENTITY,
    "The entity requires screening and was never screened.",
    "[P]",
)
SCREENING_STALE: Final = ReasonKind(
    "TRS-SCR-05",
    "screening_stale",
    (8,),
    Family.IDENTITY,
    "The last screening is older than the policy's cadence for the entity's band.",
    "[P]",
)
FRAUD_RISK: Final = ReasonKind(
    "TRS-SCR-07",
    "fraud_risk_flagged",
    (20,),
    Family.IDENTITY,
    "The bank's review of the entity names a fraud risk.",
    "The bank's review reasons; weight [P]",
)


def verification(v: FeatureVector) -> Reason | None:
    """Money of a denied entity always goes to a person; an unfinished verification adds points (31 CFR 1020.220).

    Of attempts, which move nothing, only those of a denied entity add points.
    """
    status = v.entity_verification_status
    if status is None or status == _VERIFIED:
        return None
    if is_attempt(v):
        return DENIED_ATTEMPT.reason("The entity was DENIED, and its transfer failed.") if status == _DENIED else None
    if status == _DENIED:
        return DENIED.reason("The entity was DENIED and moves money.")
    return UNVERIFIED.reason(f"The entity's verification is {status}.")


def pep(v: FeatureVector) -> Reason | None:
    """Politically exposed persons (FATF recommendation 12)."""
    if v.entity_pep_status == _PEP:
        return PEP.reason("The entity is a politically exposed person.")
    if v.entity_pep_status == _PEP_POTENTIAL:
        return PEP_POTENTIAL.reason("The entity may be a politically exposed person.")
    return None


def high_risk_entity(v: FeatureVector) -> Reason | None:
    """The bank's own mark."""
    return HIGH_RISK.reason("The bank marks the entity as high risk.") if v.entity_is_high_risk else None


def screening(v: FeatureVector) -> Reason | None:
    """Screening that is due and was never done, or is older than the cadence of the entity's band [P]."""
    age_days, cadence_days = v.entity_screening_age_days, v.entity_rescreen_days
    if age_days is None:
        if v.entity_requires_screening is not True:
            return None
        return NEVER_SCREENED.reason("The entity requires screening and was never screened.")
    if cadence_days is None or age_days <= cadence_days:
        return None
    return SCREENING_STALE.reason(
        f"The entity was last screened {age_days} days ago, over its band's cadence of {cadence_days}."
    )


def fraud_risk(v: FeatureVector) -> Reason | None:
    """The bank's own review of the entity."""
    return FRAUD_RISK.reason("The bank's review of the entity names a fraud risk.") if v.entity_fraud_risk else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(verification, (DENIED, UNVERIFIED, DENIED_ATTEMPT), of_attempts=True),
    Rule(pep, (PEP, PEP_POTENTIAL), of_attempts=True),
    Rule(high_risk_entity, (HIGH_RISK,), of_attempts=True),
    Rule(screening, (NEVER_SCREENED, SCREENING_STALE), of_attempts=True),
    Rule(fraud_risk, (FRAUD_RISK,), of_attempts=True),
)
