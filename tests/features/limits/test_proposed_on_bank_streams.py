"""Over the bank's own streams: a question asked just before a transfer lands is answered as the landing is scored.

Every rail, both types and directions, accounts with and without owners, one card and several, other currencies.
"""

from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.oracle.random_streams import stream_of, streams
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.landing_questions import Comparison, compared
from tests.support.stories import ShardStory

SEEDS: Final = range(60)
MOVES: Final = {
    *((rail, way, "-") for rail in ("wire", "realtime", "intl_wire", "check", "card") for way in Direction),
    *(("ach", way, ach_type) for way in Direction for ach_type in AchType),
    ("book", "outgoing", "-"),
}
ACTORS: Final = {"entity", "account", "owned account"}


def comparisons(entries: list[LogEntry], chance: Random) -> list[Comparison]:
    state = ShardState(0)
    return [each for entry in entries if (each := compared(state, entry, chance)) is not None]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(entries=streams(most=40), chance=st.randoms(use_true_random=False))
def test_given_the_banks_stream_when_each_transfer_is_asked_about_and_lands_then_the_answers_are_the_same(
    entries: list[LogEntry], chance: Random
) -> None:
    for each in comparisons(entries, chance):
        assert not each.differences, each.kind


def test_given_random_streams_when_they_are_asked_about_then_each_rail_actor_and_card_was_compared() -> None:
    agreed: Counter[tuple[str, ...]] = Counter()
    for seed in SEEDS:
        for each in comparisons(stream_of(Random(seed), 40), Random(seed)):
            assert not each.differences, each.kind
            agreed[each.kind] += 1

    kinds = set(agreed)
    assert agreed.total() > 3_000
    assert {kind[:3] for kind in kinds} == MOVES
    assert {(kind[0], kind[3]) for kind in kinds} >= {(rail, actor) for rail in Rail for actor in ACTORS}
    assert {kind[5] for kind in kinds} == {"-", "card", "another card", "several cards"}
    assert {kind[4] for kind in kinds if kind[0] == "book"} == {"id"}
    for rail in (Rail.ACH, Rail.WIRE, Rail.INTL_WIRE, Rail.CHECK, Rail.CARD):
        assert {kind[4] for kind in kinds if kind[0] == rail} >= {"id", "details", "id and details"}


def question(rail: Rail, **over: Any) -> ProposedTransfer:
    usual: dict[str, Any] = {"direction": Direction.OUTGOING, "amount_cents": "10000", "entity_id": "bacc_1"}
    return ProposedTransfer(**{"rail": rail} | usual | over)


def test_given_a_book_transfer_to_an_account_that_is_paid_for_the_first_time_then_the_payers_it_has_count() -> None:
    story = ShardStory()
    for n in range(3):
        wire = bank.a_wire(id=f"wire_{n}", bank_account_id="bacc_2", counterparty_id=f"cpty_{n}", is_incoming=True)
        story.transfer("wire.incoming_transfer.completed", wire, n * HOUR_US)

    asked = assess_proposed(story.program, question(Rail.BOOK, counterparty_id="bacc_2"), at=T0 + DAY_US // 2)
    book = bank.a_book_transfer(sender_bank_account_id="bacc_1", receiver_bank_account_id="bacc_2")
    landed = story.transfer("book.transfer.completed", book, DAY_US // 2)

    assert asked.assessment.vector.fan_in_count_24h == landed.fan_in_count_24h == 4
    assert asked.assessment.vector.fan_in_usual_week == landed.fan_in_usual_week


@pytest.mark.parametrize("on_file", [True, False])
def test_given_an_id_with_other_account_details_when_asked_about_then_they_count_as_they_would_at_landing(
    *, on_file: bool
) -> None:
    story = ShardStory()
    for n in range(3):
        wire = bank.a_wire(id=f"wire_{n}", bank_account_id=f"bacc_{n}", counterparty_id=f"cpty_{n}")
        story.transfer("wire.outgoing_transfer.completed", wire, n * HOUR_US)
    if on_file:
        story.transfer("wire.outgoing_transfer.completed", bank.a_wire(id="wire_8", counterparty_id="cpty_9"), 0)
    named = ProposedCounterparty(name="North Trading Inc", routing_number="021000021", account_last4="9999")

    asked = assess_proposed(
        story.program, question(Rail.WIRE, counterparty_id="cpty_9", counterparty=named), at=T0 + DAY_US
    )
    over = {"amount": 10_000, "counterparty_id": "cpty_9", "beneficiary_account_number": "000009999"}
    wire = bank.a_wire(id="wire_9", **over)
    landed = story.transfer("wire.outgoing_transfer.completed", wire, DAY_US)

    vector = asked.assessment.vector
    assert vector.counterparty_account_changed is landed.counterparty_account_changed is True
    assert vector.counterparty_shared_entities_30d == landed.counterparty_shared_entities_30d == 1


def test_given_a_payee_known_by_name_and_bank_alone_when_namesakes_differ_then_a_question_knows_it_as_its_landing() -> (
    None
):
    story, routing = ShardStory(), "121145307"
    alone = {"counterparty_id": None, "beneficiary_name": "North Trading Inc", "beneficiary_account_number": None}
    for n, over in enumerate(
        (
            alone | {"creditor_agent_routing_number": None},
            alone | {"counterparty_id": "cpty_1", "creditor_agent_routing_number": "021000021"},
            alone | {"creditor_agent_routing_number": routing},
        )
    ):
        story.transfer("wire.outgoing_transfer.completed", bank.a_wire(id=f"wire_{n}", **over), n * HOUR_US)
    named = ProposedCounterparty(name="North Trading Inc", routing_number=routing)

    asked = assess_proposed(story.program, question(Rail.WIRE, counterparty=named), at=T0 + DAY_US)
    again = alone | {"creditor_agent_routing_number": routing}
    landed = story.transfer("wire.outgoing_transfer.completed", bank.a_wire(id="wire_9", **again), DAY_US)

    assert asked.assessment.vector.counterparty_first_time is landed.counterparty_first_time is False
    assert asked.assessment.vector.counterparty_n == landed.counterparty_n == 1
