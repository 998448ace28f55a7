"""Builds a backtest from counts: shares, days and weeks.

Unit    a day is its first microsecond since the epoch, UTC; money is US cents
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from clearhold.features.core.instants import DAY_US, format_instant, week_of
from clearhold.features.core.measured import Measured, measured, rounded
from clearhold.features.core.rules import (
    MOST_EXAMPLES,
    Backtest,
    BacktestWeek,
    CaughtTransfers,
    DailyVolume,
    FullBacktest,
    NamedTransfer,
    Rule,
    RuleAction,
    ShadowDay,
    ShadowReport,
    rule_hash,
)
from clearhold.features.core.vocabulary import Band

_P95_PERCENT: Final = 95
_DATE_LENGTH: Final = len("2026-09-09")


class MatchCount(NamedTuple):
    """Matched transfers of a day and band: all, in an alert, with each label, and landed for a pre-flight."""

    day: int
    band: str
    matched: int
    cents: int
    alerted: int
    bad: int
    ok: int
    landed: int


class BacktestCounts(NamedTuple):
    """The counts of a backtest. Named are the newest matches, newest first.

    ``labelled_bad`` and ``landed`` are of all transfers that were read, whether the rule matches them or not.
    """

    scanned_by_day: Mapping[int, int]
    matches: tuple[MatchCount, ...]
    newest: tuple[NamedTransfer, ...]
    false_positives: tuple[NamedTransfer, ...]
    labelled_bad: int
    landed: int

    @property
    def scanned(self) -> int:
        return sum(self.scanned_by_day.values())

    @property
    def matched(self) -> int:
        return sum(each.matched for each in self.matches)

    @property
    def matched_share(self) -> float | None:
        return rounded(self.matched / self.scanned) if self.scanned else None

    @property
    def matched_by_day(self) -> Counter[int]:
        by_day = Counter[int]()
        for each in self.matches:
            by_day[each.day] += each.matched
        return by_day

    @property
    def alerted(self) -> int:
        return sum(each.alerted for each in self.matches)

    @property
    def bad(self) -> int:
        return sum(each.bad for each in self.matches)

    @property
    def ok(self) -> int:
        return sum(each.ok for each in self.matches)

    @property
    def precision(self) -> Measured:
        return measured(self.bad, self.bad + self.ok)


def to_backtest(
    rule: Rule, counts: BacktestCounts, *, key: str, at: int, days: int, sampled: bool, full: bool
) -> Backtest:
    """The backtest of a rule over the ``days`` before ``at``."""
    return Backtest(
        key=key,
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        program_id=rule.program_id,
        at=format_instant(at),
        days=days,
        scanned=counts.scanned,
        sampled=sampled,
        matched=counts.matched,
        matched_share=counts.matched_share,
        would_hold=counts.matched if rule.action is RuleAction.HOLD else 0,
        would_alert=0 if rule.action is RuleAction.LOG else counts.matched,
        overlap_with_existing_alerts=counts.alerted,
        by_band=_by_band(counts),
        sample_transfer_ids=_ids(counts.newest[:MOST_EXAMPLES]),
        sample_transfers=counts.newest[:MOST_EXAMPLES],
        full=_full(rule, counts, upto_day=at - at % DAY_US) if full else msgspec.UNSET,
    )


def to_shadow_report(rule: Rule, counts: BacktestCounts, *, version: str, since: int) -> ShadowReport:
    """The matches of a counted rule since it came into force in this form; the days are those with a match."""
    by_day = counts.matched_by_day
    return ShadowReport(
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        version=version,
        since=format_instant(since),
        scanned=counts.scanned,
        matched=counts.matched,
        matched_share=counts.matched_share,
        by_band=_by_band(counts),
        by_day=tuple(ShadowDay(day=format_instant(day)[:_DATE_LENGTH], matched=by_day[day]) for day in sorted(by_day)),
        overlap_with_existing_alerts=counts.alerted,
        precision=counts.precision,
        sample_transfer_ids=_ids(counts.newest[:MOST_EXAMPLES]),
        sample_transfers=counts.newest[:MOST_EXAMPLES],
        false_positive_transfer_ids=_ids(counts.false_positives),
        false_positive_transfers=counts.false_positives,
    )


def not_in_shadow(rule: Rule) -> ShadowReport:
    """Nothing was measured."""
    return ShadowReport(
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        version=None,
        since=None,
        scanned=None,
        matched=None,
        matched_share=None,
        by_band=None,
        by_day=None,
        overlap_with_existing_alerts=None,
        precision=measured(0, 0),
        sample_transfer_ids=(),
        sample_transfers=(),
        false_positive_transfer_ids=(),
        false_positive_transfers=(),
    )


def _ids(named: Sequence[NamedTransfer]) -> tuple[str, ...]:
    return tuple(each.transfer_id for each in named)


def _by_band(counts: BacktestCounts) -> dict[str, int]:
    by_band = dict.fromkeys((band.value for band in Band), 0)
    for each in counts.matches:
        by_band[each.band] += each.matched
    return by_band


def _full(rule: Rule, counts: BacktestCounts, *, upto_day: int) -> FullBacktest:
    would_hold = sum(each.landed for each in counts.matches) if rule.action is RuleAction.HOLD else 0
    return FullBacktest(
        precision=counts.precision,
        recall=measured(counts.bad, counts.labelled_bad),
        false_positive_transfer_ids=_ids(counts.false_positives),
        false_positive_transfers=counts.false_positives,
        volume_a_day=_volume(counts, upto_day),
        by_week=_weeks(counts),
        preflights_held=measured(would_hold, counts.landed),
        caught=CaughtTransfers(
            count=counts.matched,
            cents=str(sum(each.cents for each in counts.matches)),
            transfer_ids=_ids(counts.newest),
            transfers=counts.newest,
        ),
    )


def _volume(counts: BacktestCounts, upto_day: int) -> DailyVolume:
    """Days without a transfer count too: a rule that matches on Mondays alone has no volume on the others."""
    if not counts.scanned_by_day:
        return DailyVolume(mean=None, p95=None, max=None, n=0)
    by_day = counts.matched_by_day
    ordered = sorted(by_day[day] for day in range(min(counts.scanned_by_day), upto_day + 1, DAY_US))
    n = len(ordered)
    nearest_rank = -(-n * _P95_PERCENT // 100)
    return DailyVolume(mean=rounded(sum(ordered) / n), p95=ordered[nearest_rank - 1], max=ordered[-1], n=n)


def _weeks(counts: BacktestCounts) -> tuple[BacktestWeek, ...]:
    """Oldest first; weeks without a transfer among them."""
    if not counts.scanned_by_day:
        return ()
    scanned, matched = Counter[str](), Counter[str]()
    for day, transfers in counts.scanned_by_day.items():
        scanned[str(week_of(day))] += transfers
    for each in counts.matches:
        matched[str(week_of(each.day))] += each.matched
    days = range(min(counts.scanned_by_day), max(counts.scanned_by_day) + 1, DAY_US)
    weeks = dict.fromkeys(str(week_of(day)) for day in days)
    return tuple(BacktestWeek(week=week, scanned=scanned[week], matched=matched[week]) for week in weeks)
