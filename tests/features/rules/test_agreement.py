"""The predicate of the stream, the expression over stored columns and the interpreter agree on every transfer."""

from typing import Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from features.catalogue.vector import FeatureVector, TransferFeaturesRow
from features.core.log_entry import LogEntry
from features.core.rules import Rule
from features.shard.shard import ShardState
from tests.support.oracle_agreement import rows_of
from tests.support.random_streams import streams
from tests.support.rule_agreement import disagreements
from tests.support.rules import RULES
from tests.support.vectors import VECTORS

MAX_BIGINT: Final = 2**63 - 1
ODD_TEXTS: Final = st.sampled_from(
    ("", "'", '"; DROP TABLE transfer_features; --', "a\x00b", "😀", "\uff35S", "?", "%", "None", "x" * 255)
)
ODD: Final = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("status", "card_decision_reason", "counterparty_country", "rail", "type"), ODD_TEXTS),
        **dict.fromkeys(
            ("amount_cents", "velocity_24h_sum_cents", "counterparty_n", "typology_dormant_days"),
            st.sampled_from((0, MAX_BIGINT, 2**53 + 1, 10**18 - 1)),
        ),
        "program_unauthorized_return_rate_60d": st.floats(0, 1e308),
        "declared_countries": st.sampled_from(("", "US", "US,DE", "MX,US", "DE,FR,MX,US", "ZA")),
    },
)
ODD_VECTORS: Final = st.builds(lambda vector, over: msgspec.structs.replace(vector, **over), VECTORS, ODD)


@settings(deadline=None, max_examples=60)
@given(st.lists(RULES, min_size=1, max_size=12), st.lists(ODD_VECTORS, min_size=1, max_size=8))
def test_given_random_rules_and_vectors_then_all_three_agree(rules: list[Rule], vectors: list[FeatureVector]) -> None:
    assert disagreements(rules, vectors) == []


@settings(deadline=None, max_examples=15)
@given(st.lists(RULES, min_size=6, max_size=12), streams(least=2, most=12))
def test_given_random_rules_over_a_random_stream_then_all_three_agree_on_every_transfer(
    rules: list[Rule], stream: list[LogEntry]
) -> None:
    rows = rows_of(ShardState(0), stream)
    vectors = [row.vector for row in rows if isinstance(row, TransferFeaturesRow)]

    assert disagreements(rules, vectors) == []
