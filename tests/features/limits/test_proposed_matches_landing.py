"""A question asked before a transfer and the same transfer landed at that instant: one score, for the same reasons."""

from typing import Any, Final, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import LogEntry
from clearhold.features.core.plain_text import last_four, routing_number
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.parties import KnownCounterparty
from clearhold.features.state.program import ProgramState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.random_streams import AMOUNTS, NAMES, NUMBERS, ROUTING, streams
from tests.support.stories import ShardStory

RAILS: Final = (Rail.ACH, Rail.REALTIME, Rail.WIRE, Rail.INTL_WIRE, Rail.CHECK)
BUILDERS: Final = {
    Rail.ACH: bank.an_ach_transfer,
    Rail.REALTIME: bank.a_realtime_transfer,
    Rail.WIRE: bank.a_wire,
    Rail.INTL_WIRE: bank.an_international_wire,
    Rail.CHECK: bank.a_check,
}
NAMED: Final = ("name", "account", "changed", "stranger")
SILENT: Final = ("receiver_name", "company_name", "payee_name", "odfi_routing_number", "creditor_agent_routing_number")
SIDES: Final = ("name", "account_number", "address")


class Question(NamedTuple):
    """A proposed transfer, and whom it names how."""

    transfer: ProposedTransfer
    shift: int  # from the newest entry's time


@st.composite
def questions(draw: st.DrawFn) -> Question:
    rail = draw(st.sampled_from(RAILS))
    way, at = draw(st.sampled_from(("id", "none", *NAMED))), draw(st.integers(0, len(NAMES) - 1))
    country = draw(st.sampled_from((None, "US", "IR")))
    proposed: ProposedCounterparty | None = None
    if way in NAMED:
        number = f"00000{draw(st.integers(6000, 6002))}" if way == "changed" else NUMBERS[at]
        proposed = ProposedCounterparty(
            name="Nobody Known" if way == "stranger" else NAMES[at],
            routing_number=None if way == "name" else routing_number(ROUTING[at]),
            account_last4=None if way == "name" else "9999" if way == "stranger" else last_four(number),
            country_code=country,
        )
    transfer = ProposedTransfer(
        rail=rail,
        direction=draw(st.sampled_from(Direction)),
        type=draw(st.sampled_from(AchType)) if rail is Rail.ACH else None,
        amount_cents=str(draw(st.sampled_from(AMOUNTS))),
        entity_id=draw(st.sampled_from(("enti_1", "enti_2", "enti_3", "enti_9", None))),
        counterparty_id=f"cpty_{at + 1}" if way == "id" else None,
        counterparty=proposed,
    )
    shift = draw(st.sampled_from((0, 1, HOUR_US, DAY_US, 31 * DAY_US, 100 * DAY_US, -1, -HOUR_US, -8 * DAY_US)))
    return Question(transfer, shift)


def landing_of(program: ProgramState, transfer: ProposedTransfer, at: int) -> tuple[str, bank.Data]:
    """The bank's event of the same transfer: with the id of the counterparty that is on file, else with its details."""
    rail, direction, proposed = transfer.rail, transfer.direction, transfer.counterparty
    data = BUILDERS[rail](id="trf_landed", created_at=bank.rfc3339(at), updated_at=bank.rfc3339(at))
    data |= dict.fromkeys(SILENT) | {f"{who}_{what}": None for who in ("originator", "beneficiary") for what in SIDES}
    data |= {
        "amount": int(transfer.amount_cents),
        "currency_code": transfer.currency,
        "is_incoming": direction is Direction.INCOMING,
    }
    data |= {"bank_account_id": None, "entity_id": transfer.entity_id, "counterparty_id": transfer.counterparty_id}
    if transfer.type is not None:
        data["type"] = transfer.type.value
    if rail is Rail.CHECK:
        data["positive_pay_amount"] = data["amount"]
    if proposed is not None:
        known = program.counterparties.match(proposed.name, proposed.routing_number, proposed.account_last4)
        data |= _named(proposed, known)
    return f"{bank.RESOURCES[rail.value, direction.value]}.initiated", data


def _named(proposed: ProposedCounterparty, known: KnownCounterparty | None) -> bank.Data:
    embedded: dict[str, Any] = {"address": {"country_code": proposed.country_code}}
    if known is not None and not known.unlisted:
        return {"counterparty_id": known.id, "counterparty": embedded}
    embedded["name"] = proposed.name
    embedded["routing_number"] = proposed.routing_number
    embedded["account_number"] = proposed.account_last4
    return {"counterparty": embedded}


def answers(state: ShardState, question: Question, newest: int) -> tuple[Any, Any]:
    """What the question is answered with, and what the transfer is scored with when it lands."""
    program, at = state.program("prg_1"), newest + question.shift
    kind, data = landing_of(program, question.transfer, at)
    asked = assess_proposed(program, question.transfer, at=at)
    rows: list[msgspec.Struct] = []

    state.apply(bank.a_bank_entry(kind, data, offset=1 << 60, created_at=at, appended_at=max(at, newest)), rows.append)

    (landed,) = (row for row in rows if isinstance(row, TransferFeaturesRow))
    score = asked.score
    reasons = msgspec.json.encode(score.reasons).decode()
    return (
        (asked.assessment.vector, score.value, score.band, score.n, score.confidence, score.hard, reasons),
        (
            msgspec.structs.replace(landed.vector, status=None),
            landed.score,
            landed.band,
            landed.n,
            landed.confidence,
            landed.hard,
            landed.reasons,
        ),
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(entries=streams(most=40), question=questions())
def test_given_any_history_when_a_transfer_is_asked_about_and_lands_then_both_answers_are_the_same(
    entries: list[LogEntry], question: Question
) -> None:
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, lambda _: None)

    asked, landed = answers(state, question, max((entry.appended_at for entry in entries), default=T0))

    assert asked == landed


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(entries=streams(most=40), question=questions())
def test_given_any_history_when_a_question_is_asked_then_the_state_is_as_it_was(
    entries: list[LogEntry], question: Question
) -> None:
    state = ShardState(0)
    for entry in entries:
        state.apply(entry, lambda _: None)
    program = state.program("prg_1")
    before = list(state.dump())

    assess_proposed(program, question.transfer, at=T0 + question.shift)

    assert list(state.dump()) == before


def a_history() -> ShardStory:
    """Ten wires to one counterparty on file."""
    story = ShardStory()
    for day in range(10):
        at = T0 + day * DAY_US
        wire = bank.a_wire(
            id=f"wire_{day}",
            created_at=bank.rfc3339(at),
            updated_at=bank.rfc3339(at),
            amount=100_00,
            entity_id="enti_1",
        )
        story.deliver("wire.outgoing_transfer.completed", wire, at=at)
    return story


WHOM: Final[dict[str, tuple[dict[str, Any], str | None, bool, bool]]] = {
    "on file": ({"counterparty_id": "cpty_1"}, "cpty_1", False, False),
    "routing number and last four": (
        {"counterparty": ProposedCounterparty(name="N. T. I.", routing_number="021000021", account_last4="3444")},
        "cpty_1",
        False,
        False,
    ),
    "name": ({"counterparty": ProposedCounterparty(name="north  TRADING inc")}, "cpty_1", False, False),
    "stranger": ({"counterparty": ProposedCounterparty(name="Nobody Known")}, None, True, False),
    "changed account": (
        {
            "counterparty": ProposedCounterparty(
                name="North Trading Inc", routing_number="021000021", account_last4="9999"
            )
        },
        None,
        True,
        True,
    ),
}


@pytest.mark.parametrize("whom", WHOM)
def test_given_a_counterparty_on_file_when_a_question_names_one_then_it_is_found_or_is_a_stranger(whom: str) -> None:
    over, resolved, first_time, account_changed = WHOM[whom]
    usual: dict[str, Any] = {
        "rail": Rail.WIRE,
        "direction": Direction.OUTGOING,
        "amount_cents": "12500",
        "entity_id": "enti_1",
    }
    transfer = ProposedTransfer(**usual | over)
    story = a_history()

    asked = assess_proposed(story.program, transfer, at=T0 + 10 * DAY_US)

    vector = asked.assessment.vector
    assert asked.resolved.counterparty_id == resolved
    assert (vector.counterparty_first_time, vector.counterparty_n) == (first_time, 0 if first_time else 10)
    assert vector.counterparty_account_changed is account_changed
    assert ("counterparty_account_changed" in {reason.signal for reason in asked.score.reasons}) is account_changed
    landed = answers(story.state, Question(transfer, 0), T0 + 10 * DAY_US)
    assert landed[0] == landed[1]
