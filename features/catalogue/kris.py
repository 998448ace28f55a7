"""The key risk indicators (KRIs) of a program: the ratio or count that each one is, its window, unit and status, and
one measurement.

Their lines of watch and breach are policy data (``features/policy``, prefix ``kri``).

Source  the interface's KriSnapshot and KriValue
"""

from enum import StrEnum
from typing import Annotated, Final, NamedTuple

import msgspec

from clearhold.features.core.vocabulary import about

WINDOW_DAYS: Final = 60
"""The longest window of an indicator, and so of a snapshot."""


class KriName(StrEnum):
    """The eighteen indicators, in the order in which they are shown."""

    ACH_UNAUTHORIZED_RETURN_RATE = "ach_unauthorized_return_rate"
    ACH_ADMINISTRATIVE_RETURN_RATE = "ach_administrative_return_rate"
    ACH_OVERALL_RETURN_RATE = "ach_overall_return_rate"
    ACH_CREDIT_RETURN_RATE = "ach_credit_return_rate"
    RESERVE_COVERAGE = "reserve_coverage"
    REVIEW_AGING_HOURS = "review_aging_hours"
    HOLD_AGING_HOURS = "hold_aging_hours"
    OVERDRAFT_EVENTS = "overdraft_events"
    FREEZE_EVENTS = "freeze_events"
    VOLUME_VELOCITY = "volume_velocity"
    DECLARED_VOLUME_USE = "declared_volume_use"
    COUNTERPARTY_CONCENTRATION = "counterparty_concentration"
    VERIFICATION_DENIAL_RATE = "verification_denial_rate"
    CARD_DECLINE_RATE = "card_decline_rate"
    CARD_FRAUD_DECLINE_SHARE = "card_fraud_decline_share"
    OUTSIDE_DECLARED_SHARE = "outside_declared_share"
    HOLD_SHARE = "hold_share"
    STALE_SCREENING_SHARE = "stale_screening_share"


class KriUnit(StrEnum):
    """The unit of a value and its threshold."""

    RATIO = "ratio"
    COUNT = "count"
    CENTS = "cents"
    DAYS = "days"
    HOURS = "hours"


class KriStatus(StrEnum):
    """Watch at or over its line, breach strictly over the threshold; under both for a coverage.

    Unmeasured has no value, or is a rate of too few observations.
    """

    OK = "ok"
    WATCH = "watch"
    BREACH = "breach"
    UNMEASURED = "unmeasured"


class KriValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One indicator as measured. ``value`` is raw, never smoothed, and None for not measured.

    ``n`` counts the observations behind the value; ``threshold`` is the breach line.
    """

    value: Annotated[float | None, about("As measured, never smoothed; null when not measured.")]
    n: Annotated[int, about("The number of observations behind the value.")]
    unit: KriUnit
    threshold: float | None
    status: Annotated[
        KriStatus,
        about(
            "watch from its line on, breach beyond the threshold; unmeasured without a value, and for a rate of fewer "
            "observations than the policy asks for."
        ),
    ]
    note: Annotated[str | msgspec.UnsetType, about("A caveat about the figure; absent without one.")] = msgspec.UNSET


_DECODER: Final = msgspec.json.Decoder(dict[str, KriValue])


def read_kris(text: str) -> dict[str, KriValue]:
    """The indicators of a stored snapshot, by name."""
    return _DECODER.decode(text)


class SnapshotCause(StrEnum):
    """The cause of a snapshot: a quarter of an hour passed, 200 transfers landed, an operator requested it, or loaded
    history passed the end of a day.
    """

    SCHEDULED = "scheduled"
    TRANSFERS = "transfers"
    REQUESTED = "requested"
    HISTORY = "history"


class SnapshotEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A requested snapshot, as a log entry: ``id`` becomes the snapshot's."""

    id: str
    at: int


NACHA: Final = "Nacha Operating Rules"
PROPOSED: Final = "[P]"
_DAYS_60, _NOW = "60 days", "now"
_DEBITS: Final = "ACH debits originated"


class Kri(NamedTuple):
    """One indicator. ``n`` names the counted things; the denominator is empty for an indicator that is no ratio."""

    name: KriName
    numerator: str
    denominator: str
    n: str
    unit: KriUnit = KriUnit.RATIO
    window: str = "30 days"
    source: str = PROPOSED
    is_lower: bool = False  # bad when it is low
    is_aging: bool = False  # its lines are parts of a decision clock

    @property
    def is_rate(self) -> bool:
        """A part of the things that ``n`` counts, which means nothing while they are few."""
        return self.name.endswith(("_rate", "_share"))


KRIS: Final = (
    Kri(
        KriName.ACH_UNAUTHORIZED_RETURN_RATE,
        "returns R05, R07, R10, R11, R29, R51 of ACH debits originated, delivered in the window",
        _DEBITS,
        "the debits",
        window=_DAYS_60,
        source=NACHA,
    ),
    Kri(
        KriName.ACH_ADMINISTRATIVE_RETURN_RATE,
        "returns R02, R03, R04 of ACH debits originated, delivered in the window",
        _DEBITS,
        "the debits",
        window=_DAYS_60,
        source=NACHA,
    ),
    Kri(
        KriName.ACH_OVERALL_RETURN_RATE,
        "returns of ACH debits originated with any code, RCK entries left out",
        f"{_DEBITS}, RCK entries left out",
        "the debits",
        window=_DAYS_60,
        source=NACHA,
    ),
    Kri(
        KriName.ACH_CREDIT_RETURN_RATE,
        "returns of ACH credits originated, delivered in the window",
        "ACH credits originated",
        "the credits",
        window=_DAYS_60,
    ),
    Kri(
        KriName.RESERVE_COVERAGE,
        "cents of the program's reserve account, available and locked, by its newest snapshot",
        "exposure: cents of ACH debits that may still come back, of 2 banking days x overall rate, and of 60 days x "
        "unauthorized rate, each rate at least the fleet's mean",
        "the debits of 60 days that may still come back",
        window=_NOW,
        is_lower=True,
    ),
    Kri(
        KriName.REVIEW_AGING_HOURS,
        "90th percentile (nearest rank) of the ages of waiting alerts of the review band",
        "",
        "the alerts",
        unit=KriUnit.HOURS,
        window=_NOW,
        is_aging=True,
    ),
    Kri(
        KriName.HOLD_AGING_HOURS,
        "90th percentile (nearest rank) of the ages of alerts that are held, or that wait in the hold band",
        "",
        "the alerts",
        unit=KriUnit.HOURS,
        window=_NOW,
        is_aging=True,
    ),
    Kri(
        KriName.OVERDRAFT_EVENTS,
        "accounts that were overdrafted in the window",
        "",
        "the program's accounts that were seen",
        unit=KriUnit.COUNT,
    ),
    Kri(
        KriName.FREEZE_EVENTS,
        "freezes of accounts in the window",
        "",
        "the program's accounts that were seen",
        unit=KriUnit.COUNT,
    ),
    Kri(
        KriName.VOLUME_VELOCITY,
        "cents of the last 24 hours",
        "cents of 30 days over the days of them that the program exists, once it is 7 days old",
        "days (UTC) of the 30 on which US cents moved",
        window="24 hours and 30 days",
    ),
    Kri(
        KriName.DECLARED_VOLUME_USE,
        "cents of the calendar month (UTC) until now",
        "the declared monthly volume",
        "the month's transfers with US cents",
        window="the month to date",
    ),
    Kri(
        KriName.COUNTERPARTY_CONCENTRATION,
        "cents that went to the counterparty that was paid most",
        "cents that left, by where the money goes",
        "the counterparties that were paid",
    ),
    Kri(
        KriName.VERIFICATION_DENIAL_RATE,
        "entities whose newest decision is DENIED",
        "entities whose newest decision, VERIFIED or DENIED, was delivered in the window",
        "those entities",
    ),
    Kri(KriName.CARD_DECLINE_RATE, "declined card authorizations", "card authorizations", "the authorizations"),
    Kri(
        KriName.CARD_FRAUD_DECLINE_SHARE,
        "card authorizations declined for fraud or authentication",
        "card authorizations",
        "the authorizations",
    ),
    Kri(
        KriName.OUTSIDE_DECLARED_SHARE,
        "transfers on a rail or with a country that the program had not declared",
        "transfers whose rail or country can be compared with the declaration of their time",
        "those transfers",
    ),
    Kri(
        KriName.HOLD_SHARE,
        "transfers whose newest score is in the hold band",
        "transfers with a score",
        "those transfers",
    ),
    Kri(
        KriName.STALE_SCREENING_SHARE,
        "entities screened longer ago than their band's cadence, or never though it is required",
        "entities that were screened, or that the bank requires to be",
        "those entities",
        window=_NOW,
    ),
)
"""In the order in which they are shown."""
