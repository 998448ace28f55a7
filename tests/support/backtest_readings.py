"""Backtests whose reading takes days, or as long as a test wants, and whose read when, how many at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from clearhold.features.rules.backtest import BacktestCounts
from clearhold.store.duck.scorings.rule_backtests import RuleBacktest

FOREVER: Final = "SELECT max(hash(range)) FROM range(1_000_000_000_000)"
WITHIN_S: Final = 60.0


class BacktestReadings:
    """Stands before ``RuleBacktest.over_newest``: each reading waits for ``release``, or runs an endless statement."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_endless = False
        self.begun = self.at_once = self.most_at_once = 0
        self.tenants: list[str] = []
        self._counting, self._released = threading.Lock(), threading.Semaphore(0)
        over_newest = RuleBacktest.over_newest

        def read(backtest: RuleBacktest) -> tuple[BacktestCounts, bool]:
            tenant_id, *_ = backtest.within().values
            with self._counted(str(tenant_id)):
                if self.is_endless:
                    backtest.read(FOREVER)
                assert self._released.acquire(timeout=WITHIN_S)
                return over_newest(backtest)

        monkeypatch.setattr(RuleBacktest, "over_newest", read)

    def release(self, count: int = 1) -> None:
        self._released.release(count)

    @contextmanager
    def _counted(self, tenant_id: str) -> Iterator[None]:
        with self._counting:
            self.tenants.append(tenant_id)
            self.begun += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self._counting:
                self.at_once -= 1
