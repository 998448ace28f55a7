"""The connections of the appender: one at a time, to the server that has the log, behind all that the last one sent."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import redis.asyncio
from redis.asyncio.connection import AbstractConnection

from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.fenced import FencedError, begin_fence
from clearhold.store.redis_log.owner import LogOwnership, load_library_on
from clearhold.store.redis_log.pipeline import LastConnection, Pipeline, SameLog


class LogConnections:
    """``identity`` and ``ownership`` as for ``LogAppender``."""

    def __init__(
        self, client: redis.asyncio.Redis, identity: LogIdentity | None, ownership: LogOwnership | None
    ) -> None:
        self._pool, self._ownership = client.connection_pool, ownership
        self._same_log = None if identity is None else SameLog(identity)
        self._last_connection = LastConnection()
        self._former: AbstractConnection | None = None

    def close(self, pipeline: Pipeline) -> None:
        """Stop using it: replies that were not read must not meet the next write."""
        pipeline.close()
        self._former = pipeline.connection

    @property
    def is_certain(self) -> bool:
        """Whether nothing that was sent on a former connection can still arrive."""
        return self._last_connection.is_certain

    async def open(
        self,
        last: Sequence[int],
        *,
        settle: Callable[[AbstractConnection], Awaitable[None]],
        on_reply: Callable[[Any], None],
        on_end: Callable[[Exception], None],
    ) -> Pipeline:
        """A new connection to a Redis that has all entries up to ``last``, the highest confirmed offset of each shard;
        ``settle`` is its first user. Raises the client's errors and those of ``settle``, and FencedError when another
        service has taken the log.
        """
        if self._former is not None:
            await self._release(self._former)
            self._former = None
        connection = await self._pool.get_connection()
        try:
            await connection.send_command("PING")
            await connection.read_response()
            await self._last_connection.replace_by(connection)
            if self._same_log is not None:
                await self._same_log.require(connection, last)
            if self._ownership is not None:
                await load_library_on(connection)
                await self._begin_fence(connection, self._ownership)
            await settle(connection)
        except BaseException:
            await self._release(connection)
            raise
        return Pipeline(connection, on_reply=on_reply, on_end=on_end)

    async def _begin_fence(self, connection: AbstractConnection, ownership: LogOwnership) -> None:
        try:
            await begin_fence(connection, ownership.epoch)
        except FencedError as error:
            ownership.note(error)
            raise

    async def _release(self, connection: AbstractConnection) -> None:
        await connection.disconnect(nowait=True)
        await self._pool.release(connection)
