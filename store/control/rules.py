"""Projections of the control streams: each tenant's rules with their status and backtests, and the reports, past and
shadows of its scorecards.

The form of a rule in force is a policy (``store/control/policies.py``): a rule that is changed after its activation is
a draft here, and stays in force there unchanged until the next activation. The cards themselves are policies too, so
programs get them like any other.

Errors  ForbiddenError for a rule of a program out of the principal's reach
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import Backtest, Rule, RuleStatus, rule_hash
from clearhold.features.policy.bodies import RULES, SCORECARD, PolicyVersion, RulesBody, prefix_of
from clearhold.store.control.entries import ChallengerEntry, PolicyActivatedEntry, RuleEntry, ScorecardReportEntry

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

    def of_tenant(self, tenant_id: str) -> TenantRules:
        return self._tenants.setdefault(tenant_id, TenantRules())

    def of_principal(self, principal: Principal) -> tuple[StoredRule, ...]:
        """The tenant-wide rules and those of the programs within the principal's reach, newest first."""
        return tuple(each for each in self.of_tenant(principal.tenant_id).all() if is_reached(principal, each.rule))

    def find(self, principal: Principal, rule_id: str) -> StoredRule | None:
        """The tenant's rule of that id; ForbiddenError for a program outside a key's mode."""
        stored = self.of_tenant(principal.tenant_id).find(rule_id)
        program_id = None if stored is None else stored.rule.program_id
        return stored if program_id is None or principal.finds(program_id) else None


def is_reached(principal: Principal, rule: Rule) -> bool:
    """Whether a principal may see a rule; a tenant-wide one is visible to all."""
    return rule.program_id is None or principal.reaches(rule.program_id)


def rules_in(version: PolicyVersion) -> tuple[Rule, ...]:
    assert isinstance(version.body, RulesBody), "the prefix says which body a version has"
    return version.body.rules


def reached_rules_in(version: PolicyVersion, principal: Principal) -> tuple[Rule, ...]:
    """The rules of a version that a principal may see."""
    return tuple(rule for rule in rules_in(version) if is_reached(principal, rule))


KEPT_REPORTS: Final = 2
"""The newest reports on a card; older ones stay in the log alone."""


class TenantScorecards:
    """The reports and shadows of one tenant's scorecards, without the cards."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[ScorecardReportEntry, ...]] = {}
        self._scored: set[str] = set()
        self._shadows: dict[str | None, str] = {}
        self._started: dict[str, int] = {}  # when each card last came into shadow

    def add_report(self, entry: ScorecardReportEntry) -> None:
        """Add a report in order of age; an older one that arrives late does not replace a newer one."""
        known = (each for each in self.reports(entry.version) if each.report_sha256 != entry.report_sha256)
        newest = sorted((entry, *known), key=lambda each: each.made_at, reverse=True)
        self._reports[entry.version] = tuple(newest[:KEPT_REPORTS])

    def note_activation(self, entry: PolicyActivatedEntry) -> None:
        if prefix_of(entry.version) == SCORECARD:
            self._scored.add(entry.version)

    def put_challenger(self, entry: ChallengerEntry) -> None:
        if entry.scorecard is None:
            self._shadows.pop(entry.created.program_id, None)
            return
        self._shadows[entry.created.program_id] = entry.scorecard
        self._started[entry.scorecard] = entry.activated.at

    def reports(self, version: str) -> tuple[ScorecardReportEntry, ...]:
        """Newest first."""
        return self._reports.get(version, ())

    def has_scored(self, version: str) -> bool:
        """Whether it is or was in force."""
        return version in self._scored

    def shadow_start(self, version: str) -> int | None:
        """When a card last came into shadow, whether it is there now or not."""
        return self._started.get(version)

    def shadow(self, program_id: str | None) -> str | None:
        """The version that runs in shadow for a program alone, or for the whole tenant."""
        return self._shadows.get(program_id)
