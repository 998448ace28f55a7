"""The key risk indicators of a program: the ratio or count that each one is, and its window.

Their lines of watch and breach are policy data (``features/policy``, prefix ``kri``).
"""

from typing import Final, NamedTuple

from clearhold.features.core.entries.kris import KriName, KriUnit

NACHA: Final = "Nacha Operating Rules"
PROPOSED: Final = "[P]"
_DAYS_30, _DAYS_60, _NOW = "30 days", "60 days", "now"
_DEBITS: Final = "ACH debits originated"
_RATE_ENDS: Final = ("_rate", "_share")
_RATIO, _COUNT, _HOURS = KriUnit.RATIO, KriUnit.COUNT, KriUnit.HOURS


class Kri(NamedTuple):
    """One indicator. ``n`` names the counted things; the denominator is empty for an indicator that is no ratio."""

    name: KriName
    numerator: str
    denominator: str
    n: str
    unit: KriUnit
    window: str
    source: str = PROPOSED
    is_lower: bool = False  # bad when it is low
    is_aging: bool = False  # its lines are parts of a decision clock

    @property
    def is_rate(self) -> bool:
        """A part of the things that ``n`` counts, which means nothing while they are few."""
        return self.name.endswith(_RATE_ENDS)


KRIS: Final = (
    Kri(
        KriName.ACH_UNAUTHORIZED_RETURN_RATE,
        "returns R05, R07, R10, R11, R29, R51 of ACH debits originated, delivered in the window",
        _DEBITS,
        "the debits",
        _RATIO,
        _DAYS_60,
        NACHA,
    ),
    Kri(
        KriName.ACH_ADMINISTRATIVE_RETURN_RATE,
        "returns R02, R03, R04 of ACH debits originated, delivered in the window",
        _DEBITS,
        "the debits",
        _RATIO,
        _DAYS_60,
        NACHA,
    ),
    Kri(
        KriName.ACH_OVERALL_RETURN_RATE,
        "returns of ACH debits originated with any code, RCK entries left out",
        f"{_DEBITS}, RCK entries left out",
        "the debits",
        _RATIO,
        _DAYS_60,
        NACHA,
    ),
    Kri(
        KriName.ACH_CREDIT_RETURN_RATE,
        "returns of ACH credits originated, delivered in the window",
        "ACH credits originated",
        "the credits",
        _RATIO,
        _DAYS_60,
    ),
    Kri(
        KriName.RESERVE_COVERAGE,
        "cents of the program's reserve account, available and locked, by its newest snapshot",
        "exposure: cents of ACH debits that may still come back, of 2 banking days x overall rate, and of 60 days x "
        "unauthorized rate, each rate at least the fleet's mean",
        "the debits of 60 days that may still come back",
        _RATIO,
        _NOW,
        is_lower=True,
    ),
    Kri(
        KriName.REVIEW_AGING_HOURS,
        "90th percentile (nearest rank) of the ages of waiting alerts of the review band",
        "",
        "the alerts",
        _HOURS,
        _NOW,
        is_aging=True,
    ),
    Kri(
        KriName.HOLD_AGING_HOURS,
        "90th percentile (nearest rank) of the ages of alerts that are held, or that wait in the hold band",
        "",
        "the alerts",
        _HOURS,
        _NOW,
        is_aging=True,
    ),
    Kri(
        KriName.OVERDRAFT_EVENTS,
        "accounts that were overdrafted in the window",
        "",
        "the program's accounts that were seen",
        _COUNT,
        _DAYS_30,
    ),
    Kri(
        KriName.FREEZE_EVENTS,
        "freezes of accounts in the window",
        "",
        "the program's accounts that were seen",
        _COUNT,
        _DAYS_30,
    ),
    Kri(
        KriName.VOLUME_VELOCITY,
        "cents of the last 24 hours",
        "cents of 30 days over the days of them that the program exists, once it is 7 days old",
        "days (UTC) of the 30 on which US cents moved",
        _RATIO,
        "24 hours and 30 days",
    ),
    Kri(
        KriName.DECLARED_VOLUME_USE,
        "cents of the calendar month (UTC) until now",
        "the declared monthly volume",
        "the month's transfers with US cents",
        _RATIO,
        "the month to date",
    ),
    Kri(
        KriName.COUNTERPARTY_CONCENTRATION,
        "cents that went to the counterparty that was paid most",
        "cents that left, by where the money goes",
        "the counterparties that were paid",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.VERIFICATION_DENIAL_RATE,
        "entities whose newest decision is DENIED",
        "entities whose newest decision, VERIFIED or DENIED, was delivered in the window",
        "those entities",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.CARD_DECLINE_RATE,
        "declined card authorizations",
        "card authorizations",
        "the authorizations",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.CARD_FRAUD_DECLINE_SHARE,
        "card authorizations declined for fraud or authentication",
        "card authorizations",
        "the authorizations",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.OUTSIDE_DECLARED_SHARE,
        "transfers on a rail or with a country that the program had not declared",
        "transfers whose rail or country can be compared with the declaration of their time",
        "those transfers",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.HOLD_SHARE,
        "transfers whose newest score is in the hold band",
        "transfers with a score",
        "those transfers",
        _RATIO,
        _DAYS_30,
    ),
    Kri(
        KriName.STALE_SCREENING_SHARE,
        "entities screened longer ago than their band's cadence, or never though it is required",
        "entities that were screened, or that the bank requires to be",
        "those entities",
        _RATIO,
        _NOW,
    ),
)
"""In the order in which they are shown."""
