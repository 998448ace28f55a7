"""Backtests: the effect that a rule would have had on stored transfers; and the matches of a rule in live shadow.

Unit    instants, days and weeks are texts, UTC; money is US cents as a string of digits; ``days`` are the days before
        ``at``
Null    a share of nothing and a figure over no day are null, never 0
"""

from typing import Annotated, Final

import msgspec

from clearhold.features.core.measured import Measured
from clearhold.features.core.program import Simulated
from clearhold.features.core.words import about, minted

MOST_DAYS: Final = 90
"""The longest window of a backtest, and the window that an activation requires."""

MOST_SAMPLED: Final = 1_000
"""The most transfers that a backtest reads, the newest; a full backtest reads all of its window."""

MOST_EXAMPLES: Final = 20
MOST_CAUGHT: Final = 100


_EXAMPLES: Final = about(f"The newest of them, at most {MOST_EXAMPLES}.")
_FALSE_POSITIVES: Final = about(f"Matched, and labelled ok; the newest, at most {MOST_EXAMPLES}.")
_MATCHED: Final = about("Transfers that it matched.")
_PRECISION: Final = about("Bad among the labelled transfers that matched.")


class NamedTransfer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A transfer with its program: several programs may have one of the same id."""

    program_id: str
    transfer_id: Annotated[str, about("The bank's id of the transfer.")]


class DailyVolume(msgspec.Struct, frozen=True, kw_only=True):
    """Matches a day, over the ``n`` days from that of the first transfer to that of the backtest."""

    mean: Annotated[float | None, about("The mean; null over no day.")]
    p95: Annotated[int | None, about("The 95th percentile; null over no day.")]
    max: Annotated[int | None, about("The most; null over no day.")]
    n: Annotated[int, about("Over how many days.")]


class BacktestWeek(msgspec.Struct, frozen=True, kw_only=True):
    """One ISO week, such as 2026-W37."""

    week: Annotated[str, about("The ISO week, as in 2026-W37.")]
    scanned: int
    matched: Annotated[int, _MATCHED]


class CaughtTransfers(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Past transfers that the rule would have caught. The sum leaves out transfers without an amount in US dollars."""

    count: Annotated[int, about("How many.")]
    cents: Annotated[str, about("Their sum in US cents, those without an amount in US dollars left out.")]
    transfer_ids: Annotated[tuple[str, ...], about(f"The newest of them, at most {MOST_CAUGHT}.")]
    transfers: Annotated[tuple[NamedTransfer, ...], about("The same, each with its program.")]


class FullBacktest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The figures that only a backtest of every transfer in its window has.

    Precision and recall are over labelled transfers. ``preflights_held`` is over pre-flights whose transfer landed.
    """

    precision: Annotated[Measured, _PRECISION]
    recall: Annotated[Measured, about("Matched among the transfers labelled bad.")]
    false_positive_transfer_ids: Annotated[tuple[str, ...], _FALSE_POSITIVES]
    false_positive_transfers: Annotated[tuple[NamedTransfer, ...], about("The same, each with its program.")]
    volume_a_day: Annotated[DailyVolume, about("Matches a day.")]
    by_week: Annotated[tuple[BacktestWeek, ...], about("By ISO week, the oldest first.")]
    preflights_held: Annotated[
        Measured, about("Of the pre-flights whose transfer landed, the share that matches a rule whose action is hold.")
    ]
    caught: Annotated[CaughtTransfers, about("The past transfers that the rule would have caught.")]


class Backtest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``rule_sha256`` is the digest of the tested rule (``rule_hash``), and ``program_id`` its program at that time."""

    key: Annotated[str, minted("backtest")]
    rule_id: str
    rule_sha256: str
    program_id: Annotated[str | None, about("The rule's program when it was tested; null is every program.")]
    at: Annotated[str, about("When it was run; it reads the days before.")]
    days: Annotated[int, about("How many days before were read.")]
    scanned: int
    sampled: Annotated[
        bool, about(f"Whether the window has more than {MOST_SAMPLED} transfers, of which the newest were read.")
    ]
    matched: Annotated[int, _MATCHED]
    matched_share: float | None
    would_hold: Annotated[int, about("Matches of a rule whose action is hold.")]
    would_alert: Annotated[int, about("Matches of a rule whose action opens an alert: alert, hold or review.")]
    overlap_with_existing_alerts: int
    by_band: dict[str, int]
    sample_transfer_ids: Annotated[tuple[str, ...], _EXAMPLES]
    sample_transfers: Annotated[tuple[NamedTransfer, ...], about("The same, each with its program.")]
    full: Annotated[
        FullBacktest | msgspec.UnsetType, about("Figures that only a backtest of every transfer in its window has.")
    ] = msgspec.UNSET
    simulated: Simulated = msgspec.UNSET


class ShadowDay(msgspec.Struct, frozen=True, kw_only=True):
    """One day, such as 2026-09-09."""

    day: Annotated[str, about("The day, UTC.")]
    matched: Annotated[int, about("Transfers that it matched on that day.")]


class ShadowReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The matches of a rule in testing, or of a logging rule in force, in live traffic since it has its present text.

    The counts are null for any other rule.
    """

    rule_id: str
    rule_sha256: str
    version: Annotated[str | None, about("The version of the rules that has it; null for an uncounted rule.")]
    since: Annotated[str | None, about("Since when its present text is counted; null for an uncounted rule.")]
    scanned: int | None
    matched: Annotated[int | None, _MATCHED]
    matched_share: float | None
    by_band: dict[str, int] | None
    by_day: Annotated[tuple[ShadowDay, ...] | None, about("Matches by day, UTC.")]
    overlap_with_existing_alerts: int | None
    precision: Annotated[Measured, _PRECISION]
    sample_transfer_ids: Annotated[tuple[str, ...], _EXAMPLES]
    sample_transfers: Annotated[tuple[NamedTransfer, ...], about("The same, each with its program.")]
    false_positive_transfer_ids: Annotated[tuple[str, ...], _FALSE_POSITIVES]
    false_positive_transfers: Annotated[tuple[NamedTransfer, ...], about("The same, each with its program.")]
    simulated: Simulated = msgspec.UNSET
