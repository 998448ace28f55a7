"""Ids and tokens, and the only module that makes fresh ones.

``new_id`` names what a caller brings into being. ``derived_id`` names what follows from something that has a name, so
that the same cause gives the same id however often it is delivered.
"""

import secrets
import string
import uuid
from collections.abc import Callable
from typing import Final

import msgspec

_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://clearhold.invalid/ids")
_BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
TOKEN_CHARACTERS: Final = 43
"""43 characters of 62 carry 256 bits."""

IdFactory = Callable[[], str]


def new_id() -> str:
    """A fresh random id."""
    return str(uuid.uuid4())


def derived_id(*parts: str) -> str:
    """The id of what these parts cause. Parts are kept apart: ``("a", "bc")`` and ``("ab", "c")`` differ."""
    return str(uuid.uuid5(_NAMESPACE, msgspec.json.encode(parts).decode()))


def is_derived(known: str) -> bool:
    """Whether an id of ours was derived (UUID version 5) and not made fresh (version 4)."""
    return known[14] == "5"


def new_token(prefix: str) -> str:
    """An unguessable token that shows by its prefix what it opens."""
    return prefix + "".join(secrets.choice(_BASE62) for _ in range(TOKEN_CHARACTERS))
