"""The geography and declared rules of trs-v1: where the money goes, and the countries and rails declared.

Source  the lists of the thresholds in force (``docs/policies.md``); [P] is proposed here, to be tuned on labels

No declaration, or no country delivered, is not measured: no points.
"""

from functools import lru_cache
from typing import Final

from features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from features.catalogue.vector import FeatureVector
from features.core.reason import Reason
from features.scorers.families import Family
from features.scorers.rule import ReasonKind, Rule

CALLED: Final = ReasonKind(
    "TRS-GEO-01",
    "high_risk_geography",
    (40,),
    Family.GEOGRAPHY,
    "The counterparty's country is on FATF's call-for-action list.",
    "FATF, High-Risk Jurisdictions subject to a Call for Action, as listed by the policy in force; weight [P]",
    hard=True,
)
MONITORED: Final = ReasonKind(
    "TRS-GEO-02",
    "monitored_geography",
    (12,),
    Family.GEOGRAPHY,
    "The counterparty's country is under FATF's increased monitoring.",
    "FATF, Jurisdictions under Increased Monitoring, as listed by the policy in force; weight [P]",
)
SANCTIONED: Final = ReasonKind(
    "TRS-GEO-03",
    "sanctioned_geography",
    (40,),
    Family.GEOGRAPHY,
    "The counterparty's country is under comprehensive United States sanctions.",
    "OFAC country programs, as listed by the policy in force; weight [P]",
    hard=True,
)
OTHER_COUNTRY: Final = ReasonKind(
    "TRS-DEC-01",
    "country_outside_declared",
    (20,),
    Family.DECLARED,
    "The counterparty's country is not among those that the program declared.",
    "[P]",
)
OTHER_RAIL: Final = ReasonKind(
    "TRS-DEC-02",
    "rail_outside_declared",
    (15,),
    Family.DECLARED,
    "The rail is not among those that the program declared.",
    "[P]",
)


def high_risk_geography(v: FeatureVector) -> Reason | None:
    """The two FATF lists; the second asks for attention, not for refusal."""
    country, lists = v.counterparty_country, v.counterparty_country_lists
    if not lists:
        return None
    if CALL_FOR_ACTION in lists:
        return CALLED.reason(f"The counterparty is in {country}, on FATF's call-for-action list.")
    if INCREASED_MONITORING in lists:
        return MONITORED.reason(f"The counterparty is in {country}, under FATF's increased monitoring.")
    return None


def sanctioned_geography(v: FeatureVector) -> Reason | None:
    """Comprehensive sanctions are a list of their own (OFAC country programs), and always a person's matter."""
    country = v.counterparty_country
    if not v.counterparty_country_lists or COMPREHENSIVELY_SANCTIONED not in v.counterparty_country_lists:
        return None
    return SANCTIONED.reason(f"The counterparty is in {country}, under comprehensive United States sanctions.")


def country_outside_declared(v: FeatureVector) -> Reason | None:
    """Against the program's own declaration; weight [P]."""
    country = v.counterparty_country
    if country is None or not v.declared_countries or country in words_of(v.declared_countries):
        return None
    return OTHER_COUNTRY.reason(f"Country {country} is not among the program's declared countries.")


def rail_outside_declared(v: FeatureVector) -> Reason | None:
    """Against the program's own declaration; weight [P]."""
    if not v.declared_rails or v.rail in words_of(v.declared_rails):
        return None
    return OTHER_RAIL.reason(f"Rail {v.rail} is not among the program's declared rails.")


@lru_cache(maxsize=4096)
def words_of(declared: str) -> frozenset[str]:
    """A declaration's words; programs declare rarely and move money often, so each is taken apart once."""
    return frozenset(declared.split(","))


RULES: Final[tuple[Rule, ...]] = (
    Rule(high_risk_geography, (CALLED, MONITORED), of_attempts=True),
    Rule(sanctioned_geography, (SANCTIONED,), of_attempts=True),
    Rule(country_outside_declared, (OTHER_COUNTRY,), of_attempts=True),
    Rule(rail_outside_declared, (OTHER_RAIL,), of_attempts=True),
)
