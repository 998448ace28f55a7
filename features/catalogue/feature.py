"""How a feature is declared, once: as a field of a group, with its name on the wire and its meaning. Its unit and its
window are the last words of the field's name, or are stated beside it.

A group is measured together. It is built with its fields by name, so that the type checker finds a missing, misspelled
or wrongly typed value; a Struct takes a tenth of the time of a named tuple.
"""

import re
from collections.abc import Iterator
from types import NoneType
from typing import Final, NamedTuple, get_args, get_type_hints

import msgspec

from clearhold.features.core.money import counted

THE_TRANSFER: Final = "the transfer itself"
ALL_HISTORY: Final = "all history"

_WORDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}
_UNITS: Final = frozenset({"cents", "days", "hops", "percent"})
_UNIT_OF: Final = {"boolean": "", "integer": "count", "number": "ratio", "string": "word"}
_WINDOW: Final = re.compile(r"_(\d+)(h|d|bd)$")
_SPAN_OF: Final = {"h": "hour", "d": "day", "bd": "banking day"}


class Group(msgspec.Struct, frozen=True, gc=False):
    """Some fields of the vector, in its order: ``Annotated[type, feature(...), meaning]``."""


class Feature(NamedTuple):
    """One row of the catalogue; ``column`` is the field of the vector."""

    name: str
    column: str
    type: str
    unit: str
    window: str
    meaning: str


def feature(name: str, window: str | None = None, *, unit: str | None = None) -> tuple[str, str | None, str | None]:
    """The name of a feature on the wire; window and unit where its column does not name them."""
    return name, window, unit


def features_of(group: type[Group]) -> Iterator[Feature]:
    for column, declared in get_type_hints(group, include_extras=True).items():
        kind, (name, window, unit), meaning = get_args(declared)
        word = next(_WORDS[each] for each in get_args(kind) or (kind,) if each is not NoneType)
        if unit is None:
            unit = next((each for each in column.split("_") if each in _UNITS), _UNIT_OF[word])
        yield Feature(name, column, word, unit, window or _window_of(column), meaning)


def _window_of(column: str) -> str:
    window = _WINDOW.search(column)
    assert window is not None, f"{column} states no window"
    return counted(int(window[1]), _SPAN_OF[window[2]])
