"""The base of objects that the state holds in large numbers."""

import sys
from typing import Any

import msgspec


class InMemory(msgspec.Struct, eq=False, gc=False):
    """An object of the state's memory: never decoded, in no cycle, equal to itself alone."""


def shared(value: Any) -> Any:
    """The value, as one object in memory however often it occurs."""
    return sys.intern(value) if type(value) is str else value
