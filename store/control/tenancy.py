"""Tenants, programs, tokens and ingest secrets as the control streams left them: the view in memory.

Tokens are known by their sha256 only; ingest secrets are sealed in the log and open in memory. Reads are dictionary
look-ups on the API's event loop.
"""

from collections.abc import Iterable
from hmac import compare_digest

import msgspec

from features.core.log_entry import shard_of
from features.core.principal import Principal
from features.core.program import Program
from features.core.vocabulary import ProgramSource
from store.control.entries import (
    ControlEntry,
    ControlKind,
    Credential,
    Effect,
    IngestTarget,
    ProgramEntry,
    SecretEntry,
    Tenant,
    TenantEntry,
    TokenEntry,
)
from store.keys.key_ring import ApiKeyEntry, ApiKeyRevokedEntry, KeyRing
from store.keys.secrets import SecretBox, token_digest


class Tenancy:
    """Apply entries in the order of the log; a new entry and a replayed one are applied alike."""

    def __init__(self, *, box: SecretBox, shards: int) -> None:
        self._box, self._shards = box, shards
        self._tenants: dict[str, Tenant] = {}
        self._tenant_by_slug: dict[str, str] = {}
        self._tokens: dict[str, tuple[Credential, ...]] = {}
        self._tenant_by_digest: dict[str, str] = {}
        self._programs: dict[str, Program] = {}
        self._program_by_slug: dict[tuple[str, str], str] = {}
        self._targets: dict[str, IngestTarget] = {}
        self._ids_by_source: dict[tuple[str, ProgramSource], frozenset[str]] = {}
        self._effects: set[str] = set()
        self.keys = KeyRing()

    def load(self, entries: Iterable[ControlEntry]) -> None:
        """Replay the control streams, in the order in which they were written."""
        for tenant_id, _, kind, _, body in sorted(entries, key=lambda entry: entry[1]):
            self.apply(tenant_id, kind, body)

    def apply(self, tenant_id: str, kind: str, body: bytes) -> None:
        """One entry; kinds of other areas (policies, endpoints) share these streams and are passed over."""
        effect_id = msgspec.json.decode(body, type=Effect).effect_id
        if effect_id is not None:
            self._effects.add(effect_id)
        if kind == ControlKind.TENANT:
            self._add_tenant(msgspec.json.decode(body, type=TenantEntry))
        elif kind == ControlKind.PROGRAM:
            self._add_program(msgspec.json.decode(body, type=ProgramEntry))
        elif kind == ControlKind.PROGRAM_CHANGED:
            program = msgspec.json.decode(body, type=Program)
            self._put_program(program, self._targets[program.id].secrets)
        elif kind == ControlKind.OPERATOR_TOKEN:
            token = msgspec.json.decode(body, type=TokenEntry)
            replaced = Credential(token.replaced_sha256, token.others_until)
            self._put_tokens(tenant_id, Credential(token.operator_token_sha256), replaced)
        elif kind == ControlKind.INGEST_SECRET:
            secret = msgspec.json.decode(body, type=SecretEntry)
            opened = Credential(self._box.open(secret.sealed_ingest_secret))
            replaced = Credential(self._box.open(secret.sealed_replaced), secret.others_until)
            self._put_program(self._programs[secret.program_id], (opened, replaced))
        elif kind == ControlKind.API_KEY:
            self.keys.add(tenant_id, msgspec.json.decode(body, type=ApiKeyEntry))
        elif kind == ControlKind.API_KEY_REVOKED:
            self.keys.revoke(msgspec.json.decode(body, type=ApiKeyRevokedEntry))

    def has_effect(self, effect_id: str | None) -> bool:
        """Whether the idempotent request of this effect was carried out before."""
        return effect_id is not None and effect_id in self._effects

    def tenants(self) -> tuple[Tenant, ...]:
        return tuple(sorted(self._tenants.values(), key=lambda tenant: (tenant.created_at, tenant.id), reverse=True))

    def has_tenant(self, tenant_id: str) -> bool:
        return tenant_id in self._tenants

    def has_tenant_slug(self, slug: str) -> bool:
        return slug in self._tenant_by_slug

    def tenant_of_token(self, token: str, *, at: int) -> Tenant | None:
        digest = token_digest(token)
        tenant_id = self._tenant_by_digest.get(digest)
        if tenant_id is None:
            return None
        held = any(compare_digest(known.value, digest) and known.holds(at) for known in self._tokens[tenant_id])
        return self._tenants[tenant_id] if held else None

    def tenant(self, tenant_id: str) -> Tenant | None:
        return self._tenants.get(tenant_id)

    def programs(self, principal: Principal, *, source: ProgramSource | None = None) -> tuple[Program, ...]:
        """The programs of the tenant that the principal may touch, newest first."""
        listed = [
            program
            for program in self._programs.values()
            if program.tenant_id == principal.tenant_id
            and source in {None, program.source}
            and principal.reaches(program.id)
        ]
        return tuple(sorted(listed, key=lambda program: (program.created_at, program.id), reverse=True))

    def find_program(self, principal: Principal, program_id: str) -> Program | None:
        """The tenant's program of that id, in either case of its letters; ForbiddenError when it is out of reach."""
        program = self._programs.get(program_id.lower())
        return self._within_reach(principal, program)

    def program_by_slug(self, principal: Principal, slug: str) -> Program | None:
        """As ``find_program``, by its slug."""
        program_id = self._program_by_slug.get((principal.tenant_id, slug))
        return None if program_id is None else self._within_reach(principal, self._programs[program_id])

    def program_of_tenant(self, tenant_id: str, *, program_id: str | None, slug: str | None) -> Program | None:
        """The named program of the tenant, for deciding who may touch it."""
        known = program_id.lower() if program_id is not None else self._program_by_slug.get((tenant_id, slug or ""))
        program = None if known is None else self._programs.get(known)
        return program if program is not None and program.tenant_id == tenant_id else None

    def program_ids(self, tenant_id: str, source: ProgramSource) -> frozenset[str]:
        """The ids of the tenant's programs of one source, counted again only when a program came or changed."""
        known = self._ids_by_source.get((tenant_id, source))
        if known is None:
            known = self._ids_by_source[tenant_id, source] = frozenset(
                program.id
                for program in self._programs.values()
                if program.tenant_id == tenant_id and program.source is source
            )
        return known

    def has_program_slug(self, tenant_id: str, slug: str) -> bool:
        return (tenant_id, slug) in self._program_by_slug

    def program_of_any_tenant(self, program_id: str) -> Program | None:
        """For the platform's own administration only."""
        return self._programs.get(program_id)

    def ingest_target(self, program_id: str) -> IngestTarget | None:
        return self._targets.get(program_id)

    @staticmethod
    def _within_reach(principal: Principal, program: Program | None) -> Program | None:
        if program is None or program.tenant_id != principal.tenant_id:
            return None
        principal.require_program(program.id)
        return program

    def _add_tenant(self, entry: TenantEntry) -> None:
        # A slug is given out once, so an older tenant with this slug is a creation that was answered 503 although
        # its entry had reached the log. Nobody has its token: it goes.
        unheard_of = self._tenant_by_slug.get(entry.slug)
        if unheard_of is not None and unheard_of != entry.id:
            del self._tenants[unheard_of]
            self._drop_tokens(unheard_of)
        self._tenants[entry.id] = Tenant(id=entry.id, slug=entry.slug, name=entry.name, created_at=entry.created_at)
        self._tenant_by_slug[entry.slug] = entry.id
        self._put_tokens(entry.id, Credential(entry.operator_token_sha256))

    def _add_program(self, entry: ProgramEntry) -> None:
        fields = msgspec.structs.asdict(entry)
        secret = self._box.open(fields.pop("sealed_ingest_secret"))
        unheard_of = self._program_by_slug.get((entry.tenant_id, entry.slug))  # As with a tenant's slug.
        if unheard_of is not None and unheard_of != entry.id:
            del self._programs[unheard_of], self._targets[unheard_of]
            self._ids_by_source.clear()
        self._put_program(Program(**fields), (Credential(secret),))

    def _put_program(self, program: Program, secrets: tuple[Credential, ...]) -> None:
        self._programs[program.id] = program
        self._ids_by_source.pop((program.tenant_id, program.source), None)
        self._program_by_slug[program.tenant_id, program.slug] = program.id
        self._targets[program.id] = IngestTarget(
            program_id=program.id,
            shard=shard_of(program.id, self._shards),
            tenant_slug=self._tenants[program.tenant_id].slug,
            webhook_endpoint_id=program.webhook_endpoint_id,
            secrets=secrets,
        )

    def _put_tokens(self, tenant_id: str, *tokens: Credential) -> None:
        self._drop_tokens(tenant_id)
        self._tokens[tenant_id] = tokens
        self._tenant_by_digest |= {token.value: tenant_id for token in tokens}

    def _drop_tokens(self, tenant_id: str) -> None:
        for token in self._tokens.pop(tenant_id, ()):
            del self._tenant_by_digest[token.value]
