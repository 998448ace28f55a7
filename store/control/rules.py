"""Projection of the control streams: each tenant's rules in their newest form, with their status and backtests.

The form in force is a policy (``store/control/policies.py``): a rule that is changed after its activation is a draft
here, and stays in force there unchanged until the next activation.

Errors  ForbiddenError for a rule of a program out of the principal's reach
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import Backtest, Rule, RuleStatus, rule_hash
from clearhold.features.policy.bodies import RULES, PolicyVersion, RulesBody, prefix_of
from clearhold.store.control.entries import RuleEntry

KEPT_BACKTESTS: Final = 100
"""The newest backtests of a rule; older ones stay in the log alone."""

_COUNTED: Final = frozenset({RuleStatus.TESTING, RuleStatus.ACTIVE})


class StoredRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule in its newest form; backtests are newest first.

    Instants are in microseconds. ``counted_since`` is when this form went into testing or into force.
    """

    rule: Rule
    sha256: str
    created_at: int
    counted_since: int | None = None
    backtests: tuple[Backtest, ...] = ()


class TenantRules:
    """The rules of one tenant, archived ones too: an id is never given to another rule."""

    def __init__(self) -> None:
        self._rules: dict[str, StoredRule] = {}
        self._notes: dict[str, str] = {}
        self._version_of: dict[str, str] = {}

    def put(self, entry: RuleEntry) -> None:
        known = self._rules.get(entry.rule.id)
        backtests = () if known is None else known.backtests
        if entry.backtest is not None:
            backtests = (entry.backtest, *backtests)[:KEPT_BACKTESTS]
        since = known.counted_since if known is not None and known.rule.status is entry.rule.status else entry.at
        self._rules[entry.rule.id] = StoredRule(
            rule=entry.rule,
            sha256=rule_hash(entry.rule),
            created_at=entry.at if known is None else known.created_at,
            counted_since=since if entry.rule.status in _COUNTED else None,
            backtests=backtests,
        )
        for version in entry.versions:
            if prefix_of(version.created.version) != RULES:
                continue
            if entry.note is not None:
                self._notes[version.created.version] = entry.note
            if entry.action_id is not None:  # the first one counts, if it was executed twice
                self._version_of.setdefault(entry.action_id, version.created.version)

    def all(self) -> tuple[StoredRule, ...]:
        """Newest first."""
        return tuple(sorted(self._rules.values(), key=lambda each: (each.created_at, each.rule.id), reverse=True))

    def find(self, rule_id: str) -> StoredRule | None:
        return self._rules.get(rule_id)

    def testing(self) -> Iterator[Rule]:
        return (each.rule for each in self._rules.values() if each.rule.status is RuleStatus.TESTING)

    def note_of(self, principal: Principal, version: str) -> str | None:
        """The note of the person who brought a version into force; it may be about any program of the tenant."""
        return self._notes.get(version) if principal.tenant_wide else None

    def version_of(self, action_id: str) -> str | None:
        """The version of the rules that an action brought into force."""
        return self._version_of.get(action_id)


class Rules:
    """The rules of every tenant."""

    def __init__(self) -> None:
        self._tenants: dict[str, TenantRules] = {}

    def put(self, tenant_id: str, entry: RuleEntry) -> None:
        self.of_tenant(tenant_id).put(entry)

    def of_tenant(self, tenant_id: str) -> TenantRules:
        return self._tenants.setdefault(tenant_id, TenantRules())

    def of_principal(self, principal: Principal) -> tuple[StoredRule, ...]:
        """The tenant-wide rules and those of the programs within the principal's reach, newest first."""
        return tuple(each for each in self.of_tenant(principal.tenant_id).all() if is_reached(principal, each.rule))

    def find(self, principal: Principal, rule_id: str) -> StoredRule | None:
        """The tenant's rule of that id; ForbiddenError for a program out of reach."""
        stored = self.of_tenant(principal.tenant_id).find(rule_id)
        if stored is not None and stored.rule.program_id is not None:
            principal.require_program(stored.rule.program_id)
        return stored


def is_reached(principal: Principal, rule: Rule) -> bool:
    """Whether a principal may see a rule; a tenant-wide one is visible to all."""
    return rule.program_id is None or principal.reaches(rule.program_id)


def rules_in(version: PolicyVersion) -> tuple[Rule, ...]:
    assert isinstance(version.body, RulesBody), "the prefix says which body a version has"
    return version.body.rules


def reached_rules_in(version: PolicyVersion, principal: Principal) -> tuple[Rule, ...]:
    """The rules of a version that a principal may see."""
    return tuple(rule for rule in rules_in(version) if is_reached(principal, rule))


def with_status(rule: Rule, status: RuleStatus) -> Rule:
    return replace(rule, status=status)
