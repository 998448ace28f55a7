"""The tenant's policies: versions that are never edited, brought into force by an approved action, and read.

Errors  NotFoundError for a policy or program that is not this tenant's; ConflictError for a version that exists, an
        activation that is under way, or one without effect
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import structlog
from anyio import to_thread
from msgspec.structs import replace

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.api.lists.arrays import ArrayPart, array_part
from clearhold.api.lists.cursors import Place
from clearhold.api.policies.schemas import (
    Activation,
    NewPolicy,
    PoliciesQuery,
    Policy,
    id_of,
    of_program,
    to_policy,
    without_body,
)
from clearhold.api.program_service import ProgramService
from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant, parse_instant
from clearhold.features.core.principal import Principal
from clearhold.features.policy.bodies import RULES, RulesBody, decode_body, prefix_of
from clearhold.features.policy.bodies import PolicyVersion as StoredPolicy
from clearhold.store.control.policies import Policies, is_policy
from clearhold.store.control.rules import reached_rules_in
from clearhold.store.control.versions import Versions
from clearhold.store.duck.policies import PolicyTable, ProgramVersion

log = structlog.get_logger()

OF_PROGRAMS: Final = ("autonomy", "limits")
UNKNOWN_POLICY: Final = "Unknown policy on this tenant."


class PolicyService:
    def __init__(
        self,
        *,
        policies: Policies,
        versions: Versions,
        table: PolicyTable,
        programs: ProgramService,
        actions: ActionService,
    ) -> None:
        self._policies, self._versions, self._table = policies, versions, table
        self._programs, self._actions = programs, actions

    async def create(self, principal: Principal, request: NewPolicy, effect_id: str | None) -> Policy:
        """A new version, not in force yet."""
        program_id = None
        if request.program_id is not None:
            program_id = self._programs.read(principal, str(request.program_id)).id
        created = await self._versions.create(
            principal,
            prefix_of(request.version),
            decode_body(request.version, request.body),
            program_id=program_id,
            effect_id=effect_id,
            version=request.version,
        )
        log.info("policy_created", tenant_id=principal.tenant_id, version=created.version, operator=principal.operator)
        return to_policy(created)

    async def activate(
        self, principal: Principal, policy_id: str, request: Activation, effect_id: str | None
    ) -> Action:
        """The action that puts the version in force once another person approves it."""
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

    async def list(self, principal: Principal, query: PoliciesQuery) -> ArrayPart:
        """Policies, newest first; a programId of another tenant is a 404."""
        program_ids = self._programs.filter_by(principal, query.program_id)
        listed = (
            each
            for each in await self._of_tenant(principal)
            if (query.prefix is None or prefix_of(each.version) in query.prefix)
            and (program_ids is None or each.program_id in program_ids)
            and query.active in {None, each.active}
        )
        return array_part(listed, query, place=_place, show=lambda each: each.in_list())

    async def read(self, principal: Principal, policy_id: str) -> Policy:
        for each in await self._of_tenant(principal):
            if each.id == policy_id.lower():
                return each.alone()
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    def _find(self, principal: Principal, policy_id: str) -> StoredPolicy:
        """A version that was written here; other kinds have their activation routes."""
        for stored in self._written(principal):
            if stored.id == policy_id.lower() and is_policy(stored.version):
                return stored
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    async def _of_tenant(self, principal: Principal) -> Sequence["_Listed"]:
        """Newest first: the policies written here, and the programs' limits and tiers of autonomy."""
        own = await to_thread.run_sync(self._table.of_programs, principal.tenant_id, OF_PROGRAMS)
        policies = [
            *(_written_here(principal, each) for each in self._written(principal)),
            *(_of_program(principal, each) for each in own if principal.reaches(each.program_id)),
        ]
        return sorted(policies, key=lambda policy: (policy.created_at, policy.id), reverse=True)

    def _written(self, principal: Principal) -> tuple[StoredPolicy, ...]:
        return self._policies.of_tenant(principal.tenant_id).of_principal(principal)


class _Listed(NamedTuple):
    """A policy's sort key; ``alone`` builds its form for itself, ``in_list`` its form in a list."""

    id: str
    created_at: str
    version: str
    program_id: str | None
    active: bool
    alone: Callable[[], Policy]
    in_list: Callable[[], Policy]


def _written_here(principal: Principal, stored: StoredPolicy) -> _Listed:
    def alone() -> Policy:
        return to_policy(_within_reach(principal, stored))

    in_list = partial(without_body, stored) if prefix_of(stored.version) == RULES else alone
    return _Listed(stored.id, stored.created_at, stored.version, stored.program_id, stored.active, alone, in_list)


def _of_program(principal: Principal, version: ProgramVersion) -> _Listed:
    policy_id, created_at = id_of(principal.tenant_id, version), format_instant(version.since)
    alone = partial(of_program, principal.tenant_id, version)
    return _Listed(policy_id, created_at, version.version, version.program_id, version.active, alone, alone)


def _within_reach(principal: Principal, stored: StoredPolicy) -> StoredPolicy:
    """A version of the rules without programs outside the principal's reach; other policies unchanged."""
    if not isinstance(stored.body, RulesBody):
        return stored
    return replace(stored, body=RulesBody(rules=reached_rules_in(stored, principal)))


def _place(listed: _Listed) -> Place:
    created_at = parse_instant(listed.created_at)
    assert created_at is not None, "a policy has its time of creation"
    return Place(created_at, listed.id, "")
