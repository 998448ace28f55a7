"""Network addresses that nothing is delivered to: every address that is not a public address of one host.

The resolver's answer is checked, never the text of a URL: ``getaddrinfo`` reads 127.1, 0x7f000001 and digits in
circles. ``is_global`` alone is not enough: it is true for multicast, and for IPv6 forms that carry an IPv4 address.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

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
