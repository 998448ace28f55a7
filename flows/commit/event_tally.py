"""Logs the results of bank events once a minute, when there were any."""

from typing import Final

import structlog

from clearhold.features.core.event_results import EventResult
from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running.counts import FlowCounts
from clearhold.store.clock import Clock

EVERY_US: Final = 60 * SECOND_US

_WITHOUT_EFFECT: Final = (EventResult.UNUSABLE, EventResult.UNKNOWN, EventResult.CONFLICTING, EventResult.FAILED)

log = structlog.get_logger()


class EventTally:
    """Belongs to the maintenance thread."""

    def __init__(self, counts: FlowCounts, clock: Clock) -> None:
        self._counts, self._clock = counts, clock
        self._logged = counts.events.copy()
        self._next_at = clock.now() + EVERY_US

    def log_when_due(self) -> None:
        now = self._clock.now()
        if now >= self._next_at:
            self._next_at = now + EVERY_US
            self.log_new()

    def log_new(self) -> None:
        """Log the events since the last line; as a warning when some had no effect although they should have."""
        counts = self._counts.events.copy()
        new, self._logged = counts - self._logged, counts
        if new:
            write = log.warning if any(new[result] for result in _WITHOUT_EFFECT) else log.info
            write("bank_events", **dict(sorted(new.items())))
