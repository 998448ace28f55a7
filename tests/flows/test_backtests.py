"""Backtests take turns, and end in time: by themselves, or because their caller or the clock ends them."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.rules import Backtest
from clearhold.flows.backtests import BacktestRunner
from clearhold.store.duck.database import open_database
from tests.support.backtest_readings import WITHIN_S, BacktestReadings
from tests.support.clock import FrozenClock
from tests.support.duck_rows import TENANT
from tests.support.principals import an_operator
from tests.support.rules import a_rule
from tests.support.waiting import eventually

pytestmark = pytest.mark.timed


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as opened:
        yield opened


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> BacktestReadings:
    return BacktestReadings(monkeypatch)


def a_backtest(runner: BacktestRunner, tenant_id: str = TENANT) -> asyncio.Task[Backtest]:
    run = runner.run(an_operator(tenant_id), a_rule(), None, key="key_1", days=90, full=False)
    return asyncio.ensure_future(run)


async def until_begun(readings: BacktestReadings, count: int) -> None:
    await asyncio.to_thread(eventually, lambda: readings.begun >= count, within_s=WITHIN_S)


def test_given_a_backtest_that_takes_too_long_then_it_is_refused_and_its_statement_is_over(
    database: duckdb.DuckDBPyConnection, readings: BacktestReadings
) -> None:
    readings.is_endless = True

    async def main() -> None:
        runner = BacktestRunner(database, FrozenClock(), within_s=0.2)
        with pytest.raises(UnavailableError) as refusal:
            await a_backtest(runner)
        assert refusal.value.code is ErrorCode.OVERLOADED
        assert str(refusal.value).endswith("Fewer days take less.")
        assert (readings.begun, readings.at_once) == (1, 0)

    began = time.monotonic()
    asyncio.run(main())
    database.execute("SELECT 1")

    assert time.monotonic() - began < WITHIN_S


def test_given_backtests_whose_callers_leave_then_each_ends_and_the_next_has_its_turn(
    database: duckdb.DuckDBPyConnection, readings: BacktestReadings
) -> None:
    readings.is_endless = True

    async def main() -> Backtest:
        runner = BacktestRunner(database, FrozenClock())
        for number in range(1, 10):  # more than a tenant may have at a time
            left = a_backtest(runner)
            await until_begun(readings, number)
            left.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(left, WITHIN_S)
            assert readings.at_once == 0
        readings.is_endless = False
        readings.release()
        return await asyncio.wait_for(a_backtest(runner), WITHIN_S)

    assert asyncio.run(main()).scanned == 0


def test_given_a_backtest_that_waits_for_anothers_too_long_then_the_refusal_says_that_it_was_not_begun(
    database: duckdb.DuckDBPyConnection, readings: BacktestReadings
) -> None:
    async def main() -> list[str]:
        runner = BacktestRunner(database, FrozenClock(), within_s=0.2)
        read, waiting = a_backtest(runner), a_backtest(runner, "tnt_2")
        with pytest.raises(UnavailableError) as not_begun:
            await waiting
        readings.release()
        with pytest.raises(UnavailableError) as ended:
            await read
        return [str(not_begun.value), str(ended.value)]

    assert ["was not begun" in each for each in asyncio.run(main())] == [True, False]
    assert readings.tenants == [TENANT]


def test_given_threads_that_others_keep_busy_then_a_backtest_has_its_own(database: duckdb.DuckDBPyConnection) -> None:
    done = threading.Event()

    async def main() -> Backtest:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = asyncio.create_task(asyncio.to_thread(done.wait, WITHIN_S))
        try:
            return await asyncio.wait_for(a_backtest(BacktestRunner(database, FrozenClock())), WITHIN_S / 2)
        finally:
            done.set()
            await busy

    assert asyncio.run(main()).scanned == 0


def test_given_backtests_of_two_tenants_then_one_reads_at_a_time_and_the_tenants_take_turns(
    database: duckdb.DuckDBPyConnection, readings: BacktestReadings
) -> None:
    async def main() -> list[Backtest]:
        runner = BacktestRunner(database, FrozenClock())
        tasks = [a_backtest(runner, tenant) for tenant in (TENANT, TENANT, TENANT, "tnt_2")]
        for number in range(1, len(tasks) + 1):
            await until_begun(readings, number)
            assert (readings.begun, readings.at_once) == (number, 1)
            readings.release()
        return await asyncio.wait_for(asyncio.gather(*tasks), WITHIN_S)

    results = asyncio.run(main())

    assert [result.scanned for result in results] == [0, 0, 0, 0]
    assert readings.tenants == [TENANT, "tnt_2", TENANT, TENANT]
    assert readings.most_at_once == 1


def test_given_an_empty_database_when_backtested_then_the_answer_is_of_nothing(
    database: duckdb.DuckDBPyConnection,
) -> None:
    async def main() -> Backtest:
        return await a_backtest(BacktestRunner(database, FrozenClock()))

    result = asyncio.run(main())

    assert (result.scanned, result.matched, result.matched_share) == (0, 0, None)
