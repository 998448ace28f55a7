"""Deliveries over time: the schedule to the microsecond, fairness, what is given up, and what a restart finds."""

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
import standardwebhooks
import stripe
from prometheus_client import CollectorRegistry

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, SECOND_US, datetime_of
from clearhold.features.webhooks.delivery import LISTENED_URL, Attempt, AttemptError, DeliveryStatus, answered
from clearhold.flows.bank_work import Webhooks
from clearhold.flows.webhooks import queue as queues
from clearhold.flows.webhooks.dispatcher import IN_FLIGHT_OF_ENDPOINT
from clearhold.flows.webhooks.outbox import WebhookCollector, WebhookCounts
from clearhold.store.control.webhook_registry import WebhookRegistry
from clearhold.store.redis_log.owner import NotOwnerError
from tests.support.clock import FrozenClock
from tests.support.webhook_bank import OK, Sent, WebhookBank

DOWN: Final = Attempt(None, AttemptError.CONNECTION)
SPREAD_US: Final = 10 * SECOND_US
HOUR_S: Final = 3_600


def played(folder: Path, story: Callable[[WebhookBank], Awaitable[None]]) -> None:
    async def play() -> None:
        async with WebhookBank(folder) as bank:
            await story(bank)

    asyncio.run(play())


def assert_in_order(numbers: list[int], count: int, *, slack: int) -> None:
    """Begun in order, each once; others overtake one whose body is being read, as long as theirs were."""
    assert len(set(numbers)) == len(numbers) >= count
    assert max(abs(number - place) for place, number in enumerate(numbers)) < slack


def test_given_a_receiver_that_is_down_then_it_is_tried_ten_times_on_schedule_and_no_more(tmp_path: Path) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        bank.sender.always(DOWN)
        (delivery_id,) = bank.waiting(endpoint, 1)
        for number, minutes in enumerate((2, 4, 8, 16, 32, 64, 128, 256, 360), 1):
            await bank.until_sent(number)
            await bank.idle()
            state = bank.state(endpoint, delivery_id).state
            assert (state.status, state.attempts) == (DeliveryStatus.FAILED, number)
            assert state.next_attempt_at == bank.clock.now() + minutes * MINUTE_US
            bank.clock.at = state.next_attempt_at - 1
            await bank.idle()
            due_since = bank.dispatcher.counts.due_since
            assert due_since is not None
            assert 0 <= due_since - state.next_attempt_at < SPREAD_US
            assert len(bank.sender.sent) == number
            bank.clock.at = state.next_attempt_at + SPREAD_US
        await bank.until_sent(10)
        await bank.idle()
        state = bank.state(endpoint, delivery_id).state
        assert (state.status, state.attempts, state.last_error) == ("exhausted", 10, "connection")
        assert (bank.dispatcher.counts.exhausted, bank.dispatcher.counts.due_since) == (1, None)
        bank.clock.advance(30 * DAY_US)
        await bank.idle()
        assert len(bank.sender.sent) == 10
        assert len({sent.body for sent in bank.sender.sent}) == 1
        assert len({sent.headers["webhook-timestamp"] for sent in bank.sender.sent}) == 10

    played(tmp_path, story)


def test_given_a_receiver_that_is_gone_then_the_endpoint_is_disabled_and_what_waits_waits(tmp_path: Path) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        gone, *later = bank.waiting(endpoint, 10)
        bank.sender.always(answered(410))
        await bank.until(lambda: not bank.endpoint(endpoint.id).enabled)
        await bank.idle()
        attempted = len(bank.sender.sent)
        assert attempted <= IN_FLIGHT_OF_ENDPOINT
        assert bank.state(endpoint, gone).state.status == "exhausted"
        assert bank.dispatcher.counts.disabled["gone"] >= 1
        bank.sender.always(OK)
        bank.clock.advance(DAY_US)
        await bank.idle()
        assert len(bank.sender.sent) == attempted
        assert bank.state(endpoint, later[-1]).state.status == "pending"
        bank.change(endpoint.id, enabled=True)
        await bank.until_sent(10)
        await bank.idle()
        assert bank.state(endpoint, later[-1]).state.status == "delivered"

    played(tmp_path, story)


def test_given_nothing_accepted_for_five_days_when_another_attempt_fails_then_the_endpoint_is_disabled(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        bank.waiting(endpoint, 1)
        await bank.idle()  # accepted: the five days begin here
        bank.sender.always(DOWN)
        began = bank.clock.now()
        bank.waiting(endpoint, 1, first=1)
        for _ in range(10):
            await bank.idle()
            bank.clock.advance(6 * HOUR_US + SPREAD_US)
        assert bank.state(endpoint, bank.delivery_row(endpoint, 1).id).state.status == "exhausted"
        assert bank.endpoint(endpoint.id).enabled
        await bank.restart()
        bank.clock.at = began + 5 * DAY_US - 2 * MINUTE_US
        bank.waiting(endpoint, 1, first=2)
        await bank.idle()
        assert bank.endpoint(endpoint.id).enabled
        bank.clock.at += 2 * MINUTE_US + SPREAD_US
        await bank.idle()
        assert not bank.endpoint(endpoint.id).enabled
        assert bank.dispatcher.counts.disabled == {"gone": 0, "nothing_accepted": 1}

    played(tmp_path, story)


def test_given_a_slow_receiver_with_much_waiting_then_others_are_served_and_it_gets_four_at_a_time(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        slow, quick = bank.register(), bank.register()

        async def answer(sent: Sent) -> Attempt:
            if sent.url == slow.url and sent.delivery_id != first:
                await asyncio.sleep(HOUR_S)
            return OK

        bank.sender.answer = answer
        first, *_ = bank.waiting(slow, 1_000)
        await bank.until(lambda: bank.sender.at_once.get(slow.url) == 4)
        bank.waiting(quick, 200)
        await bank.until(lambda: sum(sent.url == quick.url for sent in bank.sender.sent) == 200)
        assert bank.sender.most_at_once[slow.url] == IN_FLIGHT_OF_ENDPOINT == 4
        assert_in_order(
            [int(sent.delivery_id[-12:], 16) for sent in bank.sender.sent if sent.url == quick.url], 200, slack=8
        )

    played(tmp_path, story)


def test_given_more_waiting_than_memory_takes_then_all_are_delivered_once_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues, "QUEUE_LIMIT", 50)
    monkeypatch.setattr("clearhold.flows.webhooks.dispatcher.QUEUE_LIMIT", 50)

    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        for first in range(0, 400, 40):  # some are committed while others are loaded and sent
            bank.waiting(endpoint, 40, first=first)
            await bank.until_sent(first // 2)
            assert len(bank.dispatcher._queue_of(endpoint.id)) <= 100
        await bank.until_sent(400)
        await bank.idle()
        assert_in_order([int(sent.delivery_id[-12:], 16) for sent in bank.sender.sent], 400, slack=150)

    played(tmp_path, story)


def test_given_a_hundred_thousand_waiting_when_started_then_memory_holds_those_that_are_due_first(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        row = bank.delivery_row(endpoint, 0)
        bank.database.execute(
            "INSERT INTO webhook_deliveries SELECT ?, ?, format('{:036d}', range), ?, ?, ?, ?, "
            "make_timestamp(? + range) FROM range(100000)",
            [row.tenant_id, row.program_id, row.endpoint_id, row.event, row.event_id, "x" * 600, row.created_at],
        )
        released = asyncio.Event()

        async def answer(_: Sent) -> Attempt:
            await released.wait()
            return OK

        bank.sender.answer = answer
        tracemalloc.start()
        try:
            await bank.until_sent(1)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(bank.dispatcher._queue_of(endpoint.id)) == queues.QUEUE_LIMIT == 10_000
        assert held < 24 << 20
        released.set()
        await bank.until_sent(300)
        assert_in_order([int(sent.delivery_id) for sent in bank.sender.sent[:300]], 300, slack=600)

    played(tmp_path, story)


def test_given_a_new_process_when_it_starts_then_it_delivers_what_was_not_and_nothing_else(tmp_path: Path) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        bank.waiting(endpoint, 3)
        await bank.until_sent(3)
        await bank.idle()

        async def never(_: Sent) -> Attempt:
            await asyncio.sleep(HOUR_S)
            return OK

        bank.sender.answer = never
        in_flight, waits = bank.waiting(endpoint, 2, first=3)
        await bank.until_sent(5)
        bank.sender.answer = bank.sender.accept
        await bank.restart()
        await bank.until_sent(7)
        await bank.idle()
        assert {sent.delivery_id for sent in bank.sender.sent[5:]} == {in_flight, waits}
        assert bank.state(endpoint, in_flight).state.attempts == 1

    played(tmp_path, story)


def test_given_a_delivery_that_ended_when_asked_for_again_then_the_same_bytes_are_sent_once_more(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        (delivery_id,) = bank.waiting(endpoint, 1)
        await bank.until_sent(1)
        await bank.idle()
        bank.clock.advance(DAY_US)
        again = await bank.dispatcher.redeliver(endpoint, delivery_id)
        assert again is not None
        assert (again.state.status, again.state.attempts, again.state.delivered_at) == ("pending", 1, None)
        await bank.until_sent(2)
        await bank.idle()
        assert bank.sender.sent[0].body == bank.sender.sent[1].body
        assert bank.state(endpoint, delivery_id).state.attempts == 2
        assert await bank.dispatcher.redeliver(endpoint, "00000000-0000-5000-8000-00000000dead") is None

    played(tmp_path, story)


def test_given_deliveries_of_long_ago_when_forgotten_then_those_that_ended_are_gone_and_others_stay(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        bank.sender.always(DOWN)
        (failed,) = bank.waiting(endpoint, 1)
        await bank.idle()
        bank.sender.always(OK)
        (ended,) = bank.waiting(endpoint, 1, first=1)
        await bank.idle()
        bank.clock.advance(DAY_US)
        (recent,) = bank.waiting(endpoint, 1, first=2)
        bank.table.forget_settled(bank.clock.now() - HOUR_US)
        assert bank.table.find(endpoint.tenant_id, endpoint.id, ended) is None
        kept = {stored.row.id for stored in bank.table.list_newest(endpoint.tenant_id, endpoint.id, 9)}
        assert kept == {failed, recent}
        attempts = bank.database.execute("SELECT delivery_id FROM webhook_attempts").fetchall()
        assert attempts == [(failed,)]

    played(tmp_path, story)


def test_given_much_that_waits_then_bodies_are_read_many_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    async def story(bank: WebhookBank) -> None:
        read = bank.table.bodies

        def counted(endpoint_id: str, deliveries: Sequence[tuple[str, int]]) -> dict[str, bytes]:
            reads.append(len(deliveries))
            return read(endpoint_id, deliveries)

        monkeypatch.setattr(bank.table, "bodies", counted)
        bank.waiting(bank.register(), 10 * queues.READ_AT_ONCE)
        await bank.until_sent(10 * queues.READ_AT_ONCE)
        await bank.idle()

    played(tmp_path, story)
    assert len(reads) <= 12
    assert sum(reads) == 10 * queues.READ_AT_ONCE


def test_given_a_delivery_that_is_due_when_scraped_then_it_says_for_how_long() -> None:
    counts, clock = WebhookCounts(), FrozenClock()
    registry = CollectorRegistry()
    registry.register(WebhookCollector(counts, lambda: 0, clock=clock))

    def overdue() -> float | None:
        return registry.get_sample_value("clearhold_webhook_overdue_seconds")

    assert overdue() == 0
    counts.due_since = clock.now() + SECOND_US
    assert overdue() == 0
    clock.advance(4 * SECOND_US)
    assert overdue() == 3


def test_given_an_endpoint_that_is_listened_to_then_nothing_is_sent_and_its_deliveries_go_after_a_day(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        listened, endpoint = bank.register(url=LISTENED_URL), bank.register()
        (waiting,) = bank.waiting(listened, 1)
        bank.waiting(endpoint, 1)
        ping = await bank.dispatcher.ping(listened, "cause")
        again = await bank.dispatcher.redeliver(listened, waiting)
        await bank.restart()
        await bank.until_sent(1)
        await bank.idle()
        assert {sent.url for sent in bank.sender.sent} == {endpoint.url}
        assert again is not None
        states = [each.state for each in bank.table.list_newest(listened.tenant_id, listened.id, 9)]
        assert {(state.status, state.attempts) for state in states} == {("pending", 0)}
        assert bank.dispatcher.counts.waiting == 0
        assert bank.tenancy.webhooks.listened_ids() == [listened.id]
        later = bank.clock.now() + DAY_US
        bank.clock.at = later - HOUR_US
        registry = WebhookRegistry(bank.registry, box=bank.box, clock=bank.clock, new_id=bank.new_id)
        service = Webhooks(bank.tenancy, registry, bank.database, clock=bank.clock, allow_local=False)
        service.forget_when_due()
        assert len(bank.table.list_newest(listened.tenant_id, listened.id, 9)) == 2
        bank.clock.at = later
        service.forget_when_due()
        kept = bank.database.execute(
            "SELECT id FROM webhook_deliveries WHERE endpoint_id = ?", [listened.id]
        ).fetchall()
        assert kept == [(ping.row.id,)]
        assert len(bank.table.list_newest(endpoint.tenant_id, endpoint.id, 9)) == 1

    played(tmp_path, story)


def test_given_a_secret_that_is_replaced_then_both_sign_for_the_overlap_and_then_the_new_one_alone(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        old = endpoint.secrets[0].value
        new = bank.rotate(endpoint.id, until=bank.clock.now() + HOUR_US)
        bank.waiting(endpoint, 1)
        await bank.until_sent(1)
        bank.clock.advance(HOUR_US)
        bank.waiting(endpoint, 1, first=1)
        await bank.until_sent(2)
        during, after = bank.sender.sent
        assert all(is_verified(during, secret) for secret in (old, new))
        assert is_verified(after, new)
        assert not is_verified(after, old)
        assert not is_verified(during._replace(body=b'{"id":"2"}'), new)

    played(tmp_path, story)


def is_verified(sent: Sent, secret: str) -> bool:
    """Whether both libraries, unchanged, take the delivery; they agree."""
    text, headers = sent.body.decode(), {name.lower(): value for name, value in sent.headers.items()}
    webhook = standardwebhooks.Webhook(secret)
    at = int(headers["webhook-timestamp"])
    by_standard = webhook.sign(headers["webhook-id"], datetime_of(at * SECOND_US), text) in headers["webhook-signature"]
    try:
        stripe.WebhookSignature.verify_header(text, headers["score-signature"], secret)
    except stripe.SignatureVerificationError:
        assert not by_standard
        return False
    assert by_standard
    return True


def test_given_a_log_that_another_service_may_own_then_nothing_is_sent_until_it_is_ours_again(tmp_path: Path) -> None:
    def require_owner() -> None:
        raise NotOwnerError

    async def story(bank: WebhookBank) -> None:
        endpoint = bank.register()
        bank.dispatcher._require_owner = require_owner
        (delivery_id,) = bank.waiting(endpoint, 1)
        await bank.idle()
        assert not bank.sender.sent
        assert bank.state(endpoint, delivery_id).state.attempts == 0
        bank.dispatcher._require_owner = lambda: None
        bank.clock.advance(MINUTE_US)
        await bank.until_sent(1)
        await bank.idle()
        assert bank.state(endpoint, delivery_id).state.status == "delivered"

    played(tmp_path, story)
