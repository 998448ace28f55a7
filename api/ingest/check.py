"""The faults of a delivery, in a test: of its signature, its headers and its body. Nothing is stored.

For simulated programs, and for any caller: only a sender who has the secret learns more than that the signature is
wrong. A signature is compared with those of the usual mistakes: a key of part of the secret or of nothing, other bytes
of the same event, another spelling of the hash.
"""

import base64
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import islice, product
from typing import Annotated, Any, Final, Literal

import msgspec
from anyio import to_thread
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Resources
from clearhold.api.http.envelope import ApiRequest, header_values
from clearhold.api.http.gate import checked
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT, Access, Operation, RateClass, RawBody, examples_of
from clearhold.features.bank.envelope import EnvelopeError, read_envelope
from clearhold.features.bank.event_schema import EVENT_SCHEMA
from clearhold.features.bank.faults import SHOWN_NAMES, unread_names
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about
from clearhold.features.shard.pipeline import Trial
from clearhold.features.webhooks.delivery import SECRET_PREFIX
from clearhold.store.control.credentials import IngestTarget

Header = tuple[bytes, bytes]

UNKNOWN: Final = "There is no simulated program of this id."
TEXT: Final = "The signature must be the 64 hex digits of a SHA-256"
OTHER: Final = (
    "The signature is not the HMAC-SHA256 of the body under the program's secret: the secret is that of another "
    "program, or the bytes were changed on their way: compare bodyBytes and bodySha256 with your own."
)
_HEX: Final = re.compile(rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{64}(?![0-9A-Fa-f])")
_BASE64: Final = re.compile(rb"(?<![\w+/-])([\w+/-]{43}|[\w+/-]{86})={0,2}(?![\w+/=-])", re.ASCII)  # of bytes, of hex
_OTHER_ALPHABET: Final = bytes.maketrans(b"-_", b"+/")
_SIGNS: Final = re.compile(rb"sign|hmac")
_MOST_RESPELT: Final = 8_192
_MOST_NESTED: Final = 64
_GROWS_AT_MOST: Final = 4  # times, or it is not hashed under each key: deep nesting takes many spaces
_SPELLINGS: Final[tuple[Mapping[str, Any], ...]] = (
    *(
        {"separators": separators, "ensure_ascii": is_ascii, "sort_keys": is_sorted}
        for separators, is_ascii, is_sorted in product(((",", ":"), (", ", ": ")), (True, False), (True, False))
    ),
    *({"indent": 2, "ensure_ascii": is_ascii} for is_ascii in (True, False)),
)
_TIME: Final = re.compile(rb"t=([0-9]{10,13})")


class DeliveryFault(msgspec.Struct, frozen=True, kw_only=True):
    part: Annotated[
        Literal["header", "body", "data"], about("Its place; an event with a fault in data alone is taken.")
    ]
    sentence: Annotated[str, about("The fault and its cure.")]
    path: Annotated[str | None, about("The field that the sentence is about; null without one.")] = None


class CheckedDelivery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    taken: Annotated[bool, about("Whether POST /api/ingest/bank/{programId} takes this delivery.")]
    faults: Annotated[tuple[DeliveryFault, ...], about("Its faults; empty when it is right.")]
    unread: Annotated[
        tuple[str, ...],
        about(
            f"The names in data that nothing reads, at most {SHOWN_NAMES}. The bank's objects have some; one that is "
            "misspelt is among them."
        ),
    ]
    result: Annotated[
        EventResult | None,
        about("The result of the event on a program without any other; null when the body is no event."),
    ]
    body_bytes: Annotated[int, about("The number of bytes of the body as it arrived.")]
    body_sha256: Annotated[str, about("SHA-256 of these bytes, in hex.")]
    simulated: Simulated = True


class DeliveryCheck:
    def __init__(self, resources: Resources) -> None:
        self._tenancy, self._clock = resources.stores.registry.tenancy, resources.stores.clock

    async def run(self, program_id: str, scope: Any, raw: bytes) -> CheckedDelivery:
        target = self._tenancy.ingest_targets.find(program_id)
        if target is None or not self._tenancy.programs.is_simulated(program_id):
            raise NotFoundError(UNKNOWN, ErrorCode.PROGRAM_NOT_FOUND)
        return await to_thread.run_sync(self._checked, target, scope, raw)

    def _checked(self, target: IngestTarget, scope: Any, raw: bytes) -> CheckedDelivery:
        now = self._clock.now()
        secrets = [each.value for each in target.secrets if each.is_valid(now)]
        faults = [DeliveryFault(part="header", sentence=each) for each in header_faults(target, scope, secrets, raw)]
        result = None
        unread: tuple[str, ...] = ()
        try:
            read_envelope(raw)
            row = Trial(now=now).row_of(raw)
        except EnvelopeError as error:
            faults.append(DeliveryFault(part="body", sentence=str(error), path=error.path))
        else:
            result, unread = EventResult(row.result), unread_names(raw)
            if row.reason is not None:
                faults.append(DeliveryFault(part="data", sentence=row.reason, path=row.path))
        return CheckedDelivery(
            taken=all(each.part == "data" for each in faults),
            faults=tuple(faults),
            unread=unread,
            result=result,
            body_bytes=len(raw),
            body_sha256=sha256(raw).hexdigest(),
        )


def header_faults(target: IngestTarget, scope: Any, secrets: Sequence[str], raw: bytes) -> Iterator[str]:
    """The faults of the signature's header and of the endpoint's."""
    header, sent = target.signature_header.decode().title(), header_values(scope, target.signature_header)
    if len(sent) == 1:
        fault = signature_fault(sent[0], secrets, raw, scope["headers"])
    else:
        others = [
            name.decode().title()
            for name, value in scope["headers"]
            if not sent and (_HEX.search(value) or (_SIGNS.search(name) and _BASE64.search(value)))
        ]
        hint = f" The signature seems to be in {others[0]}." if others else ""
        fault = f"The header {header} must be there, once.{hint}"
    if fault is not None:
        yield fault
    endpoint = target.webhook_endpoint_id
    if endpoint is not None and header_values(scope, b"webhook-endpoint-id") != [endpoint.encode()]:
        yield "The header Webhook-Endpoint-Id must be the program's webhookEndpointId."


def signature_fault(sent: bytes, secrets: Sequence[str], raw: bytes, headers: Iterable[Header] = ()) -> str | None:
    """The fault of a signature; None when it proves the sender."""
    digest, spelling = _digest_in(sent)
    if digest is None:
        return f"{TEXT}."
    bodies = [*_bodies(raw), *_prefixed(raw, sent, headers)]
    for key, of_key in _keys(secrets):
        for body, of_body in bodies:
            if hmac.compare_digest(hmac.digest(key, body, "sha256"), digest):
                return " ".join(each for each in (spelling, of_key, of_body) if each) or None
    if hmac.compare_digest(sha256(raw).digest(), digest):
        return "It is the SHA-256 of the body: it must be the HMAC-SHA256, with the secret as its key."
    if any(hmac.compare_digest(hmac.digest(raw, each.encode(), "sha256"), digest) for each in secrets):
        return "Key and text are exchanged: the secret must be the key, and the body the text."
    return OTHER


def _digest_in(sent: bytes) -> tuple[bytes | None, str]:
    """The hash in a header's value, and the fault of its spelling."""
    if (digits := _HEX.search(sent)) is not None:
        is_alone = len(digits[0]) == len(sent)
        return bytes.fromhex(
            digits[0].decode()
        ), "" if is_alone else f"{TEXT} alone, without a prefix or anything else."
    if (in_base64 := _BASE64.search(sent)) is None:
        return None, ""
    decoded = base64.b64decode(in_base64[1].translate(_OTHER_ALPHABET) + b"==")
    if _HEX.fullmatch(decoded):
        decoded = bytes.fromhex(decoded.decode())
    return (decoded, f"{TEXT}, and not base64.") if len(decoded) == sha256().digest_size else (None, "")


def _keys(secrets: Sequence[str]) -> Iterator[tuple[bytes, str]]:
    for secret in secrets:
        yield secret.encode(), ""
        yield f"{secret}\n".encode(), "The key is the secret without a line end."
        for quote in "'\"":
            yield f"{quote}{secret}{quote}".encode(), "The key is the secret without quotes."
        if secret.startswith(SECRET_PREFIX):
            rest = secret.removeprefix(SECRET_PREFIX).encode()
            yield rest, f"The key is the whole secret, {SECRET_PREFIX} included."
            with suppress(ValueError):
                decoded = base64.b64decode(rest.translate(_OTHER_ALPHABET) + b"==")
                yield decoded, "The key is the secret as text: it is not decoded."
    for nothing in (b"", b"undefined", b"null", b"None"):
        yield nothing, "The key was empty: the sender has no secret, perhaps of a variable that is not set."


def _bodies(raw: bytes) -> Iterator[tuple[bytes, str]]:
    yield raw, ""
    yield b"", "An empty body was signed."
    yield raw + b"\n", "The body was signed with a line end, and sent without it."
    yield raw.strip(), "The body was signed without the white space around it."
    if len(raw) > _MOST_RESPELT or raw.count(b"[") + raw.count(b"{") > _MOST_NESTED:
        return
    with suppress(ValueError, RecursionError):
        value = json.loads(raw)
        parts = [(value, "The same JSON was signed in another spelling: sign the bytes that are sent.")]
        if isinstance(value, dict) and isinstance(value.get("data"), dict):
            parts.append((value["data"], "Only data was signed: sign the whole body."))
        for part, sentence in parts:
            for spelling in _SPELLINGS:
                text = json.dumps(part, **spelling).encode()
                if len(text) <= _GROWS_AT_MOST * len(raw):
                    yield text, sentence


def _prefixed(raw: bytes, sent: bytes, headers: Iterable[Header]) -> Iterator[tuple[bytes, str]]:
    """The body behind a time, or an id and a time, as in the signatures of other services."""
    if len(raw) > _MOST_RESPELT:
        return
    times = {*_TIME.findall(sent), *(value for name, value in headers if name.endswith(b"timestamp"))}
    ids = [value for name, value in headers if name in {b"webhook-id", b"svix-id"}]
    for time in islice(times, 3):
        for prefix in (time + b".", time, b"v0:" + time + b":", *(each + b"." + time + b"." for each in ids[:1])):
            yield prefix + raw, "A time was signed in front of the body: sign the body alone."


_EXAMPLE: Final = {
    "taken": False,
    "faults": [
        {"part": "header", "sentence": f"The key is the whole secret, {SECRET_PREFIX} included.", "path": None},
        {"part": "data", "sentence": "data.amount is required for its amount.", "path": "data.amount"},
    ],
    "unread": ["amuont"],
    "result": "unusable",
    "bodyBytes": 412,
    "bodySha256": "8d0f6b1a2c3e4d5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "simulated": True,
}
_CHECK: Final = Operation(
    id="checkBankEvent",
    tag="ingest",
    summary="Names the faults of a delivery to a simulated program, and stores nothing. Send it as to the route "
    "without `/check`, with the same headers and bytes, at most 64 KiB.",
    access=Access.PUBLIC,
    rate=RateClass.VERIFY,
    answers={200: CheckedDelivery},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND,),
    answer_example=_EXAMPLE,
    raw_body=RawBody(schema=EVENT_SCHEMA, examples=examples_of(__file__)),
    body_limit=PREFLIGHT_BODY_LIMIT,
)


@post("/api/ingest/bank/{program_id:str}/check", status_code=200, opt=_CHECK.as_opt)
async def check_delivery(
    program_id: FromPath[str], request: ApiRequest, delivery_check: NamedDependency[DeliveryCheck]
) -> CheckedDelivery:
    return await delivery_check.run(program_id, request.scope, checked(request.scope).raw)
