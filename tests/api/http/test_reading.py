"""Reads for answers wait for their turn, so that few run at once; each gets its own answer or error."""

import asyncio
from threading import Lock
from time import sleep

import pytest

from clearhold.api.http.reading import AT_ONCE, in_reader

READS = 8 * AT_ONCE


class Counting:
    def __init__(self) -> None:
        self._lock = Lock()
        self._now = self.most = 0

    def read(self, number: int) -> int:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        sleep(0.005)
        with self._lock:
            self._now -= 1
        if number % 5 == 4:
            raise ValueError(str(number))
        return number


@pytest.mark.parametrize("run", ["the first loop", "another loop"])
def test_given_many_reads_at_once_then_a_few_run_together_and_each_has_its_own_answer(run: str) -> None:  # noqa: ARG001
    counting = Counting()

    async def all_of_them() -> list[int | BaseException]:
        return await asyncio.gather(
            *(in_reader(counting.read, number) for number in range(READS)), return_exceptions=True
        )

    answers = asyncio.run(all_of_them())
    assert counting.most == AT_ONCE
    failed = [number for number, answer in enumerate(answers) if isinstance(answer, ValueError)]
    assert failed == [*range(4, READS, 5)]
    assert all(answer == number for number, answer in enumerate(answers) if number not in failed)


def test_given_a_reader_that_left_while_it_waited_then_the_others_have_their_turn() -> None:
    counting = Counting()

    async def one_leaves() -> list[int]:
        tasks = [asyncio.create_task(in_reader(counting.read, 5 * number)) for number in range(READS)]
        await asyncio.sleep(0)
        tasks[-1].cancel()
        return await asyncio.gather(*tasks[:-1])

    assert asyncio.run(one_leaves()) == [5 * number for number in range(READS - 1)]
    assert counting.most == AT_ONCE
