"""The tenant's policies: versions that are never edited, brought into force by an approved action, and read.

Errors  NotFoundError for a policy or program that is not this tenant's; ConflictError for a version that exists, for
        an activation that is under way, and for one that has nothing to do
"""

from collections.abc import Iterator
from typing import Final

import structlog

from api.actions.schemas import Action
from api.actions.service import ActionService
from api.policies.schemas import Activation, NewPolicy, PoliciesQuery, Policy, to_policy
from api.programs.service import ProgramService
from features.core.actions import ActionType
from features.core.canonical import canonical, digest_of
from features.core.errors import ErrorCode, NotFoundError
from features.core.principal import Principal
from features.policy.bodies import PolicyVersion as StoredPolicy
from features.policy.bodies import decode_body, prefix_of
from store.control.registry import Registry

log = structlog.get_logger()

UNKNOWN_POLICY: Final = "Unknown policy on this tenant."


class PolicyService:
    def __init__(self, *, registry: Registry, programs: ProgramService, actions: ActionService) -> None:
        self._registry, self._programs, self._actions = registry, programs, actions

    async def create(self, principal: Principal, request: NewPolicy, effect_id: str | None) -> Policy:
        """A new version, in force nowhere yet."""
        program_id = None
        if request.program_id is not None:
            program_id = self._programs.read(principal, str(request.program_id)).id
        created = await self._registry.create_policy(
            principal,
            version=request.version,
            program_id=program_id,
            body=decode_body(request.version, request.body),
            effect_id=effect_id,
        )
        log.info("policy_created", tenant_id=principal.tenant_id, version=created.version, operator=principal.operator)
        return to_policy(created)

    async def activate(
        self, principal: Principal, policy_id: str, request: Activation, effect_id: str | None
    ) -> Action:
        """The action that brings the version into force once another person approves it."""
        policy = self._find(principal, policy_id)
        return await self._actions.request_change(
            principal,
            ActionType.ACTIVATE_POLICY,
            program_id=policy.program_id,
            target=("policy", policy.id),
            change={
                "version": policy.version,
                "bodySha256": digest_of(canonical(policy.body)),
                "note": request.note,
            },
            effect_id=effect_id,
        )

    def list(self, principal: Principal, query: PoliciesQuery) -> tuple[Policy, ...]:
        """Newest first; a programId of another tenant is a 404."""
        of_program = self._programs.filter_by(principal, query.program_id)
        return tuple(
            to_policy(stored)
            for stored in self._of_tenant(principal)
            if (query.prefix is None or prefix_of(stored.version) in query.prefix)
            and (of_program is None or stored.program_id in of_program)
            and query.active in {None, stored.active}
        )

    def read(self, principal: Principal, policy_id: str) -> Policy:
        return to_policy(self._find(principal, policy_id))

    def _find(self, principal: Principal, policy_id: str) -> StoredPolicy:
        for stored in self._of_tenant(principal):
            if stored.id == policy_id.lower():
                return stored
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    def _of_tenant(self, principal: Principal) -> Iterator[StoredPolicy]:
        """All callers may read the tenant-wide policies, and those of the programs within their reach."""
        tenancy = self._registry.tenancy
        for stored in tenancy.policies.of_tenant(principal.tenant_id).all():
            if stored.program_id is None or tenancy.programs.find(principal, stored.program_id) is not None:
                yield stored
