"""Statements of readers and slices of pages begin when no pre-flight is in the air, or after a bound."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from clearhold.api.console.slices import SLICE, written
from clearhold.api.http import in_the_air as module
from clearhold.api.http.in_the_air import InTheAir, in_the_air
from clearhold.api.http.reading import in_reader
from clearhold.api.log.preflight_log import PreflightLog
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.store.duck.committed_rows import CommittedRows
from clearhold.store.duck.database import open_database
from clearhold.store.duck.turns import each_after
from tests.api.preflight.test_preflight import TRANSFER
from tests.support.running_app import RunningApp

LONG_S = 60.0


class Reading(CommittedRows):
    """Says when it comes to its statement."""

    def read(self, came: Event) -> int:
        came.set()
        number: int = self._value("SELECT 7", [])
        return number


class Texts:
    """The nodes of a page; counts those that were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        for _ in range(3 * SLICE):
            self.taken += 1
            yield "x"


def test_given_a_preflight_in_the_air_then_a_statement_begins_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAIT_S", LONG_S)

    async def beside() -> int:
        came, air = Event(), in_the_air()
        with open_database(tmp_path / "d.duckdb") as database:
            with air.one():
                with air.one():
                    reading = asyncio.create_task(in_reader(Reading(database).read, came))
                    await asyncio.to_thread(came.wait)
                await asyncio.sleep(0.05)
                assert not reading.done(), "one of two is still in the air"
            return await reading

    assert asyncio.run(beside()) == 7


def test_given_preflights_without_end_then_statements_and_pages_go_on_after_a_bound(tmp_path: Path) -> None:
    async def beside() -> tuple[int, bytes]:
        with open_database(tmp_path / "d.duckdb") as database, in_the_air().one():
            return await in_reader(Reading(database).read, Event()), await written([*Texts()])

    assert asyncio.run(beside()) == (7, b"x" * 3 * SLICE)


def test_given_a_preflight_in_the_air_then_the_next_slice_of_a_page_comes_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_WAIT_S", LONG_S)

    async def beside() -> int:
        page = Texts()
        with in_the_air().one():
            writing = asyncio.create_task(written(iter(page)))
            await asyncio.sleep(0.02)
            so_far = page.taken
        assert len(await writing) == 3 * SLICE
        return so_far

    assert asyncio.run(beside()) == SLICE


def test_given_a_page_that_its_reader_left_then_a_preflight_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAIT_S", LONG_S)

    async def leaves() -> int:
        air = in_the_air()
        with air.one():
            writing = asyncio.create_task(written([*Texts()]))
            await asyncio.sleep(0.02)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        return air.count

    assert asyncio.run(leaves()) == 0


def test_given_a_thread_whose_statements_wait_then_each_does_and_later_ones_do_not(tmp_path: Path) -> None:
    waits = list[int]()
    with open_database(tmp_path / "d.duckdb") as database:
        with each_after(lambda: waits.append(1)):
            Reading(database).read(Event())
            Reading(database).read(Event())
        Reading(database).read(Event())
    assert len(waits) == 2


def test_given_a_preflight_over_http_then_it_is_in_the_air_until_it_is_recorded(
    api: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, append = list[tuple[InTheAir, int]](), PreflightLog.append

    async def looking(log: PreflightLog, record: PreflightRecord, *, answer_by: float | None) -> None:
        seen.append((in_the_air(), in_the_air().count))
        await append(log, record, answer_by=answer_by)

    monkeypatch.setattr(PreflightLog, "append", looking)
    tenant = api.create_tenant()
    api.create_program(tenant)
    asked = {"programSlug": "payroll", "transfer": TRANSFER}
    assert api.client.post("/api/preflight", json=asked, headers=api.operator(tenant)).status_code == 201
    ((air, count),) = seen
    assert (count, air.count) == (1, 0)
