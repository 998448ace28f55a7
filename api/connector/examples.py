"""Examples of the connector's messages for the OpenAPI document; nothing of them exists."""

from typing import Any, Final

from api.connector.eras import CAPABILITIES, MODERN, PROTOCOL_VERSION, SERVER_INFO
from api.connector.untrusted import NOTICE
from api.dispositions.examples import ALERT_ID

_CALL: Final = {"name": "get_alert", "arguments": {"alertId": ALERT_ID}}
CALLS: Final[dict[str, Any]] = {
    "call a tool": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": _CALL | {"_meta": {PROTOCOL_VERSION: MODERN, CAPABILITIES: {}}},
    },
    "handshake": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "assistant", "version": "1"},
        },
    },
}
_QUEUE: Final = {"alerts": [], "hasMore": False, "nextCursor": None, "untrusted": {"notice": NOTICE, "fields": {}}}
REPLY: Final[dict[str, Any]] = {
    "jsonrpc": "2.0",
    "id": 1,
    "result": {
        "content": [{"type": "text", "text": "{...}"}],
        "structuredContent": _QUEUE,
        "isError": False,
        "resultType": "complete",
        "_meta": {SERVER_INFO: {"name": "clearhold", "title": "Clearhold", "version": "0.1.0"}},
    },
}
