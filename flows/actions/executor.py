"""Carries out approved actions at the bank, each once, and records the outcomes through the log.

an approved row ─▶ no key, no endpoint: a dry run, the record alone ─┐
                └▶ the bank, under the action's id ─▶ again, or ─────┴▶ outcome in the log ─▶ committed

An action is pending while its row says ``approved``, until its outcome is committed. After a crash the next start sends
the same request under the same id, which has one effect at the bank.

Unit    seconds
Errors  none: failures are retried and counted
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

import msgspec
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.bank.action_endpoints import BANK_ACTIONS, BankRequest, bank_request
from clearhold.features.core.entries.actions import PLATFORM, ActionStatus, ActionType, OutcomeEntry
from clearhold.features.core.errors import ConflictError, UnavailableError
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.rows.alerts import ActionRow
from clearhold.features.policy.bodies import policy_sha256
from clearhold.flows.actions import outcomes
from clearhold.flows.actions.outcomes import BankActions, DryRun, ExecutionOutcome, Result, Verdict
from clearhold.flows.running.counts import counter, gauge, zeros
from clearhold.flows.running.supervision import end
from clearhold.store.clock import Clock
from clearhold.store.control.config_effects import Approval
from clearhold.store.control.config_registry import ConfigRegistry
from clearhold.store.control.registry import Registry, Versions
from clearhold.store.control.rule_registry import RuleRegistry
from clearhold.store.control.scorecard_registry import ScorecardRegistry
from clearhold.store.duck.alerts import ActionTable
from clearhold.store.duck.inputs import CommittedLimits
from clearhold.store.ids import IdFactory, new_trace_id
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress


class ActionCounts(Collector):
    def __init__(self) -> None:
        self.executions: Counter[tuple[str, str]] = zeros(ActionType, Result)  # by type and result
        self.requests: Counter[str] = zeros(Verdict)  # to the bank, by verdict
        self.unrecorded = 0
        self.waiting = 0
        self.unknown = 0

    def collect(self) -> Iterator[Metric]:
        yield counter("clearhold_action_executions", "Actions carried out.", self.executions, "type", "result")
        yield counter("clearhold_action_requests", "Requests to the bank's API.", self.requests, "verdict")
        unrecorded = "Outcomes that the log did not confirm at first."
        yield counter("clearhold_action_unrecorded", unrecorded, self.unrecorded)
        yield gauge("clearhold_actions_waiting", "Actions under way.", self.waiting)
        unknown = "Unrecorded outcomes of actions that the bank may have carried out."
        yield gauge("clearhold_actions_unknown", unknown, self.unknown)


RETRY_AFTER_S: Final = (0.5, 1, 2, 4, 8, 16, 30, 30, 30)
"""The pauses between the requests for one action; after the last one its outcome is unknown."""
MAX_RETRY_AFTER_S: Final = 60
REQUESTS_OF_TENANT: Final = 4
SWEEP_EVERY_S: Final = 10.0
ACTIONS_OF_TENANT: Final = 200
"""The most executions at a time for one tenant; further ones wait for a sweep."""
_RECORD_AGAIN_S: Final = 0.5
_ENCODE: Final = msgspec.json.Encoder().encode

log = structlog.get_logger()


class _Activation(msgspec.Struct, frozen=True):
    """The policy or scorecard that an activation names."""

    version: str


class _RuleChange(msgspec.Struct, frozen=True, rename="camel"):
    """The rule that an activation or a pause names; ``rule_sha256`` is of the tested rule."""

    rule_sha256: str
    note: str | None


class _ConfigChange(msgspec.Struct, frozen=True, rename="camel"):
    """The requested configuration that an application names."""

    config_id: str
    note: str | None


class ActionExecutor:
    """Belongs to one event loop. Sends nothing before ``begin``: the log may hold an outcome that is not in a row yet.

    ``bank`` is None where the bank's address is not known.
    """

    def __init__(
        self,
        bank: BankActions | None,
        *,
        table: ActionTable,
        registry: Registry,
        appender: LogAppender,
        progress: LogProgress,
        clock: Clock,
        new_id: IdFactory,
        limits: CommittedLimits,
        require_owner: Callable[[], None] = lambda: None,
    ) -> None:
        """``require_owner`` raises when nothing may be sent now."""
        self._require_owner = require_owner
        self._bank, self._table, self._tenancy = bank, table, registry.tenancy
        self._appender, self._progress = appender, progress
        self._clock, self._new_id, self._retry_after_s = clock, new_id, RETRY_AFTER_S
        self._versions = Versions(registry, clock=clock)
        self._rules = RuleRegistry(registry, clock=clock)
        self._scorecards = ScorecardRegistry(registry, clock=clock)
        self._configs = ConfigRegistry(registry, clock=clock, new_id=new_id)
        self._changes: Mapping[str, Callable[[ActionRow], Awaitable[str]]] = {
            ActionType.ACTIVATE_POLICY: self._activate_policy,
            ActionType.ACTIVATE_RULE: self._activate_rule,
            ActionType.PAUSE_RULE: self._pause_rule,
            ActionType.ACTIVATE_SCORECARD: self._activate_scorecard,
            ActionType.APPLY_CONFIG: self._apply_config,
        }
        self._limits = limits
        self._started_at = clock.now()
        self._began, self._leaving = asyncio.Event(), asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._under_way: Counter[str] = Counter()  # by tenant
        self._sent: set[str] = set()  # ids of actions sent by this process, until the outcome is committed
        self._slots: dict[str, asyncio.Semaphore] = {}
        self.counts = ActionCounts()

    def begin(self) -> None:
        """Start executing: the log of the start is committed."""
        self._began.set()

    async def run(self) -> None:
        """Execute approved actions, in sweeps, until cancelled."""
        self.begin()
        while True:
            try:
                for tenant_id, action_id in await asyncio.to_thread(self._table.approved, ACTIONS_OF_TENANT):
                    self._start(tenant_id, action_id)
            except Exception as error:  # noqa: BLE001 - whatever failed: the next sweep finds the same rows
                log.warning("action_sweep_failed", error=f"{type(error).__name__}: {error}")
            await asyncio.sleep(SWEEP_EVERY_S)

    async def conclude(self, tenant_id: str, action_id: str, *, within_s: float) -> None:
        """Execute an action, or join its execution, and wait at most this long for the outcome."""
        execution = self._start(tenant_id, action_id)
        if execution is None:
            return
        leaving = asyncio.create_task(self._leaving.wait())
        await asyncio.wait({execution, leaving}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()

    def leave(self) -> None:
        """Before the process stops: release all callers that wait for an outcome."""
        self._leaving.set()

    async def stop(self) -> None:
        """Cancel the executions; the next start repeats them."""
        await end(self._tasks.values())

    def _start(self, tenant_id: str, action_id: str) -> asyncio.Task[None] | None:
        """The execution of an action, begun if need be; None when the tenant has no room for another."""
        task = self._tasks.get(action_id)
        if task is None and self._under_way[tenant_id] < ACTIONS_OF_TENANT:
            task = self._tasks[action_id] = asyncio.create_task(self._execute(tenant_id, action_id))
            task.add_done_callback(lambda _: self._forget(tenant_id, action_id))
            self._under_way[tenant_id] += 1
            self.counts.waiting = len(self._tasks)
        return task

    def _forget(self, tenant_id: str, action_id: str) -> None:
        del self._tasks[action_id]
        self._under_way[tenant_id] -= 1
        self.counts.waiting = len(self._tasks)

    async def _execute(self, tenant_id: str, action_id: str) -> None:
        try:
            await self._began.wait()
            row = await asyncio.to_thread(self._table.read, tenant_id, action_id)
            if row is None or row.status != ActionStatus.APPROVED:
                return
            change = self._changes.get(row.type)
            outcome = await (self._outcome(row) if change is None else _outcome_of(change(row)))
            await self._record(row, outcome)
        except Exception as error:  # noqa: BLE001 - whatever failed: a later sweep takes it up again
            log.warning("action_execution_failed", action_id=action_id, error=f"{type(error).__name__}: {error}")

    async def _outcome(self, row: ActionRow) -> ExecutionOutcome:
        action_type = ActionType(row.type)
        if not BANK_ACTIONS[action_type].endpoints:
            return outcomes.recorded()
        request = bank_request(action_type, row.target_id)
        if self._tenancy.programs.is_simulated(row.program_id):
            return outcomes.dry_run(DryRun.SIMULATED, request)
        key = self._tenancy.bank_keys.of_tenant(row.tenant_id)
        if self._bank is None or key is None:
            if self._may_be_sent(row) and self._tenancy.bank_keys.had_key(row.tenant_id):
                return outcomes.unknown(request, None, 0)
            return outcomes.dry_run(DryRun.NO_URL if key is not None else DryRun.NO_KEY, request)
        if request is None:
            return outcomes.without_endpoint()
        return await self._send(self._bank, row, request, key)

    # The changes give the version that is then in force. The action's id makes a repetition harmless.

    async def _activate_policy(self, row: ActionRow) -> str:
        return await self._versions.activate(row.tenant_id, _version_in(row), action_id=row.id)

    async def _activate_scorecard(self, row: ActionRow) -> str:
        """Activate the card if its report was recent enough at the approval."""
        return await self._scorecards.activate(
            row.tenant_id, _version_in(row), action_id=row.id, approved_at=row.updated_at
        )

    async def _activate_rule(self, row: ActionRow) -> str:
        """Bring the rule into force if it is still the tested one."""
        change = _rule_change(row)
        return await self._rules.activate(
            row.tenant_id,
            row.target_id,
            change.rule_sha256,
            action_id=row.id,
            approved_at=row.updated_at,
            by=row.approved_by or PLATFORM,
            note=change.note,
        )

    async def _pause_rule(self, row: ActionRow) -> str:
        note = _rule_change(row).note
        return await self._rules.pause(row.tenant_id, row.target_id, action_id=row.id, by=row.requested_by, note=note)

    async def _apply_config(self, row: ActionRow) -> str:
        """Bring a configuration into force if the settings are the base of its plan."""
        change = _config_change(row)
        approval = Approval(row.id, row.requested_by, row.approved_by, row.updated_at, change.note)
        caps = await asyncio.to_thread(self._limits.of_tenant, row.tenant_id)
        return await self._configs.apply(row.tenant_id, change.config_id, approval, caps)

    def _may_be_sent(self, row: ActionRow) -> bool:
        """Whether the bank may have received it already: from this process or the previous one."""
        return row.id in self._sent or row.updated_at < self._started_at

    async def _send(self, bank: BankActions, row: ActionRow, request: BankRequest, key: str) -> ExecutionOutcome:
        """Send until the outcome is known or the pauses are used up."""
        may_be_done = self._may_be_sent(row)
        trace_id = new_trace_id()
        slot = self._slots.setdefault(row.tenant_id, asyncio.Semaphore(REQUESTS_OF_TENANT))
        self._sent.add(row.id)
        for attempts, pause_s in enumerate((*self._retry_after_s, None), 1):
            async with slot:
                self._require_owner()
                answer = await bank.send(request, key, row.id, trace_id=trace_id)
            self.counts.requests[answer.verdict.value] += 1
            if answer.verdict is Verdict.DONE:
                return outcomes.executed(request, answer, attempts)
            if answer.verdict is Verdict.REFUSED or (answer.verdict is Verdict.REFUSED_NOW and not may_be_done):
                return outcomes.refused(request, answer, attempts, may_be_done=may_be_done)
            may_be_done = True
            if pause_s is None:
                break
            log.info("action_not_known", action_id=row.id, type=row.type, status=answer.status, attempts=attempts)
            await self._pause(max(pause_s, min((answer.retry_after_us or 0) / SECOND_US, MAX_RETRY_AFTER_S)))
        return outcomes.unknown(request, answer, attempts)

    async def _pause(self, pause_s: float) -> None:
        self.counts.unknown += 1
        try:
            await asyncio.sleep(pause_s)
        finally:
            self.counts.unknown -= 1

    def _body_sha256(self, row: ActionRow, outcome: ExecutionOutcome) -> str | None:
        """The digest of the version that the change brought into force; the default card has none."""
        if outcome.result is not Result.IN_FORCE or outcome.bank_response is None:
            return None
        policy = self._tenancy.policies[row.tenant_id].find(outcome.bank_response["version"])
        return None if policy is None else policy_sha256(policy.body)

    async def _record(self, row: ActionRow, outcome: ExecutionOutcome) -> None:
        """Append the outcome, with retries, and wait for its commit. A second one changes nothing."""
        shard, offset = shard_of(row.program_id, self._progress.shards), None
        while offset is None:
            entry = OutcomeEntry(
                id=self._new_id(),
                action_id=row.id,
                bank_response=outcome.bank_response,
                error=outcome.error,
                at=self._clock.now(),
                body_sha256=self._body_sha256(row, outcome),
            )
            try:
                offset = await self._appender.append(shard, EntryKind.OUTCOME, row.program_id, entry.at, _ENCODE(entry))
            except UnavailableError:
                self.counts.unrecorded += 1
                await asyncio.sleep(_RECORD_AGAIN_S)
        await self._progress.committed(shard, offset)
        self._sent.discard(row.id)
        self.counts.executions[row.type, outcome.result.value] += 1
        is_odd = outcome.result in {Result.FAILED, Result.UNKNOWN}
        note = log.warning if is_odd else log.info
        note("action_executed", action_id=row.id, type=row.type, result=outcome.result.value)


async def _outcome_of(change: Awaitable[str]) -> ExecutionOutcome:
    """The version that a change brings into force, or why the change is no longer allowed."""
    try:
        return ExecutionOutcome(result=Result.IN_FORCE, bank_response={"version": await change})
    except ConflictError as refusal:
        return ExecutionOutcome(result=Result.FAILED, bank_response=None, error=str(refusal))


def _version_in(row: ActionRow) -> str:
    assert row.change is not None, "an activation says which version it is of"
    return msgspec.json.decode(row.change, type=_Activation).version


def _rule_change(row: ActionRow) -> _RuleChange:
    assert row.change is not None, "a change of a rule says which one it is of"
    return msgspec.json.decode(row.change, type=_RuleChange)


def _config_change(row: ActionRow) -> _ConfigChange:
    assert row.change is not None, "an application says which configuration it is of"
    return msgspec.json.decode(row.change, type=_ConfigChange)
