"""Statements about the transfers that a rule counts, on a separate cursor that another thread can interrupt."""

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any, Final, Self

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import MOST_CAUGHT, MOST_EXAMPLES, NamedTransfer, Rule
from clearhold.features.policy.routing import RULE_PREFIX
from clearhold.features.rules.backtest import BacktestCounts, MatchCount
from clearhold.store.duck.schema import LABEL_ORDER
from clearhold.store.tables.predicate import Predicate

# Each version of an alert names its newest transfers, so that all versions together name every one.
_FACTS: Final = """
    CREATE TEMP TABLE facts AS
    SELECT program_id, transfer_id, bool_or(alerted) AS alerted, arg_max(label, place) AS label,
        bool_or(landed) AS landed
    FROM (
        SELECT program_id, unnest(evidence->>'$.transferIds[*]') AS transfer_id, true AS alerted,
            NULL AS label, NULL AS place, false AS landed
        FROM alerts WHERE {alerts}
        UNION ALL
        SELECT program_id, transfer_id, false, label, {order}, false FROM labels WHERE {labels}
        UNION ALL
        SELECT program_id, transfer_id, false, NULL, NULL, true FROM preflight_matches WHERE {matches}
    ) GROUP BY program_id, transfer_id"""
# ``matches`` has each transfer once.
_COUNTS: Final = """
    SELECT epoch_us(date_trunc('day', taken_at)) AS day, band, count(*), coalesce(sum(cents), 0)::HUGEINT,
        count(*) FILTER (alerted), count(*) FILTER (label = 'bad'), count(*) FILTER (label = 'ok'),
        count(*) FILTER (landed)
    FROM matches LEFT JOIN facts USING (program_id, transfer_id) GROUP BY day, band ORDER BY day, band"""
_NEWEST_MATCHES: Final = """
    SELECT program_id, transfer_id FROM matches ORDER BY taken_at DESC, transfer_id, program_id LIMIT ?"""
_FALSE_POSITIVES: Final = """
    SELECT program_id, transfer_id FROM matches JOIN facts USING (program_id, transfer_id) WHERE label = 'ok'
    ORDER BY taken_at DESC, transfer_id, program_id LIMIT ?"""


class MatchTally:
    """The counts of matches so far, from the newest stretch of time on."""

    def __init__(self) -> None:
        self.matches: list[MatchCount] = []
        self.newest: list[NamedTransfer] = []
        self.false_positives: list[NamedTransfer] = []

    def counts(self, scanned: Mapping[int, int], *, labelled_bad: int, landed: int) -> BacktestCounts:
        return BacktestCounts(
            scanned,
            tuple(self.matches),
            tuple(self.newest),
            tuple(self.false_positives),
            labelled_bad=labelled_bad,
            landed=landed,
        )


class RuleReader:
    """Used by one thread, and closed; ``interrupt`` may come from another.

    Errors  ForbiddenError for a rule of a program that the principal may not touch; in the reading thread
            ``duckdb.InterruptException`` after ``interrupt``
    """

    def __init__(
        self, database: duckdb.DuckDBPyConnection, principal: Principal, rule: Rule, program_ids: Sequence[str] | None
    ) -> None:
        """``program_ids`` are the programs that a rule without its own is held against; None is all within reach."""
        if rule.program_id is not None:
            principal.require_program(rule.program_id)
            program_ids = (rule.program_id,)
        self._principal, self._rule, self._program_ids = principal, rule, program_ids
        self._cursor, self._interrupted = database.cursor(), Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def interrupt(self) -> None:
        """Interrupt the reading thread's statement, or its next one."""
        self._interrupted.set()
        self._cursor.interrupt()

    def within(self, instant: str | None = None, start: int | None = None, end: int | None = None) -> Predicate:
        """The programs of the rule, and a half-open span of time."""
        predicate = Predicate(self._principal)
        predicate.of_programs(self._program_ids)
        if instant is not None:
            predicate.between(instant, start, end)
        return predicate

    def read(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        if self._interrupted.is_set():
            raise duckdb.InterruptException("interrupted before a statement")
        return self._cursor.execute(sql, values).fetchall()

    def prepare_facts(self, oldest: int | None) -> None:
        """Fill ``facts``: transfers in an alert of other rules or detectors, their labels, and whether they landed for
        a pre-flight. All of that is after the ``oldest`` transfer's own time.
        """
        alerts, labels = self.within("updated_at", oldest), self.within()
        alerts.add("detector <> ?", RULE_PREFIX + self._rule.id)
        matches = self.within("matched_at", oldest)
        sql = _FACTS.format(order=LABEL_ORDER, alerts=alerts.sql, labels=labels.sql, matches=matches.sql)
        self.read(sql, [*alerts.values, *labels.values, *matches.values])

    def count_matches(self, tally: MatchTally) -> None:
        """Add the rows of ``matches``, which is older than those counted before."""
        tally.matches += [MatchCount(*row) for row in self.read(_COUNTS)]
        tally.newest += self._named(_NEWEST_MATCHES, MOST_CAUGHT - len(tally.newest))
        tally.false_positives += self._named(_FALSE_POSITIVES, MOST_EXAMPLES - len(tally.false_positives))

    def _named(self, sql: str, missing: int) -> list[NamedTransfer]:
        rows = self.read(sql, [missing]) if missing else []
        return [NamedTransfer(program_id=program_id, transfer_id=transfer_id) for program_id, transfer_id in rows]
