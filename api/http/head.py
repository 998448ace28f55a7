"""The head of a request: ids in its path, X-Deadline-Ms, the conditions If-Match and If-None-Match, Origin and Host.

Paths    segments are the caller's own strings: ``%2F`` is part of an id, and never a separator. A path is split where
         it was sent, so that routing sees the segments of the request. Within a segment, ``/`` and ``%`` stay escaped
         until the route is known. An inner segment without characters is one that no literal and no id equals.
ETag     strong, over the bytes of a document that clients may cache; a 304 for a matching If-None-Match (RFC 9110)
Deadline whole milliseconds from the arrival of the request's head at this service; one is reserved for sending. Times
         are of the event loop's clock.
Origin   a page of another site sends its Origin; other programs send none. If an attacker's name resolves to a loopback
         address, the request to that address carries this name as its Host (DNS rebinding).
Errors   InvalidRequestError for a malformed header; TooLateError for an answer that would be late; ForbiddenError for
         an origin or host that may not call
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

from litestar import Response
from litestar.exceptions import NotFoundException
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.http.envelope import ApiRequest, header_values
from clearhold.features.core.errors import (
    ErrorCode,
    FieldCode,
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    UnavailableError,
    invalid,
)

_NONE: Final = "%"
"""An empty segment, which the router would leave out."""


def split_as_sent(app: ASGIApp) -> ASGIApp:
    """The application, with the path of each request as its segments were sent."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope["raw_path"].partition(b"?")[0]
        if b"%" in raw or b"//" in raw:
            scope["path"] = _routed(raw)
        await app(scope, receive, send)

    return handle


def read_ids(scope: Any) -> None:
    """Once the route is known: the path parameters as the caller's own strings.

    The other segments must be sent in plain letters: an edge that looks for them would miss ``%61dmin``.
    """
    raw = scope["raw_path"].partition(b"?")[0]
    if b"%" in raw:
        segments = zip(scope["path_template"].split("/"), raw.decode("ascii", "replace").split("/"), strict=False)
        if any(known != segment for known, segment in segments if not known.startswith("{")):
            raise NotFoundException
    sent = scope["path_params"]
    if any("%" in each for each in sent.values()):  # The router shares its dictionary between requests.
        scope["path_params"] = {name: _read(each) for name, each in sent.items()}


def _routed(raw: bytes) -> str:
    *inner, last = raw.split(b"/")[1:]
    return "/" + "/".join([_escaped(each) or _NONE for each in inner] + [_escaped(last)])


def _escaped(segment: bytes) -> str:
    return unquote_to_bytes(segment).decode("utf-8", "replace").replace("%", "%25").replace("/", "%2F")


def _read(segment: str) -> str:
    return "" if segment == _NONE else segment.replace("%2F", "/").replace("%25", "%")


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


HEADER: Final = "X-Deadline-Ms"
LONGEST_MS: Final = 60_000

_SENDING_S: Final = 0.001
_MS_PER_S: Final = 1_000
_DIGITS: Final = re.compile(rb"[0-9]{1,9}")
_TOO_LATE: Final = "The answer would not have been in time for X-Deadline-Ms; nothing was recorded. Try again."

T = TypeVar("T")


class TooLateError(UnavailableError):
    """The deadline has passed, or is too near for the remaining work; nothing was recorded."""

    def __init__(self) -> None:
        super().__init__(_TOO_LATE, ErrorCode.DEADLINE_EXCEEDED)


def answer_by_of(scope: Any, arrived_at: float) -> float | None:
    """The time at which the answer must leave, None without a deadline; both times are of the event loop's clock."""
    sent = header_values(scope, HEADER.lower().encode())
    if not sent:
        return None
    if len(sent) > 1:
        raise _bad_deadline(FieldCode.REPEATED)
    if not _DIGITS.fullmatch(sent[0]):
        raise _bad_deadline(FieldCode.MALFORMED)
    deadline_ms = int(sent[0])
    if not 1 <= deadline_ms <= LONGEST_MS:
        raise _bad_deadline(FieldCode.TOO_SMALL if deadline_ms < 1 else FieldCode.TOO_LARGE)
    return arrived_at + deadline_ms / _MS_PER_S - _SENDING_S


def _bad_deadline(rule: FieldCode) -> InvalidRequestError:
    return InvalidRequestError(
        f"The header {HEADER} must be given once, as a whole number from 1 to {LONGEST_MS}.",
        fields=[FieldError(path=HEADER, code=rule)],
    )


async def in_time(step: Awaitable[T], answer_by: float | None) -> T:
    """The step's result; TooLateError when it is not ready in time."""
    if answer_by is None:
        return await step
    limit = asyncio.timeout_at(answer_by)
    try:
        async with limit:
            return await step
    except TimeoutError:
        if limit.expired():
            raise TooLateError from None
        raise


OTHER_ORIGIN: Final = "Pages of this origin may not call. CLEARHOLD_CONNECTOR_ORIGINS lists the allowed ones."
OTHER_HOST: Final = (
    "On this machine the header Host must be localhost, 127.0.0.1, ::1, or the host of CLEARHOLD_BASE_URL."
)
_HTTP: Final = b"http://"
_AFTER_SCHEME: Final = b"://"
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Origins:
    """The service's own origin and host, and further listed origins; on loopback also pages from there."""

    def __init__(self, base_url: str, *, listed: Iterable[str] = ()) -> None:
        url = urlsplit(base_url)
        self._origins = frozenset({f"{url.scheme}://{url.netloc}".lower().encode(), *map(str.encode, listed)})
        self._hosts = _LOCAL | {url.hostname or ""}

    def check(self, scope: Any) -> None:
        on_loopback = _on_loopback(scope)
        for origin in header_values(scope, b"origin"):
            is_local = on_loopback and origin.startswith(_HTTP) and _name(origin[len(_HTTP) :]) in _LOCAL
            if not is_local and origin.lower() not in self._origins:
                raise ForbiddenError(OTHER_ORIGIN, ErrorCode.ORIGIN_REFUSED)
        self.check_host(scope)

    def is_of(self, origin: bytes, host: bytes) -> bool:
        """Whether an origin is that of a host, as a browser names both; by scheme too where the host is the service's
        own, or has a listed origin.
        """
        known = {each for each in self._origins if each.partition(_AFTER_SCHEME)[2] == host.lower()}
        return origin.lower() in known if known else origin.partition(_AFTER_SCHEME)[2] == host

    def check_host(self, scope: Any) -> None:
        """The check of the host alone."""
        if _on_loopback(scope) and any(_name(host) not in self._hosts for host in header_values(scope, b"host")):
            raise ForbiddenError(OTHER_HOST, ErrorCode.ORIGIN_REFUSED)


def _on_loopback(scope: Any) -> bool:
    """Whether the request came to a loopback address."""
    try:
        address = ip_address(scope["server"][0]) if scope["server"] else None
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    return address is not None and address.is_loopback


def _name(host: bytes) -> str | None:
    """The host's name without its port; None for an invalid one."""
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname
    except ValueError:
        return None
