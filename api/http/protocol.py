"""HTTP/1.1 on one connection: an unreadable or slow request gets the error envelope and ends the connection.

Unit    seconds; a head's time starts at its first byte, and pauses while an earlier request is being answered; a new
        connection has ``FIRST_REQUEST_WITHIN_S`` to begin one
Limits  a head has ``HEAD_LIMIT`` bytes, plus the bytes that arrived with them, and ``head_within_s``; after an early
        answer the rest of a body has ``rest_within_s``. The reader of a body limits its content; the framing (chunk
        heads, trailers) has ``FRAMING_LIMIT`` bytes and an eighth of the content.

A trailer is skipped and never becomes a header (RFC 9110, 6.5.1): no check of headers would see it.
"""

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import UNSET
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from clearhold.api.http.body import BODY_IS_THERE
from clearhold.api.http.envelope import (
    CONTENT_SECURITY_POLICY,
    HEADERS_OF_STATUS,
    INTERFACE_VERSION,
    ErrorEnvelope,
)
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.limits import Connections
from clearhold.features.core.errors import ErrorCode
from clearhold.store.ids import new_id

HEAD_LIMIT: Final = 65_536
FRAMING_LIMIT: Final = 16_384
HEAD_WITHIN_S: Final = 10.0
REST_WITHIN_S: Final = 10.0
FIRST_REQUEST_WITHIN_S: Final = 10.0

TRANSPORT: Final = "clearhold.transport"
"""The key in the scope under which a stream finds its connection, for parts that it writes after its first one."""

_UNREADABLE: Final = "The request is not readable as HTTP."
_HEAD_TOO_LARGE: Final = f"The request line and headers must have at most {HEAD_LIMIT} bytes."
_FRAMING: Final = "The framing of the body outweighs its content: send larger chunks and fewer trailers."
_NO_ROOM: Final = "Too many connections are open. Try again later."
_CODINGS: Final = "A request's body may be chunked; no other transfer coding is understood."
_VERSION: Final = "This service speaks HTTP/1.1 and HTTP/1.0."
_NO_HOST: Final = "The header Host must be given once."
_VERSIONS: Final = frozenset({"1.1", "1.0"})
_CHUNK_BYTES: Final = 5
"""The shortest framing of a chunk: one digit and two line ends."""

_CONTENT_PER_FRAMING: Final = 8
_CONTINUE: Final = b"HTTP/1.1 100 "
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})


class _Answering:
    """The transport for one request: the head leaves with the first part of the body, in one system call; further
    parts leave at once.
    """

    __slots__ = ("_has_begun", "_head", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._has_begun = False

    def write(self, data: bytes) -> None:
        if self._has_begun or data.startswith(_CONTINUE):
            self._transport.write(data)
        elif self._head:
            self._transport.write(self._head + data)
            self._head, self._has_begun = b"", True
        else:
            self._head = data

    def flush(self) -> None:
        """Send a head that no body follows, or not yet."""
        if self._head:
            self._transport.write(self._head)
            self._head, self._has_begun = b"", True

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


class Protocol(HttpToolsProtocol):
    """One connection. Requests are answered in order, and a refusal waits for the answers before it."""

    head_within_s = HEAD_WITHIN_S
    rest_within_s = REST_WITHIN_S
    first_request_within_s = FIRST_REQUEST_WITHIN_S

    _address = ""
    _in_head = False
    _in_body = False
    _head_bytes = 0
    _framing_bytes = 0
    _content_bytes = 0
    _is_mixed = False  # The last read contains parts of several heads or bodies.
    _unanswered = 0
    _refusal: tuple[ErrorCode, str] | None = None
    _head_timer: asyncio.TimerHandle | None = None
    _rest_timer: asyncio.TimerHandle | None = None

    def __init__(self, *, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._connections = connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client is not None else ""
        if self._connections.add(self._address):
            self._keep_alive(self.first_request_within_s)
        else:
            self._refuse(ErrorCode.OVERLOADED, _NO_ROOM)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self._address)
        self._unset_keepalive_if_required()
        self._stop_head_timer()
        self._stop_rest_timer()

    def data_received(self, data: bytes) -> None:
        if self._refusal is not None:
            return  # Bytes after a refused request are not read.
        self._is_mixed = False
        content_before = self._content_bytes
        super().data_received(data)
        if self.transport.is_closing() or self._refusal is not None:
            return
        if self._in_head:
            self._count_head(0 if self._is_mixed else len(data))
        elif self._in_body:
            if not self._is_mixed and self._content_bytes == content_before:
                self._count_framing(len(data))
        elif not self._unanswered:
            self._keep_alive(self.timeout_keep_alive)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_LIMIT:
            self._refuse(ErrorCode.HEADERS_TOO_LARGE, _HEAD_TOO_LARGE)
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_within_s, self._head_is_late)

    def _count_framing(self, size: int) -> bool:
        """False once the framing is too long, and the request is refused."""
        self._framing_bytes += size
        if self._framing_bytes <= FRAMING_LIMIT + self._content_bytes // _CONTENT_PER_FRAMING:
            return True
        self._refuse(ErrorCode.HTTP_UNREADABLE, _FRAMING)
        return False

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head, self._head_bytes, self._is_mixed = False, 0, True
        self._framing_bytes = self._content_bytes = 0
        self._stop_head_timer()
        self._check_version()
        self._check_host()
        self._check_codings()
        if self.parser.should_upgrade():
            self._check_upgrade()
        super().on_headers_complete()  # It raises for a target without a path: that request is never begun.
        self._in_body = True
        self.headers = []  # For the trailers; the request keeps its own list.
        self._unanswered += 1
        self.scope[TRANSPORT] = self.transport  # type: ignore[typeddict-unknown-key]
        answering = _Answering(self.transport)
        self.cycle.transport = answering  # type: ignore[assignment]  # what a cycle needs of one
        self.cycle.on_response = partial(self._answered, answering)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Without uvicorn's callback at the end, which costs each request a turn of the event loop."""
        self.tasks.add(self.loop.create_task(self._run(cycle, app)))

    async def _run(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        task = asyncio.current_task()
        try:
            await cycle.run_asgi(app)
        finally:
            assert task is not None
            self.tasks.discard(task)

    def _answered(self, answering: _Answering) -> None:
        answering.flush()
        self.on_response_complete()

    def on_chunk_header(self) -> None:
        if not self._count_framing(_CHUNK_BYTES):
            raise ValueError(_FRAMING)  # Stops the parser.

    def on_body(self, body: bytes) -> None:
        self._content_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._is_mixed = False, True
        self.scope[BODY_IS_THERE] = True  # type: ignore[typeddict-unknown-key]  # for ``read_body``
        self._stop_rest_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unanswered -= 1
        if self.transport.is_closing() or self._unanswered:
            return
        if self._refusal is not None:
            self._refuse(*self._refusal)
        elif self._in_body:
            self._rest_timer = self.loop.call_later(self.rest_within_s, self.transport.close)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the parser's own words are not ours
        if self._refusal is None:
            self._refuse(ErrorCode.HTTP_UNREADABLE, _UNREADABLE)

    def _unsupported_upgrade_warning(self) -> None:
        """An offer of an upgrade may be ignored: the request is answered as usual."""

    def _check_version(self) -> None:
        """Refuse a version that the parser takes and this service does not speak, as HTTP/2.0 in text."""
        if self.parser.get_http_version() not in _VERSIONS:
            self._refuse(ErrorCode.HTTP_VERSION_UNSUPPORTED, _VERSION)
            raise ValueError(_VERSION)  # Stops the parser.

    def _check_host(self) -> None:
        """Refuse an HTTP/1.1 request with no host or two (RFC 9112, 3.2)."""
        hosts = [name for name, _ in self.headers if name == b"host"]
        if len(hosts) > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            self._refuse(ErrorCode.HTTP_UNREADABLE, _NO_HOST)
            raise ValueError(_NO_HOST)  # Stops the parser.

    def _check_codings(self) -> None:
        """Refuse a body that is encoded beside being chunked: it would not be decoded (RFC 9112, 6.1)."""
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._refuse(ErrorCode.TRANSFER_CODING_UNKNOWN, _CODINGS)
            raise ValueError(_CODINGS)  # Stops the parser.

    def _check_upgrade(self) -> None:
        """Refuse WebSocket, and an upgrade with a body: the parser would take the body for a new request."""
        lengths = {value for name, value in self.headers if name in _BODY_HEADERS}
        if self._get_upgrade() == b"websocket":
            sentence = "This service does not speak WebSocket."
        elif lengths - {b"0"}:
            sentence = "A request with a body cannot offer an upgrade."
        else:
            return
        self._refuse(ErrorCode.HTTP_UNREADABLE, sentence)
        raise ValueError(sentence)  # Stops the parser.

    def _refuse(self, code: ErrorCode, sentence: str) -> None:
        """Answer and close, once the earlier requests on the connection are answered."""
        self._refusal = (code, sentence)
        if self._in_body:
            self._give_up_on_body()
        if self._unanswered or self.transport.is_closing():
            return
        request_id = new_id()
        status = HTTPStatus(ERRORS[code].status)
        fields = () if status is HTTPStatus.BAD_REQUEST else UNSET
        body = msgspec.json.encode(ErrorEnvelope(error=sentence, code=code, request_id=request_id, fields=fields))
        further = "".join(f"{name}: {value}\r\n" for name, value in HEADERS_OF_STATUS.get(status, {}).items())
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\n{further}"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
            f"x-request-id: {request_id}\r\nscore-version: {INTERFACE_VERSION}\r\n"
            f"x-content-type-options: nosniff\r\ncontent-security-policy: {CONTENT_SECURITY_POLICY}\r\n"
            "referrer-policy: no-referrer\r\ncache-control: no-store\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _give_up_on_body(self) -> None:
        """Abandon the request that is being read: it is not begun, or the refusal is its answer, if it has none yet."""
        self._in_body = False
        if self.cycle.response_started:
            self.transport.close()
            return
        self._unanswered -= 1
        if self.pipeline and self.pipeline[0][0] is self.cycle:
            self.pipeline.popleft()

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._unanswered:  # The rest of it may never have been read.
            self._head_timer = self.loop.call_later(self.head_within_s, self._head_is_late)
        else:
            self._refuse(ErrorCode.REQUEST_TOO_SLOW, "The request line and headers did not arrive in time.")

    def _keep_alive(self, seconds: float) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
