"""A backtest of history finds what the stream matched while that history came in, transfer for transfer."""

from random import Random
from typing import Final

import duckdb
import msgspec

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.alerts import RuleMatchRow
from clearhold.features.core.rules import Rule, RuleMode
from clearhold.features.policy.bodies import RulesBody
from clearhold.features.rules.backtest import to_backtest
from clearhold.features.shard.shard import ShardState
from clearhold.store.duck.database import BatchWriter
from clearhold.store.duck.scorings.rule_backtests import RuleBacktest
from clearhold.store.tables import Span, row_tables
from tests.support.duck_rows import TENANT
from tests.support.policies import policy_entry
from tests.support.principals import an_operator
from tests.support.random_streams import WIDTH, stream_of
from tests.support.rules import a_condition, a_rule

RULES: Final = tuple(
    a_rule(*when, id=f"rule-{number}")
    for number, when in enumerate(
        (
            (a_condition("amountCents", "gte", 0),),
            (a_condition("amountCents", "gt", 100_000), a_condition("rail", "neq", "card")),
            (a_condition("counterparty.firstTime", "neq", value=False), a_condition("entity.priorTransfers", "gte", 1)),
            (a_condition("entity.priorReturns", "gt", 0),),
            (a_condition("velocity24hCount", "between", (2, 5)),),
            (a_condition("counterpartyCountry", "not_in", ("US", "DE")),),
        )
    )
)
STREAMS: Final = 6
EVENTS: Final = 60


def a_version(first: LogEntry) -> LogEntry:
    body = policy_entry("shadow-v1", RulesBody(rules=RULES))
    return LogEntry(first.shard, first.offset - 1, EntryKind.POLICY, first.program_id, first.appended_at, body)


def streamed(seed: int) -> list[msgspec.Struct]:
    """The rows of a stream whose rules are in shadow from its start."""
    random = Random(seed)
    entries = stream_of([random.randbytes(WIDTH) for _ in range(EVENTS)], program_id=f"prg_{seed}")
    state, rows = ShardState(0), list[msgspec.Struct]()
    for entry in (a_version(entries[0]), *entries):
        state.apply(entry, rows.append)
    return [msgspec.structs.replace(row, tenant_id=TENANT) for row in rows]  # a stream may declare its program late


def test_given_streams_with_rules_in_shadow_when_backtested_then_each_rule_matches_what_it_matched_live(
    database: duckdb.DuckDBPyConnection,
) -> None:
    rows = [row for seed in range(STREAMS) for row in streamed(seed)]
    by_type: dict[type[msgspec.Struct], list[msgspec.Struct]] = {}
    for row in rows:
        by_type.setdefault(type(row), []).append(row)
    BatchWriter(database).commit(row_tables(by_type), {}, 1)
    scorings = [row for row in rows if isinstance(row, TransferFeaturesRow)]
    span = Span(min(row.taken_at for row in scorings), max(row.taken_at for row in scorings) + 1)
    matches = [row for row in rows if isinstance(row, RuleMatchRow) and row.mode == RuleMode.SHADOW]

    first = [(row.program_id, row.transfer_id) for row in scorings if not row.rescored]
    assert sorted(first) == sorted({(row.program_id, row.transfer_id) for row in scorings})
    assert len(scorings) > len(first)
    for rule in RULES:
        live = [row for row in matches if row.rule_id == rule.id]
        found, bands = backtested(database, rule, span)
        assert found == {(row.program_id, row.transfer_id) for row in live}
        assert bands == {band: sum(row.band == band for row in live) for band in bands}
        assert live


def backtested(
    database: duckdb.DuckDBPyConnection, rule: Rule, span: Span
) -> tuple[set[tuple[str, str]], dict[str, int]]:
    with RuleBacktest(database, an_operator(TENANT), rule, None, span) as backtest:
        counts = backtest.over_all()
        found = set(backtest.read("SELECT program_id, transfer_id FROM matches"))
    result = to_backtest(rule, counts, key="key_1", at=span.end - 1, days=90, sampled=False, full=True)
    assert result.matched == len(found)
    return found, result.by_band
