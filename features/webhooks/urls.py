"""Which URLs may be registered as endpoints, and the form in which they are stored.

https, port 443 or 1024 and above, an ASCII host name, no user, no fragment. Each attempt decides by the addresses
whether the host may be reached; an address that never may be reached is refused here as well.

The resolver's answer is checked, never the text of a URL: ``getaddrinfo`` reads 127.1, 0x7f000001 and digits in
circles. ``is_global`` alone is not enough: it is true for multicast, and for IPv6 forms that carry an IPv4 address.

Errors  ``ValueError`` with the rule that is broken, which never quotes the URL
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

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


_BLOCKED: Final = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays
            "168.63.129.16/32",  # a cloud's own services, at a public address
            "::/96",  # IPv4-compatible
            "64:ff9b::/96",  # NAT64
            "64:ff9b:1::/48",  # NAT64, local
            "2002::/16",  # 6to4
            "fec0::/10",  # site-local
            "5f00::/16",  # segment routing
        ),
    )
)


def is_blocked(address: str, *, allow_local: bool) -> bool:
    """Whether nothing may be sent to this address or invalid text; ``allow_local`` permits loopback."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    unwrapped = _unwrapped(ip)
    if allow_local and unwrapped.is_loopback:
        return False
    return (
        not unwrapped.is_global
        or unwrapped.is_multicast
        or unwrapped.is_reserved
        or unwrapped.is_unspecified
        or any(unwrapped in network for network in _BLOCKED)
    )


def _unwrapped(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address within an IPv4-mapped one."""
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip
