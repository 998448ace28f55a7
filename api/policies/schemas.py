"""Policies as the interface shows them."""

from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.http.fields import POLICY_VERSION, CursorText, PageLimit, ProgramIds, Prose
from clearhold.features.core.instants import format_instant
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.policy.bodies import PolicyVersion as StoredPolicy
from clearhold.features.policy.bodies import RulesBody
from clearhold.features.policy.seeds import policy_id_of
from clearhold.store.duck.policies import ProgramVersion

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
    return Policy(
        id=stored.id,
        tenant_id=stored.tenant_id,
        program_id=stored.program_id,
        version=stored.version,
        body=msgspec.to_builtins(stored.body),
        active=stored.active,
        created_at=stored.created_at,
    )


def without_body(stored: StoredPolicy) -> Policy:
    """A list leaves out the bodies of rule versions: two hundred rules each, a thousand times, are too long."""
    return msgspec.structs.replace(to_policy(msgspec.structs.replace(stored, body=NO_RULES)), body={})


def id_of(tenant_id: str, version: ProgramVersion) -> str:
    """The id of a program's version, which follows from its place."""
    return policy_id_of(tenant_id, f"{version.program_id}/{version.version}")


def of_program(tenant_id: str, version: ProgramVersion) -> Policy:
    return Policy(
        id=id_of(tenant_id, version),
        tenant_id=tenant_id,
        program_id=version.program_id,
        version=version.version,
        body=msgspec.json.decode(version.body),
        active=version.active,
        created_at=format_instant(version.since),
    )
