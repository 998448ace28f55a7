"""Decision clocks, for reading."""

from typing import Final

from anyio import to_thread

from api.clocks.schemas import Overdue, shown
from features.core.instants import format_instant
from features.core.principal import Principal
from features.policy.seeds import CLOCK_V1
from store.clock import Clock
from store.duck.alerts import Alerts

MOST_SHOWN: Final = 1_000


class ClockService:
    def __init__(self, *, alerts: Alerts, clock: Clock) -> None:
        self._alerts, self._clock = alerts, clock

    async def overdue(self, principal: Principal) -> Overdue:
        """Alerts that are open, held or escalated and whose due time passed, oldest due first."""
        now = self._clock.now()
        count, rows = await to_thread.run_sync(lambda: self._alerts.overdue(principal, MOST_SHOWN, now=now))
        return Overdue(as_of=format_instant(now), policy=CLOCK_V1, count=count, alerts=tuple(map(shown, rows)))
