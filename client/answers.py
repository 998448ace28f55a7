"""Signatures of events, the service's answers, and the two errors of the client.

Errors  ``RefusedError`` is an answer outside 2xx, ``UnreachableError`` is no answer; both say why in one sentence
"""

import hashlib
import hmac
from typing import Final

import httpx
import msgspec

from clearhold.features.core.canonical import path_segment
from clearhold.features.core.principal import SIGNATURE_HEADER as SIGNATURE_HEADER
from clearhold.features.webhooks.payloads import EventType

ENDPOINT_HEADER: Final = "Webhook-Endpoint-Id"

TRY_AGAIN_STATUSES: Final = frozenset({429, 502, 503, 504})
"""Answers after which the same request may succeed a little later."""

_LONGEST_SENTENCE: Final = 500
_MOST_PORT: Final = 65_535


class RefusedError(Exception):
    """An answer outside 2xx; ``str(error)`` is the service's sentence, ``code`` the error code for programs."""

    def __init__(self, status: int, sentence: str, code: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.code = status, code


class UnreachableError(Exception):
    """No answer of the service, after every allowed try."""


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a bank event; one of a batch that was refused has an ``error``."""

    received: bool
    duplicate: bool = False
    error: str | None = None


class RegisteredEndpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A registered endpoint for events.

    The answer to a registration alone has the ``secret``; it has no ``enabled``, since a new endpoint is.
    """

    id: str
    url: str
    program_id: str | None = None
    enabled: bool = True
    secret: str | None = None


class Delivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event for one endpoint. ``payload`` has the exact bytes of the body."""

    id: str
    event: EventType
    event_id: str
    payload: msgspec.Raw
    next_attempt_at: str


def is_http(address: str) -> bool:
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        return False
    return url.scheme in {"http", "https"} and bool(url.host) and 0 <= (url.port or 0) <= _MOST_PORT


def sign(secret: str, body: bytes) -> str:
    """HMAC-SHA256 of the body's exact bytes, in lower-case hex, as the bank's header carries it."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def ingest_path(program_id: str) -> str:
    """The path to which the bank posts the events of a program."""
    return f"/api/ingest/bank/{path_segment(program_id)}"


def sentence_of(status: int, body: bytes) -> str:
    """The answer's sentence, or its status without one."""
    sentence = _text_in(body, "error")
    return sentence[:_LONGEST_SENTENCE] if sentence else f"answered {status} without a sentence"


def refusal_of(status: int, body: bytes) -> RefusedError:
    return RefusedError(status, sentence_of(status, body), _text_in(body, "code"))


def _text_in(body: bytes, name: str) -> str | None:
    """A text of the error's object; None for another answer, as a proxy may give."""
    try:
        text = msgspec.json.decode(body, type=dict[str, object]).get(name)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return text if isinstance(text, str) else None


def signed_headers(secret: str, body: bytes, endpoint_id: str | None, signature_header: str) -> dict[str, str]:
    signature = {signature_header: sign(secret, body)}
    return signature if endpoint_id is None else signature | {ENDPOINT_HEADER: endpoint_id}
