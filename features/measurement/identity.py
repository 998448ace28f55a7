"""What the bank has reported of an actor, as known at an instant.

Errors  none: None for an actor that is unknown, or that the bank has reported nothing of
"""

from typing import Final

from features.core.instants import DAY_US
from features.measurement.groups import Identity
from features.state.parties import UNKNOWN_PROFILE, Actor

_SANCTIONED: Final = frozenset({"sanctions_match", "ofac_match"})
_UNKNOWN: Final = Identity(None, None, None, None, None)


def identity_at(actor: Actor | None, at: int) -> Identity:
    """Verification, PEP status, risk mark, screening duty and screening age, as known at ``at``.

    Ruling 8, the scored half: an entity that the bank has sent no event on is stored as ``UNVERIFIED``
    (``features/landing/party_rows.py``), but all five are None here, so it earns no verification points.
    """
    if actor is None or not actor.profiles:
        return _UNKNOWN
    profile = actor.profile_at(at)
    screened_at = profile.last_screened_at
    return Identity(
        entity_verification_status=profile.verification_status,
        entity_pep_status=profile.pep_status,
        entity_is_high_risk=profile.is_high_risk,
        entity_requires_screening=profile.requires_screening,
        entity_screening_age_days=max(0, at - screened_at) // DAY_US if screened_at is not None else None,
    )


def is_sanctions_hit(actor: Actor | None, at: int) -> bool | None:
    """Whether the bank's review names a sanctions match."""
    profile = UNKNOWN_PROFILE if actor is None or not actor.profiles else actor.profile_at(at)
    if profile is UNKNOWN_PROFILE:
        return None
    return any(reason.casefold() in _SANCTIONED for reason in profile.review_reasons)
