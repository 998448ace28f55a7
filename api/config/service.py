"""A tenant's configuration as a whole: exported, planned against the settings in force, and applied as one change.

plan   checked ─▶ differences ─▶ backtests of the rules among them ─▶ dry runs of the routing policies among them
apply  as planned, and refused if the base has changed ─▶ an action ─▶ another's approval ─▶ the executor compares
       again, and writes all effects in one entry

Errors  InvalidRequestError for files with faults, of another tenant, or with unknown programs; ConflictError when the
        settings in force have changed since the plan, do not allow a change, or while a configuration waits
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog
from anyio import to_thread
from msgspec.structs import asdict, replace

from clearhold.api.actions.service import ActionService, Change
from clearhold.api.area import Resources
from clearhold.api.config.files import slugs_in
from clearhold.api.config.schemas import (
    AppliedConfig,
    BacktestFigures,
    Config,
    ConfigApplication,
    ConfigPlan,
    NewConfig,
    PlannedChange,
)
from clearhold.api.http.validation import Failure, refusal
from clearhold.api.lists.exports import Concurrency
from clearhold.api.policies.dry_run import DryRunRequest, DryRunService, PolicyDryRun
from clearhold.features.configuration.changes import (
    ChangeKind,
    FileChange,
    changes_between,
    recorded_changes,
    removal_faults,
)
from clearhold.features.configuration.files import SCHEMA, ConfigFile, FileKind, normal_files, place_of, rule_of
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.errors import ConflictError, ErrorCode, FieldCode
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.rules import MOST_DAYS, Backtest
from clearhold.features.policy.bodies import POLICY
from clearhold.features.webhooks.delivery import endpoint_url
from clearhold.store.control.config_registry import OTHER_BASE, ConfigRegistry
from clearhold.store.duck.inputs import CommittedLimits

log = structlog.get_logger()

PLANS_OF_TENANT: Final = 2
PLANS_IN_ALL: Final = 8
MOST_DRY_RUNS: Final = 10
TARGET: Final = "tenant"
_DRAFT: Final = f"{POLICY}-v1"  # replaced by null: the policy has no version yet
_TENANT_DIFFERS: Final = "is of another tenant than the token"
_NOT_NORMAL: Final = "must have its host in ASCII and in lower case"
_UNKNOWN_PROGRAM: Final = "is no program of this tenant"


class ConfigService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._registry = ConfigRegistry(stores.registry, clock=stores.clock, new_id=stores.new_id)
        self._limits, self._tenancy = CommittedLimits(stores.database), stores.registry.tenancy
        self._programs, self._actions = resources.programs, ActionService(resources)
        self._backtests, self._new_id = resources.backtests, stores.new_id
        self._policy_runs = DryRunService(resources)
        self._allow_local = resources.webhook_dispatch.allow_local
        self._under_way = Concurrency(PLANS_OF_TENANT, in_all=PLANS_IN_ALL, what="plans of configurations")

    async def export(self, principal: Principal) -> Config:
        files = await self._in_force(principal)
        sha256 = self._registry.sha256(principal.tenant_id, files)
        return Config(schema=SCHEMA, tenant=self._slug(principal), sha256=sha256, files=files)

    async def plan(self, principal: Principal, request: NewConfig) -> ConfigPlan:
        with self._under_way.slot(principal):
            plan, _, files, _ = await self._planned(principal, request)
            runs = await self._dry_runs(principal, plan, {file.path: file.value for file in files})
            changes = tuple(replace(each, dry_run=runs.get(each.path)) for each in plan.changes)
            return replace(plan, changes=changes)

    async def apply(self, principal: Principal, request: ConfigApplication, effect_id: str | None) -> AppliedConfig:
        """The plan and its action; without an action when nothing changes."""
        with self._under_way.slot(principal):
            plan, backtests, files, base = await self._planned(principal, request)
        if not plan.changes:
            return AppliedConfig(**asdict(plan), action=None)
        if plan.base_sha256 != request.base_sha256:
            raise ConflictError(OTHER_BASE, ErrorCode.CONFIG_CHANGED)

        async def change() -> Change:
            await self._actions.check_none_waits(principal, ActionType.APPLY_CONFIG, principal.tenant_id, {})
            caps = await to_thread.run_sync(self._limits.of_tenant, principal.tenant_id)
            entry = await self._registry.request(
                principal, files, base_sha256=request.base_sha256, backtests=backtests, caps=caps
            )
            return {
                "configId": entry.id,
                "configSha256": plan.config_sha256,
                "baseSha256": plan.base_sha256,
                "needsSecondPerson": plan.needs_second_person,
                "changes": recorded_changes(plan.changes, base, files),
                "note": request.note,
            }

        action = await self._actions.request_change(
            principal,
            ActionType.APPLY_CONFIG,
            program_id=None,
            target=(TARGET, principal.tenant_id),
            change=change,
            effect_id=effect_id,
        )
        log.info("config_requested", tenant_id=principal.tenant_id, action_id=action.id, operator=principal.operator)
        return AppliedConfig(**asdict(plan), action=action)

    async def _planned(
        self, principal: Principal, request: NewConfig
    ) -> tuple[ConfigPlan, tuple[Backtest, ...], tuple[ConfigFile, ...], tuple[ConfigFile, ...]]:
        """The plan, with its backtests, the wanted files as an export shows them, and the files in force."""
        base = await self._in_force(principal)
        failures = [*self._failures(principal, request)]
        if not failures:
            failures = [
                Failure("files", f"{path} {why}", FieldCode.REQUIRED)
                for path, why in removal_faults(base, request.files)
            ]
        if failures:
            raise refusal(failures)
        files = normal_files(request.files)
        changes = changes_between(base, files)
        backtests = {each.rule_id: each for each in [await run() for run in self._to_test(principal, changes, files)]}
        plan = ConfigPlan(
            tenant=request.tenant,
            base_sha256=self._registry.sha256(principal.tenant_id, base),
            config_sha256=self._registry.sha256(principal.tenant_id, files),
            needs_second_person=any(each.needs_second_person for each in changes),
            changes=tuple(PlannedChange(**asdict(each), backtest=_figures(each, backtests)) for each in changes),
        )
        return plan, tuple(backtests.values()), files, base

    async def _dry_runs(
        self, principal: Principal, plan: ConfigPlan, values: Mapping[str, dict[str, Any]]
    ) -> dict[str, PolicyDryRun]:
        """By path, the alerts of the last days under each changed routing policy, which has no version yet."""
        slugs = {
            each.path: place.slug
            for each in plan.changes
            if (place := place_of(each.path)) is not None and place[:2] == (FileKind.POLICY, POLICY)
        }
        runs: dict[str, PolicyDryRun] = {}
        for path in [each for each in slugs if each in values][:MOST_DRY_RUNS]:
            slug = slugs[path]
            program = None if slug is None else self._programs.find_by_slug(principal, slug)
            request = DryRunRequest(
                version=_DRAFT,
                program_id=None if program is None else UUID(program.id),
                body=values[path] | {"version": _DRAFT},
            )
            runs[path] = replace(await self._policy_runs.answer(principal, request), version=None)
        return runs

    def _failures(self, principal: Principal, request: NewConfig) -> Iterator[Failure]:
        """Faults that only the service can see; others are found before."""
        if request.tenant != self._slug(principal):
            yield Failure("tenant", _TENANT_DIFFERS, FieldCode.CONFLICTING)
        index = {file.path: place for place, file in enumerate(request.files)}
        named = ((file.path, file.value) for file in request.files)
        for path, field, slug in slugs_in(named):
            if self._programs.find_by_slug(principal, slug) is None:
                inner = f".value.{field}" if field else ".path"
                yield Failure(f"files[{index[path]}]{inner}", _UNKNOWN_PROGRAM, FieldCode.NOT_ONE_OF)
        for file in request.files:
            if file.path.startswith("webhooks/"):
                why = self._fault_of_url(file.value["url"])
                if why is not None:
                    yield Failure(f"files[{index[file.path]}].value.url", why, FieldCode.MALFORMED)

    def _fault_of_url(self, url: str) -> str | None:
        try:
            normal = endpoint_url(url, allow_local=self._allow_local)
        except ValueError as error:
            return str(error)
        return None if normal == url else _NOT_NORMAL

    def _to_test(
        self, principal: Principal, changes: tuple[FileChange, ...], files: tuple[ConfigFile, ...]
    ) -> Iterator[Callable[[], Any]]:
        """A backtest of each rule that is added or changed, on the transfers of the programs that it is for."""
        values = {file.path: file.value for file in files}
        for change in changes:
            if change.kind is not FileKind.RULE or change.change is ChangeKind.REMOVED:
                continue
            value = values[change.path]
            program = self._programs.find_by_slug(principal, value["program"]) if "program" in value else None
            yield partial(self._backtest, principal, value, program)

    async def _backtest(self, principal: Principal, value: dict[str, Any], program: Program | None) -> Backtest:
        program_id = None if program is None else program.id
        programs = self._programs.counted(principal, None if program_id is None else [program_id])
        result = await self._backtests.run(
            principal,
            rule_of(value, program_id),
            tuple(each.id for each in programs),
            key=self._new_id(),
            days=MOST_DAYS,
            full=False,
        )
        return self._programs.marked_of(result, programs)

    async def _in_force(self, principal: Principal) -> tuple[ConfigFile, ...]:
        caps = await to_thread.run_sync(self._limits.of_tenant, principal.tenant_id)
        return await self._registry.export(principal.tenant_id, caps)

    def _slug(self, principal: Principal) -> str:
        tenant = self._tenancy.tenants.find(principal.tenant_id)
        assert tenant is not None, "a principal is of a tenant"
        return tenant.slug


def _figures(change: FileChange, backtests: dict[str, Backtest]) -> BacktestFigures | None:
    """The figures of a rule's backtest, for a reader of the plan."""
    rule_id = change.path.removeprefix("rules/").removesuffix(".yaml")
    tested = backtests.get(rule_id) if change.kind is FileKind.RULE else None
    if tested is None:
        return None
    return BacktestFigures(
        scanned=tested.scanned,
        sampled=tested.sampled,
        matched=tested.matched,
        would_alert=tested.would_alert,
        would_hold=tested.would_hold,
        overlap_with_existing_alerts=tested.overlap_with_existing_alerts,
    )
