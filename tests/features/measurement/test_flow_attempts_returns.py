"""Money flow, attempts and returns: the state against the oracle, over dollars and accounts without an owner."""

import json
from random import Random
from typing import Any, Final

import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.shard.shard import ShardState
from tests.oracle.comparing import differences
from tests.oracle.oracle import Oracle
from tests.oracle.random_streams import stream_of
from tests.support.oracle_agreement import rows_of

FEATURES: Final = frozenset(
    {
        *("moved", "velocity24hCount", "velocity24hSumCents", "structuring24hCount", "structuringWindowCount"),
        *("repeatedAmount24hCount", "roundAmount30dCount", "entity.in48hCents", "entity.out48hCents"),
        *("entity.fastOut2bdCents", "entity.pulled2bdCents", "entity.microEntries24h", "program.microEntries24h"),
        *("entity.forwardDebits24h", "entity.achDebits", "entity.achDebits30d", "entity.achDebits60d"),
        *("entity.unauthorizedReturns60d", "entity.returns30d", "entity.priorReturns", "entity.probingReturns30d"),
        *("counterparty.priorReturns", "counterparty.priorUnauthorizedReturns", "counterparty.stopReturnDays"),
        *("counterparty.unauthorizedReturns60d", "counterparty.frozenReturns", "counterparty.sharedEntities30d"),
        *("program.unauthorizedReturnRate60d", "program.rarePairs90d", "pair.firstTime", "payer.newPayees90d"),
        *("payee.newPayers90d", "typology.layeringHops", "typology.layeringLeastCents", "typology.roundTrip"),
    }
)


def in_dollars_without_owners(entry: LogEntry) -> bool:
    if entry.kind != EntryKind.BANK:
        return True
    event: dict[str, Any] = json.loads(entry.body)
    currency = (event.get("data") or {}).get("currency_code") or "USD"
    return not event["type"].startswith("account.") and currency.upper() == "USD"


@pytest.mark.parametrize("seed", range(16))
def test_given_a_random_stream_when_it_is_applied_then_money_goes_where_the_oracle_says(seed: int) -> None:
    state, oracle, found = ShardState(0), Oracle(), []

    for entry in filter(in_dollars_without_owners, stream_of(Random(seed), 40)):
        rows = [row for row in rows_of(state, [entry]) if isinstance(row, TransferFeaturesRow)]
        expected = oracle.apply(entry)
        if expected is None:
            assert not rows
            continue
        features = {name: value for name, value in expected.features.items() if name in FEATURES}
        assert features.keys() == FEATURES
        found += differences(values_by_name(rows[0].vector), expected._replace(features=features))

    assert not found, found[:5]
