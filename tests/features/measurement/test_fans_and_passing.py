"""Fans, usual weeks, busiest days and money passed on, against the oracle on streams as the bank sends them."""

import json
from random import Random
from typing import Final

import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import ShardState
from tests.oracle.comparing import differences
from tests.oracle.oracle import Oracle
from tests.oracle.random_streams import stream_of
from tests.support.oracle_agreement import rows_of

NAMES: Final = frozenset(
    (
        *("fanIn24hCount", "fanIn7dCount", "fanInUsualWeek", "fanOut8hCount", "fanOut24hCount", "fanOut7dCount"),
        *("fanOutUsualWeek", "gathered24hCount", "gathered7dCount", "gatheredUsualWeek", "entity.fraudRisk"),
        *("typology.scatterGatherMiddles", "entity.busiestDay35dCount", "entity.busiestDay35dCents"),
        *("entity.peak48hCents", "entity.left48hCents", "entity.newMoney48hCents"),
    )
)
NOT_COMPARED: Final = ("card.",)
"""Cards have a meaning of their own; every other rail is here, with owners told late and other currencies."""


def is_compared(entry: LogEntry) -> bool:
    return entry.kind != EntryKind.BANK or not json.loads(entry.body)["type"].startswith(NOT_COMPARED)


@pytest.mark.parametrize("seed", range(24))
def test_given_a_random_stream_when_it_is_applied_then_fans_and_passing_money_are_the_oracles(seed: int) -> None:
    state, oracle, scored = ShardState(0), Oracle(), 0
    for entry in filter(is_compared, stream_of(Random(seed), 50)):
        rows = [row for row in rows_of(state, [entry]) if isinstance(row, TransferFeaturesRow)]
        expected = oracle.apply(entry)
        if expected is None or not rows:
            continue
        mine = {name: value for name, value in expected.features.items() if name in NAMES}
        assert not differences(values_by_name(rows[0].vector), expected._replace(features=mine))
        scored += 1

    assert scored
