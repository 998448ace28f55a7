"""The state of a delivery after an attempt, when an endpoint is given up, and how a delivery is signed. Pure: the clock
is handed in.

Schedule  the attempt after failed attempt k is due min(2^k minutes, 6 hours) later; the tenth is the last
Unit      microseconds

Two schemes sign over the same secret, so that receivers verify with a library they know. While a secret is replaced,
both secrets sign: the headers then have two signatures each.

Score-Signature     ``t=<unix>,v1=<hex>``: HMAC-SHA256 of ``<t>.<body>`` under the whole secret text, as Stripe signs
webhook-signature   ``v1,<base64>``: HMAC-SHA256 of ``<id>.<t>.<body>`` under the decoded secret, as Standard Webhooks
"""

import base64
import hmac
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final

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
USER_AGENT: Final = "Score-Webhooks/2026-09-17"


def secret_of(random: bytes) -> str:
    """The text of a secret, which is shown once and is the key."""
    return SECRET_PREFIX + base64.b64encode(random).decode()


def is_secret(text: str) -> bool:
    """Whether a text has the form and the length of a secret."""
    if not text.startswith(SECRET_PREFIX):
        return False
    try:
        return len(base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)) >= SECRET_BYTES
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
