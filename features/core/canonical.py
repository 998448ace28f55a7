"""The record's canonical form: RFC 8785 (JCS) over a restricted domain. These bytes are hashed, chained and exported.

Domain  objects with ASCII keys; strings unchanged, not normalised; integers within +-(2**53 - 1); other numbers to
        ``DECIMALS`` places; nulls present. Cents are strings of digits, times are texts of ``format_instant``
Why     inside this domain a sorted ``json.dumps`` gives the same bytes, so an examiner needs no JCS library
Errors  ``ValueError`` for a value outside of the domain, which is a fault of ours and never a caller's
"""

from enum import StrEnum
from hashlib import sha256
from math import isfinite
from typing import Any, Final

import msgspec

DECIMALS: Final = 4
MAX_INTEGER: Final = 2**53 - 1

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_AS_THEY_ARE: Final = frozenset({str, bool, type(None)})  # most values of a body


class Chain(StrEnum):
    """The hash chains of a tenant."""

    DISPOSITIONS = "dispositions"
    ACTIONS = "actions"


class LineKind(StrEnum):
    """The kind of a line of an export; the first two are cited by digest, the others are links of a chain."""

    POLICY = "policy"
    ALERT = "alert"
    DISPOSITION = "disposition"
    ACTION = "action"


KIND_OF_CHAIN: Final = {Chain.DISPOSITIONS: LineKind.DISPOSITION, Chain.ACTIONS: LineKind.ACTION}


def canonical(body: Any) -> bytes:
    """The canonical bytes of a Struct or of decoded JSON."""
    return _ENCODER.encode(_within_domain(msgspec.to_builtins(body)))


def digest_of(body: bytes) -> str:
    """The digest by which another body cites this one."""
    return sha256(body).hexdigest()


def link_hash(prev_hash: str | None, body: bytes) -> str:
    """The hash of a link, the first with ``prev_hash`` None; unambiguous, because a body starts with a brace."""
    return sha256((prev_hash or "").encode() + body).hexdigest()


def _within_domain(value: Any) -> Any:
    if isinstance(value, dict):
        if not "".join(value).isascii():
            raise ValueError("A key of a recorded body is not ASCII.")
        return {key: item if type(item) in _AS_THEY_ARE else _within_domain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _AS_THEY_ARE else _within_domain(item) for item in value]
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        raise ValueError("An integer of a recorded body is beyond 2**53 - 1.")
    return value


def _number(value: float) -> int | float:
    """To four places; one without a fraction is an integer, because JCS writes 1 and not 1.0."""
    if not isfinite(value) or abs(value) > MAX_INTEGER:
        raise ValueError("A number of a recorded body is not finite, or beyond 2**53 - 1.")
    rounded = round(value, DECIMALS)
    return int(rounded) if rounded.is_integer() else rounded


def record_line(kind: LineKind, body: bytes, link: tuple[str, int, str | None, str] | None = None) -> bytes:
    """A line of an export, itself canonical. ``link`` is chain, seq, prevHash and hash of a link."""
    if link is None:
        return b'{"body":%b,"chain":null,"hash":null,"kind":"%b","prevHash":null,"seq":null}' % (body, kind.encode())
    chain, seq, prev_hash, hash_ = link
    link_fields = f'"chain":"{chain}","hash":"{hash_}","kind":"{kind}","prevHash":{_quoted(prev_hash)},"seq":{seq}'
    return b'{"body":%b,%b}' % (body, link_fields.encode())


def _quoted(text: str | None) -> str:
    """A hash needs no escaping."""
    return "null" if text is None else f'"{text}"'
