"""Events into the log without the service's HTTP side: straight into Redis, as fast as it takes them or at a pace.

Packed commands append many entries a write, because a client that costs more than the log would distort the figures.
Every entry is fsynced by Redis before its write returns, as in the service.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import redis
from hiredis import pack_command

from bench.stream_events import Traffic
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.fields import entry_fields
from clearhold.store.redis_log.reader import shard_key

APPEND_AT_ONCE: Final = 500
PACE_TICK_S: Final = 0.005
_US: Final = 1_000_000


class Feed(NamedTuple):
    """One program's events on their way to its shard."""

    program_id: str
    shard: int
    traffic: Traffic


def feed_of(program_id: str, traffic: Traffic, *, shards: int) -> Feed:
    return Feed(program_id, shard_of(program_id, shards), traffic)


class Appender:
    """Writes entries to the shards' streams over one connection."""

    def __init__(self, client: redis.Redis) -> None:
        self._connection: Any = client.connection_pool.get_connection()

    def append(self, entries: Sequence[tuple[int, EntryKind, str, int, bytes]]) -> None:
        """(shard, kind, program id, appended at, body) each; returns when all are fsynced."""
        packed = [_packed(*entry) for entry in entries]
        self._connection.send_packed_command([b"".join(packed)], check_health=False)
        for _ in packed:
            self._connection.read_response(disable_decoding=True)


def interleaved(feeds: Sequence[Feed], *, count: int) -> Iterator[tuple[Feed, bytes]]:
    """Events of all programs, one program after the other."""
    sources = [(feed, feed.traffic.events()) for feed in feeds]
    for index in range(count):
        feed, events = sources[index % len(sources)]
        yield feed, next(events).body


def append_all(
    client: redis.Redis, events: Iterable[tuple[Feed, bytes]], *, appended_at: int, done: Callable[[int], None]
) -> None:
    """As fast as Redis takes them."""
    appender, source = Appender(client), iter(events)
    while some := list(islice(source, APPEND_AT_ONCE)):
        appender.append([(feed.shard, EntryKind.BANK, feed.program_id, appended_at, body) for feed, body in some])
        done(len(some))


class PacedFeeder:
    """A separate process that appends a fixed number of events a second, whatever the reader does.

    An entry's ``appended_at`` is when it was due, so a feeder that falls behind shows as latency, not as a lower rate.
    """

    def __init__(self, socket: Path, feeds: Sequence[Feed], *, per_second: int) -> None:
        context = get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_feed, args=(theirs, str(socket), list(feeds), per_second), daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        self._ours.recv()
        return self

    def stop(self) -> int:
        """End the feed; how many events were appended."""
        self._ours.send(None)
        appended: int = self._ours.recv()
        return appended

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.join()


def _feed(pipe: Connection, socket: str, feeds: list[Feed], per_second: int) -> None:
    appender = Appender(connect_sync(Path(socket)))
    events = interleaved(feeds, count=2**62)
    ahead = [next(events) for _ in range(per_second)]  # a second ahead, so that generating them delays nothing
    pipe.send(None)
    started, appended = time.time(), 0
    while not pipe.poll(PACE_TICK_S):
        due = int((time.time() - started) * per_second)
        while appended < due:
            some = ahead[: min(due - appended, APPEND_AT_ONCE)]
            at = [int((started + (appended + index) / per_second) * _US) for index in range(len(some))]
            appender.append(
                [
                    (feed.shard, EntryKind.BANK, feed.program_id, at[index], body)
                    for index, (feed, body) in enumerate(some)
                ]
            )
            appended += len(some)
            ahead = ahead[len(some) :] + [next(events) for _ in some]
    pipe.send(appended)


def _packed(shard: int, kind: EntryKind, program_id: str, appended_at: int, body: bytes) -> bytes:
    about = entry_fields(kind, program_id, appended_at, body)
    packed: bytes = pack_command(("XADD", shard_key(shard), "*", *about))  # type: ignore[arg-type]  # its stub: one word
    return packed
