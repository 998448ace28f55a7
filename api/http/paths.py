"""Paths whose segments are the caller's own strings: ``%2F`` is part of an id, and never a separator.

A path is split where it was sent, so that routing sees the segments of the request. Within a segment, ``/`` and ``%``
stay escaped until the route is known. An inner segment without characters is one that no literal and no id equals.
"""

from typing import Any, Final
from urllib.parse import unquote_to_bytes

from litestar.types import ASGIApp, Receive, Scope, Send

_NONE: Final = "%"
"""An empty segment, which the router would leave out."""


def split_as_sent(app: ASGIApp) -> ASGIApp:
    """The application, with the path of each request as its segments were sent."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope["raw_path"].partition(b"?")[0]
        if b"%" in raw or b"//" in raw:
            scope["path"] = _routed(raw)
        await app(scope, receive, send)

    return handle


def read_ids(scope: Any) -> None:
    """Once the route is known: the path parameters as the caller's own strings."""
    sent = scope["path_params"]
    if any("%" in each for each in sent.values()):  # The router shares its dictionary between requests.
        scope["path_params"] = {name: _read(each) for name, each in sent.items()}


def _routed(raw: bytes) -> str:
    *inner, last = raw.split(b"/")[1:]
    return "/" + "/".join([_escaped(each) or _NONE for each in inner] + [_escaped(last)])


def _escaped(segment: bytes) -> str:
    return unquote_to_bytes(segment).decode("utf-8", "replace").replace("%", "%25").replace("/", "%2F")


def _read(segment: str) -> str:
    return "" if segment == _NONE else segment.replace("%2F", "/").replace("%25", "%")
