"""Pre-flight: score a proposed transfer like a landed one, record the answer, then give it.

The id of a pre-flight with an idempotency key is derived from tenant and key, so the key needs no table of its own: a
known id is a replay. Without a key the id is minted.

Errors  NotFoundError for a program or pre-flight that is not this tenant's; UnavailableError when it was not recorded
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

import msgspec

from api.log.pending_entries import PendingEntries
from api.preflight.recorded import RecordedPreflights
from api.preflight.schemas import PreflightDetail, PreflightRequest, proposed
from api.programs.service import ProgramService
from features.core.errors import NotFoundError, UnavailableError
from features.core.ids import derived_id, is_derived
from features.core.instants import SECOND_US, format_instant
from features.core.log_entry import EntryKind, shard_of
from features.core.preflight import LimitHit, Preflight, PreflightRecord, ProposedTransfer, decide
from features.core.principal import Principal
from features.core.program import Program
from features.landing.preflight import PreflightAssessment, assess_proposed
from features.shard.shards import Shards
from features.windows.id_index import IdIndex
from store.clock import Clock
from store.ids import IdFactory
from store.redis_log.appender import LogAppender

UNKNOWN_PREFLIGHT: Final = "Unknown pre-flight on this tenant."
STATE_BEHIND_AFTER_US: Final = 2 * SECOND_US

STARTING: Final = "The service is starting; nothing was recorded. Try again."

_MS: Final = 1_000


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, and whether a replay was asked about another transfer or program than the recorded one."""

    preflight: Preflight
    mismatch: bool = False


class PreflightLog:
    """Where an answer becomes durable: the log, and the memory of what this process appended to it."""

    def __init__(
        self,
        *,
        appender: LogAppender,
        recorded: RecordedPreflights,
        pending: PendingEntries,
        keyed: IdIndex,
        shards: Shards,
    ) -> None:
        self._appender, self._recorded, self._unapplied, self._keyed = appender, recorded, pending, keyed
        self._shard_count = shards.count
        self.is_open = False

    def open(self, keyed_ids: Iterable[str]) -> None:
        """Begin, knowing the ids of all repeatable pre-flights that earlier processes recorded."""
        for preflight_id in keyed_ids:
            self._keyed.put(UUID(preflight_id).int, 0)
        self.is_open = True

    def behind(self, program_id: str, *, now: int) -> bool:
        """Whether the program's shard has entries of ours that stay unapplied for too long."""
        return self._unapplied.waiting_us(self._shard(program_id), now=now) > STATE_BEHIND_AFTER_US

    def waiting_entries(self, shard: int) -> int:
        """How many entries that this process appended are not applied yet."""
        return self._unapplied.entries(shard)

    async def known(self, principal: Principal, preflight_id: str) -> PreflightRecord | None:
        """The record under this id, without a look at the disk for ids that were never recorded."""
        if not self.is_open:
            raise UnavailableError(STARTING)
        if self._keyed.get(UUID(preflight_id).int) is None:
            return None
        return await self._recorded.find(principal, preflight_id)

    async def append(self, record: PreflightRecord) -> None:
        """Returns once the record is durable."""
        if not self.is_open:
            raise UnavailableError(STARTING)
        answer = record.answer
        shard = self._shard(answer.program_id)
        if not self._recorded.has_room(shard):
            raise UnavailableError("The service is catching up; nothing was recorded. Try again.")
        body = msgspec.json.encode(record)
        offset = await self._appender.append(shard, EntryKind.PREFLIGHT, answer.program_id, record.asked_at, body)
        self._recorded.add(shard, offset, answer.preflight_id)
        self._unapplied.add(shard, offset, record.asked_at)
        if is_derived(answer.preflight_id):
            self._keyed.put(UUID(answer.preflight_id).int, shard)

    def _shard(self, program_id: str) -> int:
        return shard_of(program_id, self._shard_count)


class PreflightService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self, *, programs: ProgramService, shards: Shards, log: PreflightLog, clock: Clock, new_id: IdFactory
    ) -> None:
        self._programs, self._shards, self._log = programs, shards, log
        self._clock, self._new_id = clock, new_id
        self._asking: dict[str, asyncio.Future[bool]] = {}

    async def submit(
        self, principal: Principal, request: PreflightRequest, plain: dict[str, Any], effect_id: str | None
    ) -> Answer:
        """A new answer, or the recorded one when the tenant has used the body's idempotency key before.

        With an ``effect_id`` the request came under a claim: what is recorded under that id is its own answer.
        """
        program = self._program(principal, request)
        key = request.idempotency_key
        if key is None and effect_id is not None:
            own = await self._log.known(principal, effect_id)
            if own is not None:
                return Answer(preflight=own.answer)
        if key is None:
            return await self._answered(principal, program, request, plain, effect_id or self._new_id())
        preflight_id = derived_id("preflight", principal.tenant_id, key)
        while (other := self._asking.get(preflight_id)) is not None:
            await asyncio.shield(other)
        done = self._asking[preflight_id] = asyncio.get_running_loop().create_future()
        try:
            earlier = await self._log.known(principal, preflight_id)
            if earlier is not None:
                return replayed(earlier, program, proposed(request.transfer))
            return await self._answered(principal, program, request, plain, preflight_id)
        finally:
            del self._asking[preflight_id]
            done.set_result(True)

    def _program(self, principal: Principal, request: PreflightRequest) -> Program:
        if request.program_id is not None:
            return self._programs.read(principal, str(request.program_id))
        return self._programs.read_by_slug(principal, request.program_slug or "")

    async def _answered(
        self,
        principal: Principal,
        program: Program,
        request: PreflightRequest,
        plain: dict[str, Any],
        preflight_id: str,
    ) -> Answer:
        asked_at = self._clock.now()
        transfer = proposed(request.transfer)
        stale = self._log.behind(program.id, now=asked_at)
        with self._shards.reading(program.id) as state:  # The lock is held for this one read.
            asked = assess_proposed(state, transfer, at=asked_at, stale=stale)
        record = PreflightRecord(
            tenant_id=principal.tenant_id,
            answer=_answer(preflight_id, program, asked, latency_us=self._clock.now() - asked_at),
            request=plain,
            transfer=transfer,
            operator=principal.operator,
            resolved=asked.resolved,
            asked_at=asked_at,
            idempotency_key=request.idempotency_key,
        )
        await self._log.append(record)  # Durable before the caller hears of it.
        return Answer(preflight=record.answer)


class PreflightDetails:
    """Reads recorded pre-flights back."""

    def __init__(self, recorded: RecordedPreflights) -> None:
        self._recorded = recorded

    async def read(self, principal: Principal, preflight_id: str) -> PreflightDetail:
        record = await self._recorded.find(principal, preflight_id.lower())
        if record is None:
            raise NotFoundError(UNKNOWN_PREFLIGHT)
        matched = await self._recorded.matched_transfer_id(principal, preflight_id.lower())
        return PreflightDetail(
            **{name: getattr(record.answer, name) for name in Preflight.__struct_fields__},
            request=record.request | {"operator": record.operator, "resolved": record.resolved},
            matched_transfer_id=matched,
            created_at=format_instant(record.asked_at),
        )


def replayed(earlier: PreflightRecord, program: Program, transfer: ProposedTransfer) -> Answer:
    """The recorded answer. Another transfer under the key gets it too, but is told so."""
    preflight = msgspec.structs.replace(earlier.answer, idempotent=True, degraded_reasons=())
    mismatch = earlier.transfer != transfer or earlier.answer.program_id != program.id
    return Answer(preflight=preflight, mismatch=mismatch)


def _answer(preflight_id: str, program: Program, asked: PreflightAssessment, *, latency_us: int) -> Preflight:
    score = asked.score
    limits_hit = limits_hit_by(asked)
    return Preflight(
        preflight_id=preflight_id,
        decision=decide(score.band, hard=score.hard, limits_hit=limits_hit),
        score=score.value,
        band=score.band,
        version=score.version,
        n=score.n,
        confidence=score.confidence,
        reasons=score.reasons,
        limits_hit=limits_hit,
        degraded=bool(asked.degraded_reasons),
        degraded_reasons=asked.degraded_reasons,
        latency_ms=max(0, latency_us) // _MS,
        idempotent=False,
        program_id=program.id,
    )


def limits_hit_by(_: PreflightAssessment) -> tuple[LimitHit, ...]:
    """The ladder's caps that the transfer would cross. Ladders and caps are evaluated here once policies exist."""
    return ()
