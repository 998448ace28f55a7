"""Backtests of this process: one at a time in a thread of its own, each within a limit of time.

backtest ──▶ turn ──▶ thread: statements over stored transfers ──▶ counts ──▶ shares, days and weeks
                      the caller leaves, or time runs out: the statement is interrupted

Errors  RateLimitedError when the tenant has several under way; UnavailableError when it took too long
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeVar

import duckdb

from features.core.backtests import MOST_DAYS, Backtest, ShadowReport
from features.core.errors import ErrorCode, RateLimitedError, UnavailableError
from features.core.instants import DAY_US
from features.core.principal import Principal
from features.core.rules import Rule, RuleMode
from features.rules.backtest import to_backtest, to_shadow_report
from store.clock import Clock
from store.duck.report_scores import Span
from store.duck.rule_backtests import RuleBacktest
from store.duck.rule_reader import RuleReader
from store.duck.rule_shadows import RuleShadow

WITHIN_S: Final = 30.0
"""From the request to the answer, the wait for a turn included."""

OF_TENANT: Final = 4
"""Under way or waiting at a time."""

TOO_MANY: Final = f"This tenant has {OF_TENANT} backtests under way; send this one again when one of them is done."
TOO_LONG: Final = f"The backtest took over {WITHIN_S:.0f} s and was ended; nothing was stored. Fewer days take less."

T = TypeVar("T")


class BacktestRunner:
    """Belongs to the API's event loop."""

    def __init__(self, database: duckdb.DuckDBPyConnection, clock: Clock, *, within_s: float = WITHIN_S) -> None:
        self._database, self._clock, self._within_s = database, clock, within_s
        self._turn = asyncio.Lock()
        self._of_tenant = Counter[str]()

    async def run(self, principal: Principal, rule: Rule, *, key: str, days: int, full: bool, at: int) -> Backtest:
        """Over the transfers of the ``days`` before ``at``, that instant included."""
        span = Span(at - days * DAY_US, at + 1)
        with RuleBacktest(self._database, principal, rule, span) as backtest:
            if full:
                counts, sampled = await self._read(principal, backtest, backtest.over_all), False
            else:
                counts, sampled = await self._read(principal, backtest, backtest.over_newest)
        return to_backtest(rule, counts, key=key, at=at, days=days, sampled=sampled, full=full)

    async def shadow(
        self, principal: Principal, rule: Rule, mode: RuleMode, *, version: str, since: int
    ) -> ShadowReport:
        """Since the rule is counted as it is, at most so many days back as a backtest goes."""
        now = self._clock.now()
        span = Span(max(since, now - MOST_DAYS * DAY_US), now + 1)
        with RuleShadow(self._database, principal, rule, mode, span) as reader:
            counts = await self._read(principal, reader, reader.counts)
        return to_shadow_report(rule, counts, version=version, since=span.start)

    async def _read(self, principal: Principal, reader: RuleReader, work: Callable[[], T]) -> T:
        """The work's result, once it is its turn and within the time."""
        tenant_id = principal.tenant_id
        if self._of_tenant[tenant_id] >= OF_TENANT:
            raise RateLimitedError(TOO_MANY, ErrorCode.TOO_MANY_AT_ONCE)
        self._of_tenant[tenant_id] += 1
        try:
            async with asyncio.timeout(self._within_s), self._turn:
                return await _in_thread(reader, work)
        except TimeoutError:
            raise UnavailableError(TOO_LONG, ErrorCode.OVERLOADED) from None
        finally:
            self._of_tenant[tenant_id] -= 1


async def _in_thread(reader: RuleReader, work: Callable[[], T]) -> T:
    """On cancellation the work is interrupted, and over when this returns."""
    future = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        reader.interrupt()
        await asyncio.wait([future])
        future.exception()  # that it was interrupted is no news
        raise
