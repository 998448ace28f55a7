"""How long the lake for analysts keeps the days of each of its tables, and the least that a policy may say.

The record, the database and the log's segments are kept for good under every policy: this is about the copy that
analysts read. A table that no policy names is kept.

Unit    days after the UTC day on which the log took a row in; None is kept for good
Source  31 CFR 1010.430(d): records are kept for five years. 31 CFR 1020.220(a)(3)(ii): what identifies a customer is
        kept until five years after the account is closed, so the day of a row says nothing there
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from clearhold.features.policy.bodies import RetentionBody

FIVE_YEARS_DAYS: Final = 1_827  # two of them may be leap years
LONGEST_WINDOW_DAYS: Final = 90  # of features, of backtests and of the ready questions


class Floor(NamedTuple):
    """The fewest days for which a table may be kept; None where no number of days is right, and why."""

    days: int | None
    why: str


_LAW: Final = Floor(FIVE_YEARS_DAYS, "31 CFR 1010.430 has records of transactions and decisions kept for five years")
_WINDOW: Final = Floor(LONGEST_WINDOW_DAYS, "features, backtests and ready questions look back over 90 days")
_CURRENT: Final = Floor(
    None, "its rows are written when something changes, so an old row may be the current one; it has no end by days"
)
_WHOLE: Final = Floor(None, "it is written whole when it changes, and has no days that could end")
_TABLES: Final[Mapping[Floor, tuple[str, ...]]] = {
    _LAW: ("transfer_versions", "alert_versions", "dispositions", "action_versions", "label_versions"),
    _WINDOW: (
        *("events", "transfer_features", "transfer_reasons", "shadow_scores", "rule_matches"),
        *("preflights", "preflight_matches", "directory_fetches", "kri_snapshots", "metrics_days"),
    ),
    _CURRENT: (
        *("entity_versions", "counterparty_versions", "account_versions", "program_versions", "agent_versions"),
        *("actor_score_versions", "policies"),
    ),
    _WHOLE: ("tenants", "policy_versions", "scorecard_reports", "rules", "rule_backtests"),
}
FLOORS: Final[Mapping[str, Floor]] = {table: floor for floor, tables in _TABLES.items() for table in tables}
"""By table of the lake, all of them."""


def longest_of(bodies: Iterable[RetentionBody]) -> Mapping[str, int]:
    """The days by table when banks share a lake, whose files have rows of all of them: no bank's rows end before its
    own policy says. A table that one of them keeps for good is left out.

    >>> longest_of([RetentionBody(tables=())])
    {}
    """
    named = [{each.table: each.days for each in body.tables} for body in bodies]
    return dict(_longest(named)) if named else {}


def _longest(named: list[dict[str, int | None]]) -> Iterator[tuple[str, int]]:
    for table in named[0]:
        days = [each.get(table) for each in named]
        ends = [each for each in days if each is not None]
        if len(ends) == len(days):
            yield table, max(ends)
