"""The callers of the appender that wait for their answers."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from redis.exceptions import ResponseError

from clearhold.features.core.errors import UnavailableError
from clearhold.store.redis_log.pipeline import first_error
from clearhold.store.redis_log.writes import PackedWrite

UNAVAILABLE: Final = "The log did not confirm this in time. Try again."


class WaitingAppend:
    """One caller's commands, with a reply for each, of which the last one counts."""

    __slots__ = ("began", "done", "packed", "refusal", "replies")

    def __init__(self, write: PackedWrite, *, done: asyncio.Future[Any], began: float) -> None:
        self.packed, self.replies = write
        self.done = done
        self.began = began
        self.refusal: ResponseError | None = None

    def take(self, reply: Any) -> bool:
        """Take the next reply; True once the caller has its answer."""
        self.replies -= 1
        if self.refusal is None:
            self.refusal = reply if isinstance(reply, ResponseError) else first_error(reply)
        if self.replies:
            return False
        self._end(self.refusal, reply)
        return True

    def take_all(self, replies: list[Any]) -> None:
        """Take all replies at once."""
        self._end(first_error(replies), replies)

    def _end(self, refusal: ResponseError | None, reply: Any) -> None:
        if refusal is not None:
            self.fail(refusal)
        elif not self.done.done():  # The caller may have left.
            self.done.set_result(reply)

    def fail(self, cause: BaseException) -> None:
        if not self.done.done():
            refusal = UnavailableError(UNAVAILABLE)
            refusal.__cause__ = cause
            self.done.set_exception(refusal)


class WaitingAppends:
    """Those whose entries are not sent yet, in calling order."""

    def __init__(self) -> None:
        self._appends: deque[WaitingAppend] = deque()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._appends)

    def add(self, append: WaitingAppend) -> None:
        self._appends.append(append)
        self.size_bytes += len(append.packed)

    def put_back(self, appends: Sequence[WaitingAppend]) -> None:
        """Place appends that were taken before all others again."""
        self._appends.extendleft(reversed(appends))
        self.size_bytes += sum(len(append.packed) for append in appends)

    def take(self, *, most: int, most_bytes: int) -> list[WaitingAppend]:
        """The first ones, within both limits, and at least one."""
        taken: list[WaitingAppend] = []
        size = 0
        while self._appends and len(taken) < most:
            size += len(self._appends[0].packed)
            if taken and size > most_bytes:
                break
            taken.append(self._appends.popleft())
            self.size_bytes -= len(taken[-1].packed)
        return taken
