"""Routing: whether an alert may be closed without a person, and otherwise by when a person must decide it.

The platform closes an alert only when no reason for a review applies; the first that applies is the alert's
``routeReason``. An alert of a rule that the bank wrote, and a hard one, always go to a person.
"""

from enum import StrEnum
from typing import Final

import msgspec

from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.vocabulary import AlertStatus, Band, Route, Severity, SlaTier
from clearhold.features.policy.bodies import ClockPolicy, PolicyBody

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
    REOPENED = "reopened"


class RoutingInput(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of routing. Score and band are None for an alert on a program; ``program_n`` is of the baseline."""

    detector: str
    severity: Severity
    hard: bool
    score: int | None = None
    band: Band | None = None
    program_n: int | None = None
    degraded: bool = False


class Routing(msgspec.Struct, frozen=True, kw_only=True):
    route: Route
    reason: RouteReason
    status: AlertStatus
    sla_tier: SlaTier
    auto_hold: bool
    is_closable: bool
    """Whether only the list of closable detectors can prevent closing the alert without a person."""

    def due_at(self, clock: ClockPolicy, opened_at: int) -> int:
        return opened_at + hours_us(clock, self.sla_tier)


def route(inputs: RoutingInput, policy: PolicyBody) -> Routing:
    standing = _objections(inputs, policy)
    if True not in standing:
        return Routing(
            route=Route.AUTOMATED,
            reason=RouteReason.POLICY_ALLOWS,
            status=AlertStatus.AUTO_CLOSED,
            sla_tier=SlaTier.AUTO,
            auto_hold=False,
            is_closable=True,
        )
    auto_hold = policy.hold_band_auto_hold and inputs.band is Band.HOLD
    return Routing(
        route=Route.REVIEWED,
        reason=_REASONS[standing.index(True)],
        status=AlertStatus.HELD if auto_hold else AlertStatus.OPEN,
        sla_tier=tier_of(inputs.severity, hard=inputs.hard),
        auto_hold=auto_hold,
        is_closable=not any(standing[:_LISTED]) and not any(standing[_LISTED + 1 :]),
    )


def tier_of(severity: Severity, *, hard: bool) -> SlaTier:
    """The tier of an alert that a person decides: only high severity without a hard signal may wait longer."""
    return SlaTier.COMPLEX if severity is Severity.HIGH and not hard else SlaTier.STANDARD


def hours_us(clock: ClockPolicy, tier: SlaTier) -> int:
    """How long an alert of the tier may wait, in microseconds."""
    hours = {
        SlaTier.AUTO: clock.auto_hours,
        SlaTier.STANDARD: clock.standard_hours,
        SlaTier.COMPLEX: clock.complex_hours,
        SlaTier.APPEAL: clock.appeal_hours,
    }
    return round(hours[tier] * HOUR_US)


def _objections(inputs: RoutingInput, policy: PolicyBody) -> tuple[bool, ...]:
    """Whether each of ``_REASONS`` speaks for a review here."""
    return (
        inputs.detector.startswith(RULE_PREFIX),
        inputs.hard,
        inputs.detector in policy.always_reviewed,
        inputs.detector not in policy.auto_closable_detectors,
        inputs.score is None,
        inputs.band not in policy.auto_close_bands,
        inputs.program_n is None or inputs.program_n < policy.min_program_n,
        inputs.degraded,
    )


_REASONS: Final = (
    RouteReason.RULE,
    RouteReason.HARD_SIGNAL,
    RouteReason.ALWAYS_REVIEWED,
    RouteReason.NOT_AUTO_CLOSABLE,
    RouteReason.UNSCORED,
    RouteReason.BAND,
    RouteReason.THIN_HISTORY,
    RouteReason.DEGRADED,
)
_LISTED: Final = _REASONS.index(RouteReason.NOT_AUTO_CLOSABLE)
