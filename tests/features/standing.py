"""Alerts in each of their statuses, for those who ask something of them."""

from typing import Final

import msgspec

from features.core.rows import AlertRow, DecisionResultRow
from tests.features.warmed import warmed
from tests.features.watched import DAY, HOUR, Watched, a_decision

NOON: Final = 80 * DAY


def denied() -> Watched:
    """A waiting alert of detector kyc_denied_moving, opened at one hour."""
    watched = Watched().know("enti_1", verification_status="DENIED")
    watched.wire("enti_1", "cpty_1", 10_00, HOUR)
    return watched


def closed_alone() -> tuple[Watched, AlertRow]:
    """An alert that the policy closed."""
    watched = warmed()
    for place in range(6):
        watched.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR)
    return watched, watched.alert("repeated_amount")


def standing(status: str) -> tuple[Watched, AlertRow, int]:
    """An alert in a status, and the time from which on it is."""
    if status == "auto_closed":
        return *closed_alone(), NOON + 7 * HOUR
    watched = denied()
    words = {"held": "hold", "escalated": "escalate", "closed": "close"}
    if status in words:
        watched.ask(a_decision(watched.alert("kyc_denied_moving"), words[status], 2 * HOUR))
    return watched, watched.alert("kyc_denied_moving"), 3 * HOUR


def results_of(rows: list[msgspec.Struct]) -> list[str]:
    return [row.result for row in rows if isinstance(row, DecisionResultRow)]
