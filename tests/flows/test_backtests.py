"""Backtests take turns, and end in time: by themselves, or because their caller or the clock ends them."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import duckdb
import pytest

from features.core.errors import ErrorCode, RateLimitedError, UnavailableError
from flows.backtests import OF_TENANT, BacktestRunner
from store.duck.database import open_database
from store.duck.rule_backtests import RuleBacktest
from tests.support.clock import FrozenClock
from tests.support.duck_rows import TENANT
from tests.support.principals import an_operator
from tests.support.rules import a_rule

FOREVER: Final = "SELECT max(hash(range)) FROM range(1_000_000_000_000)"
SOON_S: Final = 10.0


@pytest.fixture
def database(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as opened:
        yield opened


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first statement of every backtest would take days."""
    monkeypatch.setattr(RuleBacktest, "_newest", lambda backtest: backtest.read(FOREVER))


def a_backtest(runner: BacktestRunner, tenant_id: str = TENANT) -> asyncio.Task[object]:
    run = runner.run(an_operator(tenant_id), a_rule(), key="key_1", days=90, full=False, at=1)
    return asyncio.ensure_future(run)


@pytest.mark.usefixtures("endless")
def test_given_a_backtest_that_takes_too_long_then_it_is_refused_and_its_statement_is_over(
    database: duckdb.DuckDBPyConnection,
) -> None:
    async def main() -> None:
        runner = BacktestRunner(database, FrozenClock(), within_s=0.2)
        with pytest.raises(UnavailableError) as refusal:
            await a_backtest(runner)
        assert refusal.value.code is ErrorCode.OVERLOADED

    began = time.monotonic()
    asyncio.run(main())
    database.execute("SELECT 1")

    assert time.monotonic() - began < SOON_S


@pytest.mark.usefixtures("endless")
def test_given_a_backtest_whose_caller_leaves_then_it_ends_and_the_next_has_its_turn(
    database: duckdb.DuckDBPyConnection,
) -> None:
    async def main() -> None:
        runner = BacktestRunner(database, FrozenClock())
        first = a_backtest(runner)
        await asyncio.sleep(0.2)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(first, SOON_S)
        assert not runner._turn.locked()
        assert not runner._of_tenant[TENANT]

    asyncio.run(main())


@pytest.mark.usefixtures("endless")
def test_given_as_many_backtests_as_a_tenant_may_have_then_its_next_is_refused_and_anothers_waits(
    database: duckdb.DuckDBPyConnection,
) -> None:
    async def main() -> None:
        runner = BacktestRunner(database, FrozenClock())
        waiting = [a_backtest(runner) for _ in range(OF_TENANT)]
        await asyncio.sleep(0.05)
        with pytest.raises(RateLimitedError):
            await a_backtest(runner)
        others = a_backtest(runner, "tnt_2")
        await asyncio.sleep(0.05)
        assert not others.done()
        for task in (*waiting, others):
            task.cancel()
        ended = await asyncio.wait_for(asyncio.gather(*waiting, others, return_exceptions=True), SOON_S)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)

    asyncio.run(main())


def test_given_an_empty_database_when_backtested_then_the_answer_is_of_nothing(
    database: duckdb.DuckDBPyConnection,
) -> None:
    async def main() -> object:
        return await a_backtest(BacktestRunner(database, FrozenClock()))

    result = asyncio.run(main())

    assert getattr(result, "scanned", None) == 0
