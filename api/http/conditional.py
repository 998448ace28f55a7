"""Documents that may be kept: a strong ETag over the bytes, and 304 for whoever has them already (RFC 9110)."""

from hashlib import sha256
from typing import Any, Final

from litestar import Request, Response

from api.http.envelope import header_values

MAX_AGE_S: Final = 300
PUBLIC: Final = f"public, max-age={MAX_AGE_S}"
PRIVATE: Final = "private, no-cache"
ETAG: Final = "ETag"


def published(
    request: Request[Any, Any, Any],
    body: bytes,
    *,
    media_type: str,
    cache: str = PUBLIC,
    headers: dict[str, str] | None = None,
) -> Response[bytes | None]:
    """The document, or a 304 when the request names its ETag."""
    etag = f'"{sha256(body).hexdigest()}"'
    said = {"Cache-Control": cache, ETAG: etag} | (headers or {})
    if _names(request.scope, etag):
        return Response(None, status_code=304, headers=said)
    return Response(body, media_type=media_type, headers=said)


def _names(scope: Any, etag: str) -> bool:
    """If-None-Match compares weakly: ``W/`` does not matter."""
    sent = b",".join(header_values(scope, b"if-none-match")).decode("latin-1")
    tags = {tag.strip().removeprefix("W/") for tag in sent.split(",")}
    return etag in tags or tags == {"*"}
