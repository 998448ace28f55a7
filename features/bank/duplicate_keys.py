"""Whether an event's envelope names a field twice: readers of JSON disagree on which of the two counts.

``data`` is not searched: it is stored unchanged, and a fault in it costs only that field.
"""

import json
from typing import Any, Final

import msgspec

FIELDS: Final = frozenset({"id", "type", "created_at", "data"})

_QUOTED: Final = tuple(f'"{name}"'.encode() for name in sorted(FIELDS))
_LONG: Final = 32


def has_duplicate_keys(body: bytes, data: msgspec.Raw) -> bool:
    """``body`` is a valid envelope, and ``data`` the bytes of that field."""
    inner = bytes(data)
    rest = body.replace(inner, b"0", 1) if len(inner) >= _LONG else body
    if b"\\" not in rest and all(rest.count(name) <= 1 for name in _QUOTED):
        return False
    return _repeats(rest.decode())


def _repeats(text: str) -> bool:
    repeated = False

    def note(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated  # The outermost object is finished last, so that its answer stays.
        names = [name for name, _ in pairs if name in FIELDS]
        repeated = len(names) > len(set(names))

    json.loads(text, object_pairs_hook=note, parse_int=str, parse_float=str)  # Numbers may be too long to be read.
    return repeated
