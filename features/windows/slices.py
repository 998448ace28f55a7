"""Dumps in slices: what is encoded in one go holds the interpreter, and so whoever asks a pre-flight, only briefly."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

AT_ONCE: Final = 1_000

Slice = tuple[str, list[Any]]
"""A word for what is dumped, and some of it."""


def in_slices(part: str, items: Iterable[Any]) -> Iterator[Slice]:
    """``AT_ONCE`` of the items at a time; nothing for none."""
    rest = iter(items)
    while held := list(islice(rest, AT_ONCE)):
        yield part, held
