"""The opening times of alerts that wait in the review band, and of alerts that are held or wait in the hold band.

Both are sorted, so that a percentile of their ages is one look, however many wait.

Unit    instants in microseconds; an alert can be among both
"""

from array import array
from bisect import bisect_left, insort
from typing import Final

from clearhold.features.core.vocabulary import AlertStatus, Band
from clearhold.features.state.alert_state import AlertState

_REVIEW, _HOLD = 1, 2
_PERCENT: Final = 90


class WaitingAlerts:
    __slots__ = ("_kinds", "hold", "review")

    def __init__(self) -> None:
        self.review: array[int] = array("q")
        self.hold: array[int] = array("q")
        self._kinds: dict[str, int] = {}  # by alert: which of the two contain it

    def note(self, alert: AlertState) -> None:
        """Count an alert by its present state."""
        now, before = _kinds_of(alert), self._kinds.get(alert.id, 0)
        if now == before:
            return
        for kind, opened in ((_REVIEW, self.review), (_HOLD, self.hold)):
            if now & kind and not before & kind:
                insort(opened, alert.opened_at)
            elif before & kind and not now & kind:
                del opened[bisect_left(opened, alert.opened_at)]
        if now:
            self._kinds[alert.id] = now
        else:
            del self._kinds[alert.id]


def p90_of(opened: "array[int]") -> int | None:
    """The opening time of the alert at the 90th percentile of ages by nearest rank; None without waiting alerts."""
    rank = -(-len(opened) * _PERCENT // 100)
    return opened[len(opened) - rank] if opened else None


def _kinds_of(alert: AlertState) -> int:
    if not alert.waits:
        return 0
    is_held = alert.status is AlertStatus.HELD or alert.band is Band.HOLD
    return (_REVIEW if alert.band is Band.REVIEW else 0) | (_HOLD if is_held else 0)
