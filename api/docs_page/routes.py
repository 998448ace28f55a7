"""``GET /docs``: the interface for people to read."""

from typing import Any, Final

from litestar import Request, Response, get

from api.docs_page.page import CONTENT_SECURITY_POLICY
from api.http.conditional import ETAG, published
from api.http.operation import Access, Operation

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


@get("/docs", opt=_DOCS.as_opt)
async def get_docs(request: Request[Any, Any, Any]) -> Response[bytes | None]:
    page: bytes = request.app.state.docs
    return published(request, page, media_type=HTML, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


ROUTES: Final = (get_docs,)
