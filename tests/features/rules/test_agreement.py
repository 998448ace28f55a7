"""The predicate of the stream, the expression over stored columns and the interpreter agree on every transfer."""

from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from features.catalogue.vector import TransferFeaturesRow
from features.core.log_entry import LogEntry
from features.core.rules import Rule
from features.shard.shard import ShardState
from tests.support.oracle_agreement import rows_of
from tests.support.random_streams import streams
from tests.support.rule_agreement import disagreements
from tests.support.rules import RULES, vectors_near

RULE_SETS: Final = st.lists(RULES, min_size=1, max_size=12)


@settings(deadline=None, max_examples=100)
@given(st.data(), RULE_SETS)
def test_given_random_rules_and_vectors_then_all_three_agree(data: st.DataObject, rules: list[Rule]) -> None:
    vectors = data.draw(st.lists(vectors_near(rules), min_size=1, max_size=12))

    assert disagreements(rules, vectors) == []


@settings(deadline=None, max_examples=15)
@given(st.lists(RULES, min_size=6, max_size=12), streams(least=2, most=12))
def test_given_random_rules_over_a_random_stream_then_all_three_agree_on_every_transfer(
    rules: list[Rule], stream: list[LogEntry]
) -> None:
    rows = rows_of(ShardState(0), stream)
    vectors = [row.vector for row in rows if isinstance(row, TransferFeaturesRow)]

    assert disagreements(rules, vectors) == []
