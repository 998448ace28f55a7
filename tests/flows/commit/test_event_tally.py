"""One line a minute on what became of events: only what is new, a warning when some should have had an effect."""

from structlog.testing import capture_logs

from clearhold.features.core.instants import DAY_US
from clearhold.flows.commit.committer import EVERY_US, EventTally
from clearhold.flows.running.counts import FlowCounts
from tests.support.clock import FrozenClock


def test_given_events_when_a_minute_is_over_then_one_line_has_the_new_ones() -> None:
    counts, clock = FlowCounts(), FrozenClock()
    tally = EventTally(counts, clock)
    with capture_logs() as lines:
        counts.events.update({"applied": 5})
        tally.log_when_due()
        clock.advance(EVERY_US)
        tally.log_when_due()
        counts.events.update({"applied": 1, "unusable": 2})
        tally.log_when_due()
        clock.advance(EVERY_US)
        tally.log_when_due()
        clock.advance(EVERY_US)
        tally.log_when_due()

    assert lines == [
        {"event": "bank_events", "log_level": "info", "applied": 5},
        {"event": "bank_events", "log_level": "warning", "applied": 1, "unusable": 2},
    ]


def test_given_a_clock_that_was_ahead_when_it_is_right_again_then_events_are_logged_again() -> None:
    counts, clock = FlowCounts(), FrozenClock()
    clock.advance(365 * DAY_US)
    tally = EventTally(counts, clock)
    clock.advance(-365 * DAY_US)
    counts.events.update({"applied": 5})

    with capture_logs() as lines:
        tally.log_when_due()

    assert lines == [{"event": "bank_events", "log_level": "info", "applied": 5}]


def test_given_events_of_less_than_a_minute_when_the_service_stops_then_they_are_logged_too() -> None:
    counts = FlowCounts()
    tally = EventTally(counts, FrozenClock())
    counts.events.update({"stored": 1})

    with capture_logs() as lines:
        tally.log_new()

    assert lines == [{"event": "bank_events", "log_level": "info", "stored": 1}]
