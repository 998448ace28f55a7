"""The matches of a rule beside the stream: its rows of ``rule_matches``, with present alerts and labels.

How     Matches count for the rule in its present form; those of earlier forms have another digest. The span is of the
        time of the match: that may be long after the transfer landed, and was alerted on.
"""

from typing import Final

import duckdb

from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import Rule, RuleMode, rule_hash
from clearhold.features.rules.backtest import BacktestCounts
from clearhold.store.duck.scorings.rule_reader import MatchTally, RuleReader
from clearhold.store.duck.span import Span

# A day of shadow is the one on which the rule matched, not the transfer's own.
_MATCHES: Final = """
    CREATE TEMP TABLE matches AS
    SELECT program_id, transfer_id, min(matched_at) AS taken_at, arg_min(band, "offset") AS band, NULL::BIGINT AS cents,
        min(bank_created_at) AS created_at
    FROM rule_matches WHERE {within} GROUP BY program_id, transfer_id"""
_OLDEST: Final = "SELECT epoch_us(min(created_at)) FROM matches"
_SCANNED: Final = """
    SELECT epoch_us(day), count(*) FROM (
        SELECT date_trunc('day', min(scored_at)) AS day FROM transfer_features
        ANTI JOIN (SELECT shard, "offset" FROM backfills WHERE {steps}) USING (shard, "offset")
        WHERE {within} GROUP BY hash(program_id, transfer_id)
    ) GROUP BY day"""


class RuleShadow(RuleReader):
    """A rule's matches in a mode and a span of time, and the number of transfers scored in it."""

    def __init__(
        self, database: duckdb.DuckDBPyConnection, principal: Principal, rule: Rule, mode: RuleMode, span: Span
    ) -> None:
        super().__init__(database, principal, rule)
        self._mode, self._span = mode, span

    def counts(self) -> BacktestCounts:
        steps, scored = self.within(), self.within("scored_at", *self._span)
        sql = _SCANNED.format(steps=steps.sql, within=scored.sql)
        scanned = dict(self.read(sql, [*steps.values, *scored.values]))
        within = self.within("matched_at", *self._span)
        within.add("rule_id = ? AND rule_sha256 = ? AND mode = ?", self._rule.id, rule_hash(self._rule), self._mode)
        self.read(_MATCHES.format(within=within.sql), within.values)
        ((oldest,),) = self.read(_OLDEST)
        self.prepare_facts(oldest)
        tally = MatchTally()
        self.count_matches(tally)
        return tally.counts(scanned, labelled_bad=0, landed=0)
