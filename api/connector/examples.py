"""Examples of the connector's messages for the OpenAPI document, of the era that needs no further headers."""

from typing import Any, Final

from clearhold.api.connector.eras import CALL_TOOL, INITIALIZE, LEGACY
from clearhold.api.connector.untrusted import NOTICE

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
