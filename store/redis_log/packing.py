"""Commands of Redis as bytes, and the error in a reply."""

from typing import Any

from hiredis import pack_command
from redis.exceptions import ResponseError

from clearhold.store.redis_log.keys import (
    FIELD_APPENDED_AT,
    FIELD_BODY,
    FIELD_KIND,
    FIELD_PROGRAM,
)


def command(*words: str | int | bytes) -> bytes:
    packed: bytes = pack_command(words)  # type: ignore[arg-type]  # Its stub allows one word only
    return packed


def xadd(key: str, stream_id: str, kind: str, program_id: str, appended_at: int, body: bytes) -> bytes:
    about = (FIELD_KIND, str(kind), FIELD_PROGRAM, program_id, FIELD_APPENDED_AT, appended_at)
    return command("XADD", key, stream_id, *about, FIELD_BODY, body)


def first_error(reply: Any) -> ResponseError | None:
    """An EXEC answers with a list, in which a command that failed stands as an error."""
    parts = reply if isinstance(reply, list) else []
    return next((part for part in parts if isinstance(part, ResponseError)), None)
