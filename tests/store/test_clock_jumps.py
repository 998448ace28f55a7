"""A clock that is wrong for minutes changes no time here; one that stays wrong is believed after it was reported."""

from itertools import pairwise

import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, SECOND_US
from clearhold.store.clock import AWAY_US, HOLD_US, JUMP_US, SteadyClock
from tests.support.clock import T0, FrozenClock

YEAR_US = 365 * DAY_US


class Machine:
    """Its clock can be set, and the time since its boot cannot."""

    def __init__(self) -> None:
        self.wall, self.since_boot = FrozenClock(), 7 * HOUR_US
        self.clock = SteadyClock(wall=self.wall, elapsed=lambda: self.since_boot)

    def run(self, microseconds: int) -> None:
        self.since_boot += microseconds
        self.wall.advance(microseconds)

    @property
    def seen(self) -> int:
        """The time here since T0."""
        return self.clock.now() - T0


@pytest.mark.parametrize("jump_us", [YEAR_US, DAY_US, MINUTE_US, -HOUR_US, -DAY_US, -YEAR_US])
def test_given_a_jump_that_is_corrected_in_time_then_time_went_on_and_it_was_reported(jump_us: int) -> None:
    machine = Machine()
    machine.wall.advance(jump_us)
    seen = []
    for _ in range(4):
        machine.run(HOLD_US // 5)
        seen.append(machine.seen)
        assert machine.clock.is_doubtful
        assert machine.clock.ahead_s == jump_us / SECOND_US
    machine.wall.advance(-jump_us)

    assert seen == [HOLD_US // 5 * number for number in range(1, 5)]
    assert machine.seen == seen[-1]
    assert (machine.clock.is_doubtful, machine.clock.ahead_s) == (False, 0)


@pytest.mark.parametrize("jump_us", [YEAR_US, -DAY_US])
def test_given_a_jump_that_lasts_then_it_counts_once_the_time_to_correct_it_is_over(jump_us: int) -> None:
    machine = Machine()
    machine.wall.advance(jump_us)
    assert machine.seen == 0
    machine.run(HOLD_US - 1)
    assert machine.seen == HOLD_US - 1
    machine.run(1)

    assert machine.seen == HOLD_US + jump_us
    assert not machine.clock.is_doubtful
    machine.run(MINUTE_US)
    assert machine.seen == HOLD_US + jump_us + MINUTE_US


def test_given_a_second_jump_while_the_first_one_waits_then_the_time_to_correct_it_begins_again() -> None:
    machine = Machine()
    machine.wall.advance(DAY_US)
    assert machine.clock.is_doubtful
    machine.run(HOLD_US - 1)
    machine.wall.advance(YEAR_US)
    assert machine.clock.is_doubtful
    machine.run(HOLD_US - 1)

    assert machine.seen == 2 * HOLD_US - 2


def test_given_small_corrections_then_the_clock_follows_and_time_never_goes_back() -> None:
    machine, seen = Machine(), []
    for step_us in (JUMP_US, -JUMP_US, -1, 1, -SECOND_US, SECOND_US, -JUMP_US // 2):
        machine.run(2 * SECOND_US)
        machine.wall.advance(step_us)
        seen.append(machine.seen)
        assert not machine.clock.is_doubtful
    machine.run(MINUTE_US)

    assert all(earlier <= later for earlier, later in pairwise(seen))
    assert machine.clock.now() == machine.wall.now()


@pytest.mark.parametrize("wrong_us", [-DAY_US, -HOUR_US, YEAR_US])
def test_given_a_start_with_a_wrong_clock_when_it_is_corrected_then_that_counts_at_once(wrong_us: int) -> None:
    machine = Machine()
    machine.wall.advance(wrong_us)
    machine.clock = SteadyClock(wall=machine.wall, elapsed=lambda: machine.since_boot)
    machine.clock.compare(T0 - MINUTE_US)
    first = (machine.seen, machine.clock.is_doubtful)
    machine.run(MINUTE_US)
    machine.wall.advance(-wrong_us)

    assert first == (wrong_us, True)
    assert (machine.seen, machine.clock.is_doubtful) == (MINUTE_US, False)
    machine.wall.advance(YEAR_US)
    assert machine.seen == MINUTE_US, "the next jump is one like any other"


@pytest.mark.parametrize(
    ("newest", "is_doubtful"), [(0, False), (T0, False), (T0 - AWAY_US, False), (T0 - YEAR_US, True)]
)
def test_given_a_start_then_it_is_doubtful_only_far_from_the_newest_entry_and_for_a_while(
    newest: int, *, is_doubtful: bool
) -> None:
    machine = Machine()
    machine.clock.compare(newest)

    assert machine.clock.is_doubtful == is_doubtful
    machine.run(HOLD_US)
    assert not machine.clock.is_doubtful
