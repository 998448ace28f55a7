"""Posts a file's bank events in file order, and leaves none out.

Order   one connection at a time, several requests in flight on it. After a 503 or a lost connection the unanswered
        lines are sent again, in order, from the first on; those that had been taken are answered as duplicates
Limits  ``max_tries`` failures in a row without one answer between them, then ``GaveUpError``
Errors  ``GaveUpError``, ``StoppedError``; both are one sentence, and what was answered until then is in the tally
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from api.client.client import pause_after, sentence_of
from api.client.event_lines import MAX_LINE_BYTES, EventLine, LineReader
from api.client.event_pipe import EventAnswer, EventPipe, Target

DEFAULT_IN_FLIGHT: Final = 32
DEFAULT_MAX_TRIES: Final = 12
FIRST_REFUSALS: Final = 5
TRY_AGAIN_STATUSES: Final = frozenset({429, 502, 503, 504})
HOPELESS_STATUSES: Final = frozenset({401, 403, 404, 405})


class GaveUpError(Exception):
    """The service stayed away for longer than the retries last."""


class StoppedError(Exception):
    """Going on would not help, or was not wanted."""


class _BusyError(Exception):
    """The service asked to try again."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A line that was not taken, with the service's sentence."""

    line: int
    sentence: str


class Tally:
    """What became of the lines so far."""

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
    """One file on its way to one program."""

    def __init__(
        self,
        target: Target,
        reader: LineReader,
        *,
        in_flight: int = DEFAULT_IN_FLIGHT,
        max_tries: int = DEFAULT_MAX_TRIES,
        strict: bool = False,
        on_progress: Callable[[Tally], None] = lambda _tally: None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.tally = Tally()
        self._target, self._reader = target, reader
        self._in_flight, self._max_tries, self._strict = in_flight, max_tries, strict
        self._on_progress, self._pause = on_progress, pause
        self._waiting: deque[EventLine] = deque()  # Sent or to be sent, and not answered.
        self._sent_to = 0

    def run(self) -> Tally:
        """Post every line; the tally is also kept in ``self.tally`` for when this raises."""
        failures = 0
        while self._waiting or self._more(wait=True):
            answered = self.tally.answered
            try:
                self._use_one_connection()
            except (OSError, _BusyError) as error:
                failures = 1 if self.tally.answered > answered else failures + 1
                if failures >= self._max_tries:
                    raise GaveUpError(
                        f"The service took nothing after {failures} tries ({error}); "
                        f"line {self._waiting[0].number} and the lines after it are not posted."
                    ) from error
                self._pause(pause_after(failures))
        return self.tally

    def _use_one_connection(self) -> None:
        pipe = EventPipe(self._target)
        try:
            self._send(pipe, list(self._waiting))
            while self._waiting:
                for answer in pipe.answers():
                    self._settle(answer)
                    if answer.last:
                        return
                self._on_progress(self.tally)
                self._send(pipe, self._more(wait=not self._waiting))
        finally:
            # At once: what the server has not begun by then it drops, and so takes in order when it is sent again.
            pipe.close()

    def _more(self, *, wait: bool) -> list[EventLine]:
        """Take lines from the file until enough are waiting."""
        while lines := self._reader.take(self._in_flight - len(self._waiting), wait=wait):
            for line in lines:
                if line.body is None:
                    self._refuse(line, f"the line is longer than {MAX_LINE_BYTES} bytes, and was not sent")
            sendable = [line for line in lines if line.body is not None]
            self._waiting.extend(sendable)
            if sendable:
                return sendable
        return []

    def _send(self, pipe: EventPipe, lines: list[EventLine]) -> None:
        self.tally.retried += sum(line.number <= self._sent_to for line in lines)
        if lines:
            self._sent_to = max(self._sent_to, lines[-1].number)
        pipe.send(line.body for line in lines if line.body is not None)

    def _settle(self, answer: EventAnswer) -> None:
        """Book the answer to the oldest line that has none."""
        line = self._waiting[0]
        if answer.status in TRY_AGAIN_STATUSES:
            raise _BusyError(f"{answer.status}: {sentence_of(answer.status, answer.body)}")
        if answer.status in HOPELESS_STATUSES:
            raise StoppedError(
                f"Stopped at line {line.number}: {answer.status}, {sentence_of(answer.status, answer.body)}. "
                "Are the address, the program and its secret right?"
            )
        self._waiting.popleft()
        self.tally.position = line.end
        if not 200 <= answer.status < 300:  # noqa: PLR2004 - the success class
            self._refuse(line, f"{answer.status}: {sentence_of(answer.status, answer.body)}")
        elif _is_duplicate(answer):
            self.tally.duplicates += 1
        else:
            self.tally.accepted += 1

    def _refuse(self, line: EventLine, sentence: str) -> None:
        self.tally.refuse(line, sentence)
        if self._strict:
            raise StoppedError(
                f"Stopped at line {line.number}, the first that was refused: {sentence}. "
                f"Up to {self._in_flight} lines after it may have been taken."
            )


def _is_duplicate(answer: EventAnswer) -> bool:
    try:
        return msgspec.json.decode(answer.body, type=dict[str, object]).get("duplicate") is True
    except msgspec.DecodeError:
        return False
