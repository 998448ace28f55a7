"""The sandbox: events composed as the bank sends them, taken in as the bank's own are, and what they led to.

request ─▶ events composed ─▶ ingest, the log ─▶ wait for the commit, within a limit ─▶ alerts and score read

The ids of a run follow from its Idempotency-Key, if it has one: a repeat whose first answer was lost finds the events
of the first and composes none that take effect again.

Errors  NotFoundError for a program that is not this tenant's; UnavailableError when the log does not take the events,
        and while the service starts
"""

from typing import Final

import msgspec
import structlog
from anyio import to_thread

from api.ingest.service import IngestService
from api.programs.service import ProgramService
from api.sandbox.schemas import SandboxResult, SandboxScore, ScenarioListing, ScenarioRequest, to_listing, to_score
from features.core.log_entry import shard_of
from features.core.principal import Principal
from features.core.program import Program
from features.core.reason import Reason
from features.detectors.program import DETECTORS
from features.sandbox.feed import ComposedEvents
from features.sandbox.scenario import compose
from features.sandbox.scenarios import SCENARIOS
from features.shard.questions import Owner, SeenEvents
from store.clock import Clock
from store.duck.events import Events
from store.duck.transfers import Transfers
from store.ids import IdFactory
from store.redis_log.appender import LogAppender
from store.redis_log.commit_waiter import CommitWaiter
from store.redis_log.progress import LogProgress

COMMITTED_WITHIN_S: Final = 5.0
OF_SNAPSHOTS: Final = tuple(detector.id for detector in DETECTORS)
"""Their alerts come with a snapshot of the program, whose turn is not the sandbox's doing."""
_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])

log = structlog.get_logger()


class SandboxLog:
    """Takes composed events in, and waits for what they lead to. Belongs to the API's event loop."""

    def __init__(
        self, *, ingest: IngestService, owner: Owner, appender: LogAppender, progress: LogProgress, waiter: CommitWaiter
    ) -> None:
        self._ingest, self._owner, self._appender = ingest, owner, appender
        self._progress, self._waiter = progress, waiter

    async def take(self, program_id: str, events: ComposedEvents) -> None:
        await self._ingest.take_composed(program_id, events.bodies)

    async def knows(self, program_id: str, event_id: str) -> bool:
        """Whether an event under this id took effect."""
        (earlier,) = (await self._owner.query(program_id, SeenEvents(((event_id, 0),)))).value
        return earlier is not None

    async def settle(self, program_id: str) -> bool:
        """Wait until all that the program's shard was sent is committed; False when that takes too long."""
        shard = shard_of(program_id, self._progress.shards)
        offset = max(self._appender.last_appended(shard), self._progress.applied_offset(shard))
        try:
            await self._waiter.wait(shard, offset, within_s=COMMITTED_WITHIN_S)
        except TimeoutError:
            return False
        return True


class SandboxService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self,
        *,
        programs: ProgramService,
        sandbox_log: SandboxLog,
        events: Events,
        transfers: Transfers,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
        self._programs, self._log, self._events, self._transfers = programs, sandbox_log, events, transfers
        self._clock, self._new_id = clock, new_id

    def scenarios(self) -> list[ScenarioListing]:
        return [to_listing(scenario) for scenario in SCENARIOS.values()]

    async def run(
        self, principal: Principal, program_id: str, request: ScenarioRequest, effect_id: str | None
    ) -> SandboxResult:
        program = self._programs.read(principal, program_id)
        events = compose(
            SCENARIOS[request.scenario],
            program,
            seed=request.seed,
            run=effect_id or self._new_id(),
            at=self._clock.now(),
            count=request.count,
        )
        log.info("scenario_run", program_id=program.id, scenario=request.scenario.value, operator=principal.operator)
        return await self._taken(principal, program, events, effect_id)

    async def _taken(
        self, principal: Principal, program: Program, events: ComposedEvents, effect_id: str | None
    ) -> SandboxResult:
        """What the events led to, whether they are taken in now or were under the same ``effect_id`` before."""
        if effect_id is None or not await self._log.knows(program.id, events.event_ids[0]):
            await self._log.take(program.id, events)
        committed = await self._log.settle(program.id)
        result = await to_thread.run_sync(self._result, principal, program, events)
        return msgspec.structs.replace(result, committed=committed)

    def _result(self, principal: Principal, program: Program, events: ComposedEvents) -> SandboxResult:
        event_ids = events.event_ids
        transfer_id = events.transfer_id or self._events.transfer_of(principal, program.id, event_ids[-1])
        result = SandboxResult(
            events=event_ids,
            transfer_id=msgspec.UNSET if transfer_id is None else transfer_id,
            alert_ids=self._events.alerts_of(principal, program.id, event_ids, but=OF_SNAPSHOTS),
            score=None if transfer_id is None else self._score(principal, program, transfer_id),
        )
        return self._programs.marked(result, program.id)

    def _score(self, principal: Principal, program: Program, transfer_id: str) -> SandboxScore | None:
        stored = self._transfers.find(principal, transfer_id, [program.id])
        if stored is None:
            return None
        return to_score(stored.row, () if stored.features is None else _REASONS.decode(stored.features.reasons))
