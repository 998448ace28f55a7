"""Nested data in words: a list of its parts, and what differs between two of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import NO_VALUE, count, money, outsider, outsider_prose

_CENTS: Final = "cents"
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])[A-Z]")


def spaced(name: str) -> str:
    """A field's name in words: ``wouldAlert`` is would alert."""
    return _CAPITAL.sub(lambda letter: f" {letter[0].lower()}", name)


def parts_of(name: str, value: Any) -> h.Node:
    """A value under its name; of an object each part, a list folded."""
    match value:
        case None:
            node: h.Node = "none"
        case bool():
            node = "yes" if value else "no"
        case int() | float():
            node = f"{value:,}"
        case str():
            node = money(value) if name.lower().endswith(_CENTS) and value.isdigit() else outsider_prose(value)
        case dict():
            node = h.dl(".parts")[((h.dt[spaced(part)], h.dd[parts_of(part, inner)]) for part, inner in value.items())]
        case _:
            written = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
            node = h.details[h.summary[count(len(value), "entry", "entries")], h.pre[outsider(written, most=None)]]
    return node


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """The places of two objects whose values differ, with both as JSON; None where a place is only in one.

    A list of texts differs by its members.
    """
    old, new = dict(_leaves(before)), dict(_leaves(after))
    places = dict.fromkeys((*old, *new))
    return [(place, old.get(place), new.get(place)) for place in places if old.get(place) != new.get(place)]


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str) and value and all(map(_is_text, value)):
        for item in dict.fromkeys(value):
            yield f"{place}[{item}]", "listed"
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{number}]")
    elif isinstance(value, float) and value.is_integer():
        yield place, str(int(value))
    else:
        yield place, msgspec.json.encode(value).decode()


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def change_table(before: Mapping[str, Any], after: Mapping[str, Any], heads: tuple[str, str]) -> h.Node:
    differing = changes(before, after)
    if not differing:
        return h.p["Nothing differs."]
    return wide_table(
        "Difference",
        ("Place", *heads),
        (
            h.tr[
                h.th(scope="row")[h.code[outsider(place, most=None)]],
                h.td(".words", data_label=heads[0])[_cell(old)],
                h.td(".words", data_label=heads[1])[_cell(new)],
            ]
            for place, old, new in differing
        ),
        style="endpoints",
    )


def _cell(text: str | None) -> h.Node:
    return NO_VALUE if text is None else h.code[outsider(text, most=None)]
