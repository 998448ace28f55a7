"""Counterparty Risk Score, crs-v1: what came back, who else deals with it, how long it is known, and where it is.

Unit    points 0-100, integers; None below 3 transfers with the counterparty
n       the program's transfers with the counterparty, ever
Window  returns of 60 days, shared use of 30 days, changed account details of 90 days
Errors  none: all inputs have an answer
Source  named with each reason
"""

from typing import Final

from features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from features.core.reason import Score
from features.scorers.actor_scorecard import ActorRule, RuleGroup, Scorecard
from features.scorers.crs_inputs import CounterpartyInputs
from features.scorers.families import Family
from features.scorers.rule import ReasonKind
from features.scorers.scorecard import PROPOSED, family_cap

VERSION: Final = "crs-v1"
TRANSFERS_FLOOR: Final = 3
RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
SHARED_FLOOR: Final = 3
NEW_DAYS: Final = 7
YOUNG_DAYS: Final = 30
CHANGED_DAYS: Final = 90
CLEAN_TRANSFERS: Final = 20
CLEAN_DAYS: Final = 90
_UNAUTHORIZED: Final = "Nacha Operating Rules: R05, R07, R10, R11, R29 and R51; weight [P]"
_FFIEC: Final = "FFIEC BSA/AML Examination Manual, appendix F (several accounts, one beneficiary); count [P]"


def is_hard(country_lists: str | None) -> bool:
    """Whether a hard rule fires: all that is asked of a counterparty below the floor."""
    lists = country_lists or ""
    return CALL_FOR_ACTION in lists or COMPREHENSIVELY_SANCTIONED in lists


Rule = ActorRule[CounterpartyInputs]
Group = RuleGroup[CounterpartyInputs]

_RETURNS_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "CRS-RET-01",
            "unauthorized_return",
            (15,),
            Family.RETURNS,
            "One transfer with the counterparty came back as unauthorized in 60 days.",
            _UNAUTHORIZED,
        ),
        lambda i: i.unauthorized_returns_60d == 1,
    ),
    Rule(
        ReasonKind(
            "CRS-RET-02",
            "unauthorized_returns",
            (30,),
            Family.RETURNS,
            "Two or more transfers with the counterparty came back as unauthorized in 60 days.",
            _UNAUTHORIZED,
        ),
        lambda i: i.unauthorized_returns_60d > 1,
        lambda i: f"{i.unauthorized_returns_60d} transfers with the counterparty came back as unauthorized in 60 days.",
    ),
    Rule(
        ReasonKind(
            "CRS-RET-03",
            "returned_share",
            (20,),
            Family.RETURNS,
            f"At least {RETURNS_FLOOR} returns in 60 days, as many as {RETURNS_SHARE_PERCENT} % of the transfers.",
            PROPOSED,
        ),
        lambda i: i.returns_60d >= RETURNS_FLOOR and i.returns_60d * 100 >= RETURNS_SHARE_PERCENT * i.transfers_60d,
        lambda i: f"{i.returns_60d} returns against {i.transfers_60d} transfers with the counterparty in 60 days.",
    ),
)
_RELATIONSHIP_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "CRS-CPY-01",
            "new_relationship",
            (10,),
            Family.RELATIONSHIP,
            f"The first transfer with the counterparty is less than {NEW_DAYS} days ago.",
            PROPOSED,
        ),
        lambda i: i.relationship_days is not None and i.relationship_days < NEW_DAYS,
        lambda i: f"The first transfer with the counterparty was {i.relationship_days} days ago (n = {i.transfers}).",
    ),
    Rule(
        ReasonKind(
            "CRS-CPY-02",
            "young_relationship",
            (5,),
            Family.RELATIONSHIP,
            f"The first transfer with the counterparty is {NEW_DAYS} to {YOUNG_DAYS - 1} days ago.",
            PROPOSED,
        ),
        lambda i: i.relationship_days is not None and NEW_DAYS <= i.relationship_days < YOUNG_DAYS,
        lambda i: f"The first transfer with the counterparty was {i.relationship_days} days ago (n = {i.transfers}).",
    ),
    Rule(
        ReasonKind(
            "CRS-CPY-03",
            "account_details_changed",
            (15,),
            Family.RELATIONSHIP,
            f"Other account details under a known name or id in {CHANGED_DAYS} days.",
            PROPOSED,
        ),
        lambda i: i.account_changed_days is not None and i.account_changed_days < CHANGED_DAYS,
        lambda i: (
            f"{i.account_changed_days} days ago the counterparty came with other account details than were known "
            "under its name or id."
        ),
    ),
    Rule(
        ReasonKind(
            "CRS-CPY-04",
            "counterparty_shared",
            (20,),
            Family.RELATIONSHIP,
            f"At least {SHARED_FLOOR} entities deal with the counterparty's account in 30 days.",
            _FFIEC,
        ),
        lambda i: i.shared_entities_30d >= SHARED_FLOOR,
        lambda i: f"{i.shared_entities_30d} entities dealt with the counterparty's account in 30 days.",
    ),
)
_GEOGRAPHY_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "CRS-GEO-01",
            "high_risk_geography",
            (40,),
            Family.GEOGRAPHY,
            "The counterparty's country is on FATF's call-for-action list.",
            "FATF, High-Risk Jurisdictions subject to a Call for Action, as listed by the policy in force; weight [P]",
            hard=True,
        ),
        lambda i: CALL_FOR_ACTION in (i.country_lists or ""),
        lambda i: f"The counterparty is in {i.country}, on FATF's call-for-action list.",
    ),
    Rule(
        ReasonKind(
            "CRS-GEO-02",
            "monitored_geography",
            (12,),
            Family.GEOGRAPHY,
            "The counterparty's country is under FATF's increased monitoring.",
            "FATF, Jurisdictions under Increased Monitoring, as listed by the policy in force; weight [P]",
        ),
        lambda i: INCREASED_MONITORING in (i.country_lists or ""),
        lambda i: f"The counterparty is in {i.country}, under FATF's increased monitoring.",
    ),
    Rule(
        ReasonKind(
            "CRS-GEO-03",
            "sanctioned_geography",
            (40,),
            Family.GEOGRAPHY,
            "The counterparty's country is under a comprehensive embargo.",
            "OFAC country programs, as listed by the policy in force; weight [P]",
            hard=True,
        ),
        lambda i: COMPREHENSIVELY_SANCTIONED in (i.country_lists or ""),
        lambda i: f"The counterparty is in {i.country}, under a comprehensive embargo.",
    ),
)
_HISTORY_RULES: Final[tuple[Rule, ...]] = (
    Rule(
        ReasonKind(
            "CRS-HIS-01",
            "clean_history",
            (-5,),
            Family.HISTORY,
            f"At least {CLEAN_TRANSFERS} transfers over {CLEAN_DAYS} days, none returned.",
            PROPOSED,
        ),
        lambda i: i.transfers >= CLEAN_TRANSFERS and (i.relationship_days or 0) >= CLEAN_DAYS and not i.returns,
        lambda i: f"{i.transfers} transfers with the counterparty over {i.relationship_days} days, none returned.",
    ),
)

CARD: Final = Scorecard[CounterpartyInputs](
    VERSION,
    (
        Group(lambda i: i.returns_60d or i.unauthorized_returns_60d, _RETURNS_RULES),
        Group(
            lambda i: (
                (i.relationship_days or 0) < YOUNG_DAYS
                or i.shared_entities_30d >= SHARED_FLOOR
                or i.account_changed_days is not None
            ),
            _RELATIONSHIP_RULES,
        ),
        Group(lambda i: i.country_lists, _GEOGRAPHY_RULES),
        Group(lambda i: not i.returns, _HISTORY_RULES),
    ),
    {
        Family.RETURNS: family_cap("CRS-CAP-01", Family.RETURNS, 45),
        Family.RELATIONSHIP: family_cap("CRS-CAP-02", Family.RELATIONSHIP, 30),
        Family.GEOGRAPHY: family_cap("CRS-CAP-03", Family.GEOGRAPHY, 40),
    },
    n="transfers",
    least=TRANSFERS_FLOOR,
)
REASONS: Final = CARD.reasons


def score(inputs: CounterpartyInputs) -> Score:
    return CARD.score(inputs)
