"""The signals of trs-v1 on the two sides: the bank's data on the entity, as known at the transfer's time, the country
of the money, and the declared countries and rails.

Money of a denied entity always goes to a person. Attempts, which move nothing, count only for a denied entity.

Comprehensive sanctions are a separate list (OFAC country programs), beside the two of FATF, of which the second asks
for attention, not for refusal. Without a declaration, or a known country, nothing is compared: no points. On an
international wire the unknown country is a reason by itself.

Source  named at each signal; the lists of the thresholds in force (``docs/policies.md``); [P] is proposed here, to be
        tuned on labels
"""

from typing import Final

from clearhold.features.catalogue.thresholds import CALL_FOR_ACTION, COMPREHENSIVELY_SANCTIONED, INCREASED_MONITORING
from clearhold.features.catalogue.vector import FeatureVector, is_attempt
from clearhold.features.core.principal import declared_words
from clearhold.features.core.vocabulary import PepStatus, Rail, VerificationStatus
from clearhold.features.scorers.engine import checks
from clearhold.features.scorers.signal import Signal, of_entity

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
_Statement = Signal[FeatureVector]
PEP: Final[_Statement] = of_entity("TRS-SCR-01", lambda v: v.entity_pep_status == _PEP, of_attempts=True)
PEP_POTENTIAL: Final[_Statement] = of_entity(
    "TRS-SCR-02", lambda v: v.entity_pep_status == _PEP_POTENTIAL, of_attempts=True
)
HIGH_RISK: Final[_Statement] = of_entity("TRS-SCR-03", lambda v: v.entity_is_high_risk is True, of_attempts=True)
NEVER_SCREENED: Final[_Statement] = of_entity(
    "TRS-SCR-04",
    lambda v: v.entity_screening_age_days is None and v.entity_requires_screening is True,
    of_attempts=True,
)
FRAUD_RISK: Final[_Statement] = of_entity("TRS-SCR-07", lambda v: v.entity_fraud_risk is True, of_attempts=True)
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

_POINTS: Final = {
    DENIED: 60,
    UNVERIFIED: 15,
    DENIED_ATTEMPT: 15,
    PEP: 15,
    PEP_POTENTIAL: 8,
    HIGH_RISK: 15,
    NEVER_SCREENED: 20,
    SCREENING_STALE: 8,
    FRAUD_RISK: 20,
}
SIGNALS: Final = tuple(_POINTS)
POINTS: Final = checks(_POINTS)
"""Of the default card."""


_INTL_WIRE: Final = Rail.INTL_WIRE.value


def may_geography_fire(v: FeatureVector) -> bool:
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

_GEOGRAPHY_POINTS: Final = {CALLED: 40, MONITORED: 12, SANCTIONED: 40, UNKNOWN: 20}
_DECLARED_POINTS: Final = {OTHER_COUNTRY: 20, OTHER_RAIL: 15}
GEOGRAPHY_SIGNALS, DECLARED_SIGNALS = tuple(_GEOGRAPHY_POINTS), tuple(_DECLARED_POINTS)
GEOGRAPHY_POINTS: Final = checks(_GEOGRAPHY_POINTS, _DECLARED_POINTS)
"""Of the default card."""
