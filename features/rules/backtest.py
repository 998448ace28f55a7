"""A backtest out of what was counted: shares, days and weeks.

Unit    a day is its first microsecond since the epoch, UTC; money is US cents
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from features.core.backtests import (
    MOST_EXAMPLES,
    Backtest,
    BacktestWeek,
    CaughtTransfers,
    DailyVolume,
    FullBacktest,
    ShadowDay,
    ShadowReport,
)
from features.core.instants import DAY_US, format_instant
from features.core.measured import measured, rounded
from features.core.rules import Rule, RuleAction, rule_hash
from features.core.vocabulary import Band
from features.core.weeks import week_of

_P95_PERCENT: Final = 95
_DATE_LENGTH: Final = len("2026-09-09")


class MatchCount(NamedTuple):
    """The matched transfers of a day and band: how many, and how many of them are in an alert, are labelled so, and
    landed for a pre-flight.
    """

    day: int
    band: str
    matched: int
    cents: int
    alerted: int
    bad: int
    ok: int
    landed: int


class BacktestCounts(NamedTuple):
    """What a backtest counted. Ids are of the newest matches, newest first.

    ``labelled_bad`` and ``landed`` are of all transfers that were read, whether the rule matches them or not.
    """

    scanned: Mapping[int, int]  # by day
    matches: tuple[MatchCount, ...]
    newest_ids: tuple[str, ...]
    false_positive_ids: tuple[str, ...]
    labelled_bad: int
    landed: int


def to_backtest(
    rule: Rule, counts: BacktestCounts, *, key: str, at: int, days: int, sampled: bool, full: bool
) -> Backtest:
    """The backtest of a rule over the ``days`` before ``at``."""
    scanned = sum(counts.scanned.values())
    matched = sum(each.matched for each in counts.matches)
    return Backtest(
        key=key,
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        program_id=rule.program_id,
        at=format_instant(at),
        days=days,
        scanned=scanned,
        sampled=sampled,
        matched=matched,
        matched_share=rounded(matched / scanned) if scanned else None,
        would_hold=matched if rule.action is RuleAction.HOLD else 0,
        would_alert=0 if rule.action is RuleAction.LOG else matched,
        overlap_with_existing_alerts=sum(each.alerted for each in counts.matches),
        by_band=_by_band(counts),
        sample_transfer_ids=counts.newest_ids[:MOST_EXAMPLES],
        full=_full(rule, counts, matched, upto_day=at - at % DAY_US) if full else msgspec.UNSET,
    )


def to_shadow_report(rule: Rule, counts: BacktestCounts, *, version: str, since: int) -> ShadowReport:
    """What a rule in testing has matched since it came into shadow; the days are those on which it matched."""
    scanned = sum(counts.scanned.values())
    matched = sum(each.matched for each in counts.matches)
    bad = sum(each.bad for each in counts.matches)
    ok = sum(each.ok for each in counts.matches)
    by_day = Counter[int]()
    for each in counts.matches:
        by_day[each.day] += each.matched
    return ShadowReport(
        rule_id=rule.id,
        rule_sha256=rule_hash(rule),
        version=version,
        since=format_instant(since),
        scanned=scanned,
        matched=matched,
        matched_share=rounded(matched / scanned) if scanned else None,
        by_band=_by_band(counts),
        by_day=tuple(ShadowDay(day=_date(day), matched=by_day[day]) for day in sorted(by_day)),
        overlap_with_existing_alerts=sum(each.alerted for each in counts.matches),
        precision=measured(bad, bad + ok),
        sample_transfer_ids=counts.newest_ids[:MOST_EXAMPLES],
        false_positive_transfer_ids=counts.false_positive_ids,
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
        false_positive_transfer_ids=(),
    )


def _by_band(counts: BacktestCounts) -> dict[str, int]:
    by_band = dict.fromkeys((band.value for band in Band), 0)
    for each in counts.matches:
        by_band[each.band] += each.matched
    return by_band


def _full(rule: Rule, counts: BacktestCounts, matched: int, *, upto_day: int) -> FullBacktest:
    bad = sum(each.bad for each in counts.matches)
    ok = sum(each.ok for each in counts.matches)
    would_hold = sum(each.landed for each in counts.matches) if rule.action is RuleAction.HOLD else 0
    return FullBacktest(
        precision=measured(bad, bad + ok),
        recall=measured(bad, counts.labelled_bad),
        false_positive_transfer_ids=counts.false_positive_ids,
        volume_a_day=_volume(counts, upto_day),
        by_week=_weeks(counts),
        preflights_held=measured(would_hold, counts.landed),
        caught=CaughtTransfers(
            count=matched, cents=str(sum(each.cents for each in counts.matches)), transfer_ids=counts.newest_ids
        ),
    )


def _volume(counts: BacktestCounts, upto_day: int) -> DailyVolume:
    """Days without a transfer count too: a rule that matches on Mondays alone has no volume on the others."""
    if not counts.scanned:
        return DailyVolume(mean=None, p95=None, max=None, n=0)
    by_day = Counter[int]()
    for each in counts.matches:
        by_day[each.day] += each.matched
    ordered = sorted(by_day[day] for day in range(min(counts.scanned), upto_day + 1, DAY_US))
    n = len(ordered)
    nearest_rank = -(-n * _P95_PERCENT // 100)
    return DailyVolume(mean=rounded(sum(ordered) / n), p95=ordered[nearest_rank - 1], max=ordered[-1], n=n)


def _weeks(counts: BacktestCounts) -> tuple[BacktestWeek, ...]:
    """Oldest first; weeks without a transfer among them."""
    if not counts.scanned:
        return ()
    scanned, matched = Counter[str](), Counter[str]()
    for day, transfers in counts.scanned.items():
        scanned[str(week_of(day))] += transfers
    for each in counts.matches:
        matched[str(week_of(each.day))] += each.matched
    days = range(min(counts.scanned), max(counts.scanned) + 1, DAY_US)
    weeks = dict.fromkeys(str(week_of(day)) for day in days)
    return tuple(BacktestWeek(week=week, scanned=scanned[week], matched=matched[week]) for week in weeks)


def _date(day: int) -> str:
    return format_instant(day)[:_DATE_LENGTH]
