"""Issues, replaces and revokes credentials: operator tokens, also of persons, ingest secrets, API keys, and keys to
the bank's API.

A secret of which only a digest is stored is returned once: a request whose effect is in the log gets None for it.

Errors  ConflictError for one API key too many; NotFoundError for an unknown id; InvalidRequestError for a key without
        any access; UnavailableError when the log cannot be written
"""

from typing import Final

import msgspec

from clearhold.features.core.errors import ConflictError, ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.core.principal import SOURCE_OF_MODE, KeyMode, KeyScope, Principal
from clearhold.store.clock import Clock
from clearhold.store.control.credentials import PersonToken, StoredKey
from clearhold.store.control.entries import (
    ApiKeyEntry,
    ApiKeyRevokedEntry,
    BankKeyEntry,
    BankKeyRemovedEntry,
    ControlKind,
    PersonTokenEntry,
    PersonTokenRevokedEntry,
    SecretEntry,
    TokenEntry,
)
from clearhold.store.control.registry import INGEST_SECRET_PREFIX, OPERATOR_TOKEN_PREFIX, Registry
from clearhold.store.control.tenancy import UNKNOWN_PROGRAM
from clearhold.store.ids import IdFactory, new_token
from clearhold.store.keys import SecretBox, token_digest

KEY_PREFIX_LENGTH: Final = 12  # characters of an API key's secret that the key list shows

MOST_KEYS: Final = 100
"""The most API keys of a tenant that are not revoked: each one has separate rate limits."""

MOST_PERSON_TOKENS: Final = 1_000
"""The most valid tokens of a tenant's persons."""

TOO_MANY_TOKENS: Final = f"A tenant has at most {MOST_PERSON_TOKENS:,} valid tokens of persons. Revoke one first."
UNKNOWN_TOKEN: Final = "Unknown token of a person on this tenant."  # noqa: S105 - a sentence
TOO_MANY_KEYS: Final = f"A tenant has at most {MOST_KEYS} API keys that are not revoked. Revoke one first."
UNKNOWN_KEY: Final = "Unknown API key on this tenant."


class CredentialRegistry:
    """Writes what a ``Tenancy`` knows of credentials. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, box: SecretBox, clock: Clock, new_id: IdFactory) -> None:
        self._registry, self._tenancy = registry, registry.tenancy
        self._box, self._clock, self._new_id = box, clock, new_id

    async def rotate_operator_token(
        self, tenant_id: str, *, overlap_hours: int, effect_id: str | None = None
    ) -> str | None:
        """A new operator token; the present one stays valid for the overlap."""
        async with self._registry.writing_for(tenant_id) as tenant:
            if self._tenancy.has_effect(effect_id):
                return None
            token = new_token(OPERATOR_TOKEN_PREFIX)
            until = self._clock.now() + overlap_hours * HOUR_US
            entry = TokenEntry(
                operator_token_sha256=token_digest(token),
                replaced_sha256=self._tenancy.operator_tokens.of_tenant(tenant.id)[0].value,
                others_until=until,
                effect_id=effect_id,
            )
            await self._registry.write(tenant.id, ControlKind.OPERATOR_TOKEN, entry)
            return token

    async def issue_person_token(
        self, tenant_id: str, *, name: str, expires_at: int, operator: str, effect_id: str | None = None
    ) -> tuple[PersonToken, str | None]:
        """A token for one person, and its secret, which is stored only as a digest."""
        async with self._registry.writing_for(tenant_id) as tenant:
            known = None if effect_id is None else self._tenancy.person_tokens.find(tenant.id, effect_id)
            if known is not None:
                return known, None
            now = self._clock.now()
            if len(self._tenancy.person_tokens.valid_of_tenant(tenant.id, at=now)) >= MOST_PERSON_TOKENS:
                raise ConflictError(TOO_MANY_TOKENS, ErrorCode.TOO_MANY_KEYS)
            secret = new_token(OPERATOR_TOKEN_PREFIX)
            entry = PersonTokenEntry(
                id=effect_id or self._new_id(),
                name=name,
                prefix=secret[:KEY_PREFIX_LENGTH],
                created_at=format_instant(now),
                created_by=operator,
                expires_at=expires_at,
                token_sha256=token_digest(secret),
            )
            await self._registry.write(tenant.id, ControlKind.PERSON_TOKEN, entry)
            return PersonToken(tenant_id=tenant.id, entry=entry), secret

    async def revoke_person_token(self, tenant_id: str, token_id: str, *, operator: str) -> PersonToken:
        """The token, revoked now unless it was before."""
        async with self._registry.writing_for(tenant_id) as tenant:
            token = self._tenancy.person_tokens.find(tenant.id, token_id.lower())
            if token is None:
                raise NotFoundError(UNKNOWN_TOKEN, ErrorCode.TOKEN_NOT_FOUND)
            if token.revoked_at is None:
                revoked_at = format_instant(self._clock.now())
                entry = PersonTokenRevokedEntry(token_id=token.entry.id, revoked_at=revoked_at, revoked_by=operator)
                await self._registry.write(tenant.id, ControlKind.PERSON_TOKEN_REVOKED, entry)
                token = msgspec.structs.replace(token, revoked_at=revoked_at)
            return token

    async def rotate_ingest_secret(
        self, program_id: str, *, overlap_hours: int, secret: str | None = None, effect_id: str | None = None
    ) -> str | None:
        """A new ingest secret, or the bank's own, which is not returned; the present one is valid for the overlap."""
        async with self._registry.writing:
            program = self._registry.known_program(program_id)
            if self._tenancy.has_effect(effect_id):
                return None
            target = self._tenancy.ingest_targets.find(program.id)
            assert target is not None, "every program has a target"
            newest = secret or new_token(INGEST_SECRET_PREFIX)
            until = self._clock.now() + overlap_hours * HOUR_US
            entry = SecretEntry(
                program_id=program.id,
                sealed_ingest_secret=self._box.seal(newest),
                sealed_replaced=self._box.seal(target.secrets[0].value),
                others_until=until,
                effect_id=effect_id,
            )
            await self._registry.write(program.tenant_id, ControlKind.INGEST_SECRET, entry)
            return newest if secret is None else None

    async def create_key(
        self,
        principal: Principal,
        *,
        name: str,
        mode: KeyMode,
        program_id: str | None,
        scopes: tuple[KeyScope, ...],
        effect_id: str | None = None,
    ) -> tuple[StoredKey, str | None]:
        """The key and its secret, which is stored only as a digest."""
        async with self._registry.writing:
            known = None if effect_id is None else self._tenancy.keys.find(principal.tenant_id, effect_id)
            if known is not None:
                return known, None
            if program_id is not None:
                self._check_reach(principal, program_id, mode)
            if self._tenancy.keys.valid_count(principal.tenant_id) >= MOST_KEYS:
                raise ConflictError(TOO_MANY_KEYS, ErrorCode.TOO_MANY_KEYS)
            secret = new_token(f"{mode}_")
            entry = ApiKeyEntry(
                id=effect_id or self._new_id(),
                name=name,
                mode=mode,
                prefix=secret[:KEY_PREFIX_LENGTH],
                program_id=program_id,
                scopes=scopes,
                created_at=format_instant(self._clock.now()),
                created_by=principal.operator,
                secret_sha256=token_digest(secret),
            )
            await self._registry.write(principal.tenant_id, ControlKind.API_KEY, entry)
            return StoredKey(tenant_id=principal.tenant_id, entry=entry), secret

    async def revoke_key(self, principal: Principal, key_id: str) -> StoredKey:
        """The key, revoked now unless it was before."""
        async with self._registry.writing:
            key = self._tenancy.keys.find(principal.tenant_id, key_id.lower())
            if key is None:
                raise NotFoundError(UNKNOWN_KEY, ErrorCode.KEY_NOT_FOUND)
            if key.revoked_at is None:
                revoked_at = format_instant(self._clock.now())
                entry = ApiKeyRevokedEntry(key_id=key.entry.id, revoked_at=revoked_at, revoked_by=principal.operator)
                await self._registry.write(principal.tenant_id, ControlKind.API_KEY_REVOKED, entry)
                key = msgspec.structs.replace(key, revoked_at=revoked_at)
            return key

    async def set_bank_key(self, tenant_id: str, key: str, *, operator: str, effect_id: str | None = None) -> None:
        """Store the tenant's key to the bank's API, sealed, in place of the present one."""
        async with self._registry.writing_for(tenant_id) as tenant:
            if not self._tenancy.has_effect(effect_id):
                entry = BankKeyEntry(
                    sealed_key=self._box.seal(key),
                    set_at=format_instant(self._clock.now()),
                    set_by=operator,
                    effect_id=effect_id,
                )
                await self._registry.write(tenant.id, ControlKind.BANK_KEY, entry)

    async def remove_bank_key(self, tenant_id: str, *, operator: str, effect_id: str | None = None) -> None:
        """Remove the tenant's key to the bank's API, if it has one."""
        async with self._registry.writing_for(tenant_id) as tenant:
            if self._tenancy.bank_keys.of_tenant(tenant.id) is not None and not self._tenancy.has_effect(effect_id):
                removed_at = format_instant(self._clock.now())
                entry = BankKeyRemovedEntry(removed_at=removed_at, removed_by=operator, effect_id=effect_id)
                await self._registry.write(tenant.id, ControlKind.BANK_KEY_REMOVED, entry)

    def _check_reach(self, principal: Principal, program_id: str, mode: KeyMode) -> None:
        """Refuse a key for a program of the other mode: it would give access to nothing."""
        program = self._tenancy.programs.find(principal, program_id)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM, ErrorCode.PROGRAM_NOT_FOUND)
        if program.source is not SOURCE_OF_MODE[mode]:
            source = SOURCE_OF_MODE[mode]
            raise invalid("programId", f"must name a {source} program, for a {mode} key", FieldCode.CONFLICTING)
