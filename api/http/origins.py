"""The browser pages that may call, and the allowed host names of this machine, against DNS rebinding.

A page of another site sends its Origin; other programs send none. If an attacker's name resolves to a loopback address,
the request to that address carries this name as its Host.

Errors  ForbiddenError
"""

from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from clearhold.api.http.envelope import header_values
from clearhold.features.core.errors import ErrorCode, ForbiddenError

OTHER_ORIGIN: Final = "Pages of this origin may not call. CLEARHOLD_CONNECTOR_ORIGINS lists the allowed ones."
OTHER_HOST: Final = "On this machine the header Host must be localhost, or the host of CLEARHOLD_BASE_URL."
_HTTP: Final = b"http://"
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
        if on_loopback and any(_name(host) not in self._hosts for host in header_values(scope, b"host")):
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
