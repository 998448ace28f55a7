"""JSON-RPC 2.0, as the connector supports it: one message in, at most one reply out, no batches.

Errors  RpcError, a code of JSON-RPC or of the protocol with its sentence
"""

import json
from enum import IntEnum
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

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
_REPEATED: Final = "The message, its params and its _meta must each name a property once."
NO_REPLY: Final = Reply(202, b"")


def request_in(raw: bytes) -> RpcRequest | None:
    """The request in a body; None for a notification and for a response, which get no reply."""
    try:
        raw.decode()
        _SYNTAX.decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise RpcError(RpcCode.PARSE_ERROR, _NOT_JSON) from None
    try:
        message, repeats = _DECODER.decode(raw), _repeats_a_name(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
        raise RpcError(RpcCode.INVALID_REQUEST, _NOT_A_MESSAGE) from None
    if repeats:
        raise RpcError(RpcCode.INVALID_REQUEST, _REPEATED)
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
