"""Routing: whether an alert may be closed without a person, who waits for it otherwise, and until when.

Everything must speak for it before the platform closes an alert alone; the first thing that speaks against it is the
alert's ``routeReason``. What a bank wrote as a rule, and a hard signal, always go to a person.
"""

from enum import StrEnum
from typing import Final

import msgspec

from features.core.instants import HOUR_US
from features.core.vocabulary import AlertStatus, Band, Route, Severity, SlaTier
from features.policy.bodies import ClockPolicy, PolicyBody

RULE_PREFIX: Final = "rule:"


class RouteReason(StrEnum):
    """Stable words; more may be added."""

    RULE = "rule"
    HARD_SIGNAL = "hard_signal"
    ALWAYS_REVIEWED = "always_reviewed"
    NOT_AUTO_CLOSABLE = "detector_not_auto_closable"
    UNSCORED = "unscored"
    BAND = "band_not_auto_closable"
    THIN_HISTORY = "thin_history"
    DEGRADED = "degraded_inputs"
    POLICY_ALLOWS = "policy_allows"
    APPEAL = "appeal"


class RoutingInput(msgspec.Struct, frozen=True, kw_only=True):
    """What routing looks at. Score and band are None for an alert on a program; ``program_n`` is of the baseline."""

    detector: str
    severity: Severity
    hard: bool
    score: int | None
    band: Band | None
    program_n: int | None
    degraded: bool


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    route: Route
    reason: RouteReason
    status: AlertStatus
    sla_tier: SlaTier
    auto_hold: bool

    def due_at(self, clock: ClockPolicy, opened_at: int) -> int:
        return opened_at + hours_us(clock, self.sla_tier)


def route(asked: RoutingInput, policy: PolicyBody) -> Routing:
    """How the policy routes an alert."""
    against = _reason_for_review(asked, policy)
    if against is None:
        return Routing(
            route=Route.AUTOMATED,
            reason=RouteReason.POLICY_ALLOWS,
            status=AlertStatus.AUTO_CLOSED,
            sla_tier=SlaTier.AUTO,
            auto_hold=False,
        )
    auto_hold = policy.hold_band_auto_hold and asked.band is Band.HOLD
    return Routing(
        route=Route.REVIEWED,
        reason=against,
        status=AlertStatus.HELD if auto_hold else AlertStatus.OPEN,
        sla_tier=tier_of(asked.severity, hard=asked.hard),
        auto_hold=auto_hold,
    )


def tier_of(severity: Severity, *, hard: bool) -> SlaTier:
    """The tier of an alert that a person decides."""
    return SlaTier.COMPLEX if hard or severity is Severity.HIGH else SlaTier.STANDARD


def hours_us(clock: ClockPolicy, tier: SlaTier) -> int:
    """How long an alert of the tier may wait, in microseconds."""
    hours = {
        SlaTier.AUTO: clock.auto_hours,
        SlaTier.STANDARD: clock.standard_hours,
        SlaTier.COMPLEX: clock.complex_hours,
        SlaTier.APPEAL: clock.appeal_hours,
    }
    return round(hours[tier] * HOUR_US)


def _reason_for_review(asked: RoutingInput, policy: PolicyBody) -> RouteReason | None:
    objections = (
        (RouteReason.RULE, asked.detector.startswith(RULE_PREFIX)),
        (RouteReason.HARD_SIGNAL, asked.hard),
        (RouteReason.ALWAYS_REVIEWED, asked.detector in policy.always_reviewed),
        (RouteReason.NOT_AUTO_CLOSABLE, asked.detector not in policy.auto_closable_detectors),
        (RouteReason.UNSCORED, asked.score is None),
        (RouteReason.BAND, asked.band not in policy.auto_close_bands),
        (RouteReason.THIN_HISTORY, asked.program_n is None or asked.program_n < policy.min_program_n),
        (RouteReason.DEGRADED, asked.degraded),
    )
    return next((reason for reason, is_so in objections if is_so), None)
