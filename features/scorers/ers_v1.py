"""Entity Risk Score, ers-v1: the entity's strongest recent transfer, and what is known of the entity itself.

Unit    points 0-100, integers; None below 5 transfers in 90 days
n       the entity's transfers of 90 days
Window  a transfer's score halves every 14 days; returns of 30 and 60 days; the profile as known at the instant
Errors  none: all inputs have an answer
Source  named with each reason; the maximum and not the mean, which would hide one bad transfer in a hundred
"""

from typing import Final

from features.core.reason import Score
from features.core.vocabulary import PepStatus, VerificationStatus
from features.scorers.actor_decay import HALF_LIFE_DAYS, decayed
from features.scorers.actor_scorecard import ActorRule, RuleGroup, Scorecard
from features.scorers.ers_inputs import EntityInputs
from features.scorers.families import Family
from features.scorers.rule import ReasonKind
from features.scorers.scorecard import PROPOSED, family_cap

VERSION: Final = "ers-v1"
TRANSFERS_FLOOR: Final = 5
RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
PROBED_FLOOR: Final = 2
_DENIED, _VERIFIED = VerificationStatus.DENIED.value, VerificationStatus.VERIFIED.value
_PEP, _PEP_POTENTIAL = PepStatus.YES.value, PepStatus.POTENTIAL.value
_SETTLED: Final = (None, _VERIFIED)
_PEPS_NAMED: Final = (_PEP, _PEP_POTENTIAL)
_PEPS: Final = "FATF recommendation 12; weight [P]"
_NACHA: Final = "Nacha Operating Rules"


def _is_stale(i: EntityInputs) -> bool:
    return i.screening_age_days is not None and i.rescreen_days is not None and i.screening_age_days > i.rescreen_days


def is_hard(verification_status: str | None) -> bool:
    """Whether a hard rule fires: all that is asked of an entity below the floor."""
    return verification_status == _DENIED


Rule = ActorRule[EntityInputs]
Group = RuleGroup[EntityInputs]

_TRANSFER_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "ERS-TRF-01",
            "transfer_score",
            (),
            None,
            f"The highest score of the entity's transfers, which halves every {HALF_LIFE_DAYS} days.",
            PROPOSED,
        ),
        lambda i: decayed(i.transfer_score, i.transfer_score_days),
        lambda i: (
            f"A transfer of {i.transfer_score_days} days ago scored {i.transfer_score}, "
            f"which counts for {decayed(i.transfer_score, i.transfer_score_days)} now."
        ),
    ),
)
_IDENTITY_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "ERS-KYC-01",
            "kyc_denied",
            (60,),
            Family.IDENTITY,
            "The entity's verification was DENIED.",
            "31 CFR 1020.220 (customer identification program); weight [P]",
            hard=True,
        ),
        lambda i: is_hard(i.verification_status),
    ),
    Rule(
        ReasonKind(
            "ERS-KYC-02",
            "kyc_unverified",
            (15,),
            Family.IDENTITY,
            "The entity's verification is not finished.",
            "31 CFR 1020.220 (customer identification program); weight [P]",
        ),
        lambda i: i.verification_status not in (None, _VERIFIED, _DENIED),
        lambda i: f"The entity's verification is {i.verification_status}.",
    ),
    Rule(
        ReasonKind("ERS-SCR-01", "pep", (15,), Family.IDENTITY, "The entity is a politically exposed person.", _PEPS),
        lambda i: i.pep_status == _PEP,
    ),
    Rule(
        ReasonKind(
            "ERS-SCR-02",
            "pep_potential",
            (8,),
            Family.IDENTITY,
            "The entity may be a politically exposed person.",
            _PEPS,
        ),
        lambda i: i.pep_status == _PEP_POTENTIAL,
    ),
    Rule(
        ReasonKind(
            "ERS-SCR-03",
            "high_risk_entity",
            (15,),
            Family.IDENTITY,
            "The bank marks the entity as high risk.",
            PROPOSED,
        ),
        lambda i: i.is_high_risk is True,
    ),
    Rule(
        ReasonKind(
            "ERS-SCR-04",
            "never_screened",
            (20,),
            Family.IDENTITY,
            "The entity requires screening and was never screened.",
            PROPOSED,
        ),
        lambda i: i.requires_screening is True and i.screening_age_days is None,
    ),
    Rule(
        ReasonKind(
            "ERS-SCR-05",
            "screening_stale",
            (8,),
            Family.IDENTITY,
            "The entity's last screening is older than the policy's cadence for its band.",
            PROPOSED,
        ),
        _is_stale,
        lambda i: (
            f"The entity was last screened {i.screening_age_days} days ago, over its band's cadence of "
            f"{i.rescreen_days}."
        ),
    ),
    Rule(
        ReasonKind(
            "ERS-SCR-07",
            "fraud_risk_flagged",
            (20,),
            Family.IDENTITY,
            "The bank's review of the entity names a fraud risk.",
            "The bank's review reasons; weight [P]",
        ),
        lambda i: i.fraud_risk is True,
    ),
)
_RETURNS_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "ERS-RET-01",
            "unauthorized_return",
            (15,),
            Family.RETURNS,
            "One of the entity's ACH debits came back as unauthorized in 60 days.",
            f"{_NACHA}: R05, R07, R10, R11, R29 and R51; weight [P]",
        ),
        lambda i: i.unauthorized_returns_60d == 1,
    ),
    Rule(
        ReasonKind(
            "ERS-RET-02",
            "unauthorized_returns",
            (30,),
            Family.RETURNS,
            "Two or more of the entity's ACH debits came back as unauthorized in 60 days.",
            f"{_NACHA}: R05, R07, R10, R11, R29 and R51; weight [P]",
        ),
        lambda i: i.unauthorized_returns_60d > 1,
        lambda i: f"{i.unauthorized_returns_60d} of the entity's ACH debits came back as unauthorized in 60 days.",
    ),
    Rule(
        ReasonKind(
            "ERS-RET-03",
            "return_code_abuse",
            (20,),
            Family.RETURNS,
            f"At least {RETURNS_FLOOR} returns in 30 days, as many as {RETURNS_SHARE_PERCENT} % of the ACH debits.",
            PROPOSED,
        ),
        lambda i: (
            i.ach_debits_30d > 0
            and i.returns_30d >= RETURNS_FLOOR
            and i.returns_30d * 100 >= RETURNS_SHARE_PERCENT * i.ach_debits_30d
        ),
        lambda i: f"{i.returns_30d} returns against {i.ach_debits_30d} ACH debits in 30 days.",
    ),
    Rule(
        ReasonKind(
            "ERS-RET-04",
            "account_probing",
            (20,),
            Family.RETURNS,
            "Returns that tell whether an account exists, from two or more counterparties in 30 days.",
            f"{_NACHA} (administrative returns: R02, R03, R04 and R20); count [P]",
        ),
        lambda i: i.probed_counterparties_30d >= PROBED_FLOOR,
        lambda i: (
            f"In 30 days {i.probed_counterparties_30d} counterparties' accounts were closed, unknown or no accounts "
            "to debit."
        ),
    ),
)
_IDENTITY_CAP: Final = family_cap("ERS-CAP-01", Family.IDENTITY, 60)
_RETURNS_CAP: Final = family_cap("ERS-CAP-02", Family.RETURNS, 45)


def _shared(of_transfer: int, days: int, rules: tuple[Rule, ...], most: int, inputs: EntityInputs) -> int:
    """Points that the transfer's score and the entity's own signals both hold."""
    left = decayed(of_transfer, days)
    return left and min(left, most, sum(rule.points(inputs) for rule in rules))


def _shared_identity(i: EntityInputs) -> int:
    return _shared(i.transfer_identity_points, i.transfer_score_days, _IDENTITY_RULES, _IDENTITY_CAP.points, i)


def _shared_returns(i: EntityInputs) -> int:
    return _shared(i.transfer_returns_points, i.transfer_score_days, _RETURNS_RULES, _RETURNS_CAP.points, i)


_OVERLAPS: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "ERS-CAP-03",
            "identity_counted_once",
            (),
            None,
            "What the entity's identity gave to that transfer's score counts once.",
            PROPOSED,
        ),
        lambda i: -_shared_identity(i),
        lambda i: f"{_shared_identity(i)} points of the entity's identity are in that transfer's score already.",
    ),
    Rule(
        ReasonKind(
            "ERS-CAP-04",
            "returns_counted_once",
            (),
            None,
            "What the entity's returns gave to that transfer's score counts once.",
            PROPOSED,
        ),
        lambda i: -_shared_returns(i),
        lambda i: f"{_shared_returns(i)} points of the entity's returns are in that transfer's score already.",
    ),
)

CARD: Final = Scorecard[EntityInputs](
    VERSION,
    (
        Group(lambda i: i.transfer_score, _TRANSFER_RULES),
        Group(
            lambda i: (
                i.verification_status not in _SETTLED
                or i.pep_status in _PEPS_NAMED
                or i.is_high_risk
                or i.requires_screening
                or i.fraud_risk
                or _is_stale(i)
            ),
            _IDENTITY_RULES,
        ),
        Group(
            lambda i: i.returns_30d or i.unauthorized_returns_60d or i.probed_counterparties_30d,
            _RETURNS_RULES,
        ),
    ),
    {Family.IDENTITY: _IDENTITY_CAP, Family.RETURNS: _RETURNS_CAP},
    n="transfers_90d",
    least=TRANSFERS_FLOOR,
    overlaps=Group(lambda i: i.transfer_identity_points or i.transfer_returns_points, _OVERLAPS),
)
REASONS: Final = CARD.reasons


def score(inputs: EntityInputs) -> Score:
    return CARD.score(inputs)
