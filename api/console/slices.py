"""Pages are written in slices on the event loop, so that a pre-flight which waits there waits for one slice."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

SLICE: Final = 256
"""Pieces of a page in a slice: half a millisecond."""


class Pieces(Protocol):
    """A page, or a part of one, before it is written."""

    def iter_chunks(self) -> Iterator[str]: ...


async def written(page: Pieces) -> bytes:
    """The page's bytes; other work of the loop comes between two slices."""
    pieces, parts = page.iter_chunks(), list[str]()
    while slice_ := list(islice(pieces, SLICE)):
        parts += slice_
        await asyncio.sleep(0)
    return "".join(parts).encode()
