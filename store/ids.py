"""Random ids and tokens, made only here, and trace ids in the ``traceparent`` header of W3C Trace Context, version 00.

    00-<32 hex digits: trace id>-<16: span id of the caller>-<2: flags>

Derived ids are made in ``features/core/canonical.py``. No spans are stored: a trace id only joins lines in the logs of
several programs. An invalid header counts as absent.
"""

import re
import secrets
import string
import uuid
from collections.abc import Callable
from typing import Final

_BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
TOKEN_CHARACTERS: Final = 43
"""43 characters of 62 carry 256 bits."""

IdFactory = Callable[[], str]


def new_id() -> str:
    """A fresh random id."""
    return str(uuid.uuid4())


def new_token(prefix: str) -> str:
    """An unguessable token; its prefix shows its purpose."""
    return prefix + "".join(secrets.choice(_BASE62) for _ in range(TOKEN_CHARACTERS))


def random_bytes(count: int) -> bytes:
    """Unguessable bytes, for a secret of another form."""
    return secrets.token_bytes(count)


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
