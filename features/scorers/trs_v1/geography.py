"""The geography and declared signals of trs-v1: the country of the money, and the declared countries and rails.

Comprehensive sanctions are a separate list (OFAC country programs), beside the two of FATF, of which the second asks
for attention, not for refusal. Without a declaration, or a known country, nothing is compared: no points. On an
international wire the unknown country is a reason by itself.

Source  the lists of the thresholds in force (``docs/policies.md``); [P] is proposed here, to be tuned on labels
"""

from typing import Final

from clearhold.features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.program import declared_words
from clearhold.features.core.scorecards import points_when
from clearhold.features.core.vocabulary import Rail
from clearhold.features.scorers.signal import Signal

_INTL_WIRE: Final = Rail.INTL_WIRE.value


def may_fire(v: FeatureVector) -> bool:
    """False when no signal of the family geography can fire."""
    return bool(v.counterparty_country_lists) or _is_unknown(v)


def _is_unknown(v: FeatureVector) -> bool:
    """Across a border the country decides, and an unknown one may be any; weight [P]: that of an undeclared country."""
    return v.counterparty_country is None and v.rail == _INTL_WIRE


def _is_on(v: FeatureVector, name: str) -> bool:
    return name in (v.counterparty_country_lists or "")


def _is_other_country(v: FeatureVector) -> bool:
    """Against the program's own declaration; weight [P]."""
    country = v.counterparty_country
    return country is not None and bool(v.declared_countries) and country not in declared_words(v.declared_countries)


def _is_other_rail(v: FeatureVector) -> bool:
    """Against the program's own declaration; weight [P]."""
    return bool(v.declared_rails) and v.rail not in declared_words(v.declared_rails)


CALLED: Final = Signal[FeatureVector](
    "TRS-GEO-01",
    "high_risk_geography",
    "The counterparty's country is on FATF's call-for-action list.",
    lambda v: _is_on(v, CALL_FOR_ACTION),
    lambda v, _: f"The counterparty is in {v.counterparty_country}, on FATF's call-for-action list.",
    source="FATF, High-Risk Jurisdictions subject to a Call for Action, as listed by the policy in force; weight [P]",
    of_attempts=True,
    hard=True,
)
MONITORED: Final = Signal[FeatureVector](
    "TRS-GEO-02",
    "monitored_geography",
    "The counterparty's country is under FATF's increased monitoring.",
    lambda v: _is_on(v, INCREASED_MONITORING) and not _is_on(v, CALL_FOR_ACTION),
    lambda v, _: f"The counterparty is in {v.counterparty_country}, under FATF's increased monitoring.",
    source="FATF, Jurisdictions under Increased Monitoring, as listed by the policy in force; weight [P]",
    of_attempts=True,
)
SANCTIONED: Final = Signal[FeatureVector](
    "TRS-GEO-03",
    "sanctioned_geography",
    "The counterparty's country is under comprehensive United States sanctions.",
    lambda v: _is_on(v, COMPREHENSIVELY_SANCTIONED),
    lambda v, _: f"The counterparty is in {v.counterparty_country}, under comprehensive United States sanctions.",
    source="OFAC country programs, as listed by the policy in force; weight [P]",
    of_attempts=True,
    hard=True,
)
UNKNOWN: Final = Signal[FeatureVector](
    "TRS-GEO-04",
    "country_unknown",
    "The counterparty's country of an international wire is not known.",
    _is_unknown,
    lambda _v, _: "The international wire states no country that can be read, so no list of countries was checked.",
    source="FATF, Recommendation 16: wires that lack required information need their own procedure; weight [P]",
    of_attempts=True,
)
OTHER_COUNTRY: Final = Signal[FeatureVector](
    "TRS-DEC-01",
    "country_outside_declared",
    "The program did not declare the counterparty's country.",
    _is_other_country,
    lambda v, _: f"The counterparty is in {v.counterparty_country}, which the program did not declare.",
    of_attempts=True,
)
OTHER_RAIL: Final = Signal[FeatureVector](
    "TRS-DEC-02",
    "rail_outside_declared",
    "The program did not declare the rail.",
    _is_other_rail,
    lambda v, _: f"The rail {v.rail} is not one that the program declared.",
    of_attempts=True,
)

GEOGRAPHY_SIGNALS: Final = (CALLED, MONITORED, SANCTIONED, UNKNOWN)
DECLARED_SIGNALS: Final = (OTHER_COUNTRY, OTHER_RAIL)
POINTS: Final = (
    points_when(CALLED.id, 40),
    points_when(MONITORED.id, 12),
    points_when(SANCTIONED.id, 40),
    points_when(UNKNOWN.id, 20),
    points_when(OTHER_COUNTRY.id, 20),
    points_when(OTHER_RAIL.id, 15),
)
"""Of the default card."""
