"""The kinds of numbered versions, and each tenant's policies as created, with those in force: a projection for the API.

The flow has the versions in force in the book of each program, from the program's shard. A further kind of policy is a
row of ``VERSION_KINDS``, its body in ``features/policy/bodies.py``, and its rules in ``api/policies/routes.py``. The
caps and the autonomy of a program are versions too, but no rows here: the program's shard numbers them as it decides
their actions (``features/actions/changes.py``).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import msgspec

from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.policy.bodies import (
    CHALLENGER,
    CLOCK,
    FX,
    KRI,
    LADDER,
    POLICY,
    RETENTION,
    RULES,
    SCORECARD,
    SHADOW,
    THRESHOLDS,
    ActiveVersion,
    Body,
    PolicyVersion,
    decode_body,
    prefix_of,
)
from clearhold.features.policy.in_force import PolicyBook
from clearhold.features.policy.seeds import policy_id_of, seeded_policies
from clearhold.store.control.entries import ControlKind, PolicyActivatedEntry, PolicyCreatedEntry

MOST_POLICIES: Final = 1_000
MOST_RULES_VERSIONS: Final = 1_000
MOST_SCORECARDS: Final = 200

TOO_MANY_POLICIES: Final = f"A tenant has at most {MOST_POLICIES} versions of policies, which are kept for good."
TOO_MANY_RULES_VERSIONS: Final = (
    f"A tenant has at most {MOST_RULES_VERSIONS} versions of its rules, which are kept for good. Rules can only be "
    "paused."
)
TOO_MANY_SCORECARDS: Final = f"A tenant has at most {MOST_SCORECARDS} versions of scorecards, which are kept for good."


class VersionKind(msgspec.Struct, frozen=True, kw_only=True):
    """``entry`` writes a version of the kind. Prefixes with one row are counted together.

    Versions in shadow have no limit: only the newest is kept.
    """

    entry: ControlKind
    most: int | None = None  # of a tenant: versions are kept for good, and listed without pages
    too_many: str = ""
    in_shadow: bool = False


_POLICIES: Final = VersionKind(entry=ControlKind.POLICY, most=MOST_POLICIES, too_many=TOO_MANY_POLICIES)
VERSION_KINDS: Final[Mapping[str, VersionKind]] = {
    **dict.fromkeys((POLICY, CLOCK, LADDER, THRESHOLDS, KRI, RETENTION, FX), _POLICIES),
    RULES: VersionKind(entry=ControlKind.RULE, most=MOST_RULES_VERSIONS, too_many=TOO_MANY_RULES_VERSIONS),
    SHADOW: VersionKind(entry=ControlKind.RULE, in_shadow=True),
    SCORECARD: VersionKind(entry=ControlKind.SCORECARD, most=MOST_SCORECARDS, too_many=TOO_MANY_SCORECARDS),
    CHALLENGER: VersionKind(entry=ControlKind.CHALLENGER, in_shadow=True),
}


def kind_of(version: str) -> VersionKind:
    return VERSION_KINDS[prefix_of(version)]


def is_policy(version: str) -> bool:
    """Whether a version is written and activated among the policies, and not by rules or scorecards."""
    return kind_of(version).entry is ControlKind.POLICY


class TenantPolicies:
    """The policies of one tenant; ``policies`` are those in force tenant-wide, but for rules and scorecards."""

    def __init__(self, tenant_id: str, created_at: int) -> None:
        self.policies = PolicyBook(tenant_id)
        self._versions = {each.version: each for each in seeded_policies(tenant_id, created_at)}
        self._created_by: dict[str, str] = {}  # by the effect of the request
        self._activations: set[str] = set()  # by the ids of actions
        self._in_force = {  # by prefix and program; seeds have no action
            (prefix_of(version), each.program_id): PolicyActivatedEntry(version=version, action_id="", at=created_at)
            for version, each in self._versions.items()
        }
        self._numbers = Counter(map(prefix_of, self._versions))

    def add(self, entry: PolicyCreatedEntry) -> None:
        """Add a new version, in force nowhere. An existing one of the same version was never confirmed, so the writer
        did not know of it. Of rules it may be in force; the activation of this one follows in the same entry.
        """
        prefix, number = prefix_of(entry.version), number_of(entry.version)
        self._numbers[prefix] = max(self._numbers[prefix], number)
        if entry.effect_id is not None:
            self._created_by[entry.effect_id] = entry.version
        self._versions[entry.version] = PolicyVersion(
            id=entry.id,
            tenant_id=entry.tenant_id,
            program_id=entry.program_id,
            version=entry.version,
            body=decode_body(entry.version, entry.body),
            active=False,
            created_at=entry.created_at,
        )

    def activate(self, entry: PolicyActivatedEntry) -> None:
        """Bring a version into force in place of the former one; a repeated activation counts once."""
        if entry.action_id in self._activations:
            return
        self._activations.add(entry.action_id)
        activated, prefix = self._versions[entry.version], prefix_of(entry.version)
        before = self._in_force.get((prefix, activated.program_id))
        if before is not None:
            self._take_out(before)
        self._in_force[prefix, activated.program_id] = entry
        self._versions[entry.version] = msgspec.structs.replace(activated, active=True)
        if activated.program_id is None and is_policy(entry.version):
            self.policies.activate(
                ActiveVersion(
                    version=entry.version,
                    body=activated.body,
                    since=entry.at,
                    action_id=entry.action_id,
                    of_program=False,
                )
            )

    def all(self) -> tuple[PolicyVersion, ...]:
        """Newest first."""
        return tuple(sorted(self._versions.values(), key=lambda each: (each.created_at, each.id), reverse=True))

    def of_principal(self, principal: Principal, prefix: str | None = None) -> tuple[PolicyVersion, ...]:
        """Newest first, without versions in shadow: the tenant-wide ones, and those of the programs within reach."""
        return tuple(
            each
            for each in self.all()
            if not kind_of(each.version).in_shadow
            and prefix in {None, prefix_of(each.version)}
            and (each.program_id is None or principal.reaches(each.program_id))
        )

    def of_prefix(self, prefix: str) -> tuple[PolicyVersion, ...]:
        """All versions of a prefix, whatever their programs."""
        return tuple(each for each in self._versions.values() if prefix_of(each.version) == prefix)

    def find(self, version: str) -> PolicyVersion | None:
        return self._versions.get(version)

    def created_by(self, effect_id: str | None) -> PolicyVersion | None:
        """The version that an idempotent request has created already."""
        version = None if effect_id is None else self._created_by.get(effect_id)
        return None if version is None else self._versions[version]

    def read(self, version: str) -> PolicyVersion:
        """A version that exists: versions are kept for good."""
        return self._versions[version]

    def next_version(self, prefix: str) -> str:
        """The next version of a kind, counted over the tenant and its programs together."""
        return f"{prefix}-v{1 + self._numbers[prefix]}"

    def count(self, kind: VersionKind) -> int:
        """The versions of a kind, past ones too."""
        return sum(kind_of(version) is kind for version in self._versions)

    def in_force(self, prefix: str, program_id: str | None = None) -> PolicyVersion | None:
        """The version of a prefix in force tenant-wide, or for one program alone; None without one."""
        entry = self._in_force.get((prefix, program_id))
        return None if entry is None else self._versions[entry.version]

    def was_activated_by(self, action_id: str) -> bool:
        return action_id in self._activations

    def activated(self, program_id: str | None) -> tuple[tuple[PolicyVersion, PolicyActivatedEntry], ...]:
        """The activated versions in force tenant-wide, or for one program alone, each with its newest activation."""
        return tuple(
            (self._versions[entry.version], entry)
            for (_, of_program), entry in self._in_force.items()
            if of_program == program_id and entry.action_id
        )

    def _take_out(self, before: PolicyActivatedEntry) -> None:
        """Take a version out of force. Its former shadow is not needed here: the log has it."""
        if kind_of(before.version).in_shadow:
            del self._versions[before.version]
            self._activations.remove(before.action_id)
        else:
            self._versions[before.version] = msgspec.structs.replace(self._versions[before.version], active=False)


def version_created(
    tenant_id: str,
    version: str,
    body: Body,
    *,
    program_id: str | None,
    at: int,
    by: str,
    effect_id: str | None = None,
) -> PolicyCreatedEntry:
    """The entry that creates a version, in force nowhere. Its id follows from the tenant and the version."""
    return PolicyCreatedEntry(
        id=policy_id_of(tenant_id, version),
        tenant_id=tenant_id,
        program_id=program_id,
        version=version,
        body=msgspec.to_builtins(body),
        created_at=format_instant(at),
        created_by=by,
        effect_id=effect_id,
    )


def number_of(version: str) -> int:
    """Its place among the versions of its kind.

    >>> number_of("clock-v12")
    12
    """
    return int(version.rpartition("-v")[2])
