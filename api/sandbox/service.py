"""The sandbox: composes events in the bank's format, ingests them, and reads the results.

request ─▶ events composed ─▶ ingest, the log ─▶ wait for the commit, within a limit ─▶ alerts and score read

The ids of events follow from the request's Idempotency-Key, if it has one: a repeat after a lost answer finds the first
events, and composes none.

Limits  ``MOST_AT_A_TIME`` requests of a tenant at a time, and ``MOST_IN_ALL`` in all
Errors  NotFoundError for an unknown program, entity or transfer; ConflictError for a transfer that the bank could not
        return; RateLimitedError over the limits; UnavailableError when the log refuses the events, and while the
        service starts
"""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.ingest.routes import IngestService
from clearhold.api.lists.exports import Concurrency
from clearhold.api.log.commands import COMMITTED_WITHIN_S, unknown_transfer
from clearhold.api.sandbox.schemas import (
    EventRequest,
    ReturnRequest,
    SandboxResult,
    SandboxTransfer,
    ScenarioRequest,
    ordered,
    to_score,
)
from clearhold.api.transfers.service import object_of
from clearhold.features.core.entries.directory import ACCOUNT_PREFIX
from clearhold.features.core.errors import ConflictError, ErrorCode, FieldCode, NotFoundError, UnavailableError, invalid
from clearhold.features.core.log_entry import shard_of
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.detectors.table import PROGRAM_DETECTORS
from clearhold.features.sandbox.feed import ComposedEvents, event_id
from clearhold.features.sandbox.order import (
    ACH_RETURN_CODE,
    CHECK_RETURN_REASON,
    ReturnableTransfer,
    compose_event,
    compose_return,
    compose_transfer,
    is_returnable_as,
    never_returned,
    return_tag,
)
from clearhold.features.sandbox.scenarios import SCENARIOS, compose
from clearhold.features.shard.questions import SeenEvents
from clearhold.store.duck.inputs import Events
from clearhold.store.duck.parties import Entities
from clearhold.store.duck.transfers import Transfers

OF_SNAPSHOTS: Final = tuple(detector.id for detector in PROGRAM_DETECTORS)
"""Their alerts follow from snapshots of the program, which the sandbox does not cause."""
MOST_AT_A_TIME: Final = 8
MOST_IN_ALL: Final = 16
"""Each waits for its commit, which limits the sandbox's uncommitted entries."""
UNKNOWN_ENTITY: Final = (
    "Unknown entity on this program. The event identity.created makes one known: POST /api/sandbox/{programId}/event."
)
NO_ACH_CODE: Final = "must be an ACH return code: R01 to R47, R50 to R53, R80 to R85"
NO_CHECK_CODE: Final = "must be a check's return reason: A, B, C, D, E, F, N or Q"
CODE_OF_WIRE: Final = "must be left out: an international wire comes back without one"
NOT_SETTLED: Final = (
    "What this program was sent before is not committed yet, so whether the transfer can come back is not known. Try "
    "again."
)

log = structlog.get_logger()


class SandboxService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores, database = resources.stores, resources.stores.database
        self._programs, self._clock, self._owner = resources.programs, stores.clock, stores.owner
        self._ingest, self._appender, self._progress = IngestService(resources), stores.appender, stores.progress
        self._events, self._transfers, self._entities = Events(database), Transfers(database), Entities(database)
        self._raw_events, self._new_id = resources.events, stores.new_id
        self._under_way = Concurrency(MOST_AT_A_TIME, in_all=MOST_IN_ALL, what="requests of the sandbox")
        self._returning: set[tuple[str, str]] = set()

    async def run(
        self, principal: Principal, program_id: str, request: ScenarioRequest, effect_id: str | None
    ) -> SandboxResult:
        """Run a scenario that ends now."""
        async with self._admitted(principal, program_id) as program:
            composing = partial(
                compose,
                SCENARIOS[request.scenario],
                program,
                seed=request.seed,
                run=effect_id or self._new_id(),
                at=self._clock.now(),
                count=request.count,
            )
            events = await to_thread.run_sync(composing)  # up to two thousand
            operator = principal.operator
            log.info("scenario_run", program_id=program.id, scenario=request.scenario.value, operator=operator)
            return await self._taken(principal, program, events, effect_id)

    async def transfer(
        self, principal: Principal, program_id: str, request: SandboxTransfer, effect_id: str | None
    ) -> SandboxResult:
        """Send the events of a transfer from beginning to end."""
        async with self._admitted(principal, program_id) as program:
            entity_id = request.entity_id
            if entity_id is not None and not entity_id.startswith(ACCOUNT_PREFIX):
                await to_thread.run_sync(self._require_entity, principal, program, entity_id)
            run, at = effect_id or self._new_id(), self._clock.now()
            events = compose_transfer(program, ordered(request), run=run, at=at)
            return await self._taken(principal, program, events, effect_id)

    async def send(
        self, principal: Principal, program_id: str, request: EventRequest, effect_id: str | None
    ) -> SandboxResult:
        """Send an event of the caller's choice."""
        async with self._admitted(principal, program_id) as program:
            run, at = effect_id or self._new_id(), self._clock.now()
            events = compose_event(program.id, request.type, request.data, run=run, at=at)
            return await self._taken(principal, program, events, effect_id)

    async def send_back(
        self, principal: Principal, program_id: str, request: ReturnRequest, effect_id: str | None
    ) -> SandboxResult:
        """Return a transfer in its present state, as the bank would."""
        async with self._admitted(principal, program_id) as program:
            with self._alone(program, request.transfer_id):
                return await self._sent_back(principal, program, request, effect_id)

    async def _sent_back(
        self, principal: Principal, program: Program, request: ReturnRequest, effect_id: str | None
    ) -> SandboxResult:
        """Reads the stored transfer again, once all earlier events of the program are committed."""
        run, at = effect_id or self._new_id(), self._clock.now()
        find = partial(to_thread.run_sync, self._find_transfer, principal, program, request.transfer_id)
        is_repeat = partial(self._is_repeat, program, event_id(return_tag(program.id, run)), effect_id)
        transfer, repeated = await find(), await is_repeat()
        if not repeated:
            _require_returnable(transfer, request.return_code)
            if not await self._settle(program.id):
                raise UnavailableError(NOT_SETTLED)
            transfer, repeated = await find(), await is_repeat()
        if not repeated:
            _require_returnable(transfer, request.return_code)
        events = compose_return(program.id, transfer, request.return_code, run=run, at=at)
        return await self._concluded(principal, program, events, is_repeat=repeated)

    @contextmanager
    def _alone(self, program: Program, transfer_id: str) -> Iterator[None]:
        """One return of a transfer at a time: its state is read before its event is in the log."""
        place = (program.id, transfer_id)
        if place in self._returning:
            raise ConflictError("Another request returns this transfer right now.", ErrorCode.TRANSFER_NOT_RETURNABLE)
        self._returning.add(place)
        try:
            yield
        finally:
            self._returning.remove(place)

    @asynccontextmanager
    async def _admitted(self, principal: Principal, program_id: str) -> AsyncIterator[Program]:
        """The program, once its shard has replayed the log of the start, and a slot until the request ends."""
        program = self._programs.read(principal, program_id)
        with self._under_way.slot(principal):
            await self._owner.query(program.id, SeenEvents(()))  # Before, its earlier events would seem unknown.
            yield program

    async def _is_repeat(self, program: Program, first_id: str, effect_id: str | None) -> bool:
        """Whether the events, the first of which has this id, were taken under ``effect_id`` before."""
        if effect_id is None:
            return False
        (earlier,) = (await self._owner.query(program.id, SeenEvents(((first_id, 0),)))).value
        return earlier is not None

    async def _taken(
        self, principal: Principal, program: Program, events: ComposedEvents, effect_id: str | None
    ) -> SandboxResult:
        """The events' results; events taken under the same ``effect_id`` before are not sent again."""
        is_repeat = await self._is_repeat(program, events.event_ids[0], effect_id)
        return await self._concluded(principal, program, events, is_repeat=is_repeat)

    async def _concluded(
        self, principal: Principal, program: Program, events: ComposedEvents, *, is_repeat: bool
    ) -> SandboxResult:
        if not is_repeat:
            await self._ingest.take_composed(program.id, events)
        committed = await self._settle(program.id)
        result = await to_thread.run_sync(self._result, principal, program, events)
        return msgspec.structs.replace(result, committed=committed)

    async def _settle(self, program_id: str) -> bool:
        """Wait until all entries of the program's shard are committed; False when that takes too long."""
        shard = shard_of(program_id, self._progress.shards)
        offset = max(self._appender.last_appended(shard), self._progress.applied_offset(shard))
        try:
            await self._progress.committed(shard, offset, within_s=COMMITTED_WITHIN_S)
        except TimeoutError:
            return False
        return True

    def _result(self, principal: Principal, program: Program, events: ComposedEvents) -> SandboxResult:
        """The transfer of an unusable event may not exist."""
        event_ids, stored = events.event_ids, self._events
        transfer_id = events.transfer_id or stored.transfer_of(principal, program.id, event_ids[-1])
        transfer = None if transfer_id is None else self._transfers.find(principal, transfer_id, [program.id])
        if transfer is None:
            transfer_id = events.transfer_id
        result = SandboxResult(
            events=event_ids,
            transfer_id=msgspec.UNSET if transfer_id is None else transfer_id,
            alert_ids=stored.alerts_of(principal, program.id, event_ids, but=OF_SNAPSHOTS),
            score=None if transfer is None else to_score(transfer),
        )
        return self._programs.marked(result, program.id)

    def _require_entity(self, principal: Principal, program: Program, entity_id: str) -> None:
        if not self._entities.find(principal, entity_id, [program.id]):
            raise NotFoundError(UNKNOWN_ENTITY, ErrorCode.ENTITY_NOT_FOUND)

    def _find_transfer(self, principal: Principal, program: Program, transfer_id: str) -> ReturnableTransfer:
        stored = self._transfers.find(principal, transfer_id, [program.id])
        if stored is None:
            raise unknown_transfer()
        row = stored.row
        return ReturnableTransfer(
            id=row.id,
            rail=Rail(row.rail),
            direction=Direction(row.direction),
            type=None if row.type is None else AchType(row.type),
            status=row.status,
            data=msgspec.json.decode(object_of(self._raw_events, row)),
        )


def _require_returnable(transfer: ReturnableTransfer, code: str | None) -> None:
    """Raise ConflictError for a transfer that the bank cannot return in its present state."""
    _require_code(transfer, code)
    reason = never_returned(transfer)
    if reason is not None:
        raise ConflictError(reason, ErrorCode.TRANSFER_NOT_RETURNABLE)


def _require_code(transfer: ReturnableTransfer, code: str | None) -> None:
    """Raise InvalidRequestError for a code that the bank does not use for this transfer."""
    if transfer.rail is Rail.ACH:
        if code is None:
            raise invalid("returnCode", "is required for an ACH transfer, as in R01", FieldCode.REQUIRED)
        if not re.fullmatch(ACH_RETURN_CODE, code):
            raise invalid("returnCode", NO_ACH_CODE, FieldCode.NOT_ONE_OF)
        if not is_returnable_as(code, transfer.rail, transfer.type):
            kind = "a DEBIT" if transfer.type is AchType.DEBIT else "a CREDIT"
            raise invalid("returnCode", f"is not a return code of {kind}", FieldCode.CONFLICTING)
    elif transfer.rail is Rail.CHECK:
        if code is None or not re.fullmatch(CHECK_RETURN_REASON, code):
            raise invalid("returnCode", NO_CHECK_CODE, FieldCode.NOT_ONE_OF)
    elif transfer.rail is Rail.INTL_WIRE and code is not None:
        raise invalid("returnCode", CODE_OF_WIRE, FieldCode.CONFLICTING)
