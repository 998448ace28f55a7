"""The rules of trs-v1: each looks at one feature vector and gives one reason, or None.

Weights and triggers without a named rule book are proposals to be tuned on labels; they never change within a version.
Sentences hold numbers, words of the interface and ISO codes, never names.
"""

from collections.abc import Callable, Mapping
from typing import Final

from features.reason import Reason
from features.scorers.families import Family
from features.thresholds import CALL_FOR_ACTION_COUNTRIES, INCREASED_MONITORING_COUNTRIES, structuring_zones
from features.vector import FeatureVector
from features.vocabulary import PepStatus, Rail, VerificationStatus

STRUCTURING_24H_COUNT: Final = 3
STRUCTURING_7D_COUNT: Final = 4
VELOCITY_COUNT_FLOOR: Final = 5
VELOCITY_SUM_FLOOR_CENTS: Final = 250_000
VELOCITY_FACTOR: Final = 3
VELOCITY_HISTORY_FLOOR: Final = 10
SPIKE_FACTOR: Final = 3
SPIKE_HISTORY_FLOOR: Final = 5
CREDIBILITY_K: Final = 20
DORMANT_DAYS: Final = 90
DORMANT_SUM_CENTS: Final = 500_000
LARGE_FIRST_CENTS: Final = 250_000
RETURNS_FLOOR: Final = 2
RETURNS_SHARE_PERCENT: Final = 20
SCREENING_CADENCE_DAYS: Final = 365
CLEAN_HISTORY_TRANSFERS: Final = 60
WELL_KNOWN_COUNTERPARTY: Final = 20
_DAYS_30: Final = 30
# The words themselves: looking a member up costs Python 3.11 as much as the rest of a rule.
_ACH, _CARD = Rail.ACH.value, Rail.CARD.value
_DENIED, _VERIFIED = VerificationStatus.DENIED.value, VerificationStatus.VERIFIED.value
_PEP, _PEP_POTENTIAL = PepStatus.YES.value, PepStatus.POTENTIAL.value


def structuring_pattern(v: FeatureVector) -> Reason | None:
    """Several amounts just under a reporting line (31 USC 5324, 31 CFR 1010.314); the transfer must be one of them."""
    if v.structuring_24h_count < STRUCTURING_24H_COUNT and v.structuring_window_count < STRUCTURING_7D_COUNT:
        return None
    if v.rail == _CARD or not structuring_zones(v.amount_cents):
        return None
    sentence = (
        f"{v.structuring_24h_count} transfers in 24 h and {v.structuring_window_count} in 7 days "
        "lie between 80 % and 100 % of one reporting threshold."
    )
    return _reason("TRS-AMT-01", "structuring_pattern", 30, sentence)


def just_below_threshold(v: FeatureVector) -> Reason | None:
    """One amount just under a line (FFIEC BSA/AML manual, appendix F)."""
    if not v.typology_just_below_threshold or v.rail == _CARD:
        return None
    sentence = f"{_money(v.amount_cents)} lies between 90 % and 100 % of a reporting threshold."
    return _reason("TRS-AMT-02", "just_below_threshold", 8, sentence)


def amount_spike(v: FeatureVector) -> Reason | None:
    """Over three times the usual amount and over the program's 95th percentile."""
    if v.program_median_cents is None or v.program_p95_cents is None or v.amount_cents <= v.program_p95_cents:
        return None
    usual = usual_cents(v)
    if v.amount_cents <= SPIKE_FACTOR * usual:
        return None
    sentence = (
        f"{_money(v.amount_cents)} against a usual {_money(usual)} (n = {v.entity_n_90d}) "
        f"and a 95th percentile of {_money(v.program_p95_cents)} on the program (n = {v.program_n_90d})."
    )
    return _reason("TRS-AMT-03", "amount_spike", 15, sentence)


def usual_cents(v: FeatureVector) -> int:
    """The entity's mean of 90 days and the program's median, blended by credibility n / (n + 20)."""
    n = v.entity_n_90d
    return (v.entity_sum_cents_90d + CREDIBILITY_K * (v.program_median_cents or 0)) // (n + CREDIBILITY_K)


def velocity_spike(v: FeatureVector) -> Reason | None:
    """Far more transfers, or cents, in 24 h than the entity's own month suggests."""
    if v.entity_count_30d < VELOCITY_HISTORY_FLOOR:
        return None
    often = v.velocity_24h_count >= VELOCITY_COUNT_FLOOR
    often = often and v.velocity_24h_count * _DAYS_30 >= VELOCITY_FACTOR * v.entity_count_30d
    much = v.velocity_24h_sum_cents >= VELOCITY_SUM_FLOOR_CENTS
    much = much and v.velocity_24h_sum_cents * _DAYS_30 >= VELOCITY_FACTOR * v.entity_sum_cents_30d
    if not often and not much:
        return None
    tenths = v.entity_count_30d * 10 // _DAYS_30
    sentence = (
        f"{v.velocity_24h_count} transfers and {_money(v.velocity_24h_sum_cents)} in 24 h against a usual "
        f"{tenths // 10}.{tenths % 10} and {_money(v.entity_sum_cents_30d // _DAYS_30)} a day "
        f"(n = {v.entity_count_30d})."
    )
    return _reason("TRS-VEL-01", "velocity_spike", 15, sentence)


def dormant_reactivation(v: FeatureVector) -> Reason | None:
    """A sleeping account that moves a large amount (FATF red flag: previously inactive account)."""
    days = v.typology_dormant_days
    if days is None or days < DORMANT_DAYS:
        return None
    large = v.program_p95_cents is not None and v.amount_cents >= v.program_p95_cents
    if not large and v.velocity_24h_sum_cents < DORMANT_SUM_CENTS:
        return None
    sentence = f"First transfer after {days} days, with {_money(v.velocity_24h_sum_cents)} in 24 h."
    return _reason("TRS-VEL-02", "dormant_reactivation", 15, sentence)


def first_time_counterparty(v: FeatureVector) -> Reason | None:
    """A stranger; more points when the amount is large for the program."""
    if v.counterparty_first_time is not True or v.rail == _CARD:
        return None
    if v.amount_cents >= max(v.program_p95_cents or 0, LARGE_FIRST_CENTS):
        sentence = f"First transfer with this counterparty, and {_money(v.amount_cents)} is large for the program."
        return _reason("TRS-CPY-02", "first_time_counterparty_large", 20, sentence)
    return _reason("TRS-CPY-01", "first_time_counterparty", 5, "First transfer with this counterparty on the program.")


def changed_account_details(v: FeatureVector) -> Reason | None:
    """A known name under another account: how invoice fraud looks."""
    if not v.counterparty_account_changed:
        return None
    sentence = "A counterparty of the same name was paid before under other account details."
    return _reason("TRS-CPY-03", "counterparty_account_changed", 15, sentence)


def unauthorized_return(v: FeatureVector) -> Reason | None:
    """Unauthorized returns (Nacha: R05, R07, R10, R11, R29, R51) of the entity in 60 days or of the counterparty."""
    count = max(v.entity_unauthorized_returns_60d, v.counterparty_prior_unauthorized_returns)
    if count == 0:
        return None
    sentence = (
        f"{v.entity_unauthorized_returns_60d} unauthorized returns on the entity's debits in 60 days, "
        f"{v.counterparty_prior_unauthorized_returns} with this counterparty."
    )
    return _reason("TRS-RET-01", "unauthorized_return", 15 if count == 1 else 30, sentence)


def return_code_abuse(v: FeatureVector) -> Reason | None:
    """At least two ACH returns in 30 days, and as many as a fifth of the ACH debits of that time."""
    if v.rail != _ACH or v.entity_returns_30d < RETURNS_FLOOR:
        return None
    if v.entity_returns_30d * 100 < RETURNS_SHARE_PERCENT * v.entity_ach_debits_30d:
        return None
    sentence = f"{v.entity_returns_30d} returns against {v.entity_ach_debits_30d} ACH debits in 30 days."
    return _reason("TRS-RET-02", "return_code_abuse", 20, sentence)


def verification(v: FeatureVector) -> Reason | None:
    """A denied entity always goes to a person; an unfinished verification adds points (31 CFR 1020.220)."""
    status = v.entity_verification_status
    if status is None or status == _VERIFIED:
        return None
    if status == _DENIED:
        return _reason("TRS-KYC-01", "kyc_denied_moving", 60, "The entity was DENIED and moves money.", hard=True)
    return _reason("TRS-KYC-02", "kyc_unverified_moving", 15, f"The entity's verification is {status}.")


def pep(v: FeatureVector) -> Reason | None:
    if v.entity_pep_status == _PEP:
        return _reason("TRS-SCR-01", "pep", 15, "The entity is a politically exposed person.")
    if v.entity_pep_status == _PEP_POTENTIAL:
        return _reason("TRS-SCR-02", "pep_potential", 8, "The entity may be a politically exposed person.")
    return None


def high_risk_entity(v: FeatureVector) -> Reason | None:
    if v.entity_is_high_risk is not True:
        return None
    return _reason("TRS-SCR-03", "high_risk_entity", 15, "The bank marks the entity as high risk.")


def screening(v: FeatureVector) -> Reason | None:
    """Screening that is due and was never done, or is older than its cadence."""
    age_days = v.entity_screening_age_days
    if age_days is None:
        if v.entity_requires_screening is not True:
            return None
        return _reason("TRS-SCR-04", "never_screened", 20, "The entity requires screening and was never screened.")
    if age_days <= SCREENING_CADENCE_DAYS:
        return None
    sentence = f"The entity was last screened {age_days} days ago, over the cadence of {SCREENING_CADENCE_DAYS}."
    return _reason("TRS-SCR-05", "screening_stale", 8, sentence)


def high_risk_geography(v: FeatureVector) -> Reason | None:
    """The two FATF lists; the second asks for attention, not for refusal."""
    country = v.counterparty_country
    if country in CALL_FOR_ACTION_COUNTRIES:
        sentence = f"The counterparty is in {country}, on FATF's call-for-action list."
        return _reason("TRS-GEO-01", "high_risk_geography", 40, sentence, hard=True)
    if country in INCREASED_MONITORING_COUNTRIES:
        sentence = f"The counterparty is in {country}, under FATF's increased monitoring."
        return _reason("TRS-GEO-02", "monitored_geography", 12, sentence)
    return None


def country_outside_declared(v: FeatureVector) -> Reason | None:
    """No declaration, or no country delivered, is not measured: no points."""
    country = v.counterparty_country
    if country is None or not v.declared_countries or country in v.declared_countries.split(","):
        return None
    sentence = f"Country {country} is not among the program's declared countries."
    return _reason("TRS-DEC-01", "country_outside_declared", 20, sentence)


def rail_outside_declared(v: FeatureVector) -> Reason | None:
    if not v.declared_rails or v.rail in v.declared_rails.split(","):
        return None
    return _reason(
        "TRS-DEC-02", "rail_outside_declared", 15, f"Rail {v.rail} is not among the program's declared rails."
    )


def clean_history(v: FeatureVector) -> Reason | None:
    """A long history without a return, with a counterparty that is well known."""
    returns = v.entity_prior_returns + v.counterparty_prior_returns
    if v.entity_prior_transfers < CLEAN_HISTORY_TRANSFERS or v.counterparty_n < WELL_KNOWN_COUNTERPARTY or returns:
        return None
    counts = f"{v.entity_prior_transfers} earlier transfers of the entity, {v.counterparty_n} with this counterparty"
    sentence = f"{counts}, none returned."
    return _reason("TRS-HIS-01", "clean_history", -5, sentence)


def _reason(reason_id: str, signal: str, weight: int, sentence: str, *, hard: bool = False) -> Reason:
    return Reason(id=reason_id, signal=signal, weight=weight, hard=hard, sentence=sentence)


def _money(cents: int) -> str:
    return f"{cents // 100:,}.{cents % 100:02d}"


RULES: Final[Mapping[Family, tuple[Callable[[FeatureVector], Reason | None], ...]]] = {
    Family.AMOUNT: (structuring_pattern, just_below_threshold, amount_spike),
    Family.TIMING: (velocity_spike, dormant_reactivation),
    Family.RELATIONSHIP: (first_time_counterparty, changed_account_details),
    Family.RETURNS: (unauthorized_return, return_code_abuse),
    Family.IDENTITY: (verification, pep, high_risk_entity, screening),
    Family.GEOGRAPHY: (high_risk_geography,),
    Family.DECLARED: (country_outside_declared, rail_outside_declared),
    Family.HISTORY: (clean_history,),
}
