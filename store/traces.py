"""W3C Trace Context, version 00: the ``traceparent`` header as it is read and as it is made.

    00-<32 hex digits: trace id>-<16: span id of whoever calls>-<2: flags>

Nothing here is a span that is kept: a trace id only says which lines of several programs' logs belong together.

Errors  none: a header that is not such a value is as none
"""

import re
import secrets
from typing import Final

TRACEPARENT: Final = "traceparent"

_VERSION_00: Final = re.compile(rb"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_NOT_SAMPLED: Final = "00"


def trace_id_of(traceparent: bytes) -> str | None:
    """The trace id in the value of a header."""
    value = _VERSION_00.fullmatch(traceparent)
    return value.group(1).decode() if value else None


def new_trace_id() -> str:
    """That of a trace which begins here."""
    return secrets.token_hex(16)


def traceparent_of(trace_id: str) -> str:
    """The header of one outgoing request, with a span id of its own. Nothing is recorded, and the flags say so."""
    return f"00-{trace_id}-{secrets.token_hex(8)}-{_NOT_SAMPLED}"
