"""A write of the log's owner to a named Redis: one transaction for all callers that wait, which no other epoch can run.

WATCH ─▶ owner read: is the epoch ours? ─▶ MULTI, entries, EXEC, and the next WATCH with its reading ─▶ WAIT

Redis drops a transaction when the watched key was written after the WATCH, and taking the log writes it. A write is
sent only after the owner was read behind its WATCH. So whatever a former owner sends, at any time, is not appended. A
server function could look at the epoch too, at twice the price of XADD, because each entry then passes through its
language (decision 0103).

An entry that Redis refuses fails its own caller. A transaction that is dropped or refused fails all callers.

Errors  as replies: see ``FencedWrite``
"""

import os
from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.redis_log.pipeline import command
from clearhold.store.redis_log.replication import NotReplicatedError, require_replicas, wait_of
from clearhold.store.redis_log.writes import EPOCH, OWNER, WRITTEN, PackedWrite

_OWNER_READ: Final = ("HMGET", OWNER, "epoch", "node", "address")
_BEGIN: Final = command("MULTI")
_END: Final = command("EXEC") + command("WATCH", EPOCH) + command(*_OWNER_READ)
_END_REPLIES: Final = 3
_ELSEWHERE: Final = ("READONLY", "MOVED", "CLUSTERDOWN", "UNBLOCKED")
_WORD_BYTES: Final = 16


class FencedWrite:
    """One write, and its replies. ``packed`` are its commands; ``word`` is in the log's Redis if its entries are."""

    def __init__(self, epoch: int, calls: Sequence[PackedWrite], *, replicas: int, within_s: float) -> None:
        """``replicas``, where not 0, must confirm it within ``within_s``."""
        wait = (command(*wait_of(replicas, within_s)),) if replicas else ()
        self.calls, self.word = calls, os.urandom(_WORD_BYTES)
        commands = (packed for packed, _ in calls)
        self.packed = b"".join((_BEGIN, command("SET", WRITTEN, self.word), *commands, _END, *wait))
        self._epoch, self._replicas = epoch, replicas
        self._counts = [count for _, count in calls]
        self._accepting = 2 + sum(self._counts)  # replies before that of EXEC, which only accept a command
        self._ends: list[Any] = []
        self._refusal: ResponseError | None = None

    def take(self, reply: Any) -> bool:
        """Take the next reply; True after the last one."""
        if self._accepting:
            self._accepting -= 1
            if self._refusal is None and isinstance(reply, ResponseError):
                self._refusal = reply
            return False
        self._ends.append(reply)
        return len(self._ends) == _END_REPLIES + bool(self._replicas)

    @property
    def is_elsewhere(self) -> bool:
        """Whether this server is no longer the primary: another may have the entries, or may take them. It refused
        them, or became a replica during WAIT.
        """
        answers = [self._refusal, *self._ends[_END_REPLIES:]]
        return any(str(each).startswith(_ELSEWHERE) for each in answers)

    @property
    def failure(self) -> Exception | None:
        """Why no caller may count on the entries."""
        if self._refusal is not None:
            return self._refusal
        if isinstance(self._ends[0], ResponseError):
            return self._ends[0]
        if self._ends[0] is None:
            return self.loss or ResponseError("The owner of the log was written meanwhile.")
        if self._replicas:
            try:
                require_replicas(self._ends[_END_REPLIES], self._replicas)
            except (NotReplicatedError, ResponseError) as error:
                return error
        return None

    @property
    def loss(self) -> Exception | None:
        """Why nothing more may be sent on this connection."""
        refused = next((each for each in self._ends[1:_END_REPLIES] if isinstance(each, ResponseError)), None)
        return refused or _not_ours(self._ends[2], self._epoch)

    def answers(self) -> list[list[Any]]:
        """The replies to the commands of each caller, in order, where there is no ``failure``."""
        replies, place, answers = self._ends[0], 1, []
        for count in self._counts:
            answers.append(replies[place : place + count])
            place += count
        return answers


async def begin_fence(connection: AbstractConnection, epoch: int) -> None:
    """Watch the epoch on a new connection; raises the refusal of another owner, or of a user without the commands."""
    await connection.send_packed_command(_BEGIN + _END)
    for _ in range(_END_REPLIES):
        await connection.read_response(disable_decoding=True)
    refusal = _not_ours(await connection.read_response(disable_decoding=True), epoch)
    if refusal is not None:
        raise refusal


class UnownedError(RedisConnectionError):
    """Redis does not know that this service took the log, as after a failover."""


class FencedError(RedisConnectionError):
    """Another service has taken the log; the text is that of the server functions."""


def _not_ours(owner: Sequence[bytes | None], epoch: int) -> RedisConnectionError | None:
    current, node, address = ((each or b"").decode(errors="replace") for each in owner)
    if current == str(epoch):
        return None
    if not current or int(current) < epoch:
        return UnownedError(f"UNOWNED The log has no owner of epoch {epoch}.")
    return FencedError(f"FENCED {current} by {node or '?'} at {address or '?'}")
