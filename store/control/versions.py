"""Writes numbered versions, and brings them into force. ``VERSION_KINDS`` has a row for each kind.

create         a version that is in force nowhere; its number is the next of its kind
activate       an approved action brings it into force, once for each action
next_in_force  a version that comes into force with the entry that writes it: rules, and what runs in shadow

Errors  ConflictError for a version that exists or is not the next, and for one too many; UnavailableError when the log
        cannot be written
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.principal import Principal
from clearhold.features.policy.bodies import Body, PolicyVersion, prefix_of
from clearhold.features.policy.seeds import policy_id_of
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlKind, PolicyActivatedEntry, VersionInForceEntry
from clearhold.store.control.policies import VERSION_KINDS, TenantPolicies, version_created
from clearhold.store.control.registry import Registry, policy_entry
from clearhold.store.redis_log.appender import MAX_WRITE_BYTES, ToProgram

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
            policies = self._policies.of_tenant(tenant_id)
            known = policies.created_by(effect_id)
            if known is not None:
                return known
            if version is not None:
                _check_next(policies, version)
            self.check_room(tenant_id, prefix)
            if check is not None:
                check()
            return await self.write(principal, prefix, body, program_id=program_id, effect_id=effect_id)

    async def write(
        self, principal: Principal, prefix: str, body: Body, *, program_id: str | None, effect_id: str | None = None
    ) -> PolicyVersion:
        """Append the next version, in force nowhere; for the holder of the lock."""
        tenant_id, by = principal.tenant_id, principal.operator
        policies, at = self._policies.of_tenant(tenant_id), self._clock.now()
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
            policies = self._policies.of_tenant(tenant_id)
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
        if kind.most is not None and self._policies.of_tenant(tenant_id).count(kind) >= kind.most:
            raise ConflictError(kind.too_many, ErrorCode.TOO_MANY_POLICIES)

    def next_in_force(
        self, tenant_id: str, prefix: str, body: Body, *, at: int, by: str, mark: str, program_id: str | None = None
    ) -> VersionInForceEntry:
        """The next version and its activation, for one entry. ``mark`` makes the id of the activation one of this
        write: an unconfirmed write may stand in the log under the same version, with other contents.
        """
        version = self._policies.of_tenant(tenant_id).next_version(prefix)
        created = version_created(tenant_id, version, body, program_id=program_id, at=at, by=by)
        action_id = policy_id_of(tenant_id, f"{version}/{mark}")
        activated = PolicyActivatedEntry(version=version, action_id=action_id, at=at)
        return VersionInForceEntry(created=created, activated=activated)

    def to_programs(self, version: VersionInForceEntry) -> list[ToProgram]:
        """What brings such a version into force in its program, or in every program of the tenant."""
        entry = policy_entry(version.created, version.activated.action_id)
        return self._registry.to_places(entry, version.created.program_id)


def _check_next(policies: TenantPolicies, version: str) -> None:
    if policies.find(version) is not None:
        raise ConflictError(VERSION_EXISTS, ErrorCode.POLICY_VERSION_EXISTS)
    expected = policies.next_version(prefix_of(version))
    if version != expected:
        raise ConflictError(NOT_NEXT.format(expected), ErrorCode.POLICY_VERSION_NOT_NEXT)
