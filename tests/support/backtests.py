"""Backtests that say what a test has them say, for what is done with them."""

from collections.abc import Callable, Coroutine
from typing import Any

from features.core.backtests import Backtest, ShadowReport
from features.core.instants import format_instant
from features.core.measured import measured
from features.core.principal import Principal
from features.core.rules import Rule, rule_hash
from features.policy.bodies import ActiveVersion


class ScriptedBacktests:
    """``before_answer`` is what else happens while a backtest runs."""

    def __init__(self) -> None:
        self.before_answer: Callable[[], Coroutine[Any, Any, object]] | None = None

    async def run(self, _principal: Principal, rule: Rule, *, key: str, days: int, full: bool, at: int) -> Backtest:
        assert full in {True, False}
        if self.before_answer is not None:
            await self.before_answer()
        return a_backtest(rule, key=key, days=days, at=at)

    async def shadow(self, _principal: Principal, rule: Rule, *, shadowed: ActiveVersion | None) -> ShadowReport:
        return ShadowReport(
            rule_id=rule.id,
            rule_sha256=rule_hash(rule),
            version=None if shadowed is None else shadowed.version,
            since=None if shadowed is None else format_instant(shadowed.since),
            scanned=None if shadowed is None else 0,
            matched=None if shadowed is None else 0,
            matched_share=None,
            by_band=None,
            by_day=None,
            overlap_with_existing_alerts=None,
            precision=measured(0, 0),
            sample_transfer_ids=(),
            false_positive_transfer_ids=(),
        )


def a_backtest(rule: Rule, *, key: str, days: int, at: int) -> Backtest:
    return Backtest(
        key=key,
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        at=format_instant(at),
        days=days,
        scanned=1000,
        sampled=True,
        matched=12,
        matched_share=0.012,
        would_hold=0,
        would_alert=12,
        overlap_with_existing_alerts=5,
        by_band={"clear": 3, "review": 7, "hold": 2, "unscored": 0},
        sample_transfer_ids=("wire_1",),
    )
