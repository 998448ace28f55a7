"""Objects of the bank that name a field twice. Readers of JSON disagree on which of the two counts, so neither does.

A search for every name costs more than reading the object. So a transfer is only searched when the name of its amount,
status or currency occurs twice in its event; the rarer objects of parties always are.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec

from clearhold.features.core.vocabulary import Rail

_NESTED: Final = (
    *("return_details", "merchant", "counterparty", "beneficiary_address", "originator_address", "wire"),
    *("person_details", "business_details", "address", "balances", "transaction"),
)
"""The fields that are read and may be objects."""

_OF_TRANSFERS: Final = (b'"amount"', b'"status"', b'"currency_code"')
_LOOKED_FOR: Final = {
    rail: (*_OF_TRANSFERS, b'"deposited_amount"', b'"positive_pay_amount"') if rail is Rail.CHECK else _OF_TRANSFERS
    for rail in Rail
}
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

Pairs = list[tuple[str, Any]]


def repeated_key(body: bytes, rail: Rail | None) -> str | None:
    """The path of a field that ``data`` of this event, or an object inside it that is read, names twice."""
    if rail is not None and not any([body.count(name) > 1 for name in _LOOKED_FOR[rail]]):  # noqa: C419 - half the cost
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
