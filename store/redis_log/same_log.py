"""Checks that a new connection leads to the same log as before.

A Redis whose disk was exchanged answers like any other, and its confirmed entries would be in a separate log.

Errors  ``OtherLogError`` when the id differs, or a stream has less than was confirmed
"""

from collections.abc import Sequence

import msgspec
import structlog
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.keys import IDENTITY, shard_key
from clearhold.store.redis_log.offsets import offset_of

log = structlog.get_logger()


class OtherLogError(RedisConnectionError):
    """This Redis does not have our log, or not all of it."""


class SameLog:
    """Uses the appender's connection."""

    def __init__(self, identity: LogIdentity) -> None:
        self._identity = identity
        self._is_other = False

    async def require(self, connection: AbstractConnection, last: Sequence[int]) -> None:
        """``last`` is the highest confirmed offset of each shard, 0 without one."""
        shards = [shard for shard, offset in enumerate(last) if offset]
        questions = [("GET", IDENTITY), *(("XINFO", "STREAM", shard_key(shard)) for shard in shards)]
        await connection.send_packed_command(connection.pack_commands(questions))
        missing = "id" if not self._is_ours(await connection.read_response(disable_decoding=True)) else None
        for shard in shards:
            if await _tail(connection) < last[shard]:
                missing = missing or f"shard {shard}"
        self._note(missing)
        if missing is not None:
            raise OtherLogError("Redis no longer has the log that it had.")

    def _is_ours(self, stored: bytes | None) -> bool:
        return stored is not None and msgspec.json.decode(stored, type=LogIdentity) == self._identity

    def _note(self, missing: str | None) -> None:
        """Log one line when the log is gone, and one when it is back."""
        if (missing is not None) != self._is_other:
            self._is_other = missing is not None
            if missing is None:
                log.warning("log_is_back")
            else:
                log.error("log_is_gone", missing=missing)


async def _tail(connection: AbstractConnection) -> int:
    """The offset of the newest entry ever appended, from the answer to XINFO STREAM; 0 without a stream."""
    try:
        about = await connection.read_response(disable_decoding=True)
    except ResponseError:
        return 0
    return offset_of(dict(zip(about[::2], about[1::2], strict=True))[b"last-generated-id"])
