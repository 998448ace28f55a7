"""Places that callers share: one that asks for much does not delay another."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from clearhold.api.http.fair_places import FairPlaces
from clearhold.api.http.reading import AT_ONCE, READS_OF, in_reader
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

MANY = 20


class Work:
    """Notes in which order pieces of callers run."""

    def __init__(self, places: int = 1) -> None:
        self.places, self.order = FairPlaces(places), list[str]()
        self.now = self.most = 0

    async def piece(self, caller: str) -> None:
        async with self.places.of(caller):
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(caller)
            await asyncio.sleep(0)
            self.now -= 1

    def begun(self, caller: str, number: int) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.piece(caller)) for _ in range(number)]


def ran(of_loop: Coroutine[Any, Any, None]) -> None:
    asyncio.run(of_loop)


@pytest.mark.parametrize("places", [1, 3])
def test_given_a_caller_that_asks_for_much_when_others_ask_later_then_they_take_turns(places: int) -> None:
    work = Work(places)

    async def all_of_them() -> None:
        tasks = work.begun("much", MANY)
        await asyncio.sleep(0)
        tasks += work.begun("one", 1) + work.begun("two", 2)
        await asyncio.gather(*tasks)

    ran(all_of_them())
    assert work.most == places
    assert len(work.order) == MANY + 3
    begun = 2 * places  # by the time that the others ask
    assert work.order.index("one") <= begun + 1
    assert max(place for place, caller in enumerate(work.order) if caller == "two") <= begun + 5


@pytest.mark.parametrize("leaving", ["while it waits", "as its turn comes"])
def test_given_work_that_leaves_then_its_place_is_for_the_next(leaving: str) -> None:
    work = Work()

    async def one_leaves() -> None:
        async with work.places.of("first"):
            left, *others = work.begun("second", 2) + work.begun("third", 1)
            await asyncio.sleep(0)
            if leaving == "while it waits":
                left.cancel()
        left.cancel()
        await asyncio.gather(left, *others, return_exceptions=True)
        assert left.cancelled()
        await work.piece("last")

    ran(one_leaves())
    assert sorted(work.order[:-1]) == ["second", "third"]
    assert work.order[-1] == "last"
    assert work.most == 1


def test_given_reads_of_one_tenant_when_another_reads_then_it_waits_for_the_running_ones_alone() -> None:
    order: list[str] = []

    async def read_for(tenant: str) -> None:
        READS_OF.set(tenant)
        await in_reader(order.append, tenant)

    async def all_of_them() -> None:
        tasks = [asyncio.create_task(read_for("much")) for _ in range(MANY)]
        await asyncio.sleep(0)
        await asyncio.gather(*tasks, asyncio.create_task(read_for("other")))

    ran(all_of_them())
    assert order.index("other") <= AT_ONCE + 1


@pytest.mark.parametrize("way", ["interface", "console"])
def test_given_a_request_then_its_reads_are_those_of_its_tenant(
    api: RunningApp, tenant: dict[str, Any], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers: list[str] = []
    of = FairPlaces.of

    def noting(self: FairPlaces, caller: str) -> Any:
        callers.append(caller)
        return of(self, caller)

    monkeypatch.setattr(FairPlaces, "of", noting)
    if way == "interface":
        assert api.client.get("/api/alerts", headers=api.operator(tenant)).is_success
    else:
        browser: Browser = ConsoleApp(api).browser()
        browser.sign_in(tenant["operatorToken"])
        assert browser.get("/console/queue").is_success
    assert set(callers) == {tenant["id"]}
