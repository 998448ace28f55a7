"""Questions over a line, answered in any order, late, or not at all."""

import asyncio
import mmap
import socket
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from clearhold.features.core.errors import UnavailableError
from clearhold.features.shard.questions import Answer, CountParties, PartyCounts
from clearhold.flows.scorer import wire
from clearhold.flows.scorer.wire import (
    FrameKind,
    Frames,
    RemoteOwner,
    ScorerConnection,
    decoded_question,
    encoded_answer,
    frame,
)

pytestmark = [pytest.mark.anyio, pytest.mark.timed]

SHARDS = 4
LATE_S = 0.2


class Scorer(NamedTuple):
    """The other end of a line, which a test answers for."""

    owner: RemoteOwner
    questions: socket.socket
    flag: mmap.mmap

    async def asked(self, count: int) -> list[int]:
        """The numbers of the next questions."""
        frames, numbers = Frames(), list[int]()
        while len(numbers) < count:
            data = await asyncio.get_running_loop().sock_recv(self.questions, 1 << 16)
            numbers += [decoded_question(body)[0] for _, body in frames.feed(data)]
        return numbers

    def answer(self, number: int, actors: int, *, failed: bool = False) -> None:
        self.questions.sendall(frame(FrameKind.ANSWER, encoded_answer(number, 7, counts(actors), failed=failed)))

    async def query(self) -> Answer[PartyCounts]:
        return await self.owner.query("prg_1", CountParties())


def counts(actors: int) -> PartyCounts:
    return PartyCounts(actors=actors, counterparties=0, entities=0, listed=0, holds_agents=False)


@pytest.fixture
async def scorer(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scorer]:
    monkeypatch.setattr(wire, "ANSWERED_WITHIN_S", LATE_S)
    ours, theirs = socket.socketpair()
    theirs.settimeout(0)
    flag = mmap.mmap(-1, 1)
    connection = ScorerConnection(ours, flag)
    yield Scorer(RemoteOwner(SHARDS, lambda _: connection), theirs, flag)
    connection.disconnect()
    theirs.close()


async def test_given_questions_of_several_callers_when_answered_in_another_order_then_each_gets_its_own(
    scorer: Scorer,
) -> None:
    calls = [asyncio.create_task(scorer.query()) for _ in range(3)]
    numbers = await scorer.asked(3)
    assert scorer.flag[0] == 1

    for number in reversed(numbers):
        scorer.answer(number, actors=number)

    assert [await call for call in calls] == [Answer(counts(number), 7) for number in numbers]


async def test_given_a_question_that_is_not_answered_in_time_then_its_caller_hears_and_those_behind_it_are_answered(
    scorer: Scorer,
) -> None:
    late = asyncio.create_task(scorer.query())
    await asyncio.sleep(LATE_S / 2)
    behind = asyncio.create_task(scorer.query())
    first, second = await scorer.asked(2)

    with pytest.raises(UnavailableError):
        await late
    scorer.answer(first, actors=1)
    scorer.answer(second, actors=2)

    assert (await behind).value == counts(2)


async def test_given_one_late_question_when_others_are_late_afterwards_then_they_are_ended_too(scorer: Scorer) -> None:
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await scorer.query()


async def test_given_a_question_that_its_scorer_failed_on_then_its_caller_hears_of_it(scorer: Scorer) -> None:
    call = asyncio.create_task(scorer.query())
    [number] = await scorer.asked(1)

    scorer.answer(number, actors=0, failed=True)

    with pytest.raises(UnavailableError):
        await call


async def test_given_a_scorer_that_dies_then_all_its_callers_hear_at_once(scorer: Scorer) -> None:
    calls = [asyncio.create_task(scorer.query()) for _ in range(3)]
    await scorer.asked(3)

    scorer.questions.close()

    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [UnavailableError] * 3
    with pytest.raises(UnavailableError):
        await scorer.query()
