"""A separate process that scores pages of stored vectors, so that the service keeps its interpreter and processor.

card in, pages in, as Arrow streams ─▶ rows ─▶ scored ─▶ the scores that differ from the stored ones, out

It runs at idle priority, which a thread could not: a thread would hold the interpreter for longer. It ends with its
input pipe, and so with the service.

Errors  ``EndedError`` when the process is gone
"""

import os
import struct
import subprocess
import sys
from typing import IO, Final

import msgspec
import pyarrow as pa

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.backfill import Rescored
from clearhold.features.measurement.rescored import rescored
from clearhold.features.shard.questions import CardInForce
from clearhold.flows.running.own_python import import_environment, module_command
from clearhold.store.analysts.aside import step_aside
from clearhold.store.tables.columns import rows_in

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
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        try:
            _send(self._process.stdin, self._card)
            _send(self._process.stdin, sink.getvalue())
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
