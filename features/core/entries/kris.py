"""Key risk indicators (KRIs) of a program: their names, units and status, and one measurement.

Source  the interface's KriSnapshot and KriValue
"""

from enum import StrEnum
from typing import Annotated, Final

import msgspec

from clearhold.features.core.words import about

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
