"""Idempotency-Key: what a repeated request is answered.

claim ─▶ effect ─▶ answer stored ─▶ answer sent. A 2xx is stored and replayed byte for byte; a 4xx had no effect and
gives the key back; after a 5xx nobody knows, and only the same request may take the key up again. The effect carries an
id that follows from the claim, so that a request whose answer was lost finds its effect again instead of acting twice.

Errors  InvalidRequestError for a key that is not well formed; ConflictError for a key of another request, InFlightError
        for one that is being answered; UnavailableError when no claim can be made
"""

import re
from hashlib import sha256
from typing import Any, Final

import msgspec
import rfc8785
import structlog
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from api.http.envelope import header_values, request_id
from api.http.errors import InFlightError, status_and_sentence
from api.http.operation import Operation
from api.telemetry.metrics import Outcome, note
from features.core.errors import ConflictError, InvalidRequestError, UnavailableError
from features.core.ids import derived_id
from features.core.principal import Principal
from store.idempotency import Claimed, IdempotencyClaims, InFlight, OtherRequest, StoredAnswer

REPLAYED: Final = "Idempotent-Replayed"

_KEY: Final = re.compile(rb"[\x20-\x7E]{1,255}")
_SYNTAX: Final = "The header Idempotency-Key must be given once, as 1-255 printable ASCII characters."
_OTHER: Final = "This Idempotency-Key was used for another request."
_IN_FLIGHT: Final = "The first request with this Idempotency-Key is still being answered."
_OK: Final = range(200, 300)
_NO_EFFECT: Final = range(400, 500)

log = structlog.get_logger()


class Requested(msgspec.Struct, frozen=True, kw_only=True):
    """A request with an idempotency key: the scope of the key, what was asked, and the id that its effect will have."""

    scope: str
    fingerprint: str
    effect_id: str


def key_of(scope: Any) -> bytes | None:
    """The header's value, an opaque string; None when it was not sent."""
    sent = header_values(scope, b"idempotency-key")
    if not sent:
        return None
    if len(sent) > 1 or not _KEY.fullmatch(sent[0]):
        raise InvalidRequestError(_SYNTAX)
    return sent[0]


def requested(
    scope: Any, principal: Principal, key: bytes, body: dict[str, Any], pairs: list[tuple[str, str]]
) -> Requested:
    """The principal is part of the scope, so that a narrow key never reads an answer stored for a wider caller."""
    place = (principal.tenant_id, principal.id, scope["method"], scope["path"], key.decode("ascii"))
    key_scope = sha256(msgspec.json.encode(place)).hexdigest()
    asked = (canonical(body), sorted(pairs), principal.operator)
    fingerprint = sha256(msgspec.json.encode(asked)).hexdigest()
    return Requested(scope=key_scope, fingerprint=fingerprint, effect_id=derived_id("effect", key_scope, fingerprint))


def canonical(body: dict[str, Any]) -> bytes:
    """RFC 8785; numbers that it has no form for (over 2**53) are written out in full."""
    try:
        return rfc8785.dumps(body)
    except rfc8785.CanonicalizationError:
        return msgspec.json.encode(body, order="deterministic")


class Idempotency:
    """Answers a request under its claim."""

    def __init__(self, claims: IdempotencyClaims) -> None:
        self._claims = claims

    async def answer(
        self, asked: Requested, operation: Operation, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp
    ) -> None:
        outcome = await self._claims.claim(asked.scope, asked.fingerprint)
        match outcome:
            case OtherRequest():
                note(scope, Outcome.CONFLICT)
                raise ConflictError(_OTHER)
            case InFlight():
                note(scope, Outcome.CONFLICT)
                raise InFlightError(_IN_FLIGHT)
            case StoredAnswer():
                await _replay(outcome, send)
            case Claimed():
                await self._act(outcome, operation, scope, receive, send, next_app)

    async def _act(
        self, claimed: Claimed, operation: Operation, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp
    ) -> None:
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        try:
            await next_app(scope, receive, hold)
            await self._settle(claimed, scope, _answer_in(held, operation))
        except Exception as error:
            await self._settle(claimed, scope, StoredAnswer(status=status_and_sentence(error)[0], body=b""))
            raise
        finally:
            self._claims.let_go(claimed)
        for message in held:
            await send(message)

    async def _settle(self, claimed: Claimed, scope: Any, answer: StoredAnswer) -> None:
        try:
            if answer.status in _OK:
                await self._claims.finish(claimed, answer)
            elif answer.status in _NO_EFFECT:
                await self._claims.release(claimed)
        except UnavailableError as error:  # The effect stands, and a repeat finds it by its id.
            log.warning("idempotent_answer_not_stored", request_id=request_id(scope), reason=str(error))


def _answer_in(held: list[Message], operation: Operation) -> StoredAnswer:
    """What a repeat may be shown of the answer."""
    start = next(message for message in held if message["type"] == "http.response.start")
    body = b"".join(message["body"] for message in held if message["type"] == "http.response.body")
    status: int = start["status"]
    names = {name.lower().encode() for name in operation.headers}
    headers = tuple((name, value) for name, value in start["headers"] if name.lower() in names)
    kept = _without(body, operation.shown_once) if status in _OK else b""
    return StoredAnswer(status=status, body=kept, headers=headers)


async def _replay(answer: StoredAnswer, send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(answer.body)),
        (REPLAYED.lower().encode(), b"true"),
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _without(body: bytes, names: tuple[str, ...]) -> bytes:
    """The answer with null for what is shown once."""
    if not names:
        return body
    shown = msgspec.json.decode(body)
    return msgspec.json.encode(shown | dict.fromkeys(names))
