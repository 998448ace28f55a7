"""The page that shows the OpenAPI document, by Redoc: a vendored script, and nothing from another origin.

The policy lets the service's own scripts run, and three sheets of style: the page's, the empty ones that Redoc fills
through the CSSOM, and one that it adds for its scroll bars. The policy refuses Redoc's logo, which lies on another
server.

Source  redoc 2.5.2 of npm, ``bundles/redoc.standalone.js``, MIT (docs/decisions/0073-html-kit-and-api-viewer.md)
"""

from pathlib import Path
from typing import Final

import htpy as h
import msgspec

from clearhold.api.html.page import document, source_of

REDOC_SHA256: Final = "6beb5aea23b71d09122ee35de8f326e38aec050e774f3bfba1f34e5c36608986"
REDOC_PATH: Final = "/docs/redoc-2.5.2.js"
REDOC: Final = (Path(__file__).parent / "redoc" / "redoc.standalone.js").read_bytes()

_STYLE: Final = "body{margin:0}"
_SCROLL_BARS: Final = "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='"
CONTENT_SECURITY_POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src {source_of(_STYLE)} {source_of('')} {_SCROLL_BARS}; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SANS: Final = "system-ui,'DejaVu Sans',sans-serif"
_THEME: Final = {
    "typography": {
        "fontFamily": _SANS,
        "headings": {"fontFamily": _SANS},
        "code": {"fontFamily": "ui-monospace,'DejaVu Sans Mono',monospace"},
    }
}
_redoc: Final = h.Element("redoc")

PAGE: Final = document(
    (
        h.title["Clearhold: the interface"],
        h.link(rel="icon", href="data:,"),
        h.style[_STYLE],
    ),
    (
        _redoc(
            spec_url="/openapi.json",
            schema_definitions_tag_name="Schemas",
            theme=msgspec.json.encode(_THEME).decode(),
            disable_search="true",
            native_scrollbars="true",
        ),
        h.noscript["This page needs scripts. The document is at ", h.a(href="/openapi.json")["/openapi.json"], "."],
        h.script(src=REDOC_PATH, integrity=source_of(REDOC).strip("'")),
    ),
)
