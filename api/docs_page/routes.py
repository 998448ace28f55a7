"""``GET /docs``: the interface for people to read. ``GET /`` leads there."""

from functools import lru_cache
from typing import Final

from litestar import Response, get
from litestar.response import Redirect

from clearhold.api.area import Area
from clearhold.api.docs_page.page import CONTENT_SECURITY_POLICY, page_of
from clearhold.api.http.conditional import ETAG, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.operation import Access, Operation

HTML: Final = "text/html"

_MEDIA: Final = f"{HTML}; charset=utf-8"
_DOCS: Final = Operation(
    id="getDocs",
    tag="operations",
    summary="This document as a page for people.",
    access=Access.PUBLIC,
    answers={200: str, 304: None},
    headers=(ETAG, "Cache-Control"),
    media=(_MEDIA,),
    text_examples={_MEDIA: '<!doctype html><html lang="en">...</html>'},
)


_ROOT: Final = Operation(
    id="getRoot",
    tag="operations",
    summary="Leads to this document as a page.",
    access=Access.PUBLIC,
    answers={302: None},
)


_page: Final = lru_cache(maxsize=1)(page_of)
"""The page of the one document that a process has."""


@get("/docs", opt=_DOCS.as_opt, sync_to_thread=True)
def get_docs(request: ApiRequest) -> Response[bytes | None]:
    return published(
        request,
        _page(request.app.state.openapi),
        media_type=HTML,
        headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY},
    )


@get("/", opt=_ROOT.as_opt, status_code=302)
async def get_root() -> Redirect:
    return Redirect("/docs", status_code=302)


AREA: Final = Area(routes=(get_docs, get_root))
