"""A caller of the appender that waits for its answer."""

import asyncio
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
