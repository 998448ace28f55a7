"""``GET /docs``: the OpenAPI document as a page, by Redoc: a vendored script, and nothing from another origin.

The policy lets the service's own scripts run, and three sheets of style: the page's, the empty ones that Redoc fills
through the CSSOM, and one that it adds for its scroll bars. The policy refuses Redoc's logo, which lies on another
server.

Source  redoc 2.5.2 of npm, ``bundles/redoc.standalone.js``, MIT (docs/decisions/0073-html-kit-and-api-viewer.md)
"""

from functools import partial
from pathlib import Path
from typing import Final

import htpy as h
import msgspec
from litestar import Response, get
from litestar.response import Redirect

from clearhold.api.area import Area
from clearhold.api.html.page import document, source_of
from clearhold.api.http.envelope import ApiRequest, header_values
from clearhold.api.http.head import IMMUTABLE, published
from clearhold.api.http.operation import Access, Operation

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

PAGE: Final = str(
    document(
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
).encode()


HTML: Final = "text/html"
SCRIPT: Final = "text/javascript"

_HTML_MEDIA: Final = f"{HTML}; charset=utf-8"
_SCRIPT_MEDIA: Final = f"{SCRIPT}; charset=utf-8"
_operation: Final = partial(Operation, tag="operations", access=Access.PUBLIC)
_published: Final = partial(_operation, answers={200: str, 304: None}, headers=("Cache-Control",))
_DOCS: Final = _published(
    id="getDocs",
    summary="This document as a page for people.",
    media=(_HTML_MEDIA,),
    text_examples={_HTML_MEDIA: '<!doctype html><html lang="en">...</html>'},
)
_DOCS_SCRIPT: Final = _published(
    id="getDocsScript",
    summary="The script of the page for people.",
    media=(_SCRIPT_MEDIA,),
    text_examples={_SCRIPT_MEDIA: "(function() {...})()"},
)
_ROOT: Final = _operation(
    id="getRoot",
    summary="Redirects a browser to the console, and others to this document as a page.",
    answers={302: None},
)


@get("/docs", opt=_DOCS.as_opt)
async def get_docs(request: ApiRequest) -> Response[bytes | None]:
    return published(request, PAGE, media_type=HTML, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


@get(REDOC_PATH, opt=_DOCS_SCRIPT.as_opt)
async def get_docs_script(request: ApiRequest) -> Response[bytes | None]:
    return published(request, REDOC, media_type=SCRIPT, cache=IMMUTABLE)


@get("/", opt=_ROOT.as_opt, status_code=302)
async def get_root(request: ApiRequest) -> Redirect:
    asks_for_page = any(HTML.encode() in sent for sent in header_values(request.scope, b"accept"))
    return Redirect("/console" if asks_for_page else "/docs", status_code=302, headers={"Vary": "Accept"})


AREA: Final = Area(routes=(get_docs, get_docs_script, get_root))
