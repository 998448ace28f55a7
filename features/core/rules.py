"""Rules that a bank writes, as data; ``features/rules`` checks and evaluates them. Their backtests: the effect that a
rule would have had on stored transfers; and its matches in live shadow.

A rule never changes a score. An active rule opens alerts ``rule:<id>``, which a person decides; a rule in testing is
counted beside the stream and opens nothing.

Unit    money in values is integer cents, as a number or as a string of digits. In backtests instants, days and weeks
        are texts, UTC; money is US cents as a string of digits; ``days`` are the days before ``at``
Null    a share of nothing and a figure over no day are null, never 0
"""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.measured import Measured
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Severity, about, minted


class RuleScope(StrEnum):
    """The subject of a rule. Only rules about transfers fire."""

    TRANSFER = "transfer"
    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    PROGRAM = "program"


class RuleAction(StrEnum):
    """``log`` only counts; the others open an alert of the rule's severity."""

    ALERT = "alert"
    HOLD = "hold"
    REVIEW = "review"
    LOG = "log"


class RuleStatus(StrEnum):
    DRAFT = "draft"
    TESTING = "testing"
    ACTIVE = "active"
    PAUSED = "paused"
    ARCHIVED = "archived"


class RuleMode(StrEnum):
    """The effect of a match: an alert, or a count, of an active rule that logs or of a rule in testing."""

    ACTIVE = "active"
    LOG = "log"
    SHADOW = "shadow"


class RuleOp(StrEnum):
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EQ = "eq"
    NEQ = "neq"
    IN = "in"
    NOT_IN = "not_in"
    BETWEEN = "between"
    IS_NULL = "is_null"
    NOT_NULL = "not_null"


Scalar = str | int | float | bool | None
RuleValue = Scalar | tuple[Scalar, ...]


class RuleCondition(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One comparison of a field; ``value`` is left out for ``is_null`` and ``not_null``."""

    field: str
    op: Annotated[RuleOp, about("How the field is compared with the value.")]
    value: Annotated[
        RuleValue | msgspec.UnsetType,
        about(
            "A single value; a list for in and not_in, two bounds that both count for between; left out for "
            "is_null and not_null. Money is integer cents, as a number or a string of digits."
        ),
    ] = msgspec.UNSET


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """All conditions of ``when`` must hold. ``program_id`` None: every program of the tenant."""

    id: Annotated[str, about("The author's name for the rule: lower-case letters and digits with inner - and _.")]
    name: str
    scope: RuleScope = RuleScope.TRANSFER
    program_id: Annotated[str | None, about("The program that it is for; null is every program of the tenant.")] = None
    when: tuple[RuleCondition, ...]
    action: RuleAction
    severity: Annotated[Severity, about("Of the alerts that it opens; those of high need the longest look.")]
    status: Annotated[
        RuleStatus,
        about(
            "draft has no effect; testing is counted in live shadow; active is in force; paused and archived are not."
        ),
    ]
    note: Annotated[str | msgspec.UnsetType, about("The author's note.")] = msgspec.UNSET


def rule_hash(rule: Rule) -> str:
    """The digest of the whole rule except its status, which a backtest and an activation refer to."""
    content: dict[str, Any] = msgspec.to_builtins(rule)
    del content["status"]
    return digest_of(canonical(content))


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
