"""Creates and changes tenants and programs, and is the one writer of the control streams.

A change is appended to the log first, then applied to ``Tenancy``, and copied into the lake before it is answered:
memory is never ahead of the log, and an answered change survives the loss of Redis. One lock makes checking a slug and
taking it a single step. ``effect_id`` identifies the effect of an idempotent request: an effect that is already in the
log is not repeated, and a secret that is stored only as a digest is not returned a second time.

Versions  ``Versions`` writes numbered versions, of the kinds in ``VERSION_KINDS``, and brings them into force: by an
          approved action, once for each; or with the entry that writes them, as rules and anything in shadow
Errors    ConflictError for a taken slug, for a version that exists or is not the next, and for one too many;
          NotFoundError for an unknown id; UnavailableError when the log cannot be written
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import msgspec
import structlog

from clearhold.features.core.entries.actions import PolicyEntry
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError, UnavailableError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Principal, Program
from clearhold.features.policy.bodies import Body, PolicyVersion
from clearhold.features.policy.seeds import policy_id_of
from clearhold.store.clock import Clock
from clearhold.store.control.entries import (
    ControlEntry,
    ControlKind,
    PolicyActivatedEntry,
    PolicyCreatedEntry,
    ProgramChangedEntry,
    ProgramEntry,
    Tenant,
    TenantEntry,
    VersionInForceEntry,
)
from clearhold.store.control.policies import VERSION_KINDS, version_created
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.ids import IdFactory, new_token
from clearhold.store.keys import SecretBox, token_digest
from clearhold.store.redis_log.appender import MAX_WRITE_BYTES, LogAppender
from clearhold.store.redis_log.waiting_append import UNAVAILABLE
from clearhold.store.redis_log.writes import ToProgram

OPERATOR_TOKEN_PREFIX: Final = "op_"  # noqa: S105 - a prefix that shows the kind of token
INGEST_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - as above

_UNKNOWN_TENANT: Final = "Unknown tenant. GET /api/admin/tenants lists them."
UNKNOWN_ANYWHERE: Final = "Unknown program: no tenant has one of this id."

_WITH_OTHERS: Final = (ControlKind.CONFIG_APPLIED,)
"""The kinds of entries that have effects of other kinds."""

log = structlog.get_logger()


class Registry:
    """The writer of a ``Tenancy``. Belongs to one event loop."""

    def __init__(
        self,
        *,
        log: LogAppender,
        read: Callable[[str, int], Iterable[ControlEntry]],
        copy: Callable[[str], None],
        box: SecretBox,
        clock: Clock,
        new_id: IdFactory,
        shards: int,
    ) -> None:
        """``read`` reads a tenant's entries after an offset, ``copy`` copies them into the lake, in worker threads."""
        self.tenancy = Tenancy(box=box, shards=shards)
        self._log, self._box, self._clock, self._new_id, self._shards = log, box, clock, new_id, shards
        self._read, self._copy = read, copy
        self._in_doubt: dict[tuple[str, ControlKind], int] = {}  # the offset after which such an entry may lie
        self.writing = asyncio.Lock()

    async def create_tenant(self, *, slug: str, name: str, effect_id: str | None = None) -> tuple[Tenant, str | None]:
        """The tenant and its operator token, which is stored only as a digest."""
        async with self.writing:
            known = None if effect_id is None else self.tenancy.tenants.find(effect_id)
            if known is not None:
                return known, None
            if self.tenancy.tenants.has_slug(slug):
                raise ConflictError("A tenant with this slug exists.", ErrorCode.SLUG_TAKEN)
            token = new_token(OPERATOR_TOKEN_PREFIX)
            tenant_id = effect_id or self._new_id()
            tenant = Tenant(id=tenant_id, slug=slug, name=name, created_at=format_instant(self._clock.now()))
            entry = TenantEntry(**msgspec.structs.asdict(tenant), operator_token_sha256=token_digest(token))
            await self.write(tenant.id, ControlKind.TENANT, entry)
            return tenant, token

    async def create_program(
        self, tenant_id: str, *, slug: str, effect_id: str | None = None, **fields: Any
    ) -> tuple[Program, str | None]:
        """The program and its ingest secret, which is stored sealed; ``fields`` are fields of Program."""
        async with self.writing:
            known = None if effect_id is None else self.tenancy.programs.of_any_tenant(effect_id)
            if known is not None:
                return known, None
            tenant_id = self.known_tenant(tenant_id).id
            if self.tenancy.programs.has_slug(tenant_id, slug):
                raise ConflictError("A program with this slug exists on this tenant.", ErrorCode.SLUG_TAKEN)
            created_at = format_instant(self._clock.now())
            program_id = effect_id or self._new_id()
            program = Program(id=program_id, tenant_id=tenant_id, slug=slug, created_at=created_at, **fields)
            secret = new_token(INGEST_SECRET_PREFIX)
            entry = ProgramEntry(**msgspec.structs.asdict(program), sealed_ingest_secret=self._box.seal(secret))
            begins_with = [self._to_program(program.id, EntryKind.PROGRAM, program)]
            for policy, activated in self.tenancy.policies[tenant_id].activated(None):  # without seeds
                first = policy_entry(policy, activated.action_id, from_start=True)
                begins_with.append(self._to_program(program.id, EntryKind.POLICY, first))
            await self.write(tenant_id, ControlKind.PROGRAM, entry, begins_with)
            return program, secret

    async def change_program(self, program_id: str, *, effect_id: str | None = None, **fields: Any) -> Program:
        """Replace the given fields; id, tenant, slug and source are never among them."""
        async with self.writing:
            known = self.known_program(program_id)
            if self.tenancy.has_effect(effect_id):
                return known
            changed = msgspec.structs.replace(known, **fields)
            entry = ProgramChangedEntry(**msgspec.structs.asdict(changed), effect_id=effect_id)
            change = self._to_program(changed.id, EntryKind.PROGRAM, changed)
            await self.write(changed.tenant_id, ControlKind.PROGRAM_CHANGED, entry, [change])
            return changed

    def to_places(self, entry: PolicyEntry, program_id: str | None) -> list[ToProgram]:
        """The entries that bring a version into force in its program, or everywhere in the tenant."""
        everywhere = (entry.tenant_id, *self.tenancy.programs.ids_of_tenant(entry.tenant_id))
        places, body = everywhere if program_id is None else (program_id,), msgspec.json.encode(entry)
        return [ToProgram(shard_of(place, self._shards), EntryKind.POLICY, place, body) for place in places]

    async def restore_policy(self, place: str, entry: PolicyEntry) -> None:
        """Append to a program's shard a policy of the control stream that the shard has lost."""
        body = msgspec.json.encode(entry)
        await self._log.append(shard_of(place, self._shards), EntryKind.POLICY, place, self._clock.now(), body)

    def policies_by_place(self, tenant_id: str) -> Iterator[tuple[str, tuple[PolicyEntry, ...]]]:
        """The policies in force by activation, for the tenant's own state and for each of its programs."""
        policies = self.tenancy.policies[tenant_id]
        for place in (tenant_id, *self.tenancy.programs.ids_of_tenant(tenant_id)):
            in_force = (*policies.activated(None), *policies.activated(place))
            yield place, tuple(policy_entry(policy, entry.action_id) for policy, entry in in_force)

    def sealed(self, secret: str) -> str:
        """A secret in the form in which entries have it."""
        return self._box.seal(secret)

    def _to_program(self, program_id: str, kind: EntryKind, body: msgspec.Struct) -> ToProgram:
        return ToProgram(shard_of(program_id, self._shards), kind, program_id, msgspec.json.encode(body))

    @asynccontextmanager
    async def writing_for(self, tenant_id: str) -> AsyncIterator[Tenant]:
        """The lock ``writing``, and the tenant of that id, in upper or lower case."""
        async with self.writing:
            yield self.known_tenant(tenant_id)

    def known_tenant(self, tenant_id: str) -> Tenant:
        tenant = self.tenancy.tenants.find(tenant_id.lower())
        if tenant is None:
            raise NotFoundError(_UNKNOWN_TENANT, ErrorCode.TENANT_NOT_FOUND)
        return tenant

    def known_program(self, program_id: str) -> Program:
        program = self.tenancy.programs.of_any_tenant(program_id.lower())
        if program is None:
            raise NotFoundError(UNKNOWN_ANYWHERE, ErrorCode.PROGRAM_NOT_FOUND)
        return program

    async def write(
        self, tenant_id: str, kind: ControlKind, entry: msgspec.Struct, to_programs: Sequence[ToProgram] = ()
    ) -> None:
        """Append an entry, apply it, and copy it into the lake; the caller holds ``writing``."""
        body, behind = msgspec.json.encode(entry), self.tenancy.end_of(tenant_id)
        try:
            offset = await self._log.append_control(tenant_id, kind, self._clock.now(), body, to_programs=to_programs)
        except BaseException:  # it may be in the log nevertheless
            self._in_doubt.setdefault((tenant_id, kind), behind)
            raise
        self.tenancy.apply(tenant_id, kind, body, offset=offset)
        try:
            await asyncio.to_thread(self._copy, tenant_id)
        except Exception as error:  # noqa: BLE001 - the entry is durable, and maintenance copies it later
            log.warning("control_copy_failed", tenant_id=tenant_id, error=f"{type(error).__name__}: {error}")

    @asynccontextmanager
    async def writing_settled(self, tenant_id: str, kind: ControlKind) -> AsyncIterator[None]:
        """The lock ``writing``, after loading every entry of a kind that the log has, confirmed to its writer or not.

        Every entry with effects of several kinds is loaded too.

        UnavailableError while the log cannot be read.
        """
        async with self.writing:
            for each in (kind, *_WITH_OTHERS):
                await self._settle(tenant_id, each)
            yield

    async def _settle(self, tenant_id: str, kind: ControlKind) -> None:
        behind = self._in_doubt.get((tenant_id, kind))
        if behind is None:
            return
        try:
            entries = await asyncio.to_thread(lambda: [*self._read(tenant_id, behind)])
        except ConnectionError as error:
            raise UnavailableError(UNAVAILABLE) from error
        for _, offset, written, _, body in entries:
            if written == kind:
                self.tenancy.apply(tenant_id, kind, body, offset=offset)
        del self._in_doubt[tenant_id, kind]


def policy_entry(
    policy: PolicyVersion | PolicyCreatedEntry, action_id: str, *, from_start: bool = False
) -> PolicyEntry:
    """The entry that brings a version into force in one program."""
    return PolicyEntry(
        tenant_id=policy.tenant_id,
        version=policy.version,
        body=msgspec.to_builtins(policy.body),
        action_id=action_id,
        of_program=policy.program_id is not None,
        from_start=from_start,
    )


MOST_WRITTEN_BYTES: Final = 4 * MAX_WRITE_BYTES
"""Of one change, over all programs: it is one write, and other appends wait behind it."""

VERSION_EXISTS: Final = "The tenant has a policy of this version, and versions are never edited. Choose a new version."
NOT_NEXT: Final = "Versions of a kind are counted without a gap: the next one is {}."


class Versions:
    """Writes what ``Tenancy.policies`` shows. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        self._policies = registry.tenancy.policies

    def writing(self, tenant_id: str, prefix: str) -> AbstractAsyncContextManager[None]:
        """The lock for a change of a kind, with every version of it in memory that the log has."""
        return self._registry.writing_settled(tenant_id, VERSION_KINDS[prefix].entry)

    async def create(
        self,
        principal: Principal,
        prefix: str,
        body: Body,
        *,
        program_id: str | None,
        effect_id: str | None,
        version: str | None = None,
        check: Callable[[], None] | None = None,
    ) -> PolicyVersion:
        """The next version, in force nowhere; the same ``effect_id`` gives the same one. ``check`` may refuse it.

        A ``version`` that the caller chose has to be the next one. It takes the place of one that was not confirmed to
        its writer, so a repetition without an idempotency key succeeds.
        """
        tenant_id = principal.tenant_id
        async with self.writing(tenant_id, prefix) if version is None else self._registry.writing:
            policies = self._policies[tenant_id]
            known = policies.created_by(effect_id)
            if known is not None:
                return known
            if version is not None and policies.find(version) is not None:
                raise ConflictError(VERSION_EXISTS, ErrorCode.POLICY_VERSION_EXISTS)
            if version not in {None, policies.next_version(prefix)}:
                raise ConflictError(NOT_NEXT.format(policies.next_version(prefix)), ErrorCode.POLICY_VERSION_NOT_NEXT)
            self.check_room(tenant_id, prefix)
            if check is not None:
                check()
            return await self.write(principal, prefix, body, program_id=program_id, effect_id=effect_id)

    async def write(
        self, principal: Principal, prefix: str, body: Body, *, program_id: str | None, effect_id: str | None = None
    ) -> PolicyVersion:
        """Append the next version, in force nowhere; for the holder of the lock."""
        tenant_id, by = principal.tenant_id, principal.operator
        policies, at = self._policies[tenant_id], self._clock.now()
        version = policies.next_version(prefix)
        entry = version_created(tenant_id, version, body, program_id=program_id, at=at, by=by, effect_id=effect_id)
        await self._registry.write(tenant_id, VERSION_KINDS[prefix].entry, entry)
        return policies.read(version)

    async def activate(
        self, tenant_id: str, version: str, *, action_id: str, check: Callable[[PolicyVersion], None] | None = None
    ) -> str:
        """Bring a version into force, once for each action, as an approved one says: in every program of the tenant,
        or in the version's own. The tenant's own state gets a tenant-wide one too, for the actions on the whole tenant.
        Nothing is written when ``check`` raises.
        """
        async with self._registry.writing_settled(tenant_id, ControlKind.POLICY_ACTIVATED):
            policies = self._policies[tenant_id]
            if policies.was_activated_by(action_id):
                return version
            policy = policies.read(version)
            if check is not None:
                check(policy)
            entry = PolicyActivatedEntry(version=version, action_id=action_id, at=self._clock.now())
            to_programs = self._registry.to_places(policy_entry(policy, action_id), policy.program_id)
            await self._registry.write(tenant_id, ControlKind.POLICY_ACTIVATED, entry, to_programs)
            return version

    def check_room(self, tenant_id: str, prefix: str) -> None:
        kind = VERSION_KINDS[prefix]
        if kind.most is not None and self._policies[tenant_id].count(kind) >= kind.most:
            raise ConflictError(kind.too_many, ErrorCode.TOO_MANY_POLICIES)

    def next_in_force(
        self, tenant_id: str, prefix: str, body: Body, *, at: int, by: str, mark: str, program_id: str | None = None
    ) -> VersionInForceEntry:
        """The next version and its activation, for one entry. ``mark`` makes the id of the activation one of this
        write: an unconfirmed write may stand in the log under the same version, with other contents.
        """
        version = self._policies[tenant_id].next_version(prefix)
        created = version_created(tenant_id, version, body, program_id=program_id, at=at, by=by)
        action_id = policy_id_of(tenant_id, f"{version}/{mark}")
        activated = PolicyActivatedEntry(version=version, action_id=action_id, at=at)
        return VersionInForceEntry(created=created, activated=activated)

    def to_programs(self, version: VersionInForceEntry) -> list[ToProgram]:
        """What brings such a version into force in its program, or in every program of the tenant."""
        entry = policy_entry(version.created, version.activated.action_id)
        return self._registry.to_places(entry, version.created.program_id)
