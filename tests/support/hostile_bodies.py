"""Bodies that nobody honest sends: each made from a right one."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

CANARY: Final = "s3cr3t-c4n4ry"


def with_value(body: dict[str, Any], raw: bytes) -> bytes:
    """The body with one more property, whose value is these bytes."""
    return msgspec.json.encode(body)[:-1] + b',"surprise":' + raw + b"}"


def instead(body: dict[str, Any], raw: bytes) -> bytes:
    """The body with these bytes in place of its first text, of one with lists alone the first item that is a text."""
    encoded = msgspec.json.encode(body)
    name, value = next(_texts_in(body), (None, None))
    if name is None:
        item = msgspec.json.encode(next(_items_in(body)))
        assert item in encoded
        return encoded.replace(item, raw, 1)
    pair = msgspec.json.encode({name: value})[1:-1]
    assert pair in encoded
    return encoded.replace(pair, msgspec.json.encode(name) + b":" + raw, 1)


def _texts_in(body: dict[str, Any]) -> Iterator[tuple[str, str | int]]:
    for name, value in body.items():
        if isinstance(value, dict):
            yield from _texts_in(value)
        elif isinstance(value, str | int):
            yield name, value


def _items_in(body: dict[str, Any]) -> Iterator[str | int]:
    for value in body.values():
        if isinstance(value, list):
            yield from (item for item in value if isinstance(item, str | int))


def repeated(body: dict[str, Any], _: bytes = b"") -> bytes:
    """The body with its first property said twice, the same both times."""
    encoded = msgspec.json.encode(body)
    name, value = next(iter(body.items()))
    return b"{" + msgspec.json.encode({name: value})[1:-1] + b"," + encoded[1:]


def wrapped(body: dict[str, Any], raw: bytes) -> bytes:
    """The body with these bytes before it."""
    return raw + msgspec.json.encode(body)


def followed(body: dict[str, Any], raw: bytes) -> bytes:
    return msgspec.json.encode(body) + raw


def alone(_: dict[str, Any], raw: bytes) -> bytes:
    return raw


Hostile = tuple[Callable[[dict[str, Any], bytes], bytes], bytes]

HOSTILE: Final[dict[str, Hostile]] = {
    "empty": (alone, b""),
    "blank": (alone, b" \r\n\t"),
    "not json": (alone, b"{" + CANARY.encode()),
    "a comment": (followed, b"// " + CANARY.encode()),
    "a list": (alone, b"[]"),
    "null": (alone, b"null"),
    "true": (alone, b"true"),
    "a text": (alone, msgspec.json.encode(CANARY)),
    "a number": (alone, b"7"),
    "two values": (followed, b"{}"),
    "a byte order mark": (wrapped, b"\xef\xbb\xbf"),
    "a NUL before": (wrapped, b"\x00"),
    "a NUL behind": (followed, b"\x00"),
    "lists in lists": (with_value, b"[" * 20_000 + b"]" * 20_000),
    "objects in objects": (with_value, b'{"a":' * 8_000 + b"1" + b"}" * 8_000),
    "open lists": (alone, b"[" * 60_000),
    "open objects": (alone, b'{"a":' * 12_000),
    "an unknown property": (with_value, msgspec.json.encode(CANARY)),
    "a repeated property": (repeated, b""),
    "a property named like a prototype": (with_value, b'1,"__proto__":{"admin":true}'),
    "NaN": (instead, b"NaN"),
    "Infinity": (instead, b"Infinity"),
    "minus Infinity": (instead, b"-Infinity"),
    "a number beyond floats": (instead, b"1e999"),
    "a number of fifty thousand digits": (instead, b"9" * 50_000),
    "a fraction of fifty thousand digits": (instead, b"0." + b"9" * 50_000),
    "a list for a text": (instead, b"[" + msgspec.json.encode(CANARY) + b"]"),
    "an object for a text": (instead, b'{"a":' + msgspec.json.encode(CANARY) + b"}"),
    "a flag for a text": (instead, b"true"),
    "a NUL in a text": (instead, b'"a\\u0000' + CANARY.encode() + b'"'),
    "a lone high surrogate": (instead, b'"a\\ud800' + CANARY.encode() + b'"'),
    "a lone low surrogate": (instead, b'"a\\udc00' + CANARY.encode() + b'"'),
    "surrogates the wrong way round": (instead, b'"a\\udc00\\ud800"'),
    "surrogates in utf-8": (instead, b'"a\xed\xa0\x80"'),
    "bad utf-8": (instead, b'"a\xff' + CANARY.encode() + b'"'),
    "overlong utf-8": (instead, b'"a\xc0\xaf"'),
    "a bare control character": (instead, b'"a\x01b"'),
    "a text without an end": (instead, b'"' + CANARY.encode()),
    "a text that is too long": (instead, b'"' + b"x" * 8_001 + b'"'),
    "an escape that is none": (instead, b'"\\x41"'),
    "single quotes": (instead, b"'" + CANARY.encode() + b"'"),
    "a number with a leading zero": (instead, b"007"),
    "a hexadecimal number": (instead, b"0x10"),
}
