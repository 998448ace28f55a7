"""What is under way in the sandbox: how many requests, and returns that are not committed yet."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Semaphore
from typing import Any, Final

import httpx
import pytest

from clearhold.api.sandbox import service as sandbox_service
from clearhold.api.sandbox.service import MOST_AT_A_TIME
from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.log_entry import EntryKind
from tests.support.callers import running_app
from tests.support.running_app import RunningApp, assert_refused

Post = Callable[[str, dict[str, Any]], httpx.Response]

DEBIT: Final = {"rail": "ach", "direction": "outgoing", "type": "DEBIT", "amountCents": "12500"}
WITHIN_S: Final = 60.0


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    with running_app(tmp_path_factory.mktemp("sandbox"), lambda api: api) as running:
        yield running


@pytest.fixture(scope="module")
def post(api: RunningApp) -> Post:
    """Posts to a simulated program with a test key of its tenant."""
    tenant = api.create_tenant()
    program = api.create_program(tenant, source="simulated")
    headers = api.key(tenant, mode="test")

    def post(route: str, body: dict[str, Any]) -> httpx.Response:
        api.clock.advance(MINUTE_US)
        return api.client.post(f"/api/sandbox/{program['id']}/{route}", json=body, headers=headers)

    return post


def bank_entries(api: RunningApp) -> int:
    return sum(entry.kind == EntryKind.BANK for entry in api.entries())


def test_given_a_return_that_is_not_committed_when_returned_again_then_503_and_it_comes_back_once(
    api: RunningApp, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"transferId": post("transfer", DEBIT).json()["transferId"], "returnCode": "R01"}
    monkeypatch.setattr(sandbox_service, "COMMITTED_WITHIN_S", 0.01)
    stored = bank_entries(api)
    api.appender.stands_still = True

    first, second = post("return", body), post("return", body)

    assert (first.status_code, first.json()["committed"]) == (201, False)
    assert_refused(second, 503, "is not committed yet")
    api.appender.stands_still = False
    api.catch_up()
    assert_refused(post("return", body), 409, "was already returned")
    assert bank_entries(api) == stored + 1


def test_given_as_many_requests_as_there_may_be_that_still_read_when_one_more_comes_then_429(
    api: RunningApp, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, read_on = Semaphore(0), Event()

    def read_slowly(*_: object) -> None:
        reading.release()
        read_on.wait(WITHIN_S)

    monkeypatch.setattr(type(api.services["sandbox"]), "_require_entity", read_slowly)
    body = DEBIT | {"entityId": "enti_1"}

    with ThreadPoolExecutor(MOST_AT_A_TIME + 1) as pool:
        begun = [pool.submit(post, "transfer", body) for _ in range(MOST_AT_A_TIME)]
        assert all(reading.acquire(timeout=WITHIN_S) for _ in begun)
        one_more = pool.submit(post, "transfer", body)
        try:
            assert_refused(one_more.result(WITHIN_S / 2), 429, "requests of the sandbox run at a time")
        finally:
            read_on.set()
    assert {each.result().status_code for each in begun} == {201}
