"""The connector for assistants: one path, POST only. It keeps nothing between two requests.

A refusal that a model can correct is a result with ``isError`` and the sentence of the route. A mistake of the client
is a JSON-RPC error.
"""

from importlib.metadata import version
from typing import Any, Final

import msgspec
import structlog
from anyio import to_thread
from litestar import Response, post

from clearhold.api.area import Area
from clearhold.api.connector import messages
from clearhold.api.connector.messages import (
    CALL_TOOL,
    INITIALIZE,
    LEGACY,
    LEGACY_METHODS,
    NO_REPLY,
    STATUS_OF_MODERN,
    SUPPORTED,
    Reply,
    RpcCode,
    RpcError,
    RpcRequest,
    check_method,
    check_modern,
    error_reply,
    is_modern,
    request_in,
    result_reply,
    value_of,
)
from clearhold.api.connector.rest import NOTICE, Rest, separated
from clearhold.api.connector.tools import INSTRUCTIONS, TOOL_OF, TOOLS, Tool
from clearhold.api.http.auth import operator_of
from clearhold.api.http.envelope import ApiRequest, request_id, status_of
from clearhold.api.http.gate import checked, principal_of
from clearhold.api.http.operation import JSON, Access, Operation, RateClass, RawBody
from clearhold.features.core.errors import RiskError
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.store.ids import TRACEPARENT

SERVER: Final = {"name": "clearhold", "title": "Clearhold", "version": version("clearhold")}
CAPABILITIES: Final[dict[str, Any]] = {"tools": {}}
FRESH_FOR_MS: Final = 300_000
INTERNAL: Final = "Internal error."
_SERVER_ERROR: Final = 500
_NO_ARGUMENTS: Final = b"{}"
_CACHE: Final = {"ttlMs": FRESH_FOR_MS, "cacheScope": "private"}  # Scopes change which tools there are.
_LISTED: Final = {tool.name: tool.listed for tool in TOOLS}

log = structlog.get_logger()


async def reply_to(scope: Any, principal: Principal, raw: bytes) -> Reply:
    try:
        request = request_in(raw)
    except RpcError as error:
        return error_reply(400, None, error)
    if request is None:
        return NO_REPLY
    modern = is_modern(scope, request)
    try:
        if modern:
            check_modern(scope, request)
            result = await _result(scope, principal, request)
            return result_reply(request.id, _of_modern(request.method, result))
        check_method(request, LEGACY_METHODS)
        return result_reply(request.id, await _result(scope, principal, request))
    except RpcError as error:
        status = STATUS_OF_MODERN.get(error.code, 200) if modern else 200
        return error_reply(status, request.id, error)
    except Exception:
        log.exception("connector_failed", request_id=request_id(scope))
        return error_reply(200, request.id, RpcError(RpcCode.INTERNAL_ERROR, INTERNAL))


async def _result(scope: Any, principal: Principal, request: RpcRequest) -> dict[str, Any]:
    match request.method:
        case messages.INITIALIZE:
            wanted = value_of(request.params, "protocolVersion")
            agreed = wanted if wanted in LEGACY else LEGACY[0]
            return _introduction() | {"protocolVersion": agreed, "serverInfo": SERVER}
        case messages.DISCOVER:
            return _introduction() | {"supportedVersions": SUPPORTED}
        case messages.LIST_TOOLS:
            return {"tools": [_LISTED[tool.name] for tool in TOOLS if principal.has_scope(tool.scope)]}
        case messages.CALL_TOOL:
            return await _call(scope, principal, request)
    return {}  # to a ping


def _introduction() -> dict[str, Any]:
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def _of_modern(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result with the fields of every modern result, and the time for which a list may be cached."""
    cache = {} if method == messages.CALL_TOOL else _CACHE
    return result | cache | {"resultType": "complete", "_meta": {messages.SERVER_INFO: SERVER}}


async def _call(scope: Any, principal: Principal, request: RpcRequest) -> dict[str, Any]:
    name = value_of(request.params, "name")
    tool = TOOL_OF.get(name) if isinstance(name, str) else None
    if tool is None:
        raise RpcError(RpcCode.INVALID_PARAMS, f"params.name must be one of {', '.join(TOOL_OF)}.")
    sent = request.params.get("arguments")
    arguments = _NO_ARGUMENTS if sent is None or bytes(sent) == b"null" else bytes(sent)
    try:
        answer = await _called(scope, principal, tool, arguments, request.meta.get(TRACEPARENT))
    except RiskError as error:
        if status_of(error) == _SERVER_ERROR:
            raise RpcError(RpcCode.INTERNAL_ERROR, INTERNAL) from error
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    return await to_thread.run_sync(_succeeded, answer)


def _succeeded(answer: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool. Runs on any thread: a page of a hundred alerts takes tens of milliseconds."""
    result = separated(answer)
    text = msgspec.json.encode(result).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": result, "isError": False}


async def _called(
    scope: Any, principal: Principal, tool: Tool, arguments: bytes, traceparent: object
) -> dict[str, Any]:
    """The answer of the tool's route: scope and operator are checked before the arguments, as the gate does."""
    principal.require_scope(tool.scope)
    operator_of(scope, principal)
    typed, _ = tool.arguments.decode(arguments)
    return await tool.call(Rest(scope, traceparent=traceparent), typed, arguments)


CALLS: Final[dict[str, Any]] = {
    "call a tool": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": CALL_TOOL,
        "params": {"name": "list_queue", "arguments": {"limit": 10}},
    },
    "handshake": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": INITIALIZE,
        "params": {
            "protocolVersion": LEGACY[0],
            "capabilities": {},
            "clientInfo": {"name": "assistant", "version": "1"},
        },
    },
}
REPLY: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "content": [{"type": "text", "text": "the same as structuredContent, in JSON"}],
        "structuredContent": {
            "alerts": [],
            "hasMore": False,
            "nextCursor": None,
            "untrusted": {"notice": NOTICE, "fields": {}},
        },
        "isError": False,
    },
}


_MESSAGE: Final[dict[str, Any]] = {
    "type": "object",
    "description": "One JSON-RPC 2.0 message of the Model Context Protocol. Without an id it is a notification.",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
}
_REPLY: Final = dict[str, Any]
_CONNECTOR: Final = Operation(
    id="callConnector",
    tag="connector",
    summary="The connector for assistants: the Model Context Protocol, one JSON-RPC message a request. Revision "
    "2026-07-28 without a handshake, 2025-11-25 and older with `initialize`; no sessions, no streams. "
    "An invalid message, and an error of revision 2026-07-28, gets 400 or 404 with a JSON-RPC error.",
    access=Access.BEARER_ALONE,
    scope=KeyScope.CONNECTOR,
    own_origins=True,
    rate=RateClass.READ,
    answers={200: _REPLY, 202: None, 400: _REPLY, 404: _REPLY},
    raw_body=RawBody(schema=_MESSAGE, examples=CALLS),
    answer_example=REPLY,
)


@post("/api/mcp", status_code=200, opt=_CONNECTOR.as_opt)
async def call_connector(request: ApiRequest) -> Response[bytes]:
    scope = request.scope
    reply = await reply_to(scope, principal_of(scope), checked(scope).raw)
    return Response(reply.body, status_code=reply.status, media_type=JSON)


AREA: Final = Area(routes=(call_connector,))
