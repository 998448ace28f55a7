"""Every question and its answer, as bytes and back, over a program with some history."""

from typing import Any, Final, get_args
from zlib import crc32

import msgspec
import pytest

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.vocabulary import ActorType, Direction, Rail
from clearhold.features.shard.questions import (
    ANSWER_TYPES,
    ActorIds,
    AgentTotals,
    AnyQuestion,
    CounterpartyIds,
    CountParties,
    EvaluateLadder,
    LackingPolicies,
    ReadArrivals,
    ReadAutonomy,
    ReadCapUse,
    ReadCard,
    ReadDays,
    ReadLimits,
    ReadScores,
    ScoreProposal,
    SeenEvents,
)
from clearhold.features.shard.shard import ShardState
from clearhold.features.state.program import ProgramState
from clearhold.flows.scorer.wire import (
    decoded_answer,
    decoded_question,
    encoded_answer,
    encoded_question,
    envelope_of,
)

NOW = 1_780_000_000_000_000
PROPOSED = ProposedTransfer(
    rail=Rail.WIRE,
    direction=Direction.OUTGOING,
    amount_cents="985000",
    counterparty=ProposedCounterparty(name="New Vendor LLC", routing_number="021000021", account_last4="6789"),
)
FIRST: Final = next(event.body for event in SimulatedBank(3).history(NOW) if event.program == "lending")
FIRST_ID: Final[str] = msgspec.json.decode(FIRST)["id"]
QUESTIONS: tuple[Any, ...] = (
    SeenEvents((("evnt_never", 7), (FIRST_ID, crc32(FIRST)), (FIRST_ID, 7))),
    ScoreProposal(PROPOSED, NOW, stale=False),
    ScoreProposal(PROPOSED, NOW, stale=True),
    CountParties(),
    CountParties(first=1, upto_actor=5, upto_counterparty=7),
    ActorIds(0, 3),
    CounterpartyIds(2, 5),
    ReadLimits(NOW),
    ReadLimits(NOW, "enti_1"),
    ReadCapUse(NOW),
    EvaluateLadder(PROPOSED, NOW),
    ReadAutonomy(NOW),
    LackingPolicies(("act_1",)),
    ReadCard(),
    ReadDays(NOW // DAY_US - 90, NOW // DAY_US + 1),
    AgentTotals(("agent:1:0x1:1", "agent:1:0x1:2")),
    ReadArrivals(),
    ReadScores(ActorType.COUNTERPARTY, ("cpty_1", "cpty_never"), NOW),
)


@pytest.fixture(scope="module")
def program() -> ProgramState:
    shard = ShardState(0)
    bodies = [event.body for event in SimulatedBank(3).history(NOW) if event.program == "lending"][:400]
    for number, body in enumerate(bodies, start=1):
        shard.apply(LogEntry(0, number, EntryKind.BANK.value, "prg_1", NOW, body), lambda _: None)
    return shard.program("prg_1")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_given_a_question_when_it_goes_to_another_process_and_back_then_the_answer_is_the_same(
    question: Any, program: ProgramState
) -> None:
    number, program_id, received = decoded_question(encoded_question(7, "prg_1", question))
    value = received.answer(program)
    envelope = envelope_of(encoded_answer(number, 41, value))

    assert (number, program_id, received) == (7, "prg_1", question)
    assert envelope.number == 7
    assert decoded_answer(envelope, question) == (question.answer(program), 41)


def test_given_the_kinds_of_questions_then_each_has_a_type_of_answer_and_a_case_here() -> None:
    assert set(get_args(AnyQuestion)) == set(ANSWER_TYPES) == {type(question) for question in QUESTIONS}


def test_given_a_question_that_its_owner_failed_on_then_the_asker_is_told_that_it_is_unavailable() -> None:
    with pytest.raises(UnavailableError):
        decoded_answer(envelope_of(encoded_answer(1, 0, None, failed=True)), SeenEvents((("evnt_1", 1),)))


def test_given_bytes_that_are_no_question_then_they_are_refused() -> None:
    with pytest.raises(msgspec.MsgspecError):
        decoded_question(b"\x93\x01\x02\x03")
