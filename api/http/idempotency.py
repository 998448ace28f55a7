"""Idempotency-Key: the answer to a repeated request.

claim ─▶ effect ─▶ answer stored ─▶ answer sent. A 2xx is stored and replayed byte for byte. A 4xx had no effect and
releases the key. After a 5xx the effect is unknown, and only the same request may use the key again. The effect's id
follows from the claim, so that a repeat after a lost answer finds the effect instead of acting twice.

Errors  InvalidRequestError for a malformed key; ConflictError for a key of another request, and while the first request
        is being answered; UnavailableError when no claim can be made
"""

import json
import re
from hashlib import sha256
from typing import Any, Final

import msgspec
import structlog
from litestar.status_codes import HTTP_204_NO_CONTENT
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from clearhold.api.http.envelope import Outcome, header_values, note, request_id, status_of
from clearhold.api.http.head import in_time
from clearhold.api.http.operation import Operation
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.errors import (
    ConflictError,
    ErrorCode,
    FieldCode,
    FieldError,
    InvalidRequestError,
    UnavailableError,
)
from clearhold.features.core.principal import Principal
from clearhold.store.idempotency import Claimed, IdempotencyClaims, InFlight, OtherRequest, StoredAnswer

REPLAYED: Final = "Idempotent-Replayed"

_KEY: Final = re.compile(rb"[\x20-\x7E]{1,255}")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_SYNTAX: Final = "The header Idempotency-Key must be given once, as 1-255 printable ASCII characters."
_OTHER: Final = "This Idempotency-Key was used for another request."
_IN_FLIGHT: Final = "The first request with this Idempotency-Key is still being answered."
_OK: Final = range(200, 300)
_NO_EFFECT: Final = range(400, 500)

log = structlog.get_logger()


class KeyedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request with an Idempotency-Key: the scope of the key, a digest of the content, and the id of its effect.

    ``answer_by`` is the caller's deadline, if it has one.
    """

    scope: str
    fingerprint: str
    effect_id: str
    answer_by: float | None


def key_of(scope: Any) -> bytes | None:
    """The header's value, an opaque string; None when it is missing."""
    sent = header_values(scope, b"idempotency-key")
    if not sent:
        return None
    if len(sent) > 1 or not _KEY.fullmatch(sent[0]):
        field = FieldError(path="Idempotency-Key", code=FieldCode.REPEATED if len(sent) > 1 else FieldCode.MALFORMED)
        raise InvalidRequestError(_SYNTAX, ErrorCode.IDEMPOTENCY_KEY_INVALID, fields=[field])
    return sent[0]


def keyed_request(
    scope: Any,
    principal: Principal,
    key: bytes,
    body: dict[str, Any],
    *,
    answer_by: float | None,
) -> KeyedRequest:
    """The principal is part of the scope: a narrow key must never read an answer that was stored for a wider caller.

    Method, path and body make the request. The query of a write can only confirm the tenant, and X-Operator may differ.
    """
    path = _UUID.sub(lambda uuid: uuid[0].lower(), scope["path"])  # Services read an id in upper case as the same one.
    place = (principal.tenant_id, principal.id, scope["method"], path, key.decode("ascii"))
    key_scope = sha256(msgspec.json.encode(place)).hexdigest()
    fingerprint = sha256(json.dumps(comparable(body)).encode()).hexdigest()
    effect_id = derived_id("effect", key_scope, fingerprint)
    return KeyedRequest(scope=key_scope, fingerprint=fingerprint, effect_id=effect_id, answer_by=answer_by)


def comparable(value: Any) -> Any:
    """Equal for bodies of equal meaning: names in order, and 14.0 as an integer, as in the schemas.

    Only compared, never sent: RFC 8785, the canonical form of the record, rounds or refuses some values of requests.
    """
    if isinstance(value, dict):
        return {name: comparable(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [comparable(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Idempotency:
    """Answers a request under its claim."""

    def __init__(self, claims: IdempotencyClaims) -> None:
        self._claims = claims

    async def answer(
        self, request: KeyedRequest, operation: Operation, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp
    ) -> None:
        outcome = await in_time(self._claims.claim(request.scope, request.fingerprint), request.answer_by)
        match outcome:
            case OtherRequest():
                note(scope, outcome=Outcome.CONFLICT)
                raise ConflictError(_OTHER, ErrorCode.IDEMPOTENCY_MISMATCH)
            case InFlight():
                note(scope, outcome=Outcome.CONFLICT)
                raise ConflictError(_IN_FLIGHT, ErrorCode.IDEMPOTENCY_IN_FLIGHT)
            case StoredAnswer():
                await _replay(outcome, send)
            case Claimed():
                await self._act(outcome, request.answer_by, operation, scope, receive, send, next_app)

    async def _act(
        self,
        claimed: Claimed,
        answer_by: float | None,
        operation: Operation,
        scope: Scope,
        receive: Receive,
        send: Send,
        next_app: ASGIApp,
    ) -> None:
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        try:
            await next_app(scope, receive, collect)
            await self._settle(claimed, scope, _answer_in(messages, operation), answer_by)
        except Exception as error:
            await self._settle(claimed, scope, StoredAnswer(status=status_of(error), body=b""), answer_by)
            raise
        finally:
            self._claims.end_request(claimed)
        for message in messages:
            await send(message)

    async def _settle(self, claimed: Claimed, scope: Any, answer: StoredAnswer, answer_by: float | None) -> None:
        try:
            if answer.status in _OK:
                await in_time(self._claims.finish(claimed, answer), answer_by)
            elif answer.status in _NO_EFFECT:
                await in_time(self._claims.release(claimed), answer_by)
        except UnavailableError as error:  # The effect remains, and a repeat finds it by its id.
            log.warning("idempotent_answer_not_stored", request_id=request_id(scope), reason=str(error))


def _answer_in(messages: list[Message], operation: Operation) -> StoredAnswer:
    """The stored answer for repeats, without the fields that are shown once."""
    start = next(message for message in messages if message["type"] == "http.response.start")
    body = b"".join(message["body"] for message in messages if message["type"] == "http.response.body")
    status: int = start["status"]
    names = {name.lower().encode() for name in operation.headers}
    headers = tuple((name, value) for name, value in start["headers"] if name.lower() in names)
    stored = _without(body, operation.shown_once) if status in _OK else b""
    return StoredAnswer(status=status, body=stored, headers=headers)


async def _replay(answer: StoredAnswer, send: Send) -> None:
    headers = [(REPLAYED.lower().encode(), b"true"), *answer.headers]
    if answer.status != HTTP_204_NO_CONTENT:  # That has no body, and no length (RFC 9110, 8.6).
        headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer.body))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _without(body: bytes, names: tuple[str, ...]) -> bytes:
    """The answer with null in the fields that are shown once."""
    if not names:
        return body
    answer = msgspec.json.decode(body)
    return msgspec.json.encode(answer | dict.fromkeys(names))
