"""The bytes of everything that an object leads to, each object once, as the allocator rounds them."""

import gc
import sys
from enum import Enum
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

import msgspec

_SHARED: Final = (type, FunctionType, MethodType, ModuleType, Enum, bool, type(None))
_ROUNDED_TO: Final = 16
_SMALL_INTS: Final = range(-5, 257)


def bytes_of(root: object, *, besides: set[int] | None = None) -> int:
    """The sum; ``besides`` are the ids of objects that were counted before, and those counted now are added to it."""
    total, seen, waiting = 0, set() if besides is None else besides, [root]
    while waiting:
        each = waiting.pop()
        if isinstance(each, _SHARED) or id(each) in seen or (type(each) is int and each in _SMALL_INTS):
            continue
        seen.add(id(each))
        total += -(-sys.getsizeof(each) // _ROUNDED_TO) * _ROUNDED_TO
        waiting.extend(_parts_of(each))
    return total


def _parts_of(each: object) -> list[Any]:
    if isinstance(each, msgspec.Struct):  # many of them are hidden from the collector
        return [getattr(each, name) for name in each.__struct_fields__]
    return gc.get_referents(each)
