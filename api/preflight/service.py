"""Pre-flight: scores a proposed transfer like a landed one, and records the answer before it is sent.

The id of a pre-flight with an idempotency key is derived from tenant, program and key: a known id is a replay,
without a table of keys. Without a key the id is random.

With a deadline the answer leaves in time or not at all: when the program's state does not answer in time the answer is
unscored, and when the log will not confirm in time nothing is recorded.

``latencyMs`` counts from the arrival of the request and includes the durable write, so that the answer, the record and
the statistics have one number. The record is written before its own write can be measured: that part is the mean time
of the writes before it, the newest counting most.

Errors  NotFoundError for a program of another tenant; ConflictError for a key that was used for another transfer;
        UnavailableError when the answer was not recorded, or not known to be in time
"""

import asyncio
from typing import Any, Final

import msgspec

from clearhold.api.area import Resources
from clearhold.api.http.head import TooLateError, in_time
from clearhold.api.http.in_the_air import in_the_air
from clearhold.api.http.reading import in_reader
from clearhold.api.lists.lists import ListReader, filter_of, place_by, place_key, to_answer
from clearhold.api.preflight.schemas import (
    DecisionCounts,
    LatencySummary,
    PreflightDetail,
    PreflightGrades,
    PreflightPage,
    PreflightRequest,
    PreflightsQuery,
    PreflightStats,
    PreflightStatsQuery,
    PreflightSummary,
    Share,
    proposed,
)
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.preflight import (
    Preflight,
    PreflightRecord,
    ProposedTransfer,
    answer_of,
)
from clearhold.features.core.errors import ConflictError, ErrorCode, NotFoundError
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.principal import Principal, Program
from clearhold.features.shard.questions import ProposalScore, ScoreProposal, unscored
from clearhold.store.duck.inputs import PreflightCounts, Preflights
from clearhold.store.duck.preflight_list import PreflightFilter, PreflightList, StoredPreflight

_DECIMALS: Final = 4
_RECORD: Final = msgspec.json.Decoder(PreflightRecord)


class PreflightReads:
    """Recorded pre-flights, and figures of them. Belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        self._programs, self._recorded = resources.programs, resources.recorded_preflights
        self._preflights, self._clock = Preflights(resources.stores.database), resources.stores.clock
        rows = PreflightList(resources.stores.database)
        self._list = ListReader(
            rows.list_page, lambda _, page: [*map(self._to_summary, page)], place_by("created_at"), place_key
        )

    async def page(self, principal: Principal, query: PreflightsQuery) -> PreflightPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = filter_of(PreflightFilter, query, self._programs.filter_by(principal, query.program_id))
        return PreflightPage.of(*await self._list.page(principal, wanted, query))

    def _to_summary(self, stored: StoredPreflight) -> PreflightSummary:
        row, record = stored.row, _RECORD.decode(stored.row.body)
        proposal = record.transfer
        summary = to_answer(
            row,
            PreflightSummary,
            preflight_id=row.id,
            rail=proposal.rail,
            direction=proposal.direction,
            amount_cents=str(proposal.amount_cents),
            currency=proposal.currency,
            entity_id=record.resolved.entity_id,
            counterparty_id=record.resolved.counterparty_id,
            matched_transfer_id=stored.transfer_id,
        )
        return self._programs.marked(summary, row.program_id)

    async def read(self, principal: Principal, preflight_id: str) -> PreflightDetail:
        record = await self._recorded.find(principal, preflight_id.lower())
        if record is None:
            raise NotFoundError("Unknown pre-flight on this tenant.", ErrorCode.PREFLIGHT_NOT_FOUND)
        find_matched = self._preflights.matched_transfer_id
        matched = await in_reader(find_matched, principal, preflight_id.lower())
        detail = PreflightDetail(
            **msgspec.structs.asdict(record.answer),
            request=record.request | {"operator": record.operator, "resolved": record.resolved},
            matched_transfer_id=matched,
            created_at=format_instant(record.asked_at),
        )
        return self._programs.marked(detail, detail.program_id)

    async def of_transfer(self, principal: Principal, transfer_id: str, program_id: str) -> PreflightDetail | None:
        """The pre-flight for which a transfer landed as proposed, if any."""
        preflight_id = await in_reader(self._preflights.id_for, principal, program_id, transfer_id)
        return None if preflight_id is None else await self.read(principal, preflight_id)

    async def statistics(self, principal: Principal, query: PreflightStatsQuery) -> PreflightStats:
        """Over (now - days, now], by the time of the request; matches and labels of any time count.

        Of the bank's programs within reach, or of the named ones; a programId of another tenant is a 404.
        """
        programs = self._programs.counted(principal, query.program_id)
        program_ids = tuple(program.id for program in programs)
        since = self._clock.now() - query.days * DAY_US
        counts = await in_reader(lambda: self._preflights.counts(principal, program_ids, since=since))
        return self._programs.marked_of(to_stats(counts, days=query.days), programs)


def to_stats(counts: PreflightCounts, *, days: int) -> PreflightStats:
    bad, holds = counts.hold_bad + counts.other_bad, counts.hold_bad + counts.hold_ok
    return PreflightStats(
        window_days=days,
        count=counts.total,
        by_decision=DecisionCounts(clear=counts.clear, review=counts.review, hold=counts.hold),
        latency_ms=LatencySummary(
            p50=_rounded(counts.latency_ms_p50), p90=_rounded(counts.latency_ms_p90), n=counts.total
        ),
        matched=Share(value=_share(counts.matched, counts.total), n=counts.total),
        degraded=Share(value=_share(counts.degraded, counts.total), n=counts.total),
        graded=PreflightGrades(
            n=holds + counts.other_bad + counts.other_ok,
            hold_and_bad=counts.hold_bad,
            hold_and_ok=counts.hold_ok,
            not_hold_and_bad=counts.other_bad,
            not_hold_and_ok=counts.other_ok,
            hold_precision=_share(counts.hold_bad, holds),
            hold_recall=_share(counts.hold_bad, bad),
        ),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def _share(part: int, whole: int) -> float | None:
    return _rounded(part / whole) if whole else None


WRITES_IN_MEAN: Final = 8
APPEND_SHARE: Final = 0.25
"""The least share of the remaining time that is kept for the append while the owner answers."""
OTHER_TRANSFER: Final = "This idempotencyKey was used for another transfer on this program."


class PreflightService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._programs, self._owner, self._log = resources.programs, stores.owner, resources.preflight_log
        self._clock, self._new_id = stores.clock, stores.new_id
        self._under_way: dict[str, asyncio.Future[bool]] = {}
        self._write_us = 0.0  # the mean of the writes so far

    async def submit(
        self,
        principal: Principal,
        request: PreflightRequest,
        plain: dict[str, Any],
        effect_id: str | None,
        *,
        arrived_at: int,
        answer_by: float | None = None,
    ) -> Preflight:
        """A new answer, or the recorded one of the body's idempotency key on the program.

        ``effect_id`` comes from the header Idempotency-Key: a record of that id answers the same request.
        ``answer_by`` is of the event loop's clock.
        """
        with in_the_air().one():
            return await self._submit(principal, request, plain, effect_id, arrived_at=arrived_at, answer_by=answer_by)

    async def _submit(
        self,
        principal: Principal,
        request: PreflightRequest,
        plain: dict[str, Any],
        effect_id: str | None,
        *,
        arrived_at: int,
        answer_by: float | None,
    ) -> Preflight:
        program = self._program(principal, request)
        key = request.idempotency_key
        if key is None and effect_id is not None:
            recorded = await in_time(self._log.find(principal, effect_id), answer_by)
            if recorded is not None:
                return self._marked(recorded.answer)
        if key is None:
            preflight_id = effect_id or self._new_id()
            return await self._new_answer(principal, program, request, plain, preflight_id, arrived_at, answer_by)
        preflight_id = derived_id("preflight", principal.tenant_id, program.id, key)
        while (other := self._under_way.get(preflight_id)) is not None:
            await in_time(asyncio.shield(other), answer_by)
        done = self._under_way[preflight_id] = asyncio.get_running_loop().create_future()
        try:
            earlier = await in_time(self._log.find(principal, preflight_id), answer_by)
            if earlier is not None:
                return self._marked(replayed(earlier, proposed(request.transfer)))
            return await self._new_answer(principal, program, request, plain, preflight_id, arrived_at, answer_by)
        finally:
            del self._under_way[preflight_id]
            done.set_result(True)

    def _marked(self, answer: Preflight) -> Preflight:
        return self._programs.marked(answer, answer.program_id)

    def _program(self, principal: Principal, request: PreflightRequest) -> Program:
        if request.program_id is not None:
            return self._programs.read(principal, str(request.program_id))
        return self._programs.read_by_slug(principal, request.program_slug or "")

    async def _new_answer(
        self,
        principal: Principal,
        program: Program,
        request: PreflightRequest,
        plain: dict[str, Any],
        preflight_id: str,
        arrived_at: int,
        answer_by: float | None,
    ) -> Preflight:
        asked_at = self._clock.now()
        transfer = proposed(request.transfer)
        stale = self._log.behind(program.id, now=asked_at)
        question = ScoreProposal(transfer, asked_at, stale)
        assessed, scoring_us = await self._assessed(program.id, question, answer_by)
        answer = answer_of(
            assessed.score,
            preflight_id=preflight_id,
            program_id=program.id,
            degraded_reasons=assessed.degraded_reasons,
            limits_hit=assessed.limits_hit,
            scoring_us=scoring_us,
            latency_us=self._clock.now() - arrived_at + round(self._write_us),
            usd_rate=assessed.usd_rate,
        )
        record = PreflightRecord(
            tenant_id=principal.tenant_id,
            answer=answer,
            request=plain,
            transfer=transfer,
            operator=principal.operator,
            resolved=assessed.resolved,
            asked_at=asked_at,
            idempotency_key=request.idempotency_key,
        )
        began_at = self._clock.now()
        await self._log.append(record, answer_by=answer_by)  # Durable before the caller gets it.
        self._write_us += (self._clock.now() - began_at - self._write_us) / WRITES_IN_MEAN
        return self._marked(answer)

    async def _assessed(
        self, program_id: str, question: ScoreProposal, answer_by: float | None
    ) -> tuple[ProposalScore, int | None]:
        """The owner's answer and its microseconds; unscored when it leaves no time for the append."""
        if answer_by is None:
            return await self._owner.query(program_id, question)
        left_s = answer_by - asyncio.get_running_loop().time()
        for_append_s = max(self._log.append_s(), APPEND_SHARE * left_s)
        try:
            return await in_time(self._owner.query(program_id, question), answer_by - for_append_s)
        except TooLateError:
            return unscored(question.transfer), None


def replayed(earlier: PreflightRecord, transfer: ProposedTransfer) -> Preflight:
    """The recorded answer; a key used for a different transfer is refused."""
    if earlier.transfer != transfer:
        raise ConflictError(OTHER_TRANSFER, ErrorCode.IDEMPOTENCY_MISMATCH)
    return msgspec.structs.replace(earlier.answer, idempotent=True, degraded_reasons=())
