"""The two eras of the Model Context Protocol, both served without a session.

Legacy  ``initialize`` first, then ``ping``, ``tools/list``, ``tools/call``. Errors of JSON-RPC come with HTTP 200.
Modern  (2026-07-28) no handshake: each request states version and capabilities in ``_meta``, and repeats version,
        method and tool in headers. Each error has its HTTP status.

Errors  RpcError for a modern request that fails the ladder: capabilities, headers, version, method
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from clearhold.api.connector.messages import RpcCode, RpcError, RpcRequest, value_of
from clearhold.api.http.envelope import header_values

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
    except (UnicodeDecodeError, binascii.Error):
        return None
    return text if sent else None
