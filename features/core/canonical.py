"""The record's canonical form: RFC 8785 (JCS) over a restricted domain. These bytes are hashed, chained and exported.
Also derived ids: the same cause has the same id at each delivery and on each machine.

Domain  objects with ASCII keys; strings unchanged, not normalised; integers within +-(2**53 - 1); other numbers to
        ``DECIMALS`` places; nulls present. Cents are strings of digits, times are texts of ``format_instant``
Why     inside this domain a sorted ``json.dumps`` gives the same bytes, so an examiner needs no JCS library
Errors  ``ValueError`` for a value outside of the domain, which is a fault of ours and never a caller's

A derived id is a version 5 UUID (RFC 9562) in a namespace for its kind of object, so that ids of two kinds never
collide. Fresh ids are random and made in ``store/ids.py``. The sandbox's ids are known by their tag, because no bank is
queried for them.
"""

import re
import uuid
from enum import StrEnum
from hashlib import sha1, sha256
from math import isfinite
from typing import Any, Final
from urllib.parse import quote

import msgspec

DECIMALS: Final = 4
MAX_INTEGER: Final = 2**53 - 1

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_AS_THEY_ARE: Final = frozenset({str, bool, type(None)})  # most values of a body


class Chain(StrEnum):
    """The hash chains of a tenant."""

    DISPOSITIONS = "dispositions"
    ACTIONS = "actions"


ALERT_NOTE: Final = "alert_note"
"""The kind of a link among the actions that is a note on an alert."""


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


def json_text(value: object) -> str:
    """A value as JSON, in the order of its fields: for columns and bodies that are not hashed."""
    return _ENCODE(value).decode()


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
    quoted = "null" if prev_hash is None else f'"{prev_hash}"'  # a hash needs no escaping
    link_fields = f'"chain":"{chain}","hash":"{hash_}","kind":"{kind}","prevHash":{quoted},"seq":{seq}'
    return b'{"body":%b,%b}' % (body, link_fields.encode())


_VARIANTS: Final = "89ab" * 4
_DOTS: Final = (".", "..")
_ENCODE: Final = msgspec.json.Encoder().encode


class IdNamespace:
    """The derived ids of one kind of object, in a quarter of the time that ``uuid.uuid5`` takes.

    >>> IdNamespace("alerts").id_of("prg_1/velocity/acct_1")
    '8b5a7292-935c-5449-9007-d3908c04fe62'
    """

    __slots__ = ("_seeded",)

    def __init__(self, kind: str) -> None:
        namespace = uuid.uuid5(uuid.NAMESPACE_URL, f"https://clearhold.invalid/{kind}")
        self._seeded = sha1(namespace.bytes, usedforsecurity=False)  # the input of a version 5 UUID in RFC 9562

    def id_of(self, cause: str) -> str:
        """The id of the object that this text names."""
        seeded = self._seeded.copy()
        seeded.update(cause.encode("utf-8", "surrogatepass"))
        name = seeded.hexdigest()
        return f"{name[:8]}-{name[8:12]}-5{name[13:16]}-{_VARIANTS[int(name[16], 16)]}{name[17:20]}-{name[20:32]}"


def path_segment(given_id: str) -> str:
    """An id as one segment of a path, where ``..`` and an empty segment would name a different resource.

    >>> path_segment("inv/7"), path_segment("..")
    ('inv%2F7', '%2E%2E')
    """
    if not given_id:
        raise ValueError("An id in a path must not be empty.")
    return given_id.replace(".", "%2E") if given_id in _DOTS else quote(given_id, safe="")


ALERT_IDS: Final = IdNamespace("alerts")
POLICY_IDS: Final = IdNamespace("policies")
SCORE_IDS: Final = IdNamespace("scores")
SNAPSHOT_IDS: Final = IdNamespace("kri-snapshots")
WEBHOOK_EVENT_IDS: Final = IdNamespace("webhook-events")
WEBHOOK_DELIVERY_IDS: Final = IdNamespace("webhook-deliveries")
_EFFECT_IDS: Final = IdNamespace("ids")


def derived_id(*parts: str) -> str:
    """The id of the object that these parts cause. Parts are separated: ``("a", "bc")`` and ``("ab", "c")`` differ."""
    return _EFFECT_IDS.id_of(json_text(parts))


def number_of(derived: str) -> int:
    """The 128 bits of a derived id.

    >>> with_number(number_of("8b5a7292-935c-5449-9007-d3908c04fe62"))
    '8b5a7292-935c-5449-9007-d3908c04fe62'
    """
    return int(derived.replace("-", ""), 16)


def with_number(number: int) -> str:
    name = f"{number:032x}"
    return f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}"


def is_derived(known: str) -> bool:
    """Whether an id was derived (UUID version 5) and not made fresh (version 4)."""
    return known[14] == "5"


SANDBOX_TAG: Final = "sbx"
TAG_DIGITS: Final = 12
SANDBOX_ID: Final = rf"^[a-z]+_{SANDBOX_TAG}[0-9a-f]{{{TAG_DIGITS}}}"

_SANDBOX_ID: Final = re.compile(SANDBOX_ID)


def is_sandbox_id(party_id: str) -> bool:
    return _SANDBOX_ID.match(party_id) is not None
