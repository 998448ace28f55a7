"""Which URLs may be registered as endpoints, and the form in which they are stored.

https, port 443 or 1024 and above, an ASCII host name, no user, no fragment. Each attempt decides by the addresses
whether the host may be reached; an address that never may be reached is refused here as well.

Errors  ``ValueError`` with the rule that is broken, which never quotes the URL
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from clearhold.features.webhooks.addresses import is_blocked

MAX_URL_LENGTH: Final = 2_048
HTTPS_PORT: Final = 443
LEAST_PORT: Final = 1_024
LOCAL_HOSTS: Final = ("127.0.0.1", "localhost")
LISTENED_URL: Final = "https://listen.invalid/"
"""Nothing is sent to URLs with this start, a reserved name (RFC 6761): their deliveries are read instead."""

_HOST_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")


def endpoint_url(text: str, *, allow_local: bool) -> str:
    """The URL with an ASCII host in lower case. ``allow_local`` permits http to this machine, for trials."""
    if len(text) > MAX_URL_LENGTH:
        raise ValueError(f"must have at most {MAX_URL_LENGTH:,} characters")
    if not text.isprintable() or " " in text or "\\" in text:
        raise ValueError("must not have spaces, backslashes or control characters")
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise ValueError("must be a URL") from None
    if "#" in text:
        raise ValueError("must have no fragment")
    host = _ascii_host(url.hostname or "")
    for rule in _broken_rules(url, host, port, allow_local=allow_local):
        raise ValueError(rule)
    kept = f"[{host}]" if ":" in host else host
    path = _ascii(url.path or "/")
    return urlunsplit((url.scheme, kept if port is None else f"{kept}:{port}", path, _ascii(url.query), ""))


def _broken_rules(url: SplitResult, host: str, port: int | None, *, allow_local: bool) -> Iterator[str]:
    is_local = allow_local and host in LOCAL_HOSTS
    if url.scheme != "https" and not (url.scheme == "http" and is_local):
        yield "must begin with https://"
    if not host:
        yield "must name a host"
    if "@" in url.netloc:
        yield "must have no user name or password"
    if port is not None and port != HTTPS_PORT and port < LEAST_PORT:
        yield f"must be on port {HTTPS_PORT}, or on one from {LEAST_PORT} on"
    if _is_address(host) and is_blocked(host, allow_local=allow_local):
        yield "must not name an address that is not public"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _ascii_host(host: str) -> str:
    """The host as certificates and resolvers know it."""
    if ":" in host:
        if "%" in host:
            raise ValueError("must not name a zone of this machine")
        return host
    try:
        name = host.encode("idna").decode().lower()
    except UnicodeError:
        raise ValueError("must name a host that exists in the domain name system") from None
    if not _HOST_CHARACTERS.issuperset(name):
        raise ValueError("must name a host of letters, digits, hyphens and dots")
    return name


def _ascii(text: str) -> str:
    if not text.isascii():
        raise ValueError("must have its path and query percent-encoded")
    return text
