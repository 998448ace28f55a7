"""Scores pages of stored vectors again, in separate processes or, for few transfers, in a thread.

Errors  none when a process ends: its page and the following ones are scored by a thread
"""

import asyncio
import os
import struct
import subprocess
import sys
from itertools import islice
from types import TracebackType
from typing import IO, Final, Self

import msgspec
import pyarrow as pa
import structlog

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.commands import Rescored
from clearhold.features.measurement.assessment import rescored
from clearhold.features.policy.card_book import TransferCard
from clearhold.features.shard.questions import CardInForce
from clearhold.flows.backfill.replay import Throttle
from clearhold.flows.running.own_python import import_environment, module_command
from clearhold.flows.running.supervision import Workers
from clearhold.flows.stream.dataflow import stream_of
from clearhold.store.scheduling import step_aside
from clearhold.store.tables import rows_in

_LENGTH: Final = struct.Struct("<Q")
_RESULTS: Final = msgspec.msgpack.Decoder(list[Rescored])
_CARD: Final = msgspec.msgpack.Decoder(CardInForce)


class EndedError(Exception):
    """The process is gone; its page must be scored elsewhere."""


class ScoringProcess:
    """The service's end. Starts the process; used by one thread at a time."""

    def __init__(self, card: CardInForce) -> None:
        self._card = msgspec.msgpack.encode(card)
        self._process = subprocess.Popen(  # noqa: S603 - fixed arguments
            module_command(__name__),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | import_environment(),
            start_new_session=True,  # a Ctrl-C is for the service, which says when this one ends
        )

    def score(self, table: pa.Table) -> list[Rescored]:
        """The scorings that differ from the stored ones."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, self._card)
            _send(self._process.stdin, stream_of(table))
            reply = _receive(self._process.stdout)
        except OSError as error:
            raise EndedError from error
        if reply is None:
            raise EndedError
        return _RESULTS.decode(reply)

    def end(self) -> None:
        """Kill it, also while a thread waits for it."""
        self._process.kill()

    def close(self) -> None:
        self.end()
        self._process.communicate()


def main() -> None:
    """Run the process: score pages until the pipe ends."""
    step_aside()
    while (sent := _receive(sys.stdin.buffer)) is not None and (page := _receive(sys.stdin.buffer)) is not None:
        card = _CARD.decode(sent).compiled()
        with pa.ipc.open_stream(page) as stream:
            rows = rows_in(TransferFeaturesRow, stream.read_all())
            results = [result for row in rows if (result := rescored(row, card)) is not None]
        _send(sys.stdout.buffer, msgspec.msgpack.encode(results))


def _send(pipe: IO[bytes], content: bytes | pa.Buffer) -> None:
    pipe.write(_LENGTH.pack(len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    """The next message, None at the end of the pipe."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = pipe.read(length)
    return content if len(content) == length else None


_SLICE_TRANSFERS: Final = 100

log = structlog.get_logger()


class ScoringThread:
    """Scores in the calling thread, with the methods of a process."""

    def __init__(self, workers: Workers, card: TransferCard) -> None:
        self._workers, self._card = workers, card

    def score(self, table: pa.Table) -> list[Rescored]:
        results: list[Rescored] = []
        rows, giving_way = rows_in(TransferFeaturesRow, table), Throttle()
        while (some := list(islice(rows, _SLICE_TRANSFERS))) and not self._workers.stopping.is_set():
            results += [result for row in some if (result := rescored(row, self._card)) is not None]
            giving_way.rest()
        return results

    def end(self) -> None:
        """It looks at ``stopping`` by itself."""

    def close(self) -> None:
        """There is nothing to wait for."""


PageScorer = ScoringProcess | ScoringThread
"""Scores one page at a time; ``end`` cuts it short, ``close`` waits for its end."""


class PageScoring:
    """``processes`` scoring processes, or one thread for 0. Belongs to one event loop; used in an ``async with``."""

    def __init__(self, workers: Workers, card: CardInForce, *, processes: int) -> None:
        self._workers, self._card = workers, card
        self._processes = processes
        self._scorers: list[PageScorer] = []
        self._free: asyncio.Queue[PageScorer] = asyncio.Queue()
        self._tasks: set[asyncio.Task[list[Rescored]]] = set()
        self.width = max(1, processes)

    async def __aenter__(self) -> Self:
        for _ in range(self.width):
            self._add(await self._workers.run(ScoringProcess, self._card) if self._processes else self._thread())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for scorer in self._scorers:
            await self._workers.run(scorer.close)

    def begin(self, table: pa.Table) -> asyncio.Task[list[Rescored]]:
        """Score a page once a scorer is free; returns the results that differ from the stored ones."""
        task = asyncio.create_task(self._scored(table))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _thread(self) -> PageScorer:
        return ScoringThread(self._workers, self._card.compiled())

    def _add(self, scorer: PageScorer) -> None:
        self._scorers.append(scorer)
        self._free.put_nowait(scorer)

    async def _scored(self, table: pa.Table) -> list[Rescored]:
        scorer = await self._free.get()
        try:
            results = await self._workers.run(scorer.score, table, interrupt=scorer.end)
        except EndedError:
            log.warning("scoring_process_ended")
            self._add(self._thread())
            return await self._scored(table)
        self._free.put_nowait(scorer)
        return results
