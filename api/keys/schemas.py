"""API keys over HTTP. The secret is shown once, when the key is made."""

from typing import Annotated
from uuid import UUID

import msgspec

from clearhold.api.http.fields import Name
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyMode, KeyScope
from clearhold.store.control.keys import StoredKey

Scopes = Annotated[
    tuple[KeyScope, ...], msgspec.Meta(max_length=len(KeyScope), extra_json_schema={"uniqueItems": True})
]


class NewKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` null: every program of the mode. Without ``scopes`` a key may do all that its mode allows."""

    name: Name
    mode: KeyMode
    program_id: UUID | None = None
    scopes: Scopes = ()


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    name: str
    mode: KeyMode
    prefix: str
    program_id: str | None
    scopes: tuple[KeyScope, ...]
    last_used_at: str | None
    revoked_at: str | None
    created_at: str


class ApiKeyCreated(ApiKey, frozen=True, kw_only=True, rename="camel"):
    """``secret`` is null in the answer to a repeat: only its sha256 is stored."""

    secret: str | None


def to_api_key(key: StoredKey, last_used_at: int | None) -> ApiKey:
    entry = key.entry
    return ApiKey(
        id=entry.id,
        name=entry.name,
        mode=entry.mode,
        prefix=entry.prefix,
        program_id=entry.program_id,
        scopes=entry.scopes,
        last_used_at=None if last_used_at is None else format_instant(last_used_at),
        revoked_at=key.revoked_at,
        created_at=entry.created_at,
    )
