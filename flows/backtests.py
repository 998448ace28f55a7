"""Backtests of this process: one at a time in a separate thread, each within a time limit.

backtest ──▶ its tenant's turn ──▶ turn ──▶ thread: statements over stored transfers ──▶ counts ──▶ shares, days, weeks
                                            the caller leaves, or time runs out: the statement is interrupted

A tenant has one backtest in the queue at a time, so another tenant waits for one of them at most.

Errors  UnavailableError when the turn did not come, or the reading did not end, in time
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import duckdb

from clearhold.features.core.errors import ErrorCode, UnavailableError
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import MOST_DAYS, Backtest, Rule, RuleMode, ShadowReport
from clearhold.features.rules.backtest import to_backtest, to_shadow_report
from clearhold.flows.running.supervision import Workers
from clearhold.store.clock import Clock
from clearhold.store.duck.scorings.rule_backtests import RuleBacktest, RuleReader, RuleShadow
from clearhold.store.tables import Span

WITHIN_S: Final = 30.0
"""From the request to the answer, including the wait for a turn."""

NO_TURN: Final = (
    f"Others' backtests were under way for {WITHIN_S:.0f} s, so this one was not begun; nothing was stored. Try again."
)
TOO_LONG: Final = (
    "The backtest was stopped after {waited:.0f} s of waiting for others and {read:.0f} s of reading; nothing was "
    "stored. Fewer days take less."
)

T = TypeVar("T")


class BacktestRunner:
    """Belongs to the API's event loop."""

    def __init__(self, database: duckdb.DuckDBPyConnection, clock: Clock, *, within_s: float = WITHIN_S) -> None:
        self._database, self._clock, self._within_s = database, clock, within_s
        self._workers = Workers(1, "backtest")
        self._turn = asyncio.Lock()
        self._turns_of_tenants = WeakValueDictionary[str, asyncio.Lock]()  # each as long as it is held or waited for

    async def run(
        self, principal: Principal, rule: Rule, program_ids: Sequence[str] | None, *, key: str, days: int, full: bool
    ) -> Backtest:
        """Over the programs' transfers of the ``days`` before now, including this instant."""
        at = self._clock.now()
        span = Span(at - days * DAY_US, at + 1)
        with RuleBacktest(self._database, principal, rule, program_ids, span) as backtest:
            if full:
                counts, sampled = await self._read(principal, backtest, backtest.over_all), False
            else:
                counts, sampled = await self._read(principal, backtest, backtest.over_newest)
        return to_backtest(rule, counts, key=key, at=at, days=days, sampled=sampled, full=full)

    async def shadow(
        self,
        principal: Principal,
        rule: Rule,
        program_ids: Sequence[str] | None,
        mode: RuleMode,
        *,
        version: str,
        since: int,
    ) -> ShadowReport:
        """Since the rule has counted in its present form, at most the days of the longest backtest."""
        now = self._clock.now()
        span = Span(max(since, now - MOST_DAYS * DAY_US), now + 1)
        with RuleShadow(self._database, principal, rule, program_ids, span) as reader:
            counts = await self._read(principal, reader, partial(reader.counts, mode))
        return to_shadow_report(rule, counts, version=version, since=span.start)

    async def _read(self, principal: Principal, reader: RuleReader, work: Callable[[], T]) -> T:
        """Run the work when its turn comes; the result, within the time limit."""
        now = asyncio.get_running_loop().time
        came_at, begun_at = now(), None
        try:
            async with asyncio.timeout(self._within_s), self._turn_for(principal.tenant_id):
                begun_at = now()
                return await self._workers.run(work, interrupt=reader.interrupt)
        except TimeoutError:
            if begun_at is None:
                raise UnavailableError(NO_TURN, ErrorCode.OVERLOADED) from None
            sentence = TOO_LONG.format(waited=begun_at - came_at, read=now() - begun_at)
            raise UnavailableError(sentence, ErrorCode.OVERLOADED) from None

    @asynccontextmanager
    async def _turn_for(self, tenant_id: str) -> AsyncIterator[None]:
        """The tenant's one place in the queue, then the turn."""
        turn_of_tenant = self._turns_of_tenants.setdefault(tenant_id, asyncio.Lock())
        async with turn_of_tenant, self._turn:
            yield
