"""Pages are written in slices on the event loop, so that a pre-flight which waits there waits for one slice.

How     The tree of htpy's nodes is written from one stack, with the same bytes as htpy's own writing, in a third of its
        time: that passes each piece up through a generator for each element above it, and asks a protocol what a tuple
        is. A test compares both on all kinds of nodes
"""

from collections.abc import Iterator
from itertools import islice
from types import GeneratorType
from typing import Any, Final, NamedTuple

import htpy as h
from markupsafe import Markup, escape

from clearhold.api.http.in_the_air import in_the_air

SLICE: Final = 256
"""Pieces of a page in a slice: half a millisecond."""

_DOCTYPE: Final = "<!doctype html>"
_CONSUMED: Final = "Generator has already been consumed"
_END: Final = object()


async def written(page: h.Node) -> bytes:
    """The page's bytes; other work of the loop comes between two slices, and pre-flights in the air go first."""
    pieces, parts, none = pieces_of(page), list[str](), in_the_air().none
    while slice_ := list(islice(pieces, SLICE)):
        parts += slice_
        await none()
    return "".join(parts).encode()


def pieces_of(page: h.Node) -> Iterator[str]:
    """The text of a page in parts."""
    stack: list[_Open] = [_Open(iter((page,)), "")]
    while stack:
        nodes, end = stack[-1]
        node: Any = next(nodes, _END)
        kind = type(node)
        if node is _END:
            yield end
            stack.pop()
        elif kind is str:
            yield escape(node)
        elif kind is h.Element:
            if type(node._children) is str:  # noqa: SLF001 - as above
                yield f"<{node._name}{node._attrs}>{escape(node._children)}</{node._name}>"  # noqa: SLF001
                continue
            yield f"<{node._name}{node._attrs}>"  # noqa: SLF001
            stack.append(_Open(_each(node._children), f"</{node._name}>"))  # noqa: SLF001
        elif kind is Markup:
            yield node
        elif node is not None and kind is not bool:
            stack.append(_opened(node))


class _Open(NamedTuple):
    """Nodes that are not written yet, and the end tag behind them."""

    nodes: Iterator[Any]
    end: str


def _each(children: Any) -> Iterator[Any]:
    return iter(children) if type(children) in _MANY else iter((children,))


def _opened(node: Any) -> _Open:
    """A node that is neither a text nor an element with an end tag."""
    kind = type(node)
    if kind in _MANY:
        return _Open(iter(node), "")
    if kind is GeneratorType:
        if node.gi_frame is None:
            raise RuntimeError(_CONSUMED)
        return _Open(node, "")
    if kind is h.HTMLElement:
        start = Markup(f"{_DOCTYPE}<{node._name}{node._attrs}>")  # noqa: S704, SLF001 - as htpy's own
        return _Open(iter((start, node._children)), f"</{node._name}>")  # noqa: SLF001
    if kind is h.Fragment:
        return _Open(iter((node._node,)), "")  # noqa: SLF001
    return _Open(map(Markup, h.fragment[node].iter_chunks()), "")


_MANY: Final = frozenset((tuple, list))
