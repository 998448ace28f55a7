"""Counterparty Risk Score, crs-v1: returns, the entities that share the account, the age of the relation, the country.

Unit    points 0-100, integers; None below 3 transfers with the counterparty
n       the program's transfers with the counterparty, ever
Window  returns of 60 days, shared use of 30 days, changed account details of 90 days
Errors  none: all inputs have an answer
Source  named with each reason
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from clearhold.features.scorers.engine import checks, default_card
from clearhold.features.scorers.signal import Family, Scorer, Signal, SignalGroup


class CounterpartyInputs(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The inputs of crs-v1. None is not measured, or never happened."""

    transfers: int
    transfers_60d: int = 0
    returns: int = 0
    returns_60d: int = 0
    unauthorized_returns_60d: int = 0
    shared_entities_30d: int = 0
    relationship_days: int | None = None
    account_changed_days: int | None = None
    country: str | None = None
    country_lists: str | None = None  # of the thresholds in force, comma-separated
    thresholds_version: str | None = None


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
    """Whether a hard signal fires: below the floor nothing else of a counterparty is measured."""
    lists = country_lists or ""
    return CALL_FOR_ACTION in lists or COMPREHENSIVELY_SANCTIONED in lists


def _began(i: CounterpartyInputs, _: int) -> str:
    return f"The first transfer with the counterparty was {i.relationship_days} days ago (n = {i.transfers})."


Group = SignalGroup[CounterpartyInputs]

_RETURNS_SIGNALS: Final[Mapping[Signal[CounterpartyInputs], int]] = {
    Signal(
        "CRS-RET-01",
        "unauthorized_return",
        "One transfer with the counterparty came back as unauthorized in 60 days.",
        lambda i: i.unauthorized_returns_60d == 1,
        source=_UNAUTHORIZED,
    ): 15,
    Signal(
        "CRS-RET-02",
        "unauthorized_returns",
        "Two or more transfers with the counterparty came back as unauthorized in 60 days.",
        lambda i: i.unauthorized_returns_60d > 1,
        lambda i, _: (
            f"{i.unauthorized_returns_60d} transfers with the counterparty came back as unauthorized in 60 days."
        ),
        source=_UNAUTHORIZED,
    ): 30,
    Signal(
        "CRS-RET-03",
        "returned_share",
        f"At least {RETURNS_FLOOR} returns in 60 days, as many as {RETURNS_SHARE_PERCENT} % of the transfers.",
        lambda i: i.returns_60d >= RETURNS_FLOOR and i.returns_60d * 100 >= RETURNS_SHARE_PERCENT * i.transfers_60d,
        lambda i, _: f"{i.returns_60d} of {i.transfers_60d} transfers with the counterparty in 60 days were returned.",
    ): 20,
}
"""With the points of the default card, as in the other groups."""
_RELATIONSHIP_SIGNALS: Final[Mapping[Signal[CounterpartyInputs], int]] = {
    Signal(
        "CRS-CPY-01",
        "new_relationship",
        f"The first transfer with the counterparty is less than {NEW_DAYS} days ago.",
        lambda i: i.relationship_days is not None and i.relationship_days < NEW_DAYS,
        _began,
    ): 10,
    Signal(
        "CRS-CPY-02",
        "young_relationship",
        f"The first transfer with the counterparty is {NEW_DAYS} to {YOUNG_DAYS - 1} days ago.",
        lambda i: i.relationship_days is not None and NEW_DAYS <= i.relationship_days < YOUNG_DAYS,
        _began,
    ): 5,
    Signal(
        "CRS-CPY-03",
        "account_details_changed",
        f"Other account details under a known name or id in {CHANGED_DAYS} days.",
        lambda i: i.account_changed_days is not None and i.account_changed_days < CHANGED_DAYS,
        lambda i, _: (
            f"{i.account_changed_days} days ago the counterparty came with other account details than were known "
            "under its name or id."
        ),
    ): 15,
    Signal(
        "CRS-CPY-04",
        "counterparty_shared",
        f"At least {SHARED_FLOOR} entities deal with the counterparty's account in 30 days.",
        lambda i: i.shared_entities_30d >= SHARED_FLOOR,
        lambda i, _: f"{i.shared_entities_30d} entities dealt with the counterparty's account in 30 days.",
        source=_FFIEC,
    ): 20,
}
_GEOGRAPHY_SIGNALS: Final[Mapping[Signal[CounterpartyInputs], int]] = {
    Signal(
        "CRS-GEO-01",
        "high_risk_geography",
        "The counterparty's country is on FATF's call-for-action list.",
        lambda i: CALL_FOR_ACTION in (i.country_lists or ""),
        lambda i, _: f"The counterparty is in {i.country}, on FATF's call-for-action list.",
        source="FATF, High-Risk Jurisdictions subject to a Call for Action, as listed by the policy in force; "
        "weight [P]",
        hard=True,
    ): 40,
    Signal(
        "CRS-GEO-02",
        "monitored_geography",
        "The counterparty's country is under FATF's increased monitoring.",
        lambda i: INCREASED_MONITORING in (i.country_lists or ""),
        lambda i, _: f"The counterparty is in {i.country}, under FATF's increased monitoring.",
        source="FATF, Jurisdictions under Increased Monitoring, as listed by the policy in force; weight [P]",
    ): 12,
    Signal(
        "CRS-GEO-03",
        "sanctioned_geography",
        "The counterparty's country is under a comprehensive embargo.",
        lambda i: COMPREHENSIVELY_SANCTIONED in (i.country_lists or ""),
        lambda i, _: f"The counterparty is in {i.country}, under a comprehensive embargo.",
        source="OFAC country programs, as listed by the policy in force; weight [P]",
        hard=True,
    ): 40,
}
_HISTORY_SIGNALS: Final[Mapping[Signal[CounterpartyInputs], int]] = {
    Signal(
        "CRS-HIS-01",
        "clean_history",
        f"At least {CLEAN_TRANSFERS} transfers over {CLEAN_DAYS} days, none was returned.",
        lambda i: i.transfers >= CLEAN_TRANSFERS and (i.relationship_days or 0) >= CLEAN_DAYS and not i.returns,
        lambda i, _: (
            f"{i.transfers} transfers with the counterparty over {i.relationship_days} days, none was returned."
        ),
        mitigates=True,
    ): -5,
}


def _may_relationship_fire(i: CounterpartyInputs) -> bool:
    return (
        (i.relationship_days or 0) < YOUNG_DAYS
        or i.shared_entities_30d >= SHARED_FLOOR
        or i.account_changed_days is not None
    )


_CAPS: Final = {Family.RETURNS: 45, Family.RELATIONSHIP: 30, Family.GEOGRAPHY: 40}
SCORER: Final = Scorer[CounterpartyInputs](
    version=VERSION,
    groups=(
        Group(_RETURNS_SIGNALS, lambda i: i.returns_60d or i.unauthorized_returns_60d),
        Group(_RELATIONSHIP_SIGNALS, _may_relationship_fire),
        Group(_GEOGRAPHY_SIGNALS, lambda i: i.country_lists),
        Group(_HISTORY_SIGNALS, lambda i: not i.returns),
    ),
    observations=lambda inputs, floor, _program_floor: (inputs.transfers, inputs.transfers >= floor),
    capped=tuple(_CAPS),
)
DEFAULT: Final = default_card(
    SCORER,
    caps=_CAPS,
    floor=TRANSFERS_FLOOR,
    signals=checks(_RETURNS_SIGNALS, _RELATIONSHIP_SIGNALS, _GEOGRAPHY_SIGNALS, _HISTORY_SIGNALS),
)
