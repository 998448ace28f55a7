"""The owner of shards in this process: it answers under the shard's lock.

Errors  UnavailableError until the program's shard has replayed the log of the start: an event could be taken twice
"""

import sys
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Final, TypeVar

from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import shard_of
from clearhold.features.shard.questions import Answer, Question
from clearhold.features.shard.shards import Shards

AnswerT = TypeVar("AnswerT")

REPLAYING: Final = "The log of this program is being replayed after a start. Nothing was recorded; try again."
_NS_PER_US: Final = 1_000


class LocalOwner:
    """An ``Owner`` for one thread, the API's event loop."""

    def __init__(self, shards: Shards, tails: Mapping[int, int]) -> None:
        """``tails`` are the offsets of the log's newest entries at the start, by shard; they may be filled in later."""
        self._shards, self._tails = shards, tails

    async def query(self, program_id: str, question: Question[AnswerT]) -> Answer[AnswerT]:
        shard = shard_of(program_id, self._shards.count)
        if self._shards.applied_offset(shard) < self._tails.get(shard, sys.maxsize):
            raise UnavailableError(REPLAYING)
        with self._shards.reading(program_id) as program:  # The lock is held for one answer.
            began = perf_counter_ns()
            value = question.answer(program)
            return Answer(value, (perf_counter_ns() - began) // _NS_PER_US)
