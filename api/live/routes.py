"""The feed over HTTP: events of commits, as server-sent events, each to the callers that may read it.

The answer goes on until one side ends it. The gate's checks are made when it begins, and again every few seconds by
the feed, so that a token or key that ends takes its answers with it.

Errors  NotFoundError for a program that is not this tenant's; ForbiddenError for a kind whose scope a key lacks;
        InvalidRequestError for an unreadable Last-Event-ID; UnavailableError when there is no room for a reader
"""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Final
from zlib import crc32

import anyio
import msgspec
from litestar import get
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.area import Area, LiveFeed, LiveReading, Resources
from clearhold.api.http.envelope import ApiRequest, header_values, request_id
from clearhold.api.http.fields import ProgramIds
from clearhold.api.http.gate import principal_of, query_of, renewal_of
from clearhold.api.http.operation import EVENT_STREAM, LAST_EVENT_ID, Access, Operation, StreamedEvent, examples_of
from clearhold.api.http.protocol import TRANSPORT
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import SERVICES
from clearhold.features.core.errors import ErrorCode, FieldCode, invalid
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import Band, Severity
from clearhold.features.live.payloads import DATA_OF, LiveBody, LiveKind
from clearhold.features.live.reading import End, EndNotice, ResyncNotice, Wanted, kinds_for

RETRY_MS: Final = 1_000
RETRY_SPREAD_MS: Final = 2_000
LONGEST_S: Final = 3_300
LONGEST_SPREAD_S: Final = 600
TAKEN_WITHIN_S: Final = 60.0
END_WITHIN_S: Final = 1.0

_TAG: Final = "live"
_MALFORMED: Final = "must be the id of an event of this feed"
_START: Final = "http.response.start"
_BODY: Final = "http.response.body"
_HEADERS: Final = ((b"content-type", EVENT_STREAM.encode()), (b"x-accel-buffering", b"no"))


class LiveQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An event without a band is in no wanted band, and likewise for severities."""

    program_id: ProgramIds | None = None
    kind: Annotated[tuple[LiveKind, ...], msgspec.Meta(min_length=1, max_length=len(LiveKind))] | None = None
    band: Annotated[tuple[Band, ...], msgspec.Meta(min_length=1, max_length=len(Band))] | None = None
    severity: Annotated[tuple[Severity, ...], msgspec.Meta(min_length=1, max_length=len(Severity))] | None = None


class LiveService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._feed = resources.programs, resources.feed

    def follow(self, scope: Scope) -> "LiveAnswer":
        """The answer to a request that passed the gate; a programId of another tenant is a 404 at once."""
        return self.answer_to(scope, principal_of(scope), query_of(scope, LiveQuery), renewal_of(scope))

    def answer_to(
        self, scope: Scope, principal: Principal, query: LiveQuery, renewal: Callable[[], Principal]
    ) -> "LiveAnswer":
        """The answer to a proven caller; ``renewal`` proves it again, and raises its refusal."""
        wanted = self._wanted(principal, query)
        return LiveAnswer(
            feed=self._feed,
            tenant_id=principal.tenant_id,
            wanted=wanted,
            position=self._position(scope),
            renewed=lambda: self._wanted(renewal(), query),
        )

    def _wanted(self, principal: Principal, query: LiveQuery) -> Wanted:
        named = self._programs.filter_by(principal, query.program_id)
        programs = principal.program_ids if named is None else frozenset(filter(principal.reaches, named))
        kinds = kinds_for(principal, None if query.kind is None else frozenset(query.kind))
        return Wanted(programs, kinds, _any_of(query.band), _any_of(query.severity))

    def _position(self, scope: Scope) -> object | None:
        sent = [each for each in header_values(scope, LAST_EVENT_ID.lower().encode()) if each]
        if not sent:
            return None
        if len(sent) > 1:
            raise invalid(LAST_EVENT_ID, "must be given once", FieldCode.REPEATED)
        try:
            return self._feed.position_of(sent[0].decode("ascii"))
        except ValueError:
            raise invalid(LAST_EVENT_ID, _MALFORMED, FieldCode.MALFORMED) from None


def _any_of(values: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if values is None else frozenset(map(str, values))


class LiveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer, as an ASGI application. Behind another server than ours it ends with the missed events."""

    feed: LiveFeed
    tenant_id: str
    wanted: Wanted
    position: object | None
    renewed: Callable[[], Wanted]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: Any = scope.get(TRANSPORT)
        spread = crc32(request_id(scope).encode())
        with self.feed.reading(
            self.tenant_id, self.wanted, self.position, connection=connection, renewed=self.renewed
        ) as reading:
            await send({"type": _START, "status": 200, "headers": list(_HEADERS)})
            await _send_part(send, b"retry: %d\n\n" % (RETRY_MS + spread % RETRY_SPREAD_MS))
            async with anyio.create_task_group() as running:
                running.start_soon(_cancel_when_gone, receive, running.cancel_scope)
                try:
                    async for piece in reading.pieces():
                        with anyio.fail_after(TAKEN_WITHIN_S):
                            await _send_part(send, piece)
                        await asyncio.sleep(0)  # pieces are many after a long absence, and requests wait
                    last = b""
                    if connection is not None:
                        last = await _followed(reading, LONGEST_S + spread % LONGEST_SPREAD_S)
                    with anyio.fail_after(END_WITHIN_S):
                        await send({"type": _BODY, "body": last, "more_body": False})
                except TimeoutError:  # It reads nothing, not even the end.
                    if connection is not None:
                        connection.abort()
                running.cancel_scope.cancel()


async def _followed(reading: LiveReading, longest_s: float) -> bytes:
    """Return the last event once the answer is to end; TimeoutError when the reader does not read."""
    await asyncio.wait([reading.ended], timeout=longest_s)
    reason = reading.ended.result() if reading.ended.done() else End.AGE
    if reason is End.STALLED:
        raise TimeoutError
    return reading.farewell(reason)


async def _send_part(send: Send, part: bytes) -> None:
    await send({"type": _BODY, "body": part, "more_body": True})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            scope.cancel()
            return


_EVENTS: Final[dict[str, StreamedEvent]] = {
    **{kind.value: StreamedEvent(LiveBody, data) for kind, data in DATA_OF.items()},
    "resync": StreamedEvent(ResyncNotice),
    "end": StreamedEvent(EndNotice),
}
_FOLLOW: Final = Operation(
    id="followLive",
    tag=_TAG,
    summary="Each commit as it happens, as server-sent events. Events are scores of transfers, actors and programs, "
    "alerts opened and changed, dispositions, actions and KRI snapshots. The answer goes on until the connection ends, "
    "and for about an hour at most; an `end` event then has the reason. To continue after an event, send its id as "
    "Last-Event-ID: nothing is left out and nothing comes twice. A `resync` event says that events are missing, and "
    "why. A comment every 15 s keeps the connection alive. An API key gets the kinds whose scope it has: `reports` for "
    "program.scored and kri.snapshot, `actions` for action.changed. `x-eventSchemas` has the schemas of events.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: str},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.OVERLOADED, ErrorCode.STARTING),
    query=RequestSchema(LiveQuery),
    headers=("X-Accel-Buffering",),
    media=(EVENT_STREAM,),
    text_examples={EVENT_STREAM: examples_of(__file__)["stream"]},
    events=_EVENTS,
)


@get("/api/live", opt=_FOLLOW.as_opt)
async def follow_live(request: ApiRequest) -> ASGIApp:
    service: LiveService = request.app.state[SERVICES][_TAG]
    return service.follow(request.scope)


AREA: Final = Area(routes=(follow_live,), provide={_TAG: LiveService})
