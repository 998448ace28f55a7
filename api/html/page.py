"""A page: its parts, its head, one style sheet, and the policy that allows only this sheet.

htpy escapes all text; ``Markup`` marks the few strings that are markup already.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
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


def section(title: str, *content: h.Node) -> h.Element:
    return h.section[h.h2[title], content]


def table(heads: Sequence[str], body: Iterable[Sequence[h.Node]], *, numbers: int) -> h.Element:
    """A table whose columns from ``numbers`` on are figures."""
    styles = ["text" if place < numbers else "number" for place in range(len(heads))]
    head = (h.th(scope="col", class_=style)[each] for each, style in zip(heads, styles, strict=True))
    lines = (h.tr[(h.td(class_=style)[cell] for cell, style in zip(line, styles, strict=True))] for line in body)
    return h.div(".wide")[h.table[h.thead[h.tr[head]], h.tbody[lines]]]


def tiles(figures: Iterable[tuple[str, str, str]]) -> h.Element:
    """Figures of a page at a glance: each with a head, and small print below."""
    return h.div(".tiles")[
        (
            h.div(".tile")[h.div(".head")[head], h.div(".figure")[figure], h.div(".small")[small]]
            for head, figure, small in figures
        )
    ]


def about(facts: Iterable[tuple[str, str]]) -> h.Element:
    return h.dl(".about")[(h.div[h.dt[name], h.dd[text]] for name, text in facts)]


def columns(*content: h.Node) -> h.Element:
    """Two columns, where there is room."""
    return h.div(".columns")[content]
