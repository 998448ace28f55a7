"""The state of a delivery after an attempt, when an endpoint is given up, how a delivery is signed, and which URLs may
be registered as endpoints. Pure: the clock is handed in.

Schedule  the attempt after failed attempt k is due min(2^k minutes, 6 hours) later; the tenth is the last
Unit      microseconds

Two schemes sign over the same secret, so that receivers verify with a library they know. While a secret is replaced,
both secrets sign: the headers then have two signatures each.

Score-Signature     ``t=<unix>,v1=<hex>``: HMAC-SHA256 of ``<t>.<body>`` under the whole secret text, as Stripe signs
webhook-signature   ``v1,<base64>``: HMAC-SHA256 of ``<id>.<t>.<body>`` under the decoded secret, as Standard Webhooks

An endpoint is on https, port 443 or 1024 and above, with an ASCII host name, no user, no fragment. Each attempt decides
by the addresses whether the host may be reached; an address that never may be reached is refused at once as well. The
resolver's answer is checked, never the text of a URL: ``getaddrinfo`` reads 127.1, 0x7f000001 and digits in circles.
``is_global`` alone is not enough: it is true for multicast, and for IPv6 forms that carry an IPv4 address.

Errors    ``ValueError`` with the rule that a URL breaks, which never quotes the URL
"""

import base64
import hmac
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, SECOND_US, pause_after
from clearhold.features.webhooks.payloads import EventType

MAX_ATTEMPTS: Final = 10
FIRST_PAUSE_US: Final = 2 * MINUTE_US
LONGEST_PAUSE_US: Final = 6 * HOUR_US
DISABLED_AFTER_US: Final = 5 * DAY_US
SPREAD_US: Final = 10 * SECOND_US
GONE: Final = 410
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
_SPREAD_DIGITS: Final = 8  # hexadecimal, of a delivery's id


class DeliveryStatus(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"  # and tried again when its next attempt is due
    EXHAUSTED = "exhausted"


OPEN: Final = (DeliveryStatus.PENDING, DeliveryStatus.FAILED)
"""The statuses of a delivery that will be attempted."""


class AttemptError(StrEnum):
    """Why an attempt failed. Nothing that a receiver says is kept."""

    TIMEOUT = "timeout"
    DNS = "dns"
    BLOCKED_ADDRESS = "blocked_address"
    TLS = "tls"
    CONNECTION = "connection"
    REDIRECT = "redirect"
    HTTP_STATUS = "http_status"


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one attempt; ``error`` None: the receiver accepted. ``status_code`` None: it did not answer."""

    status_code: int | None
    error: AttemptError | None

    @property
    def is_gone(self) -> bool:
        """The receiver answers that the endpoint is gone."""
        return self.status_code == GONE


class DeliveryState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A delivery between attempts. ``version`` counts its changes."""

    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = 0
    next_attempt_at: int
    last_status_code: int | None = None
    last_error: AttemptError | None = None
    delivered_at: int | None = None
    version: int = 0


def answered(status_code: int) -> Attempt:
    """The outcome when the receiver answered with this status."""
    if status_code in _OK:
        return Attempt(status_code, None)
    return Attempt(status_code, AttemptError.REDIRECT if status_code in _REDIRECTS else AttemptError.HTTP_STATUS)


def settled(state: DeliveryState, attempt: Attempt, *, now: int) -> DeliveryState:
    """The delivery after one more attempt."""
    attempts = state.attempts + 1
    changed = msgspec.structs.replace(
        state,
        attempts=attempts,
        last_status_code=attempt.status_code,
        last_error=attempt.error,
        version=state.version + 1,
    )
    if attempt.error is None:
        return msgspec.structs.replace(changed, status=DeliveryStatus.DELIVERED, delivered_at=now)
    if attempts >= MAX_ATTEMPTS or attempt.is_gone:
        return msgspec.structs.replace(changed, status=DeliveryStatus.EXHAUSTED)
    due_at = now + pause_after(attempts, FIRST_PAUSE_US, LONGEST_PAUSE_US)
    return msgspec.structs.replace(changed, status=DeliveryStatus.FAILED, next_attempt_at=due_at)


def redelivered(state: DeliveryState, *, now: int) -> DeliveryState:
    """The delivery, requested again: due at once, with its count of attempts."""
    return msgspec.structs.replace(
        state, status=DeliveryStatus.PENDING, next_attempt_at=now, delivered_at=None, version=state.version + 1
    )


def spread_of(delivery_id: str, status: DeliveryStatus) -> int:
    """How long a due retry is put off, to spread retries, the same each time; 0 if new or requested again."""
    if status is not DeliveryStatus.FAILED:
        return 0
    return int(delivery_id.replace("-", "")[-_SPREAD_DIGITS:], 16) * SPREAD_US >> 4 * _SPREAD_DIGITS


def is_given_up(*, last_accepted_at: int, has_exhausted: bool, now: int) -> bool:
    """Whether an endpoint accepted nothing for too long; ``last_accepted_at`` is never before it was enabled."""
    return has_exhausted and now - last_accepted_at >= DISABLED_AFTER_US


SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - a prefix that shows what a secret is for
SECRET_BYTES: Final = 32
LEAST_SECRET_BYTES: Final = 24  # as Standard Webhooks has it
USER_AGENT: Final = "Score-Webhooks/2026-09-17"


def secret_of(random: bytes) -> str:
    """The text of a secret, which is shown once and is the key."""
    return SECRET_PREFIX + base64.b64encode(random).decode()


def is_secret(text: str) -> bool:
    """Whether a text has the form and the length of a secret."""
    if not text.startswith(SECRET_PREFIX):
        return False
    try:
        return len(base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)) >= LEAST_SECRET_BYTES
    except ValueError:
        return False


def delivery_headers(
    body: bytes, *, event: EventType, event_id: str, delivery_id: str, secrets: Sequence[str], at: int
) -> dict[str, str]:
    """All headers of a delivery at an instant (microseconds), signed with each of the secrets."""
    t = str(at // SECOND_US)
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Score-Event": event,
        "Score-Delivery": delivery_id,
        "Score-Signature": ",".join([f"t={t}", *(f"v1={_hex(secret, t, body)}" for secret in secrets)]),
        "webhook-id": event_id,
        "webhook-timestamp": t,
        "webhook-signature": " ".join(f"v1,{_base64(secret, event_id, t, body)}" for secret in secrets),
    }


def _hex(secret: str, t: str, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{t}.".encode() + body, sha256).hexdigest()


def _base64(secret: str, event_id: str, t: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return base64.b64encode(hmac.new(key, f"{event_id}.{t}.".encode() + body, sha256).digest()).decode()


MAX_URL_LENGTH: Final = 2_048
HTTPS_PORT: Final = 443
LEAST_PORT: Final = 1_024
LOCAL_HOSTS: Final = ("127.0.0.1", "localhost")
LISTENED_URL: Final = "https://listen.invalid/"
"""Nothing is sent to URLs with this start, a reserved name (RFC 6761): their deliveries are read instead."""

_PRIVATE_NAMES: Final = ("arpa", "corp", "home", "internal", "lan", "local", "localhost", "svc")
"""The ends of names that mean something else in each network; a cloud has its metadata under the first."""

_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
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
    if _address_of(host) is None:
        *before, last = host.rstrip(".").split(".")
        if _NUMBER.fullmatch(last):
            yield "must name a host, or an address of four decimal numbers"
        if (last in _PRIVATE_NAMES or not before) and not is_local:
            yield "must not name a host of a private network"
    elif is_blocked(host, allow_local=allow_local):
        yield "must not name an address that is not public"


def _address_of(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


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
    ip = _address_of(address.partition("%")[0])
    if ip is None:
        return True
    unwrapped = ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip  # IPv4-mapped counts as IPv4
    if allow_local and unwrapped.is_loopback:
        return False
    return (
        not unwrapped.is_global
        or unwrapped.is_multicast
        or unwrapped.is_reserved
        or unwrapped.is_unspecified
        or any(unwrapped in network for network in _BLOCKED)
    )
