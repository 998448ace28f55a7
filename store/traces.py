"""W3C Trace Context, version 00: reads and writes the ``traceparent`` header.

    00-<32 hex digits: trace id>-<16: span id of the caller>-<2: flags>

No spans are stored: a trace id only joins lines in the logs of several programs.

Errors  none: an invalid header counts as absent
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
    """The id of a new trace."""
    return secrets.token_hex(16)


def traceparent_of(trace_id: str) -> str:
    """The header of one outgoing request, with a new span id. Nothing is recorded, and the flags say so."""
    return f"00-{trace_id}-{secrets.token_hex(8)}-{_NOT_SAMPLED}"
