"""Backtests: what a rule would have done to stored transfers; and what a rule in testing does in live shadow.

Unit    instants, days and weeks are texts, UTC; money is US cents as a string of digits; ``days`` before ``at`` were
        read
Null    a share of nothing and a figure over no day are null, never 0
"""

from typing import Final

import msgspec

from clearhold.features.core.measured import Measured

MOST_DAYS: Final = 90
"""As far back as a backtest goes, and as far as the one behind an activation has to go."""

MOST_SAMPLED: Final = 1_000
"""Transfers that a backtest reads at most, the newest; one that is full reads all of its window."""

MOST_EXAMPLES: Final = 20
MOST_CAUGHT: Final = 100


class DailyVolume(msgspec.Struct, frozen=True, kw_only=True):
    """Matches a day, over the ``n`` days from that of the first transfer to that of the backtest."""

    mean: float | None
    p95: int | None
    max: int | None
    n: int


class BacktestWeek(msgspec.Struct, frozen=True, kw_only=True):
    """One ISO week, such as 2026-W37."""

    week: str
    scanned: int
    matched: int


class CaughtTransfers(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The past transfers that the rule would have caught; the ids are of the newest. Of a transfer in another currency
    without an amount in US dollars the cents are not known, and not in the sum.
    """

    count: int
    cents: str
    transfer_ids: tuple[str, ...]


class FullBacktest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What only a backtest of every transfer in its window says.

    Precision and recall are over labelled transfers. ``preflights_held`` is over pre-flights whose transfer landed.
    """

    precision: Measured
    recall: Measured
    false_positive_transfer_ids: tuple[str, ...]
    volume_a_day: DailyVolume
    by_week: tuple[BacktestWeek, ...]
    preflights_held: Measured
    caught: CaughtTransfers


class Backtest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``rule_sha256`` is the digest of the rule that was tested (``rule_hash``), and ``program_id`` its program,
    whatever was written since.
    """

    key: str
    rule_id: str
    rule_sha256: str
    program_id: str | None
    at: str
    days: int
    scanned: int
    sampled: bool
    matched: int
    matched_share: float | None
    would_hold: int
    would_alert: int
    overlap_with_existing_alerts: int
    by_band: dict[str, int]
    sample_transfer_ids: tuple[str, ...]
    full: FullBacktest | msgspec.UnsetType = msgspec.UNSET


class ShadowDay(msgspec.Struct, frozen=True, kw_only=True):
    """One day, such as 2026-09-09."""

    day: str
    matched: int


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a rule in testing, or one in force that logs, has matched in live traffic since it is so with its present
    text.

    What is counted is null for any other rule, where nothing is measured.
    """

    rule_id: str
    rule_sha256: str
    version: str | None
    since: str | None
    scanned: int | None
    matched: int | None
    matched_share: float | None
    by_band: dict[str, int] | None
    by_day: tuple[ShadowDay, ...] | None
    overlap_with_existing_alerts: int | None
    precision: Measured
    sample_transfer_ids: tuple[str, ...]
    false_positive_transfer_ids: tuple[str, ...]
