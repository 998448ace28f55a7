"""The envelope of a bank event: the conditions for accepting an event, and the fault of a refused one.

A field named twice is a fault in the envelope, because readers of JSON disagree on which of the two counts. ``data``
stays bytes, and is stored unchanged: neither of two fields of one name in it counts. A search for every name costs more
than reading the object. So a transfer is only searched when the name of its amount, status, currency or a country
occurs twice in its event, or may be written in escapes; the rarer objects of parties always are.

Errors  ``EnvelopeError``: one sentence, and the path of its field; it quotes nothing of the sender's
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import msgspec

from clearhold.features.bank.events import EVENT_DECODER, BankEvent
from clearhold.features.core.errors import FieldCode, FieldError, InvalidRequestError
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.vocabulary import Rail

_NESTED: Final = (
    *("return_details", "merchant", "counterparty", "beneficiary_address", "originator_address", "wire"),
    *("person_details", "business_details", "address", "balances", "transaction"),
)
"""The fields that are read and may be objects."""

_OF_TRANSFERS: Final = (b'"amount"', b'"status"', b'"currency_code"', b'"country_code"')
_LOOKED_FOR: Final = {
    rail: (*_OF_TRANSFERS, b'"deposited_amount"', b'"positive_pay_amount"') if rail is Rail.CHECK else _OF_TRANSFERS
    for rail in Rail
}
_ESCAPE: Final = b"\\"
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

Pairs = list[tuple[str, Any]]


def repeated_key(body: bytes, rail: Rail | None) -> str | None:
    """The path of a field that ``data`` of this event, or an object inside it that is read, names twice."""
    if rail is not None and body.find(_ESCAPE) < 0 and max(map(body.count, _LOOKED_FOR[rail])) <= 1:
        return None
    try:
        data = _MEMBERS.decode(body)["data"]
        repeated = repeated_names(bytes(data))
        if repeated:
            return f"data.{repeated[0]}"
        members = _MEMBERS.decode(data)
    except (msgspec.MsgspecError, ValueError, KeyError, RecursionError):
        return None  # ``data`` is no object, or cannot be read at all
    return next((f"data.{name}" for name in _NESTED if name in members and _repeats(members[name])), None)


def repeated_names(text: bytes) -> list[str]:
    """The names that an object repeats, without the objects inside it.

    >>> repeated_names(b'{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')
    ['a']
    """
    names: list[str] = []

    def note(pairs: Pairs) -> None:
        names[:] = [name for name, _ in pairs]  # the outermost object is finished last, so that its names stay

    _read(text, note)
    return [name for name, count in Counter(names).items() if count > 1]


def _repeats(nested: msgspec.Raw) -> bool:
    repeats = False

    def note(pairs: Pairs) -> None:
        nonlocal repeats
        repeats |= len({name for name, _ in pairs}) < len(pairs)

    _read(bytes(nested), note)
    return repeats


def _read(text: bytes, note: Callable[[Pairs], None]) -> None:
    json.loads(text, object_pairs_hook=note, parse_int=str, parse_float=str)  # numbers may be too long to read


MAX_ID_LENGTH: Final = 255
MOST_VALUES: Final = 20_000
"""Those of an event, so that reading it holds no other request; a comma is between any two."""

_LABEL: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,255}")
_DATE_LENGTH: Final = 10
_TRAILING: Final = "trailing characters"
_PLACE: Final = re.compile(r"\(byte ([0-9]+)\)$")
_NAMES: Final = ("id", "type", "created_at")
_OTHER_NAMES: Final = {
    "id": ("eventId", "event_id", "uuid"),
    "type": ("event", "eventType", "event_type", "name"),
    "created_at": ("createdAt", "created", "timestamp", "time", "occurred_at", "occurredAt"),
}
_READ: Final = [*_OTHER_NAMES, *chain.from_iterable(_OTHER_NAMES.values())]
_SENT: Final = msgspec.json.Decoder(msgspec.defstruct("_Sent", [(name, msgspec.Raw, msgspec.Raw()) for name in _READ]))
_TOO_MANY: Final = f"body must have at most {MOST_VALUES:,} values, by its commas"
_INSTANT: Final = "created_at must be an RFC 3339 date-time with an offset, from 1970 on, such as 2026-03-02T14:00:00Z"
_NOT_JSON: Final = "body must be one JSON object in UTF-8, well formed throughout"


class EnvelopeError(InvalidRequestError):
    """An envelope that cannot be used."""

    def __init__(self, words: str, path: str | None = None, code: FieldCode = FieldCode.MALFORMED) -> None:
        super().__init__(f"Validation failed: {words}", fields=[FieldError(path=path or "body", code=code)])
        self.path = path


def read_envelope(raw: bytes) -> BankEvent:
    if raw.count(b",") > MOST_VALUES:
        raise EnvelopeError(_TOO_MANY, code=FieldCode.TOO_LARGE)
    try:
        raw.decode()
        envelope = EVENT_DECODER.decode(raw)
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
        raise EnvelopeError(_INSTANT, "created_at")
    return envelope


def _fault_of(raw: bytes) -> EnvelopeError:
    """Why these bytes are no envelope."""
    try:
        raw.decode()
        sent = _SENT.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if (words := format_fault(raw)) is not None:
            return EnvelopeError(words)
        place = _PLACE.search(str(error))
        end = ", where the object ends" if _TRAILING in str(error) else ""
        return EnvelopeError(f"{_NOT_JSON}; it breaks at byte {place[1]}{end}" if place else _NOT_JSON)
    fields = {name: bytes(getattr(sent, name)) for name in _READ}
    for name in _NAMES:
        if fields[name] and not fields[name].startswith(b'"'):
            words = _INSTANT if name == "created_at" else f"{name} must be a string"
            return EnvelopeError(words, name, FieldCode.WRONG_TYPE)
        if not fields[name]:
            other = next((each for each in _OTHER_NAMES[name] if fields[each]), None)
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
    (b"[", "this looks like a JSON array: an event is one object; of several put each on a line, without commas"),
    (b'"{', "this looks like JSON inside a JSON text: encode the event once"),
    (b"<", "this looks like XML or HTML: events are JSON, one a line"),
)
_UTF16: Final = "this looks like UTF-16: write it as UTF-8"
_FORM: Final = "this looks like a form: the body is the event's JSON itself"
_CSV: Final = "this looks like CSV: events are JSON, one object a line"
_PRETTY: Final = "this looks like an object over several lines: each event takes one line"
_FORM_NAME: Final = re.compile(rb"[\w%.-]{1,64}=")
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
    if _FORM_NAME.match(line):
        return _FORM
    return _CSV if any(separator in line for separator in _SEPARATORS) else None
