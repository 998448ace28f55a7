"""Posts a file's bank events in file order, by batches, without a gap.

Order   one batch at a time. After a 503 or a lost connection the same batch is sent again; its events that were taken
        before are answered as duplicates
Limits  ``max_tries`` failures in a row, then ``GaveUpError``; a batch has ``batch`` events and ``MAX_BATCH_BYTES``
Errors  ``GaveUpError``, ``StoppedError``; both are one sentence; the tally has the answers until then
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from clearhold.client.answers import (
    SIGNATURE_HEADER,
    TRY_AGAIN_STATUSES,
    Posted,
    RefusedError,
    UnreachableError,
    is_http,
)
from clearhold.client.client import FIRST_PAUSE_S, MAX_PAUSE_S, ClearholdClient
from clearhold.client.event_lines import MAX_LINE_BYTES, EventLine, LineReader
from clearhold.features.core.instants import pause_after

DEFAULT_BATCH: Final = 500
MOST_IN_BATCH: Final = 1_000  # what the batch route takes
MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
DEFAULT_MAX_TRIES: Final = 12
FIRST_REFUSALS: Final = 5
HOPELESS_STATUSES: Final = frozenset({401, 403, 404, 405})

_HOPELESS: Final = " Are the address, the program and its secret right?"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The address for events, and their signing key."""

    url: str
    program_id: str
    secret: str
    endpoint_id: str | None = None
    signature_header: str = SIGNATURE_HEADER

    def __post_init__(self) -> None:
        if not is_http(self.url):
            raise ValueError(f"{self.url} is not an http:// or https:// address")


class GaveUpError(Exception):
    """The service stayed unavailable for longer than the retries last."""


class StoppedError(Exception):
    """A retry would not help, or was not wanted."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A refused line, with the service's sentence."""

    line: int
    sentence: str


class Tally:
    """The results of the lines so far."""

    def __init__(self) -> None:
        self.accepted = 0
        self.duplicates = 0
        self.refused = 0
        self.retried = 0
        self.first_refusals: list[Refusal] = []
        self.position = 0

    @property
    def answered(self) -> int:
        return self.accepted + self.duplicates + self.refused

    def refuse(self, line: EventLine, sentence: str) -> None:
        self.refused += 1
        if len(self.first_refusals) < FIRST_REFUSALS:
            self.first_refusals.append(Refusal(line=line.number, sentence=sentence))


class EventReplay:
    """Posts one file to one program."""

    def __init__(
        self,
        target: Target,
        reader: LineReader,
        *,
        batch: int = DEFAULT_BATCH,
        max_tries: int = DEFAULT_MAX_TRIES,
        strict: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.tally = Tally()
        self._target, self._reader = target, reader
        self._batch, self._max_tries, self._strict = batch, max_tries, strict
        self._pause = pause
        self._read: deque[EventLine] = deque()  # From the file, and in no batch yet.

    def run(self, on_progress: Callable[[Tally], None] = lambda _tally: None) -> Tally:
        """Post every line; ``self.tally`` has the tally when this raises."""
        with ClearholdClient(self._target.url, max_tries=1) as client:
            while lines := self._next_batch():
                for line, posted in zip(lines, self._posted(client, lines), strict=True):
                    self._settle(line, posted)
                on_progress(self.tally)
        return self.tally

    def _next_batch(self) -> list[EventLine]:
        """The available lines, as many as fit into a batch; waits for the first one."""
        lines: list[EventLine] = []
        size = 0
        while len(lines) < self._batch:
            if not self._read:
                self._read.extend(self._reader.take(self._batch - len(lines), wait=not lines))
            if not self._read:
                break
            line = self._read[0]
            if line.body is None:
                self._refuse(line, f"the line is longer than {MAX_LINE_BYTES} bytes, and was not sent")
            elif lines and size + len(line.body) + 1 > MAX_BATCH_BYTES:
                break
            else:
                lines.append(line)
                size += len(line.body) + 1
            self._read.popleft()
        return lines

    def _posted(self, client: ClearholdClient, lines: list[EventLine]) -> list[Posted]:
        """The answers to a batch, sent until it is answered."""
        target = self._target
        bodies = [line.body for line in lines if line.body is not None]
        for failures in range(1, self._max_tries + 1):
            try:
                return client.post_events(
                    target.program_id,
                    target.secret,
                    bodies,
                    endpoint_id=target.endpoint_id,
                    signature_header=target.signature_header,
                )
            except (RefusedError, UnreachableError) as error:
                sentence = _sentence_of(error)
                if isinstance(error, RefusedError) and error.status not in TRY_AGAIN_STATUSES:
                    hint = _HOPELESS if error.status in HOPELESS_STATUSES else ""
                    raise StoppedError(f"Stopped at line {lines[0].number}: {sentence}{hint}") from error
                if failures == self._max_tries:
                    raise GaveUpError(
                        f"The service took nothing after {failures} tries ({sentence}); "
                        f"line {lines[0].number} and the lines after it are not posted."
                    ) from error
            self._pause(pause_after(failures, FIRST_PAUSE_S, MAX_PAUSE_S))
            self.tally.retried += len(lines)
        raise AssertionError("the last try returns or raises")

    def _settle(self, line: EventLine, posted: Posted) -> None:
        self.tally.position = line.end
        if not posted.received:
            self._refuse(line, posted.error or "refused without a sentence")
        elif posted.duplicate:
            self.tally.duplicates += 1
        else:
            self.tally.accepted += 1

    def _refuse(self, line: EventLine, sentence: str) -> None:
        self.tally.refuse(line, sentence)
        if self._strict:
            raise StoppedError(
                f"Stopped at line {line.number}, the first that was refused: {sentence}. "
                f"Up to {self._batch - 1} lines after it may have been taken."
            )


def _sentence_of(error: RefusedError | UnreachableError) -> str:
    return f"{error.status}: {error}" if isinstance(error, RefusedError) else str(error)
