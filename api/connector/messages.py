"""JSON-RPC 2.0 and the two eras of the Model Context Protocol, both served without a session.

One message in, at most one reply out, no batches.

Legacy  ``initialize`` first, then ``ping``, ``tools/list``, ``tools/call``. Errors of JSON-RPC come with HTTP 200.
Modern  (2026-07-28) no handshake: each request states version and capabilities in ``_meta``, and repeats version,
        method and tool in headers. Each error has its HTTP status.

Errors  RpcError, a code of JSON-RPC or of the protocol with its sentence; for a modern request the first that fails of
        capabilities, headers, version, method
"""

import base64
import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from clearhold.api.http.envelope import header_values
from clearhold.api.http.request_schema import MOST_VALUES, has_too_many_values

META: Final = "_meta"


class RpcCode(IntEnum):
    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    HEADER_MISMATCH = -32020
    VERSION_UNSUPPORTED = -32022


class RpcError(Exception):
    """``str(error)`` is the sentence for the client."""

    def __init__(self, code: RpcCode, sentence: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(sentence)
        self.code, self.data = code, data


class Reply(NamedTuple):
    status: int
    body: bytes


class RpcRequest(NamedTuple):
    """A request with a valid envelope; its method reads ``params``."""

    id: int | str
    method: str
    params: dict[str, Raw]
    meta: dict[str, Any]


class _Message(msgspec.Struct, frozen=True):
    jsonrpc: Literal["2.0"]
    id: int | str | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: dict[str, Raw] | UnsetType = UNSET
    result: Any = UNSET
    error: Any = UNSET


_SYNTAX: Final = msgspec.json.Decoder(Raw)
_DECODER: Final = msgspec.json.Decoder(_Message)
_NOT_JSON: Final = "The body must be JSON in UTF-8."
_NOT_A_MESSAGE: Final = (
    "The body must be one JSON-RPC 2.0 message with a method, an id that is a string or an integer, and params that "
    "are an object. Batches are not taken."
)
_TOO_MANY: Final = f"The message must have at most {MOST_VALUES:,} values, by its commas."
NO_REPLY: Final = Reply(202, b"")


def request_in(raw: bytes) -> RpcRequest | None:
    """The request in a body; None for a notification and for a response, which get no reply."""
    try:
        raw.decode()
        _SYNTAX.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise RpcError(RpcCode.PARSE_ERROR, _NOT_JSON) from None
    if has_too_many_values(raw):
        raise RpcError(RpcCode.INVALID_REQUEST, _TOO_MANY)
    try:
        message, repeats = _DECODER.decode(raw), _repeats_a_name(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        raise RpcError(RpcCode.INVALID_REQUEST, _NOT_A_MESSAGE) from None
    if repeats:
        raise RpcError(RpcCode.INVALID_REQUEST, "The message, its params and its _meta must each name a property once.")
    if message.method is UNSET:
        if message.id is UNSET or (message.result is UNSET and message.error is UNSET):
            raise RpcError(RpcCode.INVALID_REQUEST, _NOT_A_MESSAGE)
        return None
    if message.id is UNSET:
        return None
    params = {} if message.params is UNSET else message.params
    meta = value_of(params, META)
    return RpcRequest(message.id, message.method, params, meta if isinstance(meta, dict) else {})


def _repeats_a_name(raw: bytes) -> bool:
    """Whether the message names a property twice: a gateway before the service may have checked the other value.

    A tool's schema refuses repeated arguments itself, by their path.
    """
    level = json.loads(raw, object_pairs_hook=tuple)
    for inner in ("params", META, None):
        if not isinstance(level, tuple):
            return False
        named = dict(level)
        if len(named) < len(level):
            return True
        level = named.get(inner)
    return False


def value_of(params: dict[str, Raw], name: str) -> Any:
    """The value of a parameter; None when it is missing or unreadable."""
    raw = params.get(name)
    try:
        return None if raw is None else msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def result_reply(request_id: int | str, result: dict[str, Any]) -> Reply:
    return Reply(200, msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "result": result}))


def error_reply(status: int, request_id: int | str | None, error: RpcError) -> Reply:
    body: dict[str, Any] = {"code": int(error.code), "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    return Reply(status, msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": body}))


MODERN: Final = "2026-07-28"
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED: Final = [MODERN, *LEGACY]
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
INITIALIZE: Final = "initialize"
PING: Final = "ping"
DISCOVER: Final = "server/discover"
LIST_TOOLS: Final = "tools/list"
CALL_TOOL: Final = "tools/call"
LEGACY_METHODS: Final = frozenset({INITIALIZE, PING, LIST_TOOLS, CALL_TOOL})
MODERN_METHODS: Final = frozenset({DISCOVER, LIST_TOOLS, CALL_TOOL})
STATUS_OF_MODERN: Final[Mapping[RpcCode, int]] = {
    RpcCode.INVALID_PARAMS: 400,
    RpcCode.HEADER_MISMATCH: 400,
    RpcCode.VERSION_UNSUPPORTED: 400,
    RpcCode.METHOD_NOT_FOUND: 404,
}
_ENCODED: Final = ("=?base64?", "?=")


def is_modern(scope: Any, request: RpcRequest) -> bool:
    if PROTOCOL_VERSION in request.meta:
        return True
    version = _header(scope, "mcp-protocol-version")
    return request.method != INITIALIZE and version is not None and version not in LEGACY


def check_modern(scope: Any, request: RpcRequest) -> None:
    """The ladder: the first failure is the answer."""
    version, capabilities = request.meta.get(PROTOCOL_VERSION), request.meta.get(CAPABILITIES)
    if not (isinstance(version, str) and isinstance(capabilities, dict)):
        raise RpcError(RpcCode.INVALID_PARAMS, f"params._meta must have {PROTOCOL_VERSION} and {CAPABILITIES}.")
    named: dict[str, object] = {"mcp-protocol-version": version, "mcp-method": request.method}
    if request.method == CALL_TOOL:
        named["mcp-name"] = value_of(request.params, "name")
    for name, value in named.items():
        if value is None or _header(scope, name) != value:
            raise RpcError(RpcCode.HEADER_MISMATCH, f"The header {name} must be the same as in the body.")
    if version != MODERN:
        data = {"supported": SUPPORTED, "requested": version}
        raise RpcError(RpcCode.VERSION_UNSUPPORTED, "This version of the protocol is not supported.", data)
    check_method(request, MODERN_METHODS)


def check_method(request: RpcRequest, known: frozenset[str]) -> None:
    if request.method not in known:
        raise RpcError(RpcCode.METHOD_NOT_FOUND, f"The methods are {', '.join(sorted(known))}.")


def _header(scope: Any, name: str) -> str | None:
    """The header's value, decoded if it is base64; None when it is missing or unreadable."""
    sent = header_values(scope, name.encode())
    try:
        text = b", ".join(sent).decode()
        begin, end = _ENCODED
        if text.startswith(begin) and text.endswith(end):
            text = base64.b64decode(text.removeprefix(begin).removesuffix(end), validate=True).decode()
    except ValueError:  # of the encoding, or of base64
        return None
    return text if sent else None
