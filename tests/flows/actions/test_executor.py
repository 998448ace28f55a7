"""What the bank's answers make of an action: when it is sent again, when it ends, and what the record keeps of it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import pytest
from msgspec import json
from structlog.testing import capture_logs

from clearhold.api.actions import service
from clearhold.demo.bank_api import TEST_KEY
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.flows.actions import executor, outcomes
from clearhold.flows.actions.outcomes import MAX_RECORDED_BYTES
from clearhold.store.ids import trace_id_of
from clearhold.store.redis_log.owner import NotOwnerError
from tests.support.acting import CANCEL, FREEZE, Acting
from tests.support.running_app import assert_refused
from tests.support.waiting import eventually

PAUSES: Final = (0.01, 0.01, 0.01)
WORDS_OF_THE_BANK: Final = b'{"message":"no way, Jos\\u00e9","account_number":"000918276789"}'

UNRECORDABLE: Final = (
    b"",
    b"<html>",
    b"[1]",
    b'{"n":1e300}',
    b'{"n":9007199254740993}',
    b'{"n\xc3\xa9":1}',
    b'{"a":"%b"}' % (b"x" * 2**15),
)


@pytest.fixture(autouse=True)
def quick(acting: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bank that is asked again at once, and not often."""
    monkeypatch.setattr(acting.api.bank_work.executor, "_retry_after_s", PAUSES)


def on_loop(acting: Acting, call: Callable[[], Awaitable[Any]]) -> Any:
    return acting.api.on_loop(call)


def keys(acting: Acting) -> set[str]:
    return {each.idempotency_key for each in acting.taken}


def test_given_a_bank_in_trouble_when_it_recovers_then_the_same_request_was_sent_again_and_took_effect_once(
    acting: Acting,
) -> None:
    for status in (408, 425, 429, 500, 502, 503):
        acting.bank.fail_next(2, status=status, method="POST")

        action = acting.request()

        taken = acting.taken[-3:]
        assert (action["status"], action["bankResponse"]["attempts"]) == ("executed", 3), status
        assert {each.idempotency_key for each in taken} == {action["id"]}
        assert [each.was_done for each in taken] == [False, False, True]
        assert len({trace_id_of(each.traceparent.encode()) for each in acting.bank.requests[-3:]}) == 1
    assert len(acting.taken) == 6 * 3


def test_given_an_answer_that_is_lost_when_sent_again_then_the_bank_sees_the_same_key(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "ANSWER_WITHIN_S", 0.2)
    acting.bank.hang_next(method="POST")

    action = acting.request()

    attempts = action["bankResponse"]["attempts"]
    assert action["status"] == "executed"
    assert attempts >= 2  # more where the bank had no processor for as long
    assert [each.was_done for each in acting.taken] == [True] * attempts  # which the key makes one at the bank
    assert keys(acting) == {action["id"]}


def test_given_a_refusal_when_nothing_was_sent_before_then_it_failed_in_our_words(acting: Acting) -> None:
    refusals = (301, 400, 401, 403, 404, 405, 409, 410, 422)
    for status in refusals:
        acting.bank.answer_next(status=status, body=WORDS_OF_THE_BANK, method="POST")

        action = acting.request()

        assert (action["status"], action["executedAt"]) == ("failed", None), status
        assert "Jos" not in action["error"]
        assert action["bankResponse"]["body"] == {"message": "no way, José", "account_number": "6789"}
        assert action["bankResponse"]["status"] == status
    assert len(acting.taken) == len(refusals)
    assert acting.verified()["ok"]


def test_given_a_refusal_of_this_request_alone_when_one_before_is_not_known_then_it_is_sent_on(acting: Acting) -> None:
    for status in (401, 403, 409):
        acting.bank.fail_next(status=500, method="POST")
        acting.bank.fail_next(status=status, method="POST")

        assert acting.request()["status"] == "executed", status
    assert len(acting.taken) == 3 * 3


def test_given_a_refusal_when_one_before_was_not_answered_then_it_failed_and_says_to_look_there(
    acting: Acting,
) -> None:
    acting.bank.fail_next(status=500, method="POST")
    acting.bank.fail_next(status=404, method="POST")

    action = acting.request()

    assert (action["status"], action["bankResponse"]["attempts"]) == ("failed", 2)
    assert "status 404" in action["error"]
    assert "Look at the target at the bank" in action["error"]


def test_given_a_bank_that_never_says_when_sent_as_often_as_may_be_then_it_failed_and_says_to_look_there(
    acting: Acting,
) -> None:
    acting.bank.fail_next(len(PAUSES) + 1, status=500, method="POST")

    action = acting.request()

    assert action["status"] == "failed"
    assert "Look at the target at the bank" in action["error"]
    assert (action["bankResponse"]["attempts"], action["bankResponse"]["status"]) == (len(PAUSES) + 1, 500)
    assert len(acting.taken) == len(PAUSES) + 1
    assert acting.api.bank_work.executor.counts.executions["cancel_transfer", "unknown"]


def test_given_a_retry_after_when_sent_again_then_not_before_it(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    acting.bank.fail_next(status=429, retry_after="7", method="POST")
    acting.bank.fail_next(status=503, retry_after="86400", method="POST")
    monkeypatch.setattr(acting.api.bank_work.executor, "_pause", sleep)

    assert acting.request()["status"] == "executed"
    assert slept == [7, executor.MAX_RETRY_AFTER_S]


def test_given_an_answer_that_cannot_be_recorded_when_done_then_the_action_is_executed_without_it(
    acting: Acting,
) -> None:
    for body in UNRECORDABLE:
        acting.bank.answer_next(body=body, method="POST")

        action = acting.request()

        assert (action["status"], action["bankResponse"]["body"]) == ("executed", None), body[:20]
        assert len(json.encode(action)) < MAX_RECORDED_BYTES
    assert acting.verified()["ok"]


def test_given_a_huge_answer_when_done_then_it_is_cut_off_and_executed(acting: Acting) -> None:
    acting.bank.answer_next(body=b'{"id":"' + b"x" * (4 * 1024 * 1024) + b'"}', method="POST")

    assert acting.request()["status"] == "executed"


@pytest.mark.timed
def test_given_a_bank_that_hangs_when_the_caller_has_waited_then_it_hears_503_and_the_outcome_comes(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "CONCLUDED_WITHIN_S", 0.05)
    monkeypatch.setattr(outcomes, "ANSWER_WITHIN_S", 0.4)
    acting.bank.hang_next(method="POST")
    headers = acting.api.operator(acting.tenant) | {"Idempotency-Key": "k-1"}

    answer = acting.send(CANCEL, headers=headers)

    assert_refused(answer, 503)
    assert answer.json()["code"] == "not_confirmed"
    eventually(lambda: acting.listed(status="executed"))
    (action,) = acting.listed()
    assert f"GET /api/actions/{action['id']}" in answer.json()["error"]
    assert acting.send(CANCEL, headers=headers).json() == action
    assert keys(acting) == {action["id"]}


def test_given_an_action_left_approved_when_swept_then_it_is_carried_out_once(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = approved_and_left(acting, monkeypatch)

    for _ in range(3):
        on_loop(acting, lambda: swept(acting))
    eventually(lambda: acting.read(waiting)["status"] == "executed")

    assert [each.idempotency_key for each in acting.taken] == [waiting]


@pytest.mark.parametrize("change", ["key", "address"])
def test_given_what_the_last_process_may_have_sent_when_the_bank_is_out_of_reach_now_then_nobody_says_that_it_was_not(
    acting: Acting, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    waiting = approved_and_left(acting, monkeypatch)
    if change == "key":
        acting.remove_key()
    else:
        monkeypatch.setattr(acting.api.bank_work.executor, "_bank", None)
    acting.api.clock.advance(1_000_000)
    monkeypatch.setattr(acting.api.bank_work.executor, "_started_at", acting.api.clock.now())

    on_loop(acting, lambda: swept(acting))
    eventually(lambda: acting.read(waiting)["status"] == "failed")

    assert "Look at the target at the bank" in acting.read(waiting)["error"]
    assert not acting.taken


def test_given_a_log_of_the_start_that_is_not_committed_when_an_action_is_left_then_nothing_is_sent_before_it_is(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = approved_and_left(acting, monkeypatch)
    began = asyncio.Event()
    monkeypatch.setattr(acting.api.bank_work.executor, "_began", began)

    on_loop(acting, lambda: acting.api.bank_work.executor.conclude(acting.tenant["id"], waiting, within_s=0.1))
    before = acting.taken
    on_loop(acting, lambda: swept(acting))
    eventually(lambda: acting.read(waiting)["status"] == "executed")

    assert before == ()
    assert len(acting.taken) == 1


def test_given_as_many_under_way_as_a_tenant_may_have_when_another_is_approved_then_it_waits_for_a_sweep(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "ACTIONS_OF_TENANT", 0)
    refused = acting.send(CANCEL)
    monkeypatch.setattr(executor, "ACTIONS_OF_TENANT", 1)

    on_loop(acting, lambda: swept(acting))
    eventually(lambda: acting.listed(status="executed"))

    assert_refused(refused, 503)
    assert len(acting.taken) == 1


def test_given_a_log_that_does_not_answer_when_the_bank_has_then_the_outcome_is_appended_later(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, failures = acting.api.appender.append, iter([True, True])

    async def unwilling(shard: int, kind: EntryKind, *rest: Any) -> int:
        if kind is EntryKind.OUTCOME and next(failures, False):
            raise UnavailableError("The log did not confirm this in time. Try again.")
        return await append(shard, kind, *rest)

    monkeypatch.setattr(acting.api.appender, "append", unwilling)
    monkeypatch.setattr(executor, "_RECORD_AGAIN_S", 0.01)

    assert acting.request()["status"] == "executed"
    assert len(acting.taken) == 1
    assert acting.api.bank_work.executor.counts.unrecorded >= 2


def test_given_any_outcome_then_no_log_line_and_no_record_has_the_key(acting: Acting) -> None:
    acting.bank.fail_next(status=500, method="POST")
    acting.bank.fail_next(status=401, method="POST")
    with capture_logs() as lines:
        acting.request()
        acting.approved(acting.request(FREEZE)["id"])

    assert lines
    assert TEST_KEY not in str(lines)
    assert TEST_KEY not in str(acting.links())
    assert "6789" not in str(lines)


def approved_and_left(acting: Acting, monkeypatch: pytest.MonkeyPatch) -> str:
    """An action that is approved, and whose execution nobody began."""

    async def ignored(*_: Any, **__: Any) -> None:
        await asyncio.sleep(0)

    waiting = acting.request(FREEZE)
    with monkeypatch.context() as patched:
        patched.setattr(acting.api.bank_work.executor, "conclude", ignored)
        assert_refused(acting.approve(waiting["id"]), 503)
    assert acting.read(waiting["id"])["status"] == "approved"
    action_id: str = waiting["id"]
    return action_id


async def swept(acting: Acting) -> None:
    """A sweep, and then the end of whoever sweeps; what it took up goes on."""
    pause, over = asyncio.sleep, asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds == executor.SWEEP_EVERY_S:
            over.set()
        await pause(seconds)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(asyncio, "sleep", sleep)
        sweeping = asyncio.create_task(acting.api.bank_work.executor.run())
        await over.wait()
        sweeping.cancel()
        await asyncio.wait([sweeping])


def test_given_a_log_that_another_service_may_own_when_an_action_is_left_then_nothing_is_sent_until_it_is_ours_again(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require_owner() -> None:
        raise NotOwnerError

    waiting = approved_and_left(acting, monkeypatch)
    with monkeypatch.context() as other_owner:
        other_owner.setattr(acting.api.bank_work.executor, "_require_owner", require_owner)
        on_loop(acting, lambda: acting.api.bank_work.executor.conclude(acting.tenant["id"], waiting, within_s=30))
    assert not acting.taken
    assert acting.read(waiting)["status"] == "approved"

    on_loop(acting, lambda: swept(acting))
    eventually(lambda: acting.read(waiting)["status"] == "executed")
    assert len(acting.taken) == 1
