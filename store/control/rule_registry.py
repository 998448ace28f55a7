"""Writes and changes rules, as entries of the tenant's control stream: each change is one entry with all its effects.

written ─▶ draft ─▶ backtested ─▶ testing ─▶ activated ─▶ active ─▶ paused
                      any of them but an active one ─▶ archived

A change of the active rules writes a version ``rules-vN`` into every program of the tenant, a change of those in
testing a ``shadow-vN``, in the same transaction as the change itself.

Errors  ConflictError for a change that the rule's state does not allow; NotFoundError for an unknown rule; StaleError
        for one that was changed since; UnavailableError when the log cannot be written
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError, StaleError
from clearhold.features.core.instants import DAY_US, written_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import MOST_DAYS, Backtest, Rule, RuleAction, RuleMode, RuleStatus, rule_hash
from clearhold.features.policy.bodies import RULES, SHADOW, PolicyVersion, RulesBody
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ControlKind, RuleEntry, VersionInForceEntry
from clearhold.store.control.policies import number_of
from clearhold.store.control.registry import MOST_WRITTEN_BYTES, Registry, Versions
from clearhold.store.control.rules import StoredRule, rules_in

MOST_RULES: Final = 200
"""The most rules of a tenant that are not archived: each is evaluated for every transfer."""
MOST_RULE_IDS: Final = 2_000
"""The most rules of a tenant with the archived ones, which are kept for good and listed without pages."""
BACKTEST_VALID_US: Final = DAY_US

UNKNOWN_RULE: Final = "Unknown rule on this tenant. GET /api/rules lists them."
ID_TAKEN: Final = "The tenant has a rule of this id, and an id is never given to another rule. Choose another id."
TOO_MANY: Final = f"A tenant has at most {MOST_RULES} rules that are not archived. Archive one first."
TOO_MANY_IDS: Final = f"A tenant has at most {MOST_RULE_IDS} rules with the archived ones, which are kept for good."
TOO_LARGE: Final = (
    f"A change of the rules that count is at most {MOST_WRITTEN_BYTES} bytes, over all programs of the tenant, each of "
    "which gets them all. Shorten rules, or pause or archive some."
)
CHANGED: Final = "The rule was changed since it was read. Read it again, and send its ETag in If-Match."
ARCHIVED: Final = "This rule is archived, which is final. Write a new rule with another id."
STILL_ACTIVE: Final = "This rule is in force. Pause it first."
NOT_ACTIVE: Final = "No version of this rule is in force, so there is nothing to pause."
IN_FORCE: Final = "This rule is in force as it is written."
NOT_TESTED: Final = (
    f"Activation needs a backtest of the rule exactly as it is written, over {MOST_DAYS} days and less than 24 hours "
    "old. POST /api/rules/{id}/backtest makes one."
)
EDITED: Final = "The rule was changed after its activation was requested, so nothing was activated."
NO_LONGER_TESTED: Final = (
    f"When the activation was approved, the rule had no backtest over {MOST_DAYS} days that was less than 24 hours "
    "old, so nothing was activated."
)


class CountedRule(NamedTuple):
    """How a rule counts in its present form: the mode, the version, and since when."""

    mode: RuleMode
    version: str
    since: int


class RuleRegistry:
    """Writes what ``Tenancy.rules`` shows. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        self._versions = Versions(registry, clock=clock)
        self.rules, self._policies = registry.tenancy.rules, registry.tenancy.policies

    def read(self, principal: Principal, rule_id: str) -> StoredRule:
        stored = self.rules.find(principal, rule_id)
        if stored is None:
            raise NotFoundError(UNKNOWN_RULE, ErrorCode.RULE_NOT_FOUND)
        return stored

    def versions(self, principal: Principal) -> tuple[PolicyVersion, ...]:
        """The versions of the rules in force, past ones too, newest first."""
        policies = self._policies[principal.tenant_id]
        return tuple(
            sorted(policies.of_principal(principal, RULES), key=lambda policy: number_of(policy.version), reverse=True)
        )

    def counted(self, principal: Principal, stored: StoredRule) -> CountedRule | None:
        """How a rule in testing, or one in force that logs, counts; None for any other."""
        logs = stored.rule.status is RuleStatus.ACTIVE and stored.rule.action is RuleAction.LOG
        if stored.counted_since is None or not (logs or stored.rule.status is RuleStatus.TESTING):
            return None
        version = self._policies[principal.tenant_id].in_force(RULES if logs else SHADOW)
        assert version is not None, "the status says that a version has it"
        return CountedRule(RuleMode.LOG if logs else RuleMode.SHADOW, version.version, stored.counted_since)

    async def create(self, principal: Principal, rule: Rule, effect_id: str | None) -> Rule:
        """The rule as a draft. The same ``effect_id`` gives the same one."""
        async with self._writing(principal.tenant_id):
            known = self.rules.find(principal, rule.id)
            if known is not None and self._registry.tenancy.has_effect(effect_id):
                return known.rule
            if known is not None:
                raise ConflictError(ID_TAKEN, ErrorCode.RULE_ID_TAKEN)
            self._check_room(principal.tenant_id)
            return await self._changed(principal, replace(rule, status=RuleStatus.DRAFT), effect_id=effect_id)

    async def replace(
        self, principal: Principal, rule: Rule, *, is_current: Callable[[Rule], bool], effect_id: str | None
    ) -> Rule:
        """The rule in its new form, back in draft. ``is_current`` is whether the caller knew the form it replaces."""
        async with self._writing(principal.tenant_id):
            known = self.read(principal, rule.id).rule
            if self._registry.tenancy.has_effect(effect_id):
                return known
            if not is_current(known):
                raise StaleError(CHANGED, ErrorCode.RULE_CHANGED)
            _check_not_archived(known)
            return await self._changed(principal, replace(rule, status=RuleStatus.DRAFT), effect_id=effect_id)

    async def add_backtest(self, principal: Principal, backtest: Backtest, effect_id: str | None) -> Backtest:
        """Add a backtest. A draft goes into testing, unless it was changed while the backtest ran."""
        async with self._writing(principal.tenant_id):
            stored = self.read(principal, backtest.rule_id)
            known = self.find_backtest(stored, backtest.key)
            if known is not None:
                return known
            rule = stored.rule
            if rule.status is RuleStatus.DRAFT and stored.sha256 == backtest.rule_sha256:
                rule = replace(rule, status=RuleStatus.TESTING)
            await self._changed(principal, rule, backtest=backtest, effect_id=effect_id)
            return backtest

    async def archive(self, principal: Principal, rule_id: str, *, note: str | None, effect_id: str | None) -> Rule:
        """The rule, archived for good; 409 while a version of it is in force."""
        async with self._writing(principal.tenant_id):
            known = self.read(principal, rule_id).rule
            if self._registry.tenancy.has_effect(effect_id):
                return known
            _check_not_archived(known)
            if self.in_force(principal.tenant_id, rule_id) is not None:
                raise ConflictError(STILL_ACTIVE, ErrorCode.RULE_IN_FORCE)
            archived = replace(known, status=RuleStatus.ARCHIVED)
            return await self._changed(principal, archived, note=note, effect_id=effect_id)

    def check_activation(self, principal: Principal, stored: StoredRule) -> Backtest:
        """The backtest that allows the activation of a rule now; ConflictError when it is not allowed."""
        return self._check(principal.tenant_id, stored, self._clock.now(), NOT_TESTED)

    def read_in_force(self, principal: Principal, rule_id: str) -> Rule:
        """The rule in its form in force; ConflictError when it is not in force."""
        rule = self.in_force(principal.tenant_id, rule_id)
        if rule is None:
            raise ConflictError(NOT_ACTIVE, ErrorCode.RULE_NOT_ACTIVE)
        return rule

    async def activate(
        self, tenant_id: str, rule_id: str, sha256: str, *, action_id: str, approved_at: int, by: str, note: str | None
    ) -> str:
        """Bring a rule into force, once for each approved action; returns the version with it.

        Raises ConflictError when the rule has changed since the request, or its test is no longer valid.
        """
        async with self._writing(tenant_id):
            rules = self.rules.of_tenant(tenant_id)
            done = rules.version_of(action_id)
            if done is not None:
                return done
            stored = rules.find(rule_id)
            assert stored is not None, "an activation is requested of a rule that is there"
            if stored.sha256 != sha256:
                raise ConflictError(EDITED, ErrorCode.RULE_NOT_TESTED)
            self._check(tenant_id, stored, approved_at, NO_LONGER_TESTED)
            rule = replace(stored.rule, status=RuleStatus.ACTIVE)
            active = [rule, *(each for each in self.active(tenant_id) if each.id != rule_id)]
            entry = await self._write(tenant_id, rule, by=by, active=active, note=note, action_id=action_id)
            return entry.versions[0].created.version

    async def pause(self, tenant_id: str, rule_id: str, *, action_id: str, by: str, note: str | None) -> str:
        """Take a rule in force out of force, once for each action; returns the new version. Else ConflictError."""
        async with self._writing(tenant_id):
            rules = self.rules.of_tenant(tenant_id)
            done = rules.version_of(action_id)
            if done is not None:
                return done
            stored = rules.find(rule_id)
            assert stored is not None, "a pause is requested of a rule that is there"
            if self.in_force(tenant_id, rule_id) is None:
                raise ConflictError(NOT_ACTIVE, ErrorCode.RULE_NOT_ACTIVE)
            rule = replace(stored.rule, status=RuleStatus.PAUSED)
            active = [each for each in self.active(tenant_id) if each.id != rule_id]
            entry = await self._write(tenant_id, rule, by=by, active=active, note=note, action_id=action_id)
            return entry.versions[0].created.version

    def active(self, tenant_id: str) -> tuple[Rule, ...]:
        """The rules in force, each in its form at the activation."""
        version = self._policies[tenant_id].in_force(RULES)
        return () if version is None else rules_in(version)

    def in_force(self, tenant_id: str, rule_id: str) -> Rule | None:
        return next((rule for rule in self.active(tenant_id) if rule.id == rule_id), None)

    @staticmethod
    def find_backtest(stored: StoredRule, key: str) -> Backtest | None:
        return next((backtest for backtest in stored.backtests if backtest.key == key), None)

    def _writing(self, tenant_id: str) -> AbstractAsyncContextManager[None]:
        return self._versions.writing(tenant_id, RULES)

    def _check(self, tenant_id: str, stored: StoredRule, at: int, untested: str) -> Backtest:
        """The backtest that allows the activation of a rule at ``at``, when it is requested and when it is approved."""
        _check_not_archived(stored.rule)
        active = self.in_force(tenant_id, stored.rule.id)
        if active is not None and rule_hash(active) == stored.sha256:
            raise ConflictError(IN_FORCE, ErrorCode.RULE_IN_FORCE)
        self._versions.check_room(tenant_id, RULES)
        backtest = valid_backtest(stored, at)
        if backtest is None:
            raise ConflictError(untested, ErrorCode.RULE_NOT_TESTED)
        return backtest

    def _check_room(self, tenant_id: str) -> None:
        rules = self.rules.of_tenant(tenant_id).all()
        if sum(each.rule.status is not RuleStatus.ARCHIVED for each in rules) >= MOST_RULES:
            raise ConflictError(TOO_MANY, ErrorCode.TOO_MANY_RULES)
        if len(rules) >= MOST_RULE_IDS:
            raise ConflictError(TOO_MANY_IDS, ErrorCode.TOO_MANY_RULES)

    async def _changed(self, principal: Principal, rule: Rule, **more: Any) -> Rule:
        return (await self._write(principal.tenant_id, rule, by=principal.operator, **more)).rule

    async def _write(
        self, tenant_id: str, rule: Rule, *, by: str, active: Iterable[Rule] | None = None, **more: Any
    ) -> RuleEntry:
        """Append a change, with the rules in force and in testing where it changes them; ``more`` are further fields of
        the entry.
        """
        at = self._clock.now()
        in_force = () if active is None else (self._version(tenant_id, RULES, active, at=at, by=by),)
        versions = (*in_force, *self._shadow_after(tenant_id, rule, at=at, by=by))
        entry = RuleEntry(rule=rule, at=at, by=by, versions=versions, **more)
        to_programs = [each for version in versions for each in self._versions.to_programs(version)]
        is_wider = rule.status in {RuleStatus.TESTING, RuleStatus.ACTIVE}  # narrowing is never refused
        if is_wider and sum(len(each.body) for each in to_programs) > MOST_WRITTEN_BYTES:
            raise ConflictError(TOO_LARGE, ErrorCode.TOO_MANY_RULES)
        await self._registry.write(tenant_id, ControlKind.RULE, entry, to_programs)
        return entry

    def _shadow_after(self, tenant_id: str, changed: Rule, *, at: int, by: str) -> tuple[VersionInForceEntry, ...]:
        """The version of the rules in testing after a change of one; empty when they stay the same."""
        before = {rule.id: rule for rule in self.rules.of_tenant(tenant_id).testing()}
        after = {rule_id: rule for rule_id, rule in before.items() if rule_id != changed.id}
        if changed.status is RuleStatus.TESTING:
            after[changed.id] = changed
        return () if after == before else (self._version(tenant_id, SHADOW, after.values(), at=at, by=by),)

    def _version(self, tenant_id: str, prefix: str, rules: Iterable[Rule], *, at: int, by: str) -> VersionInForceEntry:
        body = RulesBody(rules=tuple(sorted(rules, key=attrgetter("id"))))
        mark = f"{at}/{digest_of(canonical(body))}"
        return self._versions.next_in_force(tenant_id, prefix, body, at=at, by=by, mark=mark)


def valid_backtest(stored: StoredRule, at: int) -> Backtest | None:
    """The newest backtest of the rule in exactly this form that allows its activation at ``at``."""
    for backtest in stored.backtests:
        is_fresh = at - written_instant(backtest.at) < BACKTEST_VALID_US
        if is_fresh and backtest.days >= MOST_DAYS and backtest.rule_sha256 == stored.sha256:
            return backtest
    return None


def _check_not_archived(rule: Rule) -> None:
    if rule.status is RuleStatus.ARCHIVED:
        raise ConflictError(ARCHIVED, ErrorCode.RULE_ARCHIVED)
