"""Cursors of keyset pages: opaque to callers, and without authority.

A cursor holds its version, the last sort key and a hash of the filters. Tenant and program are applied on each page.

Errors  InvalidRequestError for an unreadable cursor, or one of other filters
"""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any, Final

import msgspec

from clearhold.features.core.errors import ErrorCode, FieldCode, FieldError, InvalidRequestError

VERSION: Final = 1
UNREADABLE: Final = "Validation failed: cursor must be a nextCursor of this list"
OTHER_FILTERS: Final = "Validation failed: cursor must be used with the same filters as the page that it came from"

_MAX_INSTANT: Final = 2**62
_MANY: Final = (list, tuple)


class Place(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The sort key of the last item on a page."""

    at: int
    id: str
    program_id: str


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    version: int
    filters: str
    place: Place


_CURSORS: Final = msgspec.json.Decoder(_Cursor)


def place_key(place: Place) -> tuple[int, str]:
    """The place in a list whose ids are unique in the tenant."""
    return place.at, place.id


def cursor_for(place: Place, filters: Any) -> str:
    """The cursor of the page after ``place``; ``filters`` is a Struct or mapping of plain values and lists of them."""
    encoded = msgspec.json.encode(_Cursor(VERSION, _hash(filters), place))
    return urlsafe_b64encode(encoded).rstrip(b"=").decode()


def place_of(cursor: str, filters: Any) -> Place:
    """The place after which the page of this cursor begins."""
    try:
        decoded = _CURSORS.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        raise unusable_cursor(UNREADABLE) from None
    if decoded.version != VERSION or abs(decoded.place.at) > _MAX_INSTANT:
        raise unusable_cursor(UNREADABLE)
    if decoded.filters != _hash(filters):
        raise unusable_cursor(OTHER_FILTERS, FieldCode.CONFLICTING)
    return decoded.place


def unusable_cursor(sentence: str, code: FieldCode = FieldCode.MALFORMED) -> InvalidRequestError:
    return InvalidRequestError(sentence, ErrorCode.CURSOR_INVALID, fields=[FieldError(path="cursor", code=code)])


def _hash(filters: Any) -> str:
    """Equal for equivalent filters: neither the order nor the repetition of a filter's values matters."""
    values: dict[str, Any] = msgspec.to_builtins(filters)
    wanted = {name: sorted(set(value)) if isinstance(value, _MANY) else value for name, value in values.items()}
    return sha256(msgspec.json.encode(wanted, order="deterministic")).hexdigest()[:16]
