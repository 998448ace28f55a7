"""The envelope of a bank event: the conditions for taking an event in. ``data`` stays bytes.

Errors  ``EnvelopeError``: one sentence, and the path of its field; it quotes nothing of the sender's
"""

import re
from typing import Any, Final

import msgspec

from clearhold.features.bank.duplicate_keys import has_duplicate_keys
from clearhold.features.bank.file_formats import format_fault
from clearhold.features.core.errors import FieldCode, FieldError, InvalidRequestError
from clearhold.features.core.instants import parse_instant

MAX_ID_LENGTH: Final = 255

_LABEL: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,255}")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
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
    at = parse_instant(envelope.created_at) if _MOMENT.fullmatch(envelope.created_at) else None
    if at is None or at < 0:
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
