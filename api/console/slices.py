"""Pages are written in slices on the event loop, so that a pre-flight which waits there waits for one slice."""

from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

from clearhold.api.http.in_the_air import in_the_air

SLICE: Final = 256
"""Pieces of a page in a slice: half a millisecond."""


class Pieces(Protocol):
    """A page, or a part of one, before it is written."""

    def iter_chunks(self) -> Iterator[str]: ...


async def written(page: Pieces) -> bytes:
    """The page's bytes; other work of the loop comes between two slices."""
    pieces, parts, none = page.iter_chunks(), list[str](), in_the_air().none
    while slice_ := list(islice(pieces, SLICE)):
        parts += slice_
        await none()
    return "".join(parts).encode()
