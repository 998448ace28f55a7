"""The owner of the shards that this process holds itself: it answers under the shard's lock."""

from time import perf_counter_ns
from typing import Final, TypeVar

from features.shard.questions import Answer, Question
from features.shard.shards import Shards

AnswerT = TypeVar("AnswerT")

_NS_PER_US: Final = 1_000


class LocalOwner:
    """An ``Owner``. For one asking thread, the API's event loop."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        with self._shards.reading(program_id) as program:  # The lock is held for this one answer.
            began = perf_counter_ns()
            value = question.answer(program)
            return Answer(value, (perf_counter_ns() - began) // _NS_PER_US)
