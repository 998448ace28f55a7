"""The predicate of the stream, the expression over stored columns and the interpreter agree on every transfer."""

from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.rules import Rule, RuleCondition, RuleOp, rule_hash
from clearhold.features.rules.language import faults_of
from clearhold.features.rules.predicate import sentence_of
from clearhold.features.shard.shard import ShardState
from tests.support.builders import a_vector
from tests.support.oracle_agreement import rows_of
from tests.support.random_streams import streams
from tests.support.rule_agreement import disagreements
from tests.support.rules import OPS, RULES, a_rule, vectors_near

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


GARBAGE: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.integers(0, 5),
    st.floats(),
    st.text(max_size=5),
    st.integers(0, 10**19).map(str),
    st.sampled_from(("ach", "US", "DEBIT", "no", "VERIFIED", "OTHER", "0")),
)
CONDITIONS: Final = st.builds(
    RuleCondition,
    field=st.sampled_from(sorted(OPS)),
    op=st.sampled_from(RuleOp),
    value=GARBAGE | st.lists(GARBAGE, max_size=3).map(tuple) | st.just(msgspec.UNSET),
)


@settings(deadline=None, max_examples=400)
@given(CONDITIONS)
def test_given_a_condition_of_anything_then_it_has_a_fault_or_all_three_take_it_and_agree(
    condition: RuleCondition,
) -> None:
    rule = msgspec.structs.replace(a_rule(), when=(condition,))

    if not list(faults_of(rule)):
        assert sentence_of(rule).startswith(condition.field)
        assert rule_hash(rule) == rule_hash(msgspec.json.decode(msgspec.json.encode(rule), type=Rule))
        assert disagreements([rule], [a_vector(), a_vector(amount_cents=None, counterparty_country=None)]) == []
