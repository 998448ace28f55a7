"""The page of a node that stands by, for a browser that opened a page of the console there.

It needs nothing else of this node, which answers no other request: its sheet is in it.
"""

from typing import Final

import htpy as h
from markupsafe import Markup

from clearhold.api.console.frame import STATIC
from clearhold.api.html.page import Page, document, source_of

STYLE: Final = (STATIC / "css" / "10_base.css").read_text(encoding="utf-8")
_POLICY: Final = (
    f"default-src 'none'; style-src {source_of(STYLE)}; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def standing_by(owner: str, location: str) -> Page:
    """``owner`` is the address of the node that answers, ``location`` that of the same page there."""
    head = (
        h.title["This node stands by · Clearhold"],
        h.link(rel="icon", href="data:,"),
        h.style[Markup(STYLE)],  # noqa: S704 - a file of the console
    )
    content = h.section(".refused", role="alert")[
        h.h1["This node stands by"],
        h.p["Another node owns the log and answers. Nothing was stored here."],
        h.p["Go on at ", h.a(href=location)[owner], "."],
    ]
    body = (h.header(".gate")["Clearhold"], h.main("#main", tabindex="-1")[content])
    return Page(str(document(head, body)).encode(), _POLICY)
