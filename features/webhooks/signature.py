"""How a delivery is signed: two schemes over the same secret, so that receivers verify with a library they know.

Score-Signature     ``t=<unix>,v1=<hex>``: HMAC-SHA256 of ``<t>.<body>`` under the whole secret text, as Stripe signs
webhook-signature   ``v1,<base64>``: HMAC-SHA256 of ``<id>.<t>.<body>`` under the decoded secret, as Standard Webhooks

While a secret is replaced, both sign: the headers then have two signatures each.
"""

import base64
import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from clearhold.features.core.instants import SECOND_US
from clearhold.features.webhooks.payloads import EventType

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
