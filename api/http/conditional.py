"""Documents that clients may cache: a strong ETag over the bytes, and 304 for a matching If-None-Match (RFC 9110)."""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

from litestar import Response

from clearhold.api.http.envelope import ApiRequest, header_values
from clearhold.features.core.errors import FieldCode, invalid

MAX_AGE_S: Final = 300
PUBLIC: Final = f"public, max-age={MAX_AGE_S}"
IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""For a path that contains the version of its bytes."""
PRIVATE: Final = "private, no-cache"
ETAG: Final = "ETag"
IF_MATCH: Final = "If-Match"

_REMEMBERED: Final = 16


def published(
    request: ApiRequest,
    body: bytes,
    *,
    media_type: str,
    cache: str = PUBLIC,
    headers: dict[str, str] | None = None,
) -> Response[bytes | None]:
    """The document, or a 304 when the request names its ETag."""
    etag = _remembered_etag_of(body) if cache != PRIVATE else etag_of(body)
    sent_headers = {"Cache-Control": cache, ETAG: etag} | (headers or {})
    if _names(request.scope, etag):
        return Response(None, status_code=304, headers=sent_headers)
    return Response(body, media_type=media_type, headers=sent_headers)


def etag_of(body: bytes) -> str:
    return f'"{sha256(body).hexdigest()}"'


@lru_cache(maxsize=_REMEMBERED)
def _remembered_etag_of(body: bytes) -> str:
    """For public documents, which are few and published repeatedly; a tenant's documents would stay in memory."""
    return etag_of(body)


def if_match_of(scope: Any) -> Callable[[str], bool]:
    """The ETags that a write may replace, by its required If-Match (RFC 9110: strong comparison)."""
    sent = b",".join(header_values(scope, b"if-match")).decode("latin-1").strip()
    if not sent:
        raise invalid(IF_MATCH, "is required: send the ETag of the stored version", FieldCode.REQUIRED)
    tags = {tag.strip() for tag in sent.split(",")}
    return lambda etag: etag in tags or tags == {"*"}


def _names(scope: Any, etag: str) -> bool:
    """If-None-Match compares weakly: ``W/`` is ignored."""
    sent = b",".join(header_values(scope, b"if-none-match")).decode("latin-1")
    tags = {tag.strip().removeprefix("W/") for tag in sent.split(",")}
    return etag in tags or tags == {"*"}
