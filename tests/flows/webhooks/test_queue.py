"""What waits for one endpoint in memory: what is due next, and whose bodies are read for it."""

from random import Random

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.webhooks.delivery import LONGEST_PAUSE_US, SPREAD_US, DeliveryState, redelivered
from clearhold.flows.webhooks.queue import READ_AHEAD_US, READ_AT_ONCE, EndpointQueue, WaitingDelivery

NOW = 1_772_400_000_000_000


def a_waiting(number: int, due_at: int) -> WaitingDelivery:
    return WaitingDelivery(f"{number:036d}", "ping", f"event {number}", NOW, DeliveryState(next_attempt_at=due_at))


def a_queue(*waiting: WaitingDelivery) -> EndpointQueue:
    queue = EndpointQueue("endpoint")
    for each in waiting:
        queue.put(each)
    return queue


def test_given_many_that_are_due_when_bodies_are_read_then_it_is_those_in_flight_and_the_next_in_order() -> None:
    waiting = [a_waiting(number, NOW + number - 500) for number in range(1_000)]
    queue = a_queue(*Random(7).sample(waiting, len(waiting)))
    queue.take(NOW)

    assert queue.without_body(NOW) == waiting[: READ_AT_ONCE + 1]


def test_given_some_that_are_due_later_when_bodies_are_read_then_theirs_are_not() -> None:
    soon = [a_waiting(number, NOW + READ_AHEAD_US - number) for number in (2, 1, 0)]
    later = [a_waiting(number, NOW + READ_AHEAD_US + HOUR_US * number + 1) for number in range(3, 90)]

    assert a_queue(*later, *soon).without_body(NOW) == soon
    assert a_queue(*later).without_body(NOW) == []


def test_given_a_delivery_that_was_asked_for_again_when_taken_then_at_its_new_time_and_once() -> None:
    waiting = a_waiting(1, NOW)
    queue = a_queue(waiting)
    waiting.state = redelivered(waiting.state, now=NOW + 10)
    queue.put(waiting)

    assert queue.take(NOW) is None
    assert queue.take(NOW + 10) is waiting
    assert queue.take(NOW + HOUR_US) is None
    assert queue.first_due_at() is None


def test_given_deliveries_that_became_due_by_a_clock_that_was_ahead_when_it_is_right_again_then_they_are_due() -> None:
    furthest = a_waiting(1, NOW + LONGEST_PAUSE_US + SPREAD_US)
    queue = a_queue(furthest, a_waiting(2, NOW + 365 * DAY_US), a_waiting(3, NOW + DAY_US))

    assert queue.take(NOW) is None, "the first one may have failed nine times"
    assert queue.take(NOW + LONGEST_PAUSE_US + SPREAD_US) is furthest
    assert [each.id[-1] for each in (queue.take(NOW), queue.take(NOW)) if each is not None] == ["3", "2"]
