"""Ingest of bank events: verify the raw bytes, read the envelope, append, answer. One endpoint for each program; the
busiest route.

``data`` is not read here: unusual contents are stored, and the flow handles them.
A batch is NDJSON, one line an event, and so is its answer. Lines end at LF or CRLF and are counted from 1; blank ones
are skipped. The bytes of a line without its ending are the event. Other requests have their turn while a large body is
verified, and between two slices of a batch.

Limits  ``MOST_EVENTS`` of a batch, in ``MOST_LINES``; a line is as long as the body of a single event may be;
        ``MOST_WAITING`` events of a program wait to be scored, ``MOST_WAITING_SHARED`` of one with neighbours in its
        shard, whose events wait behind them; further ones are refused
Errors  InvalidRequestError for a body that is no batch; UnauthorizedError, one sentence for every signature that
        proves nothing, and one for none; EnvelopeError for an invalid envelope; UnavailableError when the log could not
        make the events durable, or too many wait
"""

import asyncio
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, NamedTuple
from zlib import crc32

import msgspec
from anyio import to_thread
from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import Scope

from clearhold.api.area import Area, Resources
from clearhold.api.http.body import SMALL_BYTES
from clearhold.api.http.envelope import ApiRequest, EventCounts, Outcome, header_values, note
from clearhold.api.http.gate import checked
from clearhold.api.http.operation import (
    BATCH_BODY_LIMIT,
    INGEST_BODY_LIMIT,
    NDJSON,
    Access,
    Operation,
    RawBody,
    examples_of,
)
from clearhold.api.ingest.check import DeliveryCheck, check_delivery
from clearhold.api.lists.handlers import FastRoute, JsonAnswer, answered_by_middleware
from clearhold.api.log.commands import EventKey
from clearhold.features.bank.envelope import EnvelopeError, format_fault, read_envelope
from clearhold.features.bank.event_schema import EVENT_SCHEMA
from clearhold.features.bank.events import BankEvent
from clearhold.features.core.errors import ErrorCode, FieldCode, UnauthorizedError, UnavailableError, invalid
from clearhold.features.core.instants import HOURS_24
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.principal import SIGNATURE_HEADER
from clearhold.features.core.vocabulary import about
from clearhold.features.sandbox.feed import ComposedEvents
from clearhold.features.shard.questions import SeenEvents
from clearhold.store.control.credentials import IngestTarget

MOST_EVENTS: Final = 1_000
MOST_LINES: Final = 2 * MOST_EVENTS
MOST_LINE_BYTES: Final = 1_048_576
MOST_WAITING: Final = 5_000
MOST_WAITING_SHARED: Final = 1_000
SHARED_US: Final = HOURS_24
"""A shard is shared with each program that had an event in this time."""

_SLICE_BYTES: Final = 65_536
_LINE_BYTES: Final = 1_024  # A line takes as long as that many bytes more.
_TOO_MANY: Final = f"must have at most {MOST_EVENTS:,} events, in {MOST_LINES:,} lines, blank ones included"
_TOO_LONG: Final = f"the line must have at most {MOST_LINE_BYTES} bytes"
EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = examples_of(__file__)
"""One event of each rail and of each kind of party, as the bank sends it; names and numbers are invented."""

_TO_SEND: Final = (
    f"Send the header {SIGNATURE_HEADER}, or the one that the program names: 64 hex digits, the HMAC-SHA256 of the raw "
    "body. The key is the program's whole ingest secret, whsec_ included."
)
UNVERIFIED: Final = f"The event's signature could not be verified. {_TO_SEND}"
UNSIGNED: Final = f"The event has no signature: the header {SIGNATURE_HEADER} is missing. {_TO_SEND}"

_SIGNATURE_HEADER: Final = SIGNATURE_HEADER.lower().encode()
_SIGNATURE: Final = re.compile(rb"[0-9A-Fa-f]{64}")
_NO_SECRETS: Final = (b"a key of no program", b"and another: a program has two at most")


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """The event is in the log; ``duplicate`` if it was there before, or another event took effect under its id."""

    received: bool
    duplicate: bool


class LineReceipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one line; ``error``, with the ``path`` of its field, when it was refused."""

    line: Annotated[int, about("The number of the line, from 1.")]
    received: bool
    id: Annotated[str | None, about("The event's id; null when it could not be read.")] = None
    duplicate: bool | None = None
    error: Annotated[str | None, about("Why the line was refused, in a sentence; null when it was not.")] = None
    path: Annotated[str | None, about("The field that the sentence is about; null without one.")] = None


def lines_of(raw: bytes) -> list[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    if (fault := format_fault(raw)) is not None:
        raise EnvelopeError(fault)
    if raw.count(b"\n") + (not raw.endswith(b"\n")) > MOST_LINES:
        raise invalid("body", _TOO_MANY, FieldCode.TOO_LONG)
    lines = [(number, line.removesuffix(b"\r")) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise invalid("body", "must have at least one event", FieldCode.TOO_SHORT)
    if len(lines) > MOST_EVENTS:
        raise invalid("body", _TOO_MANY, FieldCode.TOO_LONG)
    return lines


def read_line(line: bytes) -> BankEvent:
    """The envelope of a line's event. Raises EnvelopeError when it is invalid."""
    if len(line) > MOST_LINE_BYTES:
        raise EnvelopeError(_TOO_LONG)
    return read_envelope(line)


def _is_signed(scope: Any) -> bool:
    """Whether a header may be a signature, by the request alone: an answer by the program would tell what it names."""
    return any(name == _SIGNATURE_HEADER or _SIGNATURE.fullmatch(value) for name, value in scope["headers"])


async def _digests(secrets: Sequence[bytes], raw: bytes) -> list[bytes]:
    """The signatures of a body. A large one is hashed by a thread; ``hmac.digest`` would hold the interpreter there."""
    if len(raw) <= SMALL_BYTES:
        return [hmac.digest(secret, raw, "sha256") for secret in secrets]
    return await to_thread.run_sync(lambda: [hmac.new(secret, raw, "sha256").digest() for secret in secrets])


class DeliveredEvent(NamedTuple):
    """One delivered event with its bytes."""

    event_id: str
    checksum: int
    body: bytes


class IngestService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._tenancy, self._log, self._owner = stores.registry.tenancy, stores.appender, stores.owner
        self._pending, self._clock = resources.pending, stores.clock
        self._appending: dict[EventKey, asyncio.Future[None]] = {}

    async def take(self, program_id: str, scope: Any, raw: bytes) -> bool:
        """Make one event durable; True if it is a duplicate, or another event took effect under its id."""
        target = await self._verified(program_id, scope, raw)
        with self._admitted(target, scope, 1):
            (duplicate,) = await self._taken(target, [DeliveredEvent(read_envelope(raw).id, crc32(raw), raw)])
        return duplicate

    async def take_batch(self, program_id: str, scope: Any, raw: bytes) -> list[LineReceipt]:
        """Make the events of all lines durable together; an invalid line does not stop the others."""
        target = await self._verified(program_id, scope, raw)
        lines = lines_of(raw)
        with self._admitted(target, scope, len(lines)):
            return await self._take_lines(target, lines)

    async def _take_lines(self, target: IngestTarget, lines: Sequence[tuple[int, bytes]]) -> list[LineReceipt]:
        receipts: list[LineReceipt] = []
        deliveries: dict[int, DeliveredEvent] = {}
        read = 0
        for number, line in lines:
            read += _LINE_BYTES + len(line)
            if read > _SLICE_BYTES:
                read = 0
                await asyncio.sleep(0)
            try:
                deliveries[number] = DeliveredEvent(read_line(line).id, crc32(line), line)
            except EnvelopeError as error:
                receipts.append(LineReceipt(line=number, received=False, error=str(error), path=error.path))
        duplicates = await self._taken(target, [*deliveries.values()]) if deliveries else []
        for (number, each), duplicate in zip(deliveries.items(), duplicates, strict=True):
            receipts.append(LineReceipt(line=number, received=True, id=each.event_id, duplicate=duplicate))
        return sorted(receipts, key=lambda receipt: receipt.line)

    async def take_composed(self, program_id: str, events: ComposedEvents) -> None:
        """Make events durable that this service composed in the bank's format, for a simulated program."""
        target = self._tenancy.ingest_targets.find(program_id)
        assert target is not None, "every program has a target of ingest"
        composed = zip(events.event_ids, events.bodies, strict=True)
        await self._taken(target, [DeliveredEvent(event_id, crc32(body), body) for event_id, body in composed])

    @contextmanager
    def _admitted(self, target: IngestTarget, scope: Any, events: int) -> Iterator[None]:
        """Count the events as waiting; refuses them if too many of the program's events wait already."""
        program_id, shard, pending = target.program_id, target.shard, self._pending
        is_shared = pending.is_shared(program_id, shard, since=self._clock.now() - SHARED_US)
        most = MOST_WAITING_SHARED if is_shared else MOST_WAITING
        if pending.events_of(program_id, shard) >= most:
            note(scope, outcome=Outcome.BEHIND)
            behind = f"{most:,} events of this program wait to be scored. Nothing was stored; try again."
            raise UnavailableError(behind, ErrorCode.OVERLOADED)
        with pending.appending(program_id, events):
            yield

    async def _verified(self, program_id: str, scope: Any, raw: bytes) -> IngestTarget:
        """The program, after the sender has proved the knowledge of its secret.

        A refusal takes the same time for an unknown program and for one with one secret or two.
        """
        target = self._tenancy.ingest_targets.find(program_id)
        now = self._clock.now()
        secrets = [] if target is None else [each.value.encode() for each in target.secrets if each.is_valid(now)]
        sent = header_values(scope, _SIGNATURE_HEADER if target is None else target.signature_header)
        well_formed = len(sent) == 1 and _SIGNATURE.fullmatch(sent[0]) is not None
        signature = bytes.fromhex(sent[0].decode("ascii")) if well_formed else b""
        proved = [hmac.compare_digest(digest, signature) for digest in await _digests(secrets, raw)]
        if target is None or not any(proved):
            await _digests(_NO_SECRETS[len(proved) :], raw)
            raise UnauthorizedError(UNVERIFIED if _is_signed(scope) else UNSIGNED, ErrorCode.SIGNATURE_INVALID)
        endpoint = target.webhook_endpoint_id
        if endpoint is not None and header_values(scope, b"webhook-endpoint-id") != [endpoint.encode()]:
            raise UnauthorizedError(UNVERIFIED, ErrorCode.SIGNATURE_INVALID)
        return target

    async def _taken(self, target: IngestTarget, deliveries: Sequence[DeliveredEvent]) -> list[bool]:
        """Append the events that are not in the log, in order; True for each duplicate.

        The bytes of an event are appended once. A second sender waits for the first append, and retries if it failed.
        """
        keys = [(target.program_id, each.event_id, each.checksum) for each in deliveries]
        while others := [self._appending[key] for key in keys if key in self._appending]:
            await asyncio.wait(others)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._appending.update(dict.fromkeys(keys, done))
        try:
            return await self._append_new(target, keys, deliveries)
        finally:
            for key in keys:
                self._appending.pop(key, None)
            done.set_result(None)

    async def _append_new(
        self, target: IngestTarget, keys: Sequence[EventKey], deliveries: Sequence[DeliveredEvent]
    ) -> list[bool]:
        earlier = await self._earlier_results(target.program_id, keys)
        new: dict[EventKey, bytes] = {}
        duplicates: list[bool] = []
        for key, delivery in zip(keys, deliveries, strict=True):
            is_repeated = key in new or earlier[key] is EventResult.DUPLICATE
            if not is_repeated:
                new[key] = delivery.body  # A conflicting event is stored too, for its sender to find.
            duplicates.append(is_repeated or earlier[key] is not None)
        if new:
            now, bodies = self._clock.now(), [*new.values()]
            offsets = await self._log.append_events(target.shard, target.program_id, now, bodies)
            for key, offset in zip(new, offsets, strict=True):
                self._pending.add(target.shard, offset, now, key)
        return duplicates

    async def _earlier_results(
        self, program_id: str, keys: Sequence[EventKey]
    ) -> Mapping[EventKey, EventResult | None]:
        """Each event's result by earlier ones: a duplicate while pending, else by the state; None if it is new."""
        earlier: dict[EventKey, EventResult | None] = {}
        for key in keys:
            earlier[key] = EventResult.DUPLICATE if self._pending.holds(key) else None
        unknown = [key for key, result in earlier.items() if result is None]
        if unknown:
            question = SeenEvents(tuple((event_id, checksum) for _, event_id, checksum in unknown))
            earlier.update(zip(unknown, (await self._owner.query(program_id, question)).value, strict=True))
        return earlier


_LINES: Final = msgspec.json.Encoder()
_RECEIPTS: Final = (
    LineReceipt(line=1, received=True, id="evnt_2zExample0001", duplicate=False),
    LineReceipt(line=2, received=False, error="Validation failed: created_at is required", path="created_at"),
)
_OPERATION: Final = Operation(
    id="ingestBankEvent",
    tag="ingest",
    summary="Takes in one event of the bank, signed over its raw bytes with the program's secret.",
    access=Access.SIGNATURE,
    answers={200: Receipt},
    refusals=(ErrorCode.OVERLOADED,),
    asks_owner=True,
    answer_example={"received": True, "duplicate": False},
    raw_body=RawBody(schema=EVENT_SCHEMA, examples=EXAMPLES),
    body_limit=INGEST_BODY_LIMIT,
)
_BATCH: Final = Operation(
    id="ingestBankEvents",
    tag="ingest",
    summary=f"Takes in up to {MOST_EVENTS:,} events, one a line, under one signature over the raw body. All valid "
    "events become durable together; after a 503 send the batch again. The answer has one line for each event, in "
    "order: an invalid event does not stop the others.",
    access=Access.SIGNATURE,
    answers={200: LineReceipt},
    refusals=(ErrorCode.OVERLOADED,),
    asks_owner=True,
    text_examples={NDJSON: _LINES.encode_lines(_RECEIPTS).decode()},
    media=(NDJSON,),
    raw_body=RawBody(
        schema={"type": "string", "description": "Events, one JSON object a line."},
        examples={"two events": _LINES.encode_lines([*EXAMPLES.values()][:2]).decode()},
        media=NDJSON,
    ),
    body_limit=BATCH_BODY_LIMIT,
)
_TAKEN: Final = msgspec.json.encode(Receipt(received=True, duplicate=False))
_DUPLICATE: Final = msgspec.json.encode(Receipt(received=True, duplicate=True))


async def _take(ingest: IngestService, scope: Scope) -> JsonAnswer:
    duplicate = await ingest.take(scope["path_params"]["program_id"], scope, checked(scope).raw)
    if duplicate:
        note(scope, outcome=Outcome.DUPLICATE)
    return 200, _DUPLICATE if duplicate else _TAKEN, []


@post(
    "/api/ingest/bank/{program_id:str}", status_code=200, opt=_OPERATION.as_opt, middleware=[FastRoute("ingest", _take)]
)
async def ingest_is_answered_by_middleware() -> Receipt:
    """Names the route only."""
    answered_by_middleware()


@post("/api/ingest/bank/{program_id:str}/batch", status_code=200, media_type=NDJSON, opt=_BATCH.as_opt)
async def take_batch(program_id: FromPath[str], request: ApiRequest, ingest: NamedDependency[IngestService]) -> bytes:
    receipts = await ingest.take_batch(program_id, request.scope, checked(request.scope).raw)
    counts = EventCounts(
        accepted=sum(receipt.duplicate is False for receipt in receipts),
        duplicate=sum(receipt.duplicate is True for receipt in receipts),
        refused_invalid=sum(not receipt.received for receipt in receipts),
    )
    note(request.scope, events=counts)
    return _LINES.encode_lines(receipts)


AREA: Final = Area(
    routes=(ingest_is_answered_by_middleware, take_batch, check_delivery),
    provide={"ingest": IngestService, "delivery_check": DeliveryCheck},
)
