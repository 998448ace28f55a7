"""API keys over HTTP. The secret is shown once, at the creation of the key."""

from typing import Annotated
from uuid import UUID

import msgspec

from clearhold.api.http.fields import Name
from clearhold.api.lists.lists import instant_text, shown
from clearhold.features.core.principal import KeyMode, KeyScope
from clearhold.features.core.words import about
from clearhold.store.control.keys import StoredKey

Scopes = Annotated[
    tuple[KeyScope, ...], msgspec.Meta(max_length=len(KeyScope), extra_json_schema={"uniqueItems": True})
]


class NewKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` null: every program of the mode. Without ``scopes`` a key may do all that its mode allows."""

    name: Name
    mode: KeyMode
    program_id: Annotated[UUID | None, about("The key's one program; left out or null: every program of its mode.")] = (
        None
    )
    scopes: Scopes = ()


class ApiKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, about("The key's id, minted here; not its secret.")]
    name: str
    mode: KeyMode
    prefix: Annotated[str, about("Beginning of the secret, to tell keys apart.")]
    program_id: Annotated[str | None, about("The one program that the key may touch; null: every program of its mode.")]
    scopes: tuple[KeyScope, ...]
    last_used_at: Annotated[str | None, about("When it last called; null when never, or not since it was counted.")]
    revoked_at: Annotated[str | None, about("When it was revoked; null while it is valid.")]
    created_at: str


class ApiKeyCreated(ApiKey, frozen=True, kw_only=True, rename="camel"):
    """``secret`` is null in the answer to a repeat: only its sha256 is stored."""

    secret: str | None


def to_api_key(key: StoredKey, last_used_at: int | None) -> ApiKey:
    return shown(key.entry, ApiKey, last_used_at=instant_text(last_used_at), revoked_at=key.revoked_at)
