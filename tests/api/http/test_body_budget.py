"""Large bodies that are not finished share a budget: a further one is refused, a small one is read, and it passes."""

from collections.abc import Iterator
from typing import Final

import pytest

from clearhold.api.http.body import SMALL_BYTES, BodyBudget
from tests.support.callers import UNKNOWN_ID
from tests.support.raw_http import RawClient, served
from tests.support.running_app import RunningApp
from tests.support.waiting import eventually

LARGE: Final = 3 * SMALL_BYTES  # two thirds of it are beyond what always finds room
ROOM: Final = 4 * SMALL_BYTES


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> BodyBudget:
    budget = BodyBudget(ROOM)
    monkeypatch.setattr("clearhold.api.http.gate.BodyBudget", lambda: budget)
    return budget


@pytest.fixture
def port(budget: BodyBudget, request: pytest.FixtureRequest) -> Iterator[int]:
    api: RunningApp = request.getfixturevalue("api")  # only now, so that it has that budget
    assert budget.used == 0
    with served(api) as port:
        yield port


def unfinished(client: RawClient, size: int) -> None:
    """Send an unsigned event but for its last byte."""
    head = f"POST /api/ingest/bank/{UNKNOWN_ID} HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n"
    client.send(head.encode(), b" " * (size - 1))


def test_given_large_bodies_that_fill_the_room_when_another_comes_then_503_until_one_of_them_goes(
    budget: BodyBudget, port: int
) -> None:
    with RawClient(port) as first, RawClient(port) as second:
        for client in (first, second):
            unfinished(client, LARGE)
        eventually(lambda: budget.used > ROOM - 10)

        with RawClient(port) as third, RawClient(port) as small:
            unfinished(third, LARGE)
            unfinished(small, SMALL_BYTES)
            small.send(b"}")
            assert "large requests" in third.answer().error
            assert small.answer().status == 401

        first.send(b"}")
        assert first.answer().status == 401
        with RawClient(port) as fourth:
            unfinished(fourth, LARGE)
            fourth.send(b"}")
            assert fourth.answer().status == 401
    eventually(lambda: not budget.used)
