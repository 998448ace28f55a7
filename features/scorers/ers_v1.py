"""Entity Risk Score, ers-v1: the entity's strongest recent transfer, and the facts known of the entity itself.

Unit    points 0-100, integers; None below 5 transfers in 90 days
n       the entity's transfers of 90 days
Window  a transfer's score halves every 14 days; returns of 30 and 60 days; the profile as known at the instant
Errors  none: all inputs have an answer
Source  named with each reason; the maximum and not the mean, which would hide one bad transfer in a hundred

The decay is in whole UTC days and integers alone. A score has a life: the time until one point remains, 14 days times
its binary logarithm, in hundredths of a day, in which the lives of the scores 1 to 100 all differ and a halving is
exact. The strongest of several scores is the one with the latest end of life, today and on every later day, so only
that one is stored.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from clearhold.features.core.vocabulary import PepStatus, VerificationStatus
from clearhold.features.scorers.engine import checks, default_card
from clearhold.features.scorers.signal import PROPOSED, Family, Overlap, Scorer, Signal, SignalGroup, of_entity

HALF_LIFE_DAYS: Final = 14
DAY: Final = 100
_HALF_LIFE: Final = HALF_LIFE_DAYS * DAY

# s ** (2 h) has 2 h log2(s) bits; half of that, rounded, is h log2(s). Entry 0 is the life of one point.
LIVES: Final[tuple[int, ...]] = tuple((score ** (2 * _HALF_LIFE)).bit_length() // 2 for score in range(1, 101))


def decayed(points: int, days: int) -> int:
    """The rest of 0-100 points after ``days`` days, cut to whole points."""
    return bisect_right(LIVES, LIVES[points - 1] - days * DAY) if points else 0


def fades_at(points: int, day: int) -> int:
    """When one point of a score of that day remains; the later, the stronger. Points are 1-100."""
    return day * DAY + LIVES[points - 1]


def day_of(fades: int, points: int) -> int:
    """The day of a score from its end of life: the inverse of ``fades_at``."""
    return (fades - LIVES[points - 1]) // DAY


class EntityInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The inputs of ers-v1. None is not measured: the bank has not stated it."""

    transfers_90d: int
    transfer_score: int = 0  # of the transfer with the most points today
    transfer_score_days: int = 0  # its age
    transfer_identity_points: int = 0  # its points from the entity's identity and returns
    transfer_returns_points: int = 0
    verification_status: str | None = None
    pep_status: str | None = None
    is_high_risk: bool | None = None
    requires_screening: bool | None = None
    screening_age_days: int | None = None
    rescreen_days: int | None = None
    fraud_risk: bool | None = None
    returns_30d: int = 0
    ach_debits_30d: int = 0
    unauthorized_returns_60d: int = 0
    probed_counterparties_30d: int = 0


VERSION: Final = "ers-v1"
TRANSFERS_FLOOR: Final = 5
RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
PROBED_FLOOR: Final = 2
_DENIED, _VERIFIED = VerificationStatus.DENIED.value, VerificationStatus.VERIFIED.value
_PEP, _PEP_POTENTIAL = PepStatus.YES.value, PepStatus.POTENTIAL.value
_SETTLED: Final = (None, _VERIFIED)
_PEPS_NAMED: Final = (_PEP, _PEP_POTENTIAL)
_NACHA: Final = "Nacha Operating Rules"


def _is_stale(i: EntityInputs) -> bool:
    return i.screening_age_days is not None and i.rescreen_days is not None and i.screening_age_days > i.rescreen_days


def is_hard(verification_status: str | None) -> bool:
    """Whether a hard signal fires: below the floor nothing else of an entity is measured."""
    return verification_status == _DENIED


Group = SignalGroup[EntityInputs]

_TRANSFER_SCORE: Final = "ERS-TRF-01"
_TRANSFER_SIGNALS: Final[tuple[Signal[EntityInputs], ...]] = (
    Signal(
        _TRANSFER_SCORE,
        "transfer_score",
        f"The highest score of the entity's transfers, which halves every {HALF_LIFE_DAYS} days.",
        lambda i: decayed(i.transfer_score, i.transfer_score_days),
        lambda i, left: (
            f"A transfer {i.transfer_score_days} days ago scored {i.transfer_score}; {left} points remain today."
        ),
        unit="points",
        worked_out=True,
    ),
)
_IDENTITY_SIGNALS: Final[Mapping[Signal[EntityInputs], int]] = {
    Signal(
        "ERS-KYC-01",
        "kyc_denied",
        "The entity's verification was DENIED.",
        lambda i: is_hard(i.verification_status),
        source="31 CFR 1020.220 (customer identification program); weight [P]",
        hard=True,
    ): 60,
    Signal(
        "ERS-KYC-02",
        "kyc_unverified",
        "The entity's verification is not finished.",
        lambda i: i.verification_status not in (None, _VERIFIED, _DENIED),
        lambda i, _: f"The entity's verification is not complete: {i.verification_status}.",
        source="31 CFR 1020.220 (customer identification program); weight [P]",
    ): 15,
    of_entity("ERS-SCR-01", lambda i: i.pep_status == _PEP): 15,
    of_entity("ERS-SCR-02", lambda i: i.pep_status == _PEP_POTENTIAL): 8,
    of_entity("ERS-SCR-03", lambda i: i.is_high_risk is True): 15,
    of_entity("ERS-SCR-04", lambda i: i.requires_screening is True and i.screening_age_days is None): 20,
    Signal(
        "ERS-SCR-05",
        "screening_stale",
        "The entity's last screening is older than the policy's cadence for its band.",
        _is_stale,
        lambda i, _: (
            f"The entity was last screened {i.screening_age_days} days ago; its band requires screening every "
            f"{i.rescreen_days} days."
        ),
    ): 8,
    of_entity("ERS-SCR-07", lambda i: i.fraud_risk is True): 20,
}
"""With the points of the default card, as in the other groups."""
_RETURNS_SIGNALS: Final[Mapping[Signal[EntityInputs], int]] = {
    Signal(
        "ERS-RET-01",
        "unauthorized_return",
        "One of the entity's ACH debits came back as unauthorized in 60 days.",
        lambda i: i.unauthorized_returns_60d == 1,
        source=f"{_NACHA}: R05, R07, R10, R11, R29 and R51; weight [P]",
    ): 15,
    Signal(
        "ERS-RET-02",
        "unauthorized_returns",
        "Two or more of the entity's ACH debits came back as unauthorized in 60 days.",
        lambda i: i.unauthorized_returns_60d > 1,
        lambda i, _: f"{i.unauthorized_returns_60d} of the entity's ACH debits came back as unauthorized in 60 days.",
        source=f"{_NACHA}: R05, R07, R10, R11, R29 and R51; weight [P]",
    ): 30,
    Signal(
        "ERS-RET-03",
        "return_code_abuse",
        f"At least {RETURNS_FLOOR} returns in 30 days, as many as {RETURNS_SHARE_PERCENT} % of the ACH debits.",
        lambda i: (
            i.ach_debits_30d > 0
            and i.returns_30d >= RETURNS_FLOOR
            and i.returns_30d * 100 >= RETURNS_SHARE_PERCENT * i.ach_debits_30d
        ),
        lambda i, _: f"{i.returns_30d} of {i.ach_debits_30d} ACH debits in 30 days were returned.",
    ): 20,
    Signal(
        "ERS-RET-04",
        "account_probing",
        "Returns that reveal whether an account exists, from two or more counterparties in 30 days.",
        lambda i: i.probed_counterparties_30d >= PROBED_FLOOR,
        lambda i, _: (
            f"In 30 days {i.probed_counterparties_30d} counterparties' accounts were closed, unknown or no accounts "
            "to debit."
        ),
        source=f"{_NACHA} (administrative returns: R02, R03, R04 and R20); count [P]",
    ): 20,
}


def _counted_once(reason_id: str, family: Family, points: Callable[[EntityInputs], int]) -> Overlap[EntityInputs]:
    return Overlap(
        reason_id,
        f"{family.value}_counted_once",
        family,
        f"The points for the entity's {family.value} in that transfer's score count once.",
        PROPOSED,
        lambda i: decayed(points(i), i.transfer_score_days),
        lambda shared: f"{shared} points for the entity's {family.value} are already in that transfer's score.",
        _TRANSFER_SCORE,
    )


def _may_identity_fire(i: EntityInputs) -> bool:
    return bool(
        i.verification_status not in _SETTLED
        or i.pep_status in _PEPS_NAMED
        or i.is_high_risk
        or i.requires_screening
        or i.fraud_risk
        or _is_stale(i)
    )


_CAPS: Final = {Family.IDENTITY: 60, Family.RETURNS: 45}
SCORER: Final = Scorer[EntityInputs](
    version=VERSION,
    groups=(
        Group(_TRANSFER_SIGNALS, lambda i: i.transfer_score),
        Group(_IDENTITY_SIGNALS, _may_identity_fire),
        Group(_RETURNS_SIGNALS, lambda i: i.returns_30d or i.unauthorized_returns_60d or i.probed_counterparties_30d),
    ),
    observations=lambda inputs, floor, _program_floor: (inputs.transfers_90d, inputs.transfers_90d >= floor),
    capped=tuple(_CAPS),
    overlaps=(
        _counted_once("ERS-CAP-03", Family.IDENTITY, lambda i: i.transfer_identity_points),
        _counted_once("ERS-CAP-04", Family.RETURNS, lambda i: i.transfer_returns_points),
    ),
)
DEFAULT: Final = default_card(
    SCORER,
    caps=_CAPS,
    floor=TRANSFERS_FLOOR,
    signals=checks(_IDENTITY_SIGNALS, _RETURNS_SIGNALS),
)
