"""The oracle's answer to a question is what the same transfer is scored with when it lands at that instant."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.core.entries.preflight import ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from tests.oracle.asking import ask
from tests.oracle.cards import OF_CARD as OF_ATTEMPTS
from tests.oracle.oracle import Oracle
from tests.oracle.purchases import OF_CARD
from tests.oracle.random_amounts import CENTS
from tests.oracle.random_parties import ACCOUNTS, OWNERS
from tests.oracle.random_streams import PARTIES, streams
from tests.oracle.story import UNNAMED
from tests.support import bank_events as bank
from tests.support.clock import T0

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
BUILDERS = {
    Rail.ACH: bank.an_ach_transfer,
    Rail.WIRE: bank.a_wire,
    Rail.REALTIME: bank.a_realtime_transfer,
    Rail.CHECK: bank.a_check,
    Rail.BOOK: bank.a_book_transfer,
    Rail.CARD: bank.a_card_authorization,
}
OWN = ("status", "cardDecisionReason")


def landing_of(proposed: ProposedTransfer, card_id: str | None, at: int) -> tuple[str, bank.Data]:
    """The bank's event of a proposed transfer, at an account that the question named."""
    rail, direction = proposed.rail, proposed.direction
    usual = BUILDERS[rail](id="trf_landed", created_at=bank.rfc3339(at), updated_at=bank.rfc3339(at))
    data = usual | {name: None for name in UNNAMED if name in usual}
    data |= {"amount": int(proposed.amount_cents), "is_incoming": direction is Direction.INCOMING}
    data |= {"bank_account_id": proposed.entity_id, "counterparty_id": proposed.counterparty_id}
    if proposed.type is not None:
        data["type"] = proposed.type.value
    if rail is Rail.CHECK:
        data["positive_pay_amount"] = data["amount"]
    if rail is Rail.BOOK:
        data |= {"sender_bank_account_id": proposed.entity_id, "receiver_bank_account_id": proposed.counterparty_id}
    if rail is Rail.CARD:
        data |= {"card_id": card_id, "entity_id": None, "card_present": proposed.card_present}
        words = {"category_code": proposed.merchant_category, "state": proposed.merchant_state}
        data |= {"entry_mode": proposed.entry_mode, "merchant": {"id": proposed.counterparty_id} | words}
    return f"{bank.RESOURCES[rail.value, direction.value]}.{'approved' if rail is Rail.CARD else 'completed'}", data


@st.composite
def questions(draw: st.DrawFn) -> ProposedTransfer:
    """At an account; accounts that no event named yet are no actors that could be asked about."""
    rail = draw(st.sampled_from(sorted(BUILDERS)))
    one_way = rail in (Rail.BOOK, Rail.CARD)
    return ProposedTransfer(
        rail=rail,
        direction=Direction.OUTGOING if one_way else draw(st.sampled_from(Direction)),
        type=draw(st.sampled_from(AchType)) if rail is Rail.ACH else None,
        amount_cents=str(draw(st.sampled_from(CENTS))),
        entity_id=draw(st.sampled_from(ACCOUNTS)),
        counterparty_id=draw(st.sampled_from(PARTIES)),
        card_present=draw(st.sampled_from((True, False, None))),
        entry_mode=draw(st.sampled_from(("ECOMMERCE", None))),
        merchant_category=draw(st.sampled_from(("5816", None))),
        merchant_state=draw(st.sampled_from(("TX", "OR", None))),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW_IS_FINE)
@given(
    entries=streams(most=25),
    proposed=questions(),
    shift=st.sampled_from((0, 1, HOUR_US, DAY_US, 8 * DAY_US, -HOUR_US, -8 * DAY_US)),
)
def test_given_any_history_when_a_transfer_is_asked_about_and_lands_then_both_answers_are_the_same(
    entries: list[LogEntry], proposed: ProposedTransfer, shift: int
) -> None:
    oracle = Oracle()
    for number, account in enumerate(ACCOUNTS):
        known = {"bank_account_id": account}
        oracle.apply(bank.a_bank_entry("account.overdrafted", known, event_id=f"evnt_known{number}"))
    for entry in entries:
        oracle.apply(entry)
    newest = max(entry.appended_at for entry in entries)
    at, program = newest + shift, oracle.programs["prg_1"]

    asked = ask(program, proposed, at)
    cards = {
        known.card.at(at)[1]
        for known in program.transfers.values()
        if known.own <= at
        and program.same(known.actor.at(at)[1]) == program.actor_of_account(str(proposed.entity_id))
        and known.said.rail == "card"
    }
    only = next((key[1] for key in cards if key is not None and key[0] == "card"), None)
    kind, data = landing_of(proposed, only, at)
    told_at = max(at, newest)
    landed = oracle.apply(bank.a_bank_entry(kind, data, event_id="evnt_landed", created_at=at, appended_at=told_at))

    assert landed is not None
    skipped = {*OWN, *((*OF_ATTEMPTS, *OF_CARD) if asked.card_unknown else ())}
    for name, value in landed.features.items():
        assert name in skipped or asked.features[name] == value, name


@pytest.mark.parametrize("named", OWNERS)
def test_given_a_question_when_it_is_answered_then_nothing_is_remembered_of_it(named: str) -> None:
    oracle = Oracle()
    oracle.apply(bank.a_bank_entry("wire.outgoing_transfer.completed", bank.a_wire()))
    program = oracle.programs["prg_1"]
    before = (set(program.parties), dict(program.nodes), set(program.entities), set(program.transfers))
    stranger: dict[str, Any] = {"rail": Rail.WIRE, "direction": Direction.OUTGOING, "counterparty_id": "cpty_9"}

    asked = ask(program, ProposedTransfer(amount_cents="100", entity_id=named, **stranger), T0)

    assert asked.features["entity.priorTransfers"] == 0
    assert before == (set(program.parties), program.nodes, program.entities, set(program.transfers))
