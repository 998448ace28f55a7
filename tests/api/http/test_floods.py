"""An address that goes on proving nothing is answered late; whoever proves who it is beside it is answered at once."""

from typing import Any, Final

import pytest

from clearhold.api.http.limits import MOST_REFUSALS, Floods
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused

pytestmark = pytest.mark.anyio

HERE: Final = {"client": ("10.0.0.1", 1)}
ELSEWHERE: Final = {"client": ("10.0.0.2", 1)}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which answers were held back; nobody waits for them here."""
    seconds: list[float] = []

    async def sleep(each: float) -> None:
        seconds.append(each)

    monkeypatch.setattr("clearhold.api.http.limits.asyncio.sleep", sleep)
    return seconds


async def test_given_refusals_without_end_when_they_are_too_many_in_a_second_then_their_address_alone_is_held(
    held: list[float],
) -> None:
    now = [7.5]
    floods = Floods(now=lambda: now[0])

    for _ in range(MOST_REFUSALS):
        await floods.hold(HERE)
    assert held == []
    await floods.hold(HERE)
    await floods.hold(ELSEWHERE)
    assert held == [1.0]

    now[0] = 8.0
    await floods.hold(HERE)
    assert held == [1.0]


@pytest.mark.parametrize("path", ["/api/alerts", f"/api/ingest/bank/{UNKNOWN_ID}"])
def test_given_a_flood_when_it_goes_on_then_it_is_held_and_others_of_its_address_are_not(
    api: RunningApp, tenant: dict[str, Any], held: list[float], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.api.http.limits.MOST_REFUSALS", 0)
    method = "GET" if path == "/api/alerts" else "POST"

    assert_refused(api.client.request(method, path), 401)
    assert held == [1.0]
    assert api.client.get("/api/alerts", headers=api.operator(tenant)).status_code == 200
    assert held == [1.0]
