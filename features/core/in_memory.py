"""The base of what the state holds many of."""

import sys
from typing import Any

import msgspec


class InMemory(msgspec.Struct, eq=False, gc=False):
    """An object of the state's memory: never decoded, in no cycle, the same as itself alone.

    Classes made from it state no options of their own: the compiled build would lose them (``setup.py``).
    """


def shared(value: Any) -> Any:
    """The value; a word that many of them have is in memory once."""
    return sys.intern(value) if type(value) is str else value
