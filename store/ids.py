"""Random ids and tokens, made only here. Derived ids are made in ``features/core/canonical.py``."""

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
