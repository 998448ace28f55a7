"""The bank's report on an actor, as known at an instant.

Errors  none: None for an unknown actor, or one without a report of the bank
"""

from typing import Final

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.vocabulary import PepStatus, VerificationStatus
from clearhold.features.measurement.groups import Identity
from clearhold.features.scorers.trs_v1 import identity as rules
from clearhold.features.state.entity_profile import UNKNOWN_PROFILE, EntityProfile
from clearhold.features.state.parties import Actor

FRAUD_RISK: Final = "fraud_risk"
_UNKNOWN: Final = Identity(None, None, None, None, None)


def identity_at(actor: Actor | None, at: int) -> Identity:
    """Verification, PEP status, risk mark, screening duty and screening age, as known at ``at``.

    Ruling 8, the scored half: an entity without an event of the bank is stored as ``UNVERIFIED``
    (``features/parties/party_rows.py``), but all five are None here, so it earns no verification points.
    """
    if actor is None or actor.profile is UNKNOWN_PROFILE:
        return _UNKNOWN
    profile = actor.profile_at(at)
    screened_at = profile.last_screened_at
    return Identity(
        entity_verification_status=profile.words.verification_status,
        entity_pep_status=profile.words.pep_status,
        entity_is_high_risk=profile.words.is_high_risk,
        entity_requires_screening=profile.words.requires_screening,
        entity_screening_age_days=max(0, at - screened_at) // DAY_US if screened_at is not None else None,
    )


def has_fraud_risk(actor: Actor | None, at: int) -> bool | None:
    """Whether the bank's review reasons name a fraud risk."""
    profile = UNKNOWN_PROFILE if actor is None else actor.profile_at(at)
    if profile is UNKNOWN_PROFILE:
        return None
    return _names_fraud_risk(profile)


def outcomes_of(profile: EntityProfile) -> frozenset[str]:
    """The outcomes of the bank's screening in a profile, by the ids of their reasons."""
    words = profile.words
    stated = (
        (words.verification_status == VerificationStatus.DENIED.value, rules.DENIED),
        (words.pep_status == PepStatus.YES.value, rules.PEP),
        (words.pep_status == PepStatus.POTENTIAL.value, rules.PEP_POTENTIAL),
        (words.is_high_risk, rules.HIGH_RISK),
        (_names_fraud_risk(profile), rules.FRAUD_RISK),
    )
    return frozenset(signal.id for is_stated, signal in stated if is_stated)


def _names_fraud_risk(profile: EntityProfile) -> bool:
    return any(reason.casefold() == FRAUD_RISK for reason in profile.words.review_reasons)
