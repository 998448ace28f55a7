"""Dumps in slices, so that encoding one of them holds the interpreter, and thereby a pre-flight, only briefly."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

AT_ONCE: Final = 1_000

Slice = tuple[str, list[Any]]
"""The name of a part, and some of its items."""


def in_slices(part: str, items: Iterable[Any]) -> Iterator[Slice]:
    """``AT_ONCE`` of the items at a time; nothing for none."""
    rest = iter(items)
    while items_at_once := list(islice(rest, AT_ONCE)):
        yield part, items_at_once
