"""Rules: written, backtested, activated by two people, paused by one, and read.

activation  requested here ─▶ an action that waits ─▶ another's approval ─▶ the executor checks again, and writes it
pause       requested here ─▶ an action of one person ─▶ the executor writes it at once

Errors  NotFoundError for a rule or program that is not this tenant's; ForbiddenError for a rule of a program out of
        reach; ConflictError when the rule's state forbids the step; StaleError for a rule that was changed since
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import msgspec
import structlog

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService, Change
from clearhold.api.area import Resources
from clearhold.api.lists.exports import Concurrency
from clearhold.api.lists.lists import ArrayPart, Place, array_part
from clearhold.api.rules.schemas import (
    BacktestRequest,
    NewRule,
    RuleChange,
    RulesQuery,
    RulesVersion,
    RulesVersionsQuery,
    to_rule,
)
from clearhold.features.core.entries.actions import ActionStatus, ActionType
from clearhold.features.core.errors import ConflictError, ErrorCode, FieldCode, invalid
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.rules import MOST_DAYS, Backtest, Rule, ShadowReport, rule_hash
from clearhold.features.policy.bodies import PolicyVersion
from clearhold.features.rules.backtest import not_in_shadow
from clearhold.store.control.policies import number_of
from clearhold.store.control.rule_registry import NOT_ACTIVE, RuleRegistry
from clearhold.store.control.rules import reached_rules_in

log = structlog.get_logger()

BACKTESTS_OF_TENANT: Final = 4
BACKTESTS_IN_ALL: Final = 32
"""Backtests at a time: one is read, the others wait."""

TARGET: Final = "rule"
FIGURES: Final = (
    "key",
    "at",
    "days",
    "scanned",
    "sampled",
    "matched",
    "wouldHold",
    "wouldAlert",
    "sampleTransferIds",
    "sampleTransfers",
    "simulated",
)
"""The fields of the backtest for the approver."""


class RuleService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._registry = RuleRegistry(stores.registry, clock=stores.clock)
        self._programs, self._actions = resources.programs, ActionService(resources)
        self._backtests, self._new_id = resources.backtests, stores.new_id
        self._under_way = Concurrency(BACKTESTS_OF_TENANT, in_all=BACKTESTS_IN_ALL, what="backtests")

    async def list(self, principal: Principal, query: RulesQuery) -> ArrayPart:
        """Rules, newest first; a programId of another tenant is a 404."""
        program_ids = self._programs.filter_by(principal, query.program_id)
        listed = (
            stored
            for stored in self._registry.rules.of_principal(principal)
            if (query.status is None or stored.rule.status in query.status)
            and (program_ids is None or stored.rule.program_id in program_ids)
        )
        return array_part(
            listed,
            query,
            place=lambda stored: Place(stored.created_at, stored.rule.id, ""),
            show=lambda stored: stored.rule,
        )

    async def read(self, principal: Principal, rule_id: str) -> Rule:
        return self._registry.read(principal, rule_id).rule

    async def versions(self, principal: Principal, query: RulesVersionsQuery) -> ArrayPart:
        """Versions of the rules in force, newest first, with the rules within the principal's reach."""
        rules = self._registry.rules.of_tenant(principal.tenant_id)

        def to_version(version: PolicyVersion) -> RulesVersion:
            return RulesVersion(
                id=version.id,
                version=version.version,
                rules=reached_rules_in(version, principal),
                created_at=version.created_at,
                active=version.active,
                note=rules.note_of(principal, version.version) or msgspec.UNSET,
            )

        return array_part(self._registry.versions(principal), query, place=_place_of_version, show=to_version)

    async def create(self, principal: Principal, request: NewRule, effect_id: str | None) -> Rule:
        rule = await self._registry.create(principal, self._checked(principal, request), effect_id)
        log.info("rule_written", tenant_id=principal.tenant_id, rule_id=rule.id, operator=principal.operator)
        return rule

    async def replace(
        self,
        principal: Principal,
        rule_id: str,
        request: NewRule,
        *,
        is_current: Callable[[Rule], bool],
        effect_id: str | None,
    ) -> Rule:
        """The rule's new text, a draft. The activated text stays in force until the next activation."""
        if request.id != rule_id:
            raise invalid("id", "must be the rule's own, as in the path", FieldCode.CONFLICTING)
        written = self._checked(principal, request)
        rule = await self._registry.replace(principal, written, is_current=is_current, effect_id=effect_id)
        log.info("rule_written", tenant_id=principal.tenant_id, rule_id=rule.id, operator=principal.operator)
        return rule

    async def backtest(
        self, principal: Principal, rule_id: str, request: BacktestRequest, effect_id: str | None
    ) -> Backtest:
        """A backtest of the rule's newest text; a repeated id returns the first one."""
        stored = self._registry.read(principal, rule_id)
        key = effect_id or self._new_id()
        known = self._registry.find_backtest(stored, key)
        if known is not None:
            return known
        programs = self._counted(principal, stored.rule)
        with self._under_way.slot(principal):
            result = await self._backtests.run(
                principal, stored.rule, _ids(programs), key=key, days=request.days, full=request.full
            )
        result = self._programs.marked_of(result, programs)
        log.info("rule_backtested", tenant_id=principal.tenant_id, rule_id=rule_id, matched=result.matched)
        return await self._registry.add_backtest(principal, result, effect_id)

    async def backtests(self, principal: Principal, rule_id: str) -> tuple[Backtest, ...]:
        """Newest first, each of the rule's text at that time; only those over programs within reach."""
        return tuple(each for each in self._registry.read(principal, rule_id).backtests if _is_reached(principal, each))

    async def shadow(self, principal: Principal, rule_id: str) -> ShadowReport:
        stored = self._registry.read(principal, rule_id)
        counted = self._registry.counted(principal, stored)
        if counted is None:
            return not_in_shadow(stored.rule)
        programs = self._counted(principal, stored.rule)
        with self._under_way.slot(principal):
            report = await self._backtests.shadow(
                principal, stored.rule, _ids(programs), counted.mode, version=counted.version, since=counted.since
            )
        return self._programs.marked_of(report, programs)

    async def activate(self, principal: Principal, rule_id: str, request: RuleChange, effect_id: str | None) -> Action:
        """The action that activates the rule's newest text once another person approves it."""
        stored = self._registry.read(principal, rule_id)

        async def change() -> Change:
            tested = self._registry.check_activation(principal, stored)
            same = {"ruleSha256": stored.sha256}
            await self._actions.check_none_waits(principal, ActionType.ACTIVATE_RULE, rule_id, same)
            caught = await self._caught(principal, stored.rule, tested)
            return _change(stored.rule, request.note) | {"backtest": _figures(tested), "caught": caught}

        return await self._request(principal, ActionType.ACTIVATE_RULE, rule_id, change, effect_id)

    async def pause(self, principal: Principal, rule_id: str, request: RuleChange, effect_id: str | None) -> Rule:
        """The rule, out of force at once: one person is enough to narrow."""
        self._registry.read(principal, rule_id)

        async def change() -> Change:
            return _change(self._registry.read_in_force(principal, rule_id), request.note)

        action = await self._request(principal, ActionType.PAUSE_RULE, rule_id, change, effect_id)
        if action.status is ActionStatus.FAILED:
            raise ConflictError(NOT_ACTIVE, ErrorCode.RULE_NOT_ACTIVE)
        return self._registry.read(principal, rule_id).rule

    async def archive(self, principal: Principal, rule_id: str, request: RuleChange, effect_id: str | None) -> Rule:
        rule = await self._registry.archive(principal, rule_id, note=request.note, effect_id=effect_id)
        log.info("rule_archived", tenant_id=principal.tenant_id, rule_id=rule_id, operator=principal.operator)
        return rule

    def _counted(self, principal: Principal, rule: Rule) -> tuple[Program, ...]:
        """The programs whose transfers the rule is held against."""
        return self._programs.counted(principal, None if rule.program_id is None else [rule.program_id])

    async def _caught(self, principal: Principal, rule: Rule, tested: Backtest) -> dict[str, Any]:
        """All past transfers that the rule would have caught, read now unless the backtest was full."""
        full = tested.full
        if full is msgspec.UNSET:
            with self._under_way.slot(principal):
                program_ids = _ids(self._counted(principal, rule))
                tested = await self._backtests.run(
                    principal, rule, program_ids, key=tested.key, days=MOST_DAYS, full=True
                )
            full = tested.full
        assert full is not msgspec.UNSET, "a full backtest was read"
        caught: dict[str, Any] = msgspec.to_builtins(full.caught)
        return caught

    async def _request(
        self,
        principal: Principal,
        type_: ActionType,
        rule_id: str,
        change: Callable[[], Awaitable[Change]],
        effect_id: str | None,
    ) -> Action:
        """For the whole tenant, whatever the rule's program: a version of the rules is the tenant's."""
        return await self._actions.request_change(
            principal, type_, program_id=None, target=(TARGET, rule_id), change=change, effect_id=effect_id
        )

    def _checked(self, principal: Principal, request: NewRule) -> Rule:
        return to_rule(request, self._programs.named(principal, request.program_id))


def _is_reached(principal: Principal, backtest: Backtest) -> bool:
    program_id = backtest.program_id
    return principal.tenant_wide if program_id is None else principal.reaches(program_id)


def _change(rule: Rule, note: str | None) -> dict[str, Any]:
    """The record's text of a change: ids, digests and numbers. The rule's words are in its version."""
    return {"ruleId": rule.id, "ruleSha256": rule_hash(rule), "note": note}


def _figures(backtest: Backtest) -> dict[str, Any]:
    figures = msgspec.to_builtins(backtest)
    return {name: figures[name] for name in FIGURES if name in figures}


def _ids(programs: Iterable[Program]) -> tuple[str, ...]:
    return tuple(program.id for program in programs)


def _place_of_version(version: PolicyVersion) -> Place:
    return Place(number_of(version.version), version.version, "")
