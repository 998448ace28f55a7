"""A delivery verified as receivers do it: by the libraries that they use, unchanged."""

from typing import Any, Final

import msgspec
import standardwebhooks
import stripe
import svix.webhooks

from tests.support.webhook_receiver import Received

TOLERANCE_S: Final = 300


def assert_verified(received: Received, secret: str) -> dict[str, Any]:
    """Both schemes; the event."""
    text, headers = received.body.decode(), dict(received.headers)
    stripe.WebhookSignature.verify_header(text, received.header("Score-Signature"), secret, TOLERANCE_S)
    verified = standardwebhooks.Webhook(secret).verify(text, headers)
    svix.webhooks.Webhook(secret).verify(text, headers)
    event: dict[str, Any] = msgspec.json.decode(received.body)
    assert verified == event
    assert received.header("Score-Event") == event["type"]
    assert received.header("webhook-id") == event["id"]
    return event
