"""The connector: from the bytes of one request to the bytes of its reply. It keeps nothing between two requests.

A refusal that a model can correct is a result with ``isError`` and the sentence of the route. A mistake of the client
is a JSON-RPC error.
"""

from importlib.metadata import version
from typing import Any, Final

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.connector import eras
from clearhold.api.connector.eras import (
    LEGACY,
    LEGACY_METHODS,
    STATUS_OF_MODERN,
    SUPPORTED,
    check_method,
    check_modern,
    is_modern,
)
from clearhold.api.connector.messages import (
    NO_REPLY,
    Reply,
    RpcCode,
    RpcError,
    RpcRequest,
    error_reply,
    request_in,
    result_reply,
    value_of,
)
from clearhold.api.connector.rest import Rest
from clearhold.api.connector.tools import INSTRUCTIONS, TOOL_OF, TOOLS, Tool
from clearhold.api.connector.untrusted import separated
from clearhold.api.http.auth import operator_of
from clearhold.api.http.envelope import request_id
from clearhold.api.http.errors import status_of
from clearhold.features.core.errors import RiskError
from clearhold.features.core.principal import Principal
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
        case eras.INITIALIZE:
            wanted = value_of(request.params, "protocolVersion")
            agreed = wanted if wanted in LEGACY else LEGACY[0]
            return _introduction() | {"protocolVersion": agreed, "serverInfo": SERVER}
        case eras.DISCOVER:
            return _introduction() | {"supportedVersions": SUPPORTED}
        case eras.LIST_TOOLS:
            return {"tools": [_LISTED[tool.name] for tool in TOOLS if principal.has_scope(tool.scope)]}
        case eras.CALL_TOOL:
            return await _call(scope, principal, request)
    return {}  # to a ping


def _introduction() -> dict[str, Any]:
    return {"capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}


def _of_modern(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result with the fields of every modern result, and the time for which a list may be cached."""
    cache = {} if method == eras.CALL_TOOL else _CACHE
    return result | cache | {"resultType": "complete", "_meta": {eras.SERVER_INFO: SERVER}}


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
