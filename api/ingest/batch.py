"""A batch of bank events: NDJSON in, one line of NDJSON out for each event.

Lines end at LF or CRLF and are counted from 1; blank ones are skipped. The bytes of a line without its ending are the
event, exactly as in a single delivery.

Limits  ``MOST_EVENTS``; a line has the limit of a single event's body
Errors  InvalidRequestError for a body that is not a batch
"""

from typing import Annotated, Final

import msgspec

from clearhold.features.bank.envelope import BankEnvelope, EnvelopeError, read_envelope
from clearhold.features.bank.file_formats import format_fault
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.words import about

MOST_EVENTS: Final = 1_000
MOST_LINE_BYTES: Final = 1_048_576

_NO_EVENTS: Final = "must have at least one event"
_TOO_MANY: Final = f"must have at most {MOST_EVENTS:,} events"
_TOO_LONG: Final = f"the line must have at most {MOST_LINE_BYTES} bytes"


class LineReceipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one line; ``error``, with the ``path`` of its field, when it was refused."""

    line: Annotated[int, about("The number of the line, from 1.")]
    received: bool
    id: Annotated[str | None, about("The event's id; null when it could not be read.")] = None
    duplicate: bool | None = None
    error: Annotated[str | None, about("Why the line was refused, in a sentence; null when it was not.")] = None
    path: Annotated[str | None, about("The field that the sentence is about; null without one.")] = None


def lines_of(raw: bytes) -> list[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    lines = [(number, line.removesuffix(b"\r")) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise invalid("body", _NO_EVENTS, FieldCode.TOO_SHORT)
    if len(lines) > MOST_EVENTS:
        raise invalid("body", _TOO_MANY, FieldCode.TOO_LONG)
    if (fault := format_fault(raw)) is not None:
        raise EnvelopeError(fault)
    return lines


def read_line(line: bytes) -> BankEnvelope:
    """The envelope of a line's event. Raises EnvelopeError when it is invalid."""
    if len(line) > MOST_LINE_BYTES:
        raise EnvelopeError(_TOO_LONG)
    return read_envelope(line)
