"""The tenant's policies: versions that are never edited, brought into force by an approved action, and read.

Errors  NotFoundError for a policy or program that is not this tenant's; ConflictError for a version that exists, an
        activation that is under way, or one without effect
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

import msgspec
import structlog
from msgspec.structs import replace

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Resources
from clearhold.api.http.fields import POLICY_VERSION, CursorText, PageLimit, ProgramIds, Prose
from clearhold.api.http.idempotency import comparable
from clearhold.api.http.reading import in_reader
from clearhold.api.lists.lists import ArrayPart, Place, array_part, to_answer
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant, written_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.policy.bodies import PolicyVersion as StoredPolicy
from clearhold.features.policy.bodies import RulesBody, decode_body, policy_sha256, prefix_of
from clearhold.features.policy.seeds import policy_id_of
from clearhold.store.control.policies import is_policy
from clearhold.store.control.registry import Versions
from clearhold.store.control.rules import reached_rules_in
from clearhold.store.duck.inputs import PolicyTable, ProgramVersion

NO_RULES: Final = RulesBody(rules=())


class PolicyPrefix(StrEnum):
    """The kinds of policy, by the prefix of their versions."""

    POLICY = "policy"
    CLOCK = "clock"
    LADDER = "ladder"
    THRESHOLDS = "thresholds"
    KRI = "kri"
    RETENTION = "retention"
    FX = "fx"
    AUTONOMY = "autonomy"
    LIMITS = "limits"
    RULES = "rules"
    SCORECARD = "scorecard"


VersionText = Annotated[str, msgspec.Meta(pattern=POLICY_VERSION)]


class NewPolicy(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The prefix of ``version`` sets the type of ``body``: policy, clock, ladder, thresholds, kri, retention or fx."""

    version: Annotated[VersionText, about("The next version of its kind, as in clock-v2; its prefix is the kind.")]
    program_id: UUID | None = None
    body: dict[str, Any]


class Activation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    note: Prose


class PoliciesQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    prefix: Annotated[tuple[PolicyPrefix, ...], msgspec.Meta(min_length=1, max_length=len(PolicyPrefix))] | None = None
    program_id: ProgramIds | None = None
    active: bool | None = None
    limit: PageLimit | None = None
    cursor: CursorText | None = None


class Policy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Versioned data. The prefix of ``version`` sets the type of ``body``; ``programId`` null is tenant-wide."""

    id: Annotated[str, minted("policy")]
    tenant_id: str
    program_id: Annotated[str | None, about("The one program that the policy is for; null: the whole tenant.")]
    version: Annotated[str, about("Version of the policy; its prefix says what kind it is.")]
    body: Annotated[dict[str, Any], msgspec.Meta(title="AnyBody")]  # generated clients have a PolicyBody
    active: bool
    created_at: str


def to_policy(stored: StoredPolicy) -> Policy:
    return to_answer(stored, Policy, body=msgspec.to_builtins(stored.body))


def without_body(stored: StoredPolicy) -> Policy:
    """A list leaves out the bodies of rule versions: two hundred rules each, a thousand times, are too long."""
    return msgspec.structs.replace(to_policy(msgspec.structs.replace(stored, body=NO_RULES)), body={})


def id_of(tenant_id: str, version: ProgramVersion) -> str:
    """The id of a program's version, which follows from its place."""
    return policy_id_of(tenant_id, f"{version.program_id}/{version.version}")


def of_program(tenant_id: str, version: ProgramVersion) -> Policy:
    body, created_at = msgspec.json.decode(version.body), format_instant(version.since)
    return to_answer(
        version, Policy, id=id_of(tenant_id, version), tenant_id=tenant_id, body=body, created_at=created_at
    )


log = structlog.get_logger()

OF_PROGRAMS: Final = ("autonomy", "limits")
UNKNOWN_POLICY: Final = "Unknown policy on this tenant."


class PolicyService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._policies, self._table = stores.registry.tenancy.policies, PolicyTable(stores.database)
        self._versions = Versions(stores.registry, clock=stores.clock)
        self._programs, self._actions = resources.programs, ActionService(resources)

    async def create(self, principal: Principal, request: NewPolicy, effect_id: str | None) -> Policy:
        """A new version, not in force yet."""
        program_id = self._programs.named(principal, request.program_id)
        created = await self._versions.create(
            principal,
            prefix_of(request.version),
            decode_body(request.version, comparable(request.body)),
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
            change={"version": policy.version, "bodySha256": policy_sha256(policy.body), "note": request.note},
            effect_id=effect_id,
        )

    async def list(self, principal: Principal, query: PoliciesQuery) -> ArrayPart:
        """Policies, newest first; a programId of another tenant is a 404."""
        program_ids = self._programs.filter_by(principal, query.program_id)
        listed = (
            each
            for each in await self._of_tenant(principal)
            if (query.prefix is None or prefix_of(each.row.version) in query.prefix)
            and (program_ids is None or each.row.program_id in program_ids)
            and query.active in {None, each.row.active}
        )
        return array_part(listed, query, place=_place, show=lambda each: _policy_of(principal, each.row, in_list=True))

    async def read(self, principal: Principal, policy_id: str) -> Policy:
        for each in await self._of_tenant(principal):
            if each.id == policy_id.lower():
                return _policy_of(principal, each.row, in_list=False)
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    def _find(self, principal: Principal, policy_id: str) -> StoredPolicy:
        """A version that was written here; other kinds have their activation routes."""
        for stored in self._written(principal):
            if stored.id == policy_id.lower() and is_policy(stored.version):
                return stored
        raise NotFoundError(UNKNOWN_POLICY, ErrorCode.POLICY_NOT_FOUND)

    async def _of_tenant(self, principal: Principal) -> Sequence["_Listed"]:
        """Newest first: the policies written here, and the programs' limits and tiers of autonomy."""
        own = await in_reader(self._table.of_programs, principal.tenant_id, OF_PROGRAMS)
        policies = [
            *(_Listed(each.id, each.created_at, each) for each in self._written(principal)),
            *(
                _Listed(id_of(principal.tenant_id, each), format_instant(each.since), each)
                for each in own
                if principal.reaches(each.program_id)
            ),
        ]
        return sorted(policies, key=lambda policy: (policy.created_at, policy.id), reverse=True)

    def _written(self, principal: Principal) -> tuple[StoredPolicy, ...]:
        return self._policies[principal.tenant_id].of_principal(principal)


class _Listed(NamedTuple):
    """A policy's place in the list, and its row: written here, or a program's limits or tier of autonomy."""

    id: str
    created_at: str
    row: StoredPolicy | ProgramVersion


def _policy_of(principal: Principal, row: StoredPolicy | ProgramVersion, *, in_list: bool) -> Policy:
    """A version of the rules has those within the principal's reach, and none in a list."""
    if isinstance(row, ProgramVersion):
        return of_program(principal.tenant_id, row)
    if not isinstance(row.body, RulesBody):
        return to_policy(row)
    if in_list:
        return without_body(row)
    return to_policy(replace(row, body=RulesBody(rules=reached_rules_in(row, principal))))


def _place(listed: _Listed) -> Place:
    return Place(written_instant(listed.created_at), listed.id, "")
