"""Reads the log: entries of the shards in order, from any offset.

Errors  the built-in ``ConnectionError`` while Redis is down or still starting; a later read continues as before
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.data_dir import LogIdentity
from clearhold.store.redis_log.offsets import (
    IDENTITY,
    TENANTS,
    TRIMMED,
    control_key,
    offset_of,
    read_fields,
    shard_key,
    stream_id_of,
)

LATE_S: Final = 3.0
MAX_BLOCK_MS: Final = 2_000
"""Well below the socket's timeout, so that an idle log does not look dead."""

_CONTROL_PAGE: Final = 500


def identity_in(client: redis.Redis) -> LogIdentity | None:
    """The id of the log in a Redis; None without a log."""
    stored = client.get(IDENTITY)
    return None if stored is None else msgspec.json.decode(stored, type=LogIdentity)


Wait = Callable[[int, float], None]
"""Returns when a descriptor is readable, or after this many seconds."""


class LogReader:
    """For one thread at a time. ``shards`` are those this process owns."""

    def __init__(self, client: redis.Redis, shards: Sequence[int], *, wait: Wait | None = None) -> None:
        """``wait`` is called instead of blocking in ``read``, with the descriptor to wait for."""
        self._wait = wait
        self._redis = redis.Redis(connection_pool=client.connection_pool)
        for command in ("XREAD", "XRANGE"):  # Unparsed: the client's own parsing costs more than all later steps.
            self._redis.set_response_callback(command, _as_it_came)
        self._shard_of_key = {shard_key(shard).encode(): shard for shard in shards}

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]:
        """Entries after the given offsets (0 where none is given), at most ``count`` a shard; waits up to ``block_ms``
        (0: not at all, at most MAX_BLOCK_MS) for the first one, and returns ``[]`` if none came.
        """
        if not self._shard_of_key:
            return []
        offsets = [stream_id_of(after.get(shard, 0)) for shard in self._shard_of_key.values()]
        block = ("BLOCK", min(block_ms, MAX_BLOCK_MS)) if block_ms > 0 else ()
        command = ("XREAD", "COUNT", count, *block, "STREAMS", *self._shard_of_key, *offsets)
        if block and self._wait is not None:
            answer = self._awaited(self._wait, command, block_ms / 1_000)
        else:
            answer = self._execute(*command)
        return [
            (self._shard_of_key[key], [_entry(self._shard_of_key[key], *entry) for entry in entries])
            for key, entries in answer or ()
        ]

    def range(self, shard: int, after: int, upto: int, *, count: int) -> list[LogEntry]:
        """The first ``count`` entries with ``after`` < offset <= ``upto``."""
        if upto <= after:
            return []
        entries = self._execute(
            "XRANGE", shard_key(shard), f"({stream_id_of(after)}", stream_id_of(upto), "COUNT", count
        )
        return [_entry(shard, *entry) for entry in entries]

    def entries(self, shard: int, after: int, upto: int, *, page: int) -> Iterator[LogEntry]:
        """All entries with ``after`` < offset <= ``upto``, ``page`` of them in memory at a time."""
        while entries := self.range(shard, after, upto, count=page):
            yield from entries
            after = entries[-1].offset

    def identity(self) -> LogIdentity | None:
        """The id of the log here; None without a log."""
        return identity_in(self._redis)

    def tail(self, shard: int) -> int:
        """The offset of the newest entry ever appended, even if it was trimmed; 0 without any."""
        return self._last_generated(shard_key(shard))

    def _last_generated(self, key: str) -> int:
        try:
            about = self._execute("XINFO STREAM", key)
        except redis.ResponseError as error:
            if "no such key" in str(error):
                return 0
            raise
        return offset_of(about["last-generated-id"])

    def trim(self, shard: int, upto: int) -> int:
        """Drop the entries with offset <= ``upto``; returns how many were dropped."""
        self._execute("HSET", TRIMMED, shard, upto)
        return int(self._execute("XTRIM", shard_key(shard), "MINID", stream_id_of(upto + 1)))

    def trimmed(self, shard: int) -> int:
        """The offset up to which the shard was trimmed: all later entries are here."""
        return int(self._execute("HGET", TRIMMED, shard) or 0)

    def control(self) -> Iterator[tuple[str, int, str, int, bytes]]:
        """(tenant id, offset, kind, appended at, body) of all control streams, tenant by tenant, each in order."""
        for tenant_id in self.tenants():
            yield from self.control_of(tenant_id)

    def tenants(self) -> list[str]:
        """The ids of all tenants."""
        return sorted(tenant.decode() for tenant in self._execute("SMEMBERS", TENANTS))

    def control_tail(self, tenant_id: str) -> int:
        """The offset of the newest entry of a control stream, 0 without any."""
        return self._last_generated(control_key(tenant_id))

    def control_of(self, tenant_id: str, after_offset: int = 0) -> Iterator[tuple[str, int, str, int, bytes]]:
        """As ``control``, of one tenant's stream, after an offset."""
        after = f"({stream_id_of(after_offset)}"
        while True:
            page = self._execute("XRANGE", control_key(tenant_id), after, "+", "COUNT", _CONTROL_PAGE)
            for stream_id, pairs in page:
                kind, _, appended_at, body = read_fields(pairs)
                yield tenant_id, offset_of(stream_id), kind.decode(), int(appended_at), body
            if len(page) < _CONTROL_PAGE:
                return
            after = f"({page[-1][0].decode()}"

    def _awaited(self, wait: Wait, command: tuple[str | int | bytes, ...], seconds: float) -> Any:
        """Run a command that may take this long, on a connection beside which others can be waited for."""
        pool = self._redis.connection_pool
        try:
            connection: Any = pool.get_connection()
            try:
                connection.send_command(*command)
                # Redis answers at the end of the time at the latest, if late; reading before it does would block.
                wait(connection._sock.fileno(), seconds + LATE_S)  # noqa: SLF001 - the client offers no descriptor
                return connection.read_response()
            except BaseException:
                connection.disconnect()
                raise
            finally:
                pool.release(connection)
        except (RedisConnectionError, RedisTimeoutError) as error:
            raise ConnectionError(f"The log cannot be read: {error}") from error

    def _execute(self, *command: str | int | bytes) -> Any:
        """Run a command. An unreachable Redis raises Python's ``ConnectionError``; other errors are ours."""
        try:
            return self._redis.execute_command(*command)
        except (RedisConnectionError, RedisTimeoutError) as error:
            raise ConnectionError(f"The log cannot be read: {error}") from error


def _entry(shard: int, stream_id: bytes, pairs: list[bytes]) -> LogEntry:
    kind, program_id, appended_at, body = read_fields(pairs)
    return LogEntry(shard, offset_of(stream_id), kind.decode(), program_id.decode(), int(appended_at), body)


def _as_it_came(answer: Any, **_: Any) -> Any:
    return answer
