"""The base of what the state holds many of."""

import sys
from typing import Any

import msgspec


class InMemory(msgspec.Struct, eq=False, gc=False):
    """An object of the state's memory: never decoded, in no cycle, equal to itself alone."""


def shared(value: Any) -> Any:
    """The value; a word that many of them have is in memory once."""
    return sys.intern(value) if type(value) is str else value
