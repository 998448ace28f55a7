"""Cards and US dollars against the oracle: as transfers land, and as questions are answered in between."""

from random import Random
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import NAME_OF, FeatureVector, TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedTransfer
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.oracle.asking import ask
from tests.oracle.comparing import differences
from tests.oracle.oracle import Expected, Oracle
from tests.oracle.random_streams import stream_of

FIELDS: Final = frozenset(
    (
        *("amountCents", "typology.justBelowThreshold", "card.declines1h", "card.smallAuthorizations1h"),
        *("program.cardAttempts1h", "program.cardDeclines1h", "program.cardSmall1h", "program.cardAttempts24h"),
        *("program.cardFraudDeclines24h", "program.cardAttempts30d", "program.cardFraudDeclines30d"),
        *("program.n90d", "program.medianCents", "program.p95Cents", "program.dailyAvgCents30d"),
        "program.transfers90d",
    )
)
OWNERS_KNOWN: Final = ("enti_1", "enti_2", "enti_3")


def named(vector: FeatureVector) -> dict[str, Any]:
    return {NAME_OF[column]: getattr(vector, column) for column in vector.__struct_fields__}


@pytest.mark.parametrize("seed", range(8))
def test_given_a_random_stream_when_transfers_land_then_cards_and_amounts_are_the_oracles(seed: int) -> None:
    state, oracle, compared = ShardState(0), Oracle(), 0

    for entry in stream_of(Random(seed), 60):
        rows: list[msgspec.Struct] = []
        state.apply(entry, rows.append)
        expected = oracle.apply(entry)
        if expected is not None:
            (row,) = (row for row in rows if isinstance(row, TransferFeaturesRow))
            assert not differences(named(row.vector), only_these(expected))
            compared += 1

    assert compared


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_given_a_random_stream_when_a_purchase_is_asked_about_then_its_card_is_the_oracles(seed: int) -> None:
    chance = Random(seed)
    state, oracle, compared = ShardState(0), Oracle(), 0
    for entry in stream_of(chance, 60):
        state.apply(entry, lambda _: None)
        oracle.apply(entry)
        proposed = ProposedTransfer(
            rail=Rail.CARD,
            direction=Direction.OUTGOING,
            amount_cents=str(chance.choice((100, 499, 500, 2_100))),
            entity_id=chance.choice((*OWNERS_KNOWN, None)),
            counterparty_id="mrch_1",
        )
        at = entry.appended_at + chance.choice((0, 1, HOUR_US - 1))

        answer = assess_proposed(state.program(entry.program_id), proposed, at=at)
        expected = ask(oracle.programs[entry.program_id], proposed, at)

        told = named(answer.assessment.vector)
        assert not differences(told, only_these(Expected("asked", at, expected.features)))
        if proposed.entity_id is not None:
            assert ("card_unknown" in answer.degraded_reasons) is expected.card_unknown
            compared += expected.card_unknown

    assert compared


def only_these(expected: Expected) -> Expected:
    return expected._replace(features={name: value for name, value in expected.features.items() if name in FIELDS})
