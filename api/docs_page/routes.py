"""``GET /docs``: the page of the interface, and its script. ``GET /`` redirects there."""

from typing import Final

from litestar import Response, get
from litestar.response import Redirect

from clearhold.api.area import Area
from clearhold.api.docs_page.page import CONTENT_SECURITY_POLICY, PAGE, REDOC, REDOC_PATH
from clearhold.api.http.conditional import ETAG, IMMUTABLE, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.operation import Access, Operation

HTML: Final = "text/html"
SCRIPT: Final = "text/javascript"

_HTML_MEDIA: Final = f"{HTML}; charset=utf-8"
_SCRIPT_MEDIA: Final = f"{SCRIPT}; charset=utf-8"
_DOCS: Final = Operation(
    id="getDocs",
    tag="operations",
    summary="This document as a page for people.",
    access=Access.PUBLIC,
    answers={200: str, 304: None},
    headers=(ETAG, "Cache-Control"),
    media=(_HTML_MEDIA,),
    text_examples={_HTML_MEDIA: '<!doctype html><html lang="en">...</html>'},
)
_DOCS_SCRIPT: Final = Operation(
    id="getDocsScript",
    tag="operations",
    summary="The script of the page for people.",
    access=Access.PUBLIC,
    answers={200: str, 304: None},
    headers=(ETAG, "Cache-Control"),
    media=(_SCRIPT_MEDIA,),
    text_examples={_SCRIPT_MEDIA: "(function() {...})()"},
)
_ROOT: Final = Operation(
    id="getRoot",
    tag="operations",
    summary="Redirects to this document as a page.",
    access=Access.PUBLIC,
    answers={302: None},
)


@get("/docs", opt=_DOCS.as_opt)
async def get_docs(request: ApiRequest) -> Response[bytes | None]:
    return published(request, PAGE, media_type=HTML, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


@get(REDOC_PATH, opt=_DOCS_SCRIPT.as_opt)
async def get_docs_script(request: ApiRequest) -> Response[bytes | None]:
    return published(request, REDOC, media_type=SCRIPT, cache=IMMUTABLE)


@get("/", opt=_ROOT.as_opt, status_code=302)
async def get_root() -> Redirect:
    return Redirect("/docs", status_code=302)


AREA: Final = Area(routes=(get_docs, get_docs_script, get_root))
