"""The connector over HTTP: one path, POST only."""

from typing import Any, Final

from litestar import Response, post

from clearhold.api.area import Area
from clearhold.api.connector.eras import CALL_TOOL, INITIALIZE, LEGACY
from clearhold.api.connector.service import reply_to
from clearhold.api.connector.untrusted import NOTICE
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import checked, principal_of
from clearhold.api.http.operation import JSON, Access, Operation, RateClass, RawBody
from clearhold.features.core.principal import KeyScope

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
