"""The backtest of a rule over stored transfers, over the newest of a span or over all, and its matches in shadow.

Time    A scoring of the stream is stored with its vector, so the matches here are those of the stream. Later scorings
        of backfills are left out; each transfer has one of the stream
How     A whole span is read in stretches, each with separate statements: memory stays bounded, and an interrupted
        backtest ends soon. All scorings of a transfer have the transfer's time, so they are in one stretch
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import Any, Final

import duckdb

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import (
    MOST_CAUGHT,
    MOST_EXAMPLES,
    MOST_SAMPLED,
    NamedTransfer,
    Rule,
    RuleMode,
    rule_hash,
)
from clearhold.features.policy.routing import RULE_PREFIX
from clearhold.features.rules.backtest import BacktestCounts, MatchCount
from clearhold.features.rules.predicate import sql_of
from clearhold.store.duck.committed_rows import OpenCursor
from clearhold.store.duck.database import LABEL_ORDER
from clearhold.store.tables import Predicate, Span, listed

# ruff: noqa: S608 - statements are built from constants; every value is a parameter

# A version of an alert names its newest transfers. ``alert_transfers`` has each transfer that joined the alert, at the
# offset of the transfer's own entry; the other transfers that the alert rests on have no snapshot at that offset.
_FACTS: Final = """
    CREATE TEMP TABLE facts AS
    SELECT program_id, transfer_id, bool_or(alerted) AS alerted, arg_max(label, place) AS label,
        bool_or(landed) AS landed
    FROM (
        SELECT program_id, unnest(evidence->>'$.transferIds[*]') AS transfer_id, true AS alerted,
            NULL AS label, NULL AS place, false AS landed
        FROM alerts WHERE {alerts}
        UNION ALL
        SELECT joined.program_id, transfers.id, true, NULL, NULL, false FROM alert_transfers AS joined JOIN transfers ON
            transfers.program_id = joined.program_id AND transfers."offset" = joined."offset"
            AND transfers.number = joined.transfer_number
        WHERE joined.alert_id IN (SELECT id FROM alerts WHERE {alerts})
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


class RuleReader(OpenCursor):
    """The transfers of a span that a rule matches, or matched.

    Errors  ForbiddenError for a rule of a program that the principal may not touch; in the reading thread
            ``duckdb.InterruptException`` after ``interrupt``
    """

    def __init__(
        self,
        database: duckdb.DuckDBPyConnection,
        principal: Principal,
        rule: Rule,
        program_ids: Sequence[str] | None,
        span: Span,
    ) -> None:
        """``program_ids`` are the programs that a rule without its own is held against; None is all within reach."""
        if rule.program_id is not None:
            principal.require_program(rule.program_id)
            program_ids = (rule.program_id,)
        super().__init__(database)
        self._principal, self._rule, self._program_ids, self._span = principal, rule, program_ids, span
        self._interrupted = Event()

    def interrupt(self) -> None:
        """Interrupt the reading thread's statement, or its next one."""
        self._interrupted.set()
        super().interrupt()

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
        self.read(sql, [*alerts.values, *alerts.values, *labels.values, *matches.values])

    def count_matches(self, tally: MatchTally) -> None:
        """Add the rows of ``matches``, which is older than those counted before."""
        tally.matches += [MatchCount(*row) for row in self.read(_COUNTS)]
        tally.newest += self._named(_NEWEST_MATCHES, MOST_CAUGHT - len(tally.newest))
        tally.false_positives += self._named(_FALSE_POSITIVES, MOST_EXAMPLES - len(tally.false_positives))

    def _named(self, sql: str, missing: int) -> list[NamedTransfer]:
        rows = self.read(sql, [missing]) if missing else []
        return [NamedTransfer(program_id=program_id, transfer_id=transfer_id) for program_id, transfer_id in rows]


STRETCH_ROWS: Final = 500_000

_NEWEST: Final = """
    SELECT program_id, transfer_id, epoch_us(taken_at) FROM transfer_features WHERE {within} AND NOT rescored
    ORDER BY taken_at DESC, transfer_id, program_id LIMIT ?"""
_HOURS: Final = f"""
    SELECT epoch_us(taken_at) // {HOUR_US} AS hour, count(*) FROM transfer_features WHERE {{within}}
    GROUP BY hour ORDER BY hour DESC"""
_SCANNED: Final = """
    SELECT epoch_us(date_trunc('day', taken_at)) AS day, count(*) FROM transfer_features
    WHERE {within} AND NOT rescored GROUP BY day"""
_STEPS: Final = 'CREATE TEMP TABLE steps AS SELECT DISTINCT shard, "offset" FROM backfills WHERE {within}'
# As in the stream, a transfer's first match counts: of its first scoring, else the earliest later one.
_MATCHES: Final = """
    CREATE OR REPLACE TEMP TABLE matches AS
    WITH hits AS MATERIALIZED (
        SELECT program_id, transfer_id, shard, "offset", taken_at, band, amount_cents AS cents, rescored
        FROM transfer_features WHERE {within} AND {rule}
    ), firsts AS (
        SELECT program_id, transfer_id, taken_at, band, cents FROM hits WHERE NOT rescored
    )
    FROM firsts UNION ALL
    SELECT program_id, transfer_id, any_value(taken_at), arg_min(band, "offset"), arg_min_null(cents, "offset")
    FROM (FROM hits WHERE rescored) ANTI JOIN steps USING (shard, "offset")
        ANTI JOIN firsts USING (program_id, transfer_id) GROUP BY program_id, transfer_id"""
_SAMPLED: Final = """
    DELETE FROM matches WHERE (program_id, transfer_id) NOT IN (
        SELECT (one.program_id, one.transfer_id)
        FROM (SELECT unnest(from_json(?, '[{"program_id": "VARCHAR", "transfer_id": "VARCHAR"}]')) AS one))"""
_KNOWN: Final = """
    SELECT count(*) FILTER (label = 'bad'), count(*) FILTER (landed)
    FROM (FROM facts WHERE label = 'bad' OR landed)
    SEMI JOIN (SELECT program_id, transfer_id FROM transfer_features WHERE {within}) USING (program_id, transfer_id)"""


class RuleBacktest(RuleReader):
    """One backtest of a rule over the transfers of a span."""

    def over_newest(self) -> tuple[BacktestCounts, bool]:
        """Over the newest transfers; also returns whether the span has more."""
        transfers, is_cut = self._newest()
        tally = MatchTally()
        if transfers:
            stretch = self._span._replace(start=min(at for _, _, at in transfers))
            self._prepare(stretch)
            self._match(stretch)
            names = [{"program_id": program_id, "transfer_id": transfer_id} for program_id, transfer_id, _ in transfers]
            self.read(_SAMPLED, [listed(names)])
            self.count_matches(tally)
        scanned = Counter(at - at % DAY_US for _, _, at in transfers)
        return tally.counts(scanned, labelled_bad=0, landed=0), is_cut

    def over_all(self) -> BacktestCounts:
        """Over every transfer of the span."""
        tally, within = MatchTally(), self.within("taken_at", *self._span)
        scanned = dict(self.read(_SCANNED.format(within=within.sql), within.values))
        self._prepare(self._span)
        for stretch in self._stretches():
            self._match(stretch)
            self.count_matches(tally)
        ((labelled_bad, landed),) = self.read(_KNOWN.format(within=within.sql), within.values)
        return tally.counts(scanned, labelled_bad=labelled_bad, landed=landed)

    def _newest(self) -> tuple[list[tuple[Any, ...]], bool]:
        """The newest transfers, with program and time; also whether there are more."""
        within = self.within("taken_at", *self._span)
        transfers = self.read(_NEWEST.format(within=within.sql), [*within.values, MOST_SAMPLED + 1])
        return transfers[:MOST_SAMPLED], len(transfers) > MOST_SAMPLED

    def _stretches(self) -> Iterator[Span]:
        """The span in whole hours, from the newest on; one hour may exceed the size of a stretch."""
        within = self.within("taken_at", *self._span)
        end = start = self._span.end
        rows = 0
        for hour, scorings in self.read(_HOURS.format(within=within.sql), within.values):
            if rows and rows + scorings > STRETCH_ROWS:
                yield Span(start, end)
                end, rows = start, 0
            start, rows = max(hour * HOUR_US, self._span.start), rows + scorings
        if rows:
            yield Span(start, end)

    def _prepare(self, span: Span) -> None:
        """Create the temporary tables that matches are compared with."""
        tables = self.within()
        self.read(_STEPS.format(within=tables.sql), tables.values)
        self.prepare_facts(span.start)

    def _match(self, stretch: Span) -> None:
        within = self.within("taken_at", *stretch)
        rule, values = sql_of(self._rule)
        self.read(_MATCHES.format(within=within.sql, rule=rule), [*within.values, *values])


# A day of shadow is the one on which the rule matched, not the transfer's own.
_SHADOW_MATCHES: Final = """
    CREATE TEMP TABLE matches AS
    SELECT program_id, transfer_id, min(matched_at) AS taken_at, arg_min(band, "offset") AS band, NULL::BIGINT AS cents,
        min(bank_created_at) AS created_at
    FROM rule_matches WHERE {within} GROUP BY program_id, transfer_id"""
_OLDEST: Final = "SELECT epoch_us(min(created_at)) FROM matches"
_SHADOW_SCANNED: Final = """
    SELECT epoch_us(day), count(*) FROM (
        SELECT date_trunc('day', min(scored_at)) AS day FROM transfer_features
        ANTI JOIN (SELECT shard, "offset" FROM backfills WHERE {steps}) USING (shard, "offset")
        WHERE {within} GROUP BY hash(program_id, transfer_id)
    ) GROUP BY day"""


class RuleShadow(RuleReader):
    """A rule's matches in a span of time, and the number of transfers scored in it."""

    def counts(self, mode: RuleMode) -> BacktestCounts:
        steps, scored = self.within(), self.within("scored_at", *self._span)
        sql = _SHADOW_SCANNED.format(steps=steps.sql, within=scored.sql)
        scanned = dict(self.read(sql, [*steps.values, *scored.values]))
        within = self.within("matched_at", *self._span)
        within.add("rule_id = ? AND rule_sha256 = ? AND mode = ?", self._rule.id, rule_hash(self._rule), mode)
        self.read(_SHADOW_MATCHES.format(within=within.sql), within.values)
        ((oldest,),) = self.read(_OLDEST)
        self.prepare_facts(oldest)
        tally = MatchTally()
        self.count_matches(tally)
        return tally.counts(scanned, labelled_bad=0, landed=0)
