"""How a feature is declared, once: as a field of a group, with its name on the wire, its unit, window and meaning.

A group is measured together. It is built with its fields by name, so that the type checker finds a missing, misspelled
or wrongly typed value; a Struct takes a tenth of the time of a named tuple.
"""

from collections.abc import Iterator
from types import NoneType
from typing import Final, NamedTuple, get_args, get_type_hints

import msgspec

THE_TRANSFER: Final = "the transfer itself"
ALL_HISTORY: Final = "all history"

_WORDS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


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


def feature(name: str, unit: str, window: str) -> tuple[str, str, str]:
    """The name of a feature on the wire, the unit of its value, and the window that it is taken over."""
    return name, unit, window


def features_of(group: type[Group]) -> Iterator[Feature]:
    """The features that a group declares."""
    for column, declared in get_type_hints(group, include_extras=True).items():
        kind, (name, unit, window), meaning = get_args(declared)
        word = next(_WORDS[each] for each in get_args(kind) or (kind,) if each is not NoneType)
        yield Feature(name, column, word, unit, window, meaning)
