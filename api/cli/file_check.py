"""What each line of a file of bank events would do in an empty program, without a service."""

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from clearhold.client.event_lines import MAX_LINE_BYTES, EventLine, LineReader
from clearhold.features.bank.envelope import EnvelopeError, format_fault, read_envelope
from clearhold.features.core.log_entry import EventResult
from clearhold.features.shard.pipeline import Trial

REFUSED: Final = "refused"
FAULTY: Final = frozenset(
    {REFUSED, EventResult.UNUSABLE, EventResult.UNKNOWN, EventResult.CONFLICTING, EventResult.FAILED}
)
"""Results that need a look; each of these lines is listed."""

_LINES_AT_A_TIME: Final = 256


class CheckedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line with the result that it would have."""

    number: int
    result: str
    reason: str | None
    path: str | None


class FileCheck:
    """One file. ``now`` is the time at which its events would arrive, in microseconds."""

    def __init__(self, reader: LineReader, *, now: int) -> None:
        self.counts: Counter[str] = Counter()
        self.notes: dict[str, tuple[int, int]] = {}  # by sentence on other lines: their number, and the first
        self.position = 0
        self._reader, self._trial = reader, Trial(now=now)

    def run(self, on_faulty: Callable[[CheckedLine], None]) -> str | None:
        """Check every line; the reason when the file as a whole is no file of events."""
        while lines := self._reader.take(_LINES_AT_A_TIME, wait=True):
            if (fault := format_fault(self._reader.beginning)) is not None:
                return fault
            for line in lines:
                checked = self._checked(line)
                self.counts[checked.result] += 1
                self.position = line.end
                if checked.result in FAULTY:
                    on_faulty(checked)
                elif checked.reason is not None:
                    count, first = self.notes.get(checked.reason, (0, line.number))
                    self.notes[checked.reason] = (count + 1, first)
        return None

    def _checked(self, line: EventLine) -> CheckedLine:
        if line.body is None:
            reason = f"the line is longer than {MAX_LINE_BYTES} bytes"
            return CheckedLine(number=line.number, result=REFUSED, reason=reason, path=None)
        try:
            read_envelope(line.body)
        except EnvelopeError as error:
            return CheckedLine(number=line.number, result=REFUSED, reason=str(error), path=error.path)
        row = self._trial.row_of(line.body)
        return CheckedLine(number=line.number, result=row.result, reason=row.reason, path=row.path)
