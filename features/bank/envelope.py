"""The envelope of a bank event: the conditions for accepting an event, and the fault of a refused one.

``data`` stays bytes. A field named twice is a fault, because readers of JSON disagree on which of the two counts;
``data`` is not searched for those: it is stored unchanged, and a fault in it costs only that field.

Errors  ``EnvelopeError``: one sentence, and the path of its field; it quotes nothing of the sender's
"""

import re
from typing import Any, Final

import msgspec

from clearhold.features.bank.repeated_keys import repeated_names
from clearhold.features.core.errors import FieldCode, FieldError, InvalidRequestError
from clearhold.features.core.instants import parse_instant

MAX_ID_LENGTH: Final = 255

_LABEL: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,255}")
_DATE_LENGTH: Final = 10
_PLACE: Final = re.compile(r"\(byte ([0-9]+)\)$")
_NAMES: Final = ("id", "type", "created_at")
_OTHER_NAMES: Final = {
    "id": ("eventId", "event_id", "uuid"),
    "type": ("event", "eventType", "event_type", "name"),
    "created_at": ("createdAt", "created", "timestamp", "time", "occurred_at", "occurredAt"),
}
_NOT_JSON: Final = "body must be one JSON object in UTF-8, well formed throughout"


class EnvelopeError(InvalidRequestError):
    """An envelope that cannot be used."""

    def __init__(self, words: str, path: str | None = None, code: FieldCode = FieldCode.MALFORMED) -> None:
        super().__init__(f"Validation failed: {words}", fields=[FieldError(path=path or "body", code=code)])
        self.path = path


class BankEnvelope(msgspec.Struct, frozen=True, gc=False):
    """The part of a bank event that is needed to take it in; ``data`` stays bytes."""

    id: str
    type: str
    created_at: str
    data: msgspec.Raw = msgspec.Raw()


_ENVELOPES: Final = msgspec.json.Decoder(BankEnvelope)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_envelope(raw: bytes) -> BankEnvelope:
    try:
        raw.decode()
        envelope = _ENVELOPES.decode(raw)
        is_ambiguous = has_duplicate_keys(raw, envelope.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _fault_of(raw) from None
    if is_ambiguous:
        raise EnvelopeError("body must name id, type, created_at and data once each", code=FieldCode.REPEATED)
    for name in ("id", "type"):
        if not _LABEL.fullmatch(getattr(envelope, name)):
            raise EnvelopeError(f"{name} must have 1-{MAX_ID_LENGTH} characters and no control characters", name)
    at = parse_instant(envelope.created_at)
    if at is None or at < 0 or len(envelope.created_at) == _DATE_LENGTH:
        raise EnvelopeError("created_at must be an RFC 3339 date-time with an offset, from 1970 on", "created_at")
    return envelope


def _fault_of(raw: bytes) -> EnvelopeError:
    """Why these bytes are no envelope."""
    try:
        raw.decode()
        fields: dict[str, Any] = _FIELDS.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        place = _PLACE.search(str(error))
        return EnvelopeError(
            format_fault(raw) or (f"{_NOT_JSON}; it breaks at byte {place[1]}" if place else _NOT_JSON)
        )
    for name in _NAMES:
        if name in fields and not bytes(fields[name]).startswith(b'"'):
            return EnvelopeError(f"{name} must be a string", name, FieldCode.WRONG_TYPE)
        if name not in fields:
            other = next((each for each in _OTHER_NAMES[name] if each in fields), None)
            hint = "" if other is None else f"; its name is {name}, and not {other}"
            return EnvelopeError(f"{name} is required{hint}", name, FieldCode.REQUIRED)
    return EnvelopeError(_NOT_JSON)


FIELDS: Final = frozenset({"id", "type", "created_at", "data"})

_QUOTED: Final = tuple(f'"{name}"'.encode() for name in sorted(FIELDS))
_LONG: Final = 32


def has_duplicate_keys(body: bytes, data: msgspec.Raw) -> bool:
    """``body`` is a valid envelope, and ``data`` the bytes of that field."""
    inner = bytes(data)
    rest = body.replace(inner, b"0", 1) if len(inner) >= _LONG else body
    if b"\\" not in rest and all(rest.count(name) <= 1 for name in _QUOTED):
        return False
    return not FIELDS.isdisjoint(repeated_names(rest))


_LOOKED_AT: Final = 4_096
_BY_FIRST_BYTES: Final = (
    (b"\x1f\x8b", "this is gzip: unpack it first"),
    (b"PK\x03\x04", "this is a ZIP file: unpack it first"),
    (b"PAR1", "this is a Parquet file: write its events as JSON, one a line"),
    (b"\xff\xfe", "this is UTF-16: write it as UTF-8"),
    (b"\xfe\xff", "this is UTF-16: write it as UTF-8"),
    (b"\xef\xbb\xbf", "this begins with a byte order mark: write it as UTF-8 without one"),
    (b"[", "this looks like a JSON array: put one event on each line, without brackets and commas"),
    (b"<", "this looks like XML or HTML: events are JSON, one a line"),
)
_UTF16: Final = "this looks like UTF-16: write it as UTF-8"
_CSV: Final = "this looks like CSV: events are JSON, one object a line"
_PRETTY: Final = "this looks like an object over several lines: each event takes one line"
_SEPARATORS: Final = b",;\t|"


def format_fault(beginning: bytes) -> str | None:
    """What a file or a body that should begin with ``{`` is instead; None when it may be JSON, or nothing known."""
    head = beginning[:_LOOKED_AT]
    for first, words in _BY_FIRST_BYTES:
        if head.startswith(first) or (first in (b"[", b"<") and head.lstrip().startswith(first)):
            return words
    if b"\x00" in head[:2]:
        return _UTF16
    line, newline, _ = head.lstrip().partition(b"\n")
    if line.startswith(b"{"):
        return _PRETTY if newline and line.strip() == b"{" else None
    return _CSV if any(separator in line for separator in _SEPARATORS) else None
