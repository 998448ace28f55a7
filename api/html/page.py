"""A page: its head, one style sheet, and the policy that allows only this sheet.

htpy escapes all text; ``Markup`` marks the few strings that are markup already.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final

import htpy as h
import msgspec
from markupsafe import Markup

_SHEET: Final = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
_FOOT: Final = (
    "@page {{ size: A4; margin: 14mm 14mm 16mm; font: 7.5pt system-ui, sans-serif; color: #5b6672;"
    " @bottom-left {{ content: '{key}'; }} @bottom-right {{ content: 'Page ' counter(page) ' of ' counter(pages); }} }}"
)
_CLOSED: Final = "base-uri 'none'; form-action 'none'"
_UNFRAMED: Final = "frame-ancestors 'none'"


class Page(msgspec.Struct, frozen=True):
    """A page and its Content-Security-Policy."""

    body: bytes
    policy: str


def printed_page(title: str, key: str, *content: h.Node) -> Page:
    """A page to read and to print, without scripts. ``key`` names it at the foot of each sheet of paper.

    The page also contains the policy, for saved copies; ``frame-ancestors`` works only in a header.
    """
    style = f"{_SHEET}{_FOOT.format(key=_plain(key))}"
    policy = f"default-src 'none'; style-src {source_of(style)}; {_CLOSED}"
    head = (
        h.meta(http_equiv="Content-Security-Policy", content=policy),
        h.title[title],
        h.style[Markup(style)],  # noqa: S704 - the sheet above and a key without quotes or brackets
    )
    return Page(document(head, h.main[content]), f"{policy}; {_UNFRAMED}")


def document(head: h.Node, body: h.Node) -> bytes:
    """The bytes of a page."""
    metas = (h.meta(charset="utf-8"), h.meta(name="viewport", content="width=device-width, initial-scale=1"))
    return str(h.html(lang="en")[h.head[metas, head], h.body[body]]).encode()


def source_of(content: str | bytes) -> str:
    """The source expression that allows only this script or sheet."""
    data = content.encode() if isinstance(content, str) else content
    return f"'sha256-{b64encode(sha256(data).digest()).decode()}'"


def _plain(key: str) -> str:
    return "".join(char for char in key if char.isascii() and (char.isalnum() or char in ":-_"))
