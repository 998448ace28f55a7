"""The orders of lists of alerts.

Order   Each order has one number for an alert, and a list has the highest first; of equal ones, by id. ``worst`` is the
        order of all lists of alerts. ``score``: the highest score first, alerts without one last, of equal ones the
        newest. ``openedAt``: the newest first. ``dueAt``: the soonest due first, of equal ones the worst, alerts
        without a due time last
Unit    instants in microseconds
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol

from clearhold.features.core.rows.alerts import RANK_INSTANT_BITS

_WEIGHT_BITS: Final = 4
_NEVER_DUE: Final = 2**RANK_INSTANT_BITS


class AlertOrder(StrEnum):
    """The orders of a list of alerts."""

    WORST = "worst"
    DUE_AT = "dueAt"
    SCORE = "score"
    OPENED_AT = "openedAt"


class PlacedAlert(Protocol):
    """The fields of a row that have its places."""

    @property
    def score_at_alert(self) -> int | None: ...

    @property
    def opened_at(self) -> int: ...

    @property
    def due_at(self) -> int | None: ...

    @property
    def queue_rank(self) -> int: ...


def score_place(alert: PlacedAlert) -> int:
    """The number of the order ``score``; ``SCORE_PLACE`` is the same in SQL."""
    score = -1 if alert.score_at_alert is None else alert.score_at_alert
    return ((score + 1) << RANK_INSTANT_BITS) + alert.opened_at


SCORE_PLACE: Final = f"((coalesce(score_at_alert, -1) + 1) << {RANK_INSTANT_BITS}) + epoch_us(opened_at)"


def due_place(alert: PlacedAlert) -> int:
    """The number of the order ``dueAt``."""
    due_at = _NEVER_DUE if alert.due_at is None else alert.due_at
    return (alert.queue_rank >> RANK_INSTANT_BITS) - (due_at << _WEIGHT_BITS)


PLACES: Final[dict[AlertOrder, Callable[[PlacedAlert], int]]] = {
    AlertOrder.WORST: lambda alert: alert.queue_rank,
    AlertOrder.DUE_AT: due_place,
    AlertOrder.SCORE: score_place,
    AlertOrder.OPENED_AT: lambda alert: alert.opened_at,
}
