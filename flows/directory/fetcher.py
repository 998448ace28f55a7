"""Fetches parties from the bank's directory: new parties at once, known ones daily.

rows of a commit ─▶ first seen ─┐
                                ├─▶ waiting ─▶ paced ─▶ the bank's API ─▶ masked ─▶ the log ─▶ the flow
rows of parties ─▶ sweep ───────┘

All state in memory may be lost: the tables show which parties are due. No request waits for a fetch, and the flow
shares no lock with it.

Errors  none: failures are retried and counted
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.core.entries.directory import DirectoryEntry, DirectoryKind, DirectoryResult, PartyKey
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import DAY_US, SECOND_US
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.flows.directory.waiting import FirstSeen, TenantPace, WaitingParties
from clearhold.flows.running.bank_http import BankAnswer, BankClient, FetchOutcome
from clearhold.flows.running.counts import Distribution, counter, gauge, histogram, zeros
from clearhold.store.clock import Clock
from clearhold.store.control.credentials import BankKeys
from clearhold.store.duck.parties import DirectoryTable, DueParty
from clearhold.store.ids import new_trace_id
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.progress import LogProgress

FETCH_SECONDS_BOUNDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class DirectoryCounts(Collector):
    def __init__(self) -> None:
        results = (*DirectoryResult, FetchOutcome.FAILED, FetchOutcome.LIMITED, FetchOutcome.REFUSED)
        self.fetches: Counter[tuple[str, str]] = zeros(DirectoryKind, results)
        self.unrecorded = 0
        self.overflowed = 0
        self.seconds = Distribution(FETCH_SECONDS_BOUNDS)
        self.waiting = 0
        self.paused_tenants = 0

    def collect(self) -> Iterator[Metric]:
        yield counter("clearhold_directory_fetches", "Requests to the bank's API.", self.fetches, "kind", "result")
        unrecorded = "Answers of the bank that the log did not take."
        yield counter("clearhold_directory_unrecorded", unrecorded, self.unrecorded)
        overflowed = "Parties first seen that were left to the sweep."
        yield counter("clearhold_directory_overflowed", overflowed, self.overflowed)
        yield gauge("clearhold_directory_waiting", "Parties that wait for their fetch.", self.waiting)
        paused = "Tenants whose key the bank refused."
        yield gauge("clearhold_directory_paused_tenants", paused, self.paused_tenants)
        yield histogram("clearhold_directory_fetch_duration_seconds", "Duration of one request.", self.seconds)


CONCURRENT_FETCHES: Final = 4
REFRESH_AFTER_US: Final = DAY_US
ROUND_PARTIES: Final = 64
ROUND_CANDIDATES: Final = 1_000
SWEEP_LIMIT: Final = 1_000
SWEEP_EVERY_US: Final = 60 * SECOND_US
SWEEP_COST_SHARE: Final = 50  # a sweep that takes a second runs every 50 seconds at most
MAX_UNCOMMITTED: Final = 2_000
_IDLE_S: Final = 0.2
_AFTER_FAILURE_S: Final = 5.0

_FACTS: Final = {
    FetchOutcome.FOUND: DirectoryResult.FOUND,
    FetchOutcome.MISSING: DirectoryResult.MISSING,
    FetchOutcome.UNUSABLE: DirectoryResult.UNUSABLE,
}
_ENCODE: Final = msgspec.json.Encoder().encode

log = structlog.get_logger()


class DirectoryFetcher:
    """Belongs to one event loop."""

    def __init__(
        self,
        client: BankClient,
        *,
        table: DirectoryTable,
        first_seen: FirstSeen,
        keys: BankKeys,
        appender: LogAppender,
        progress: LogProgress,
        clock: Clock,
        per_second: int,
    ) -> None:
        self._client, self._table, self._first_seen, self._keys = client, table, first_seen, keys
        self._appender, self._progress = appender, progress
        self._clock, self._per_second = clock, per_second
        self._waiting = WaitingParties()
        self._paces: dict[str, TenantPace] = {}
        self._uncommitted: dict[PartyKey, tuple[int, int]] = {}  # shard and offset of the entry
        self._sweep_at = 0
        self._no_sweep_before = 0
        self._swept: set[str] = set()  # the tenants of the last sweep that have been ready since then
        self.counts = DirectoryCounts()

    async def run(self) -> None:
        """Run rounds until cancelled."""
        while True:
            try:
                pause_s = 0.0 if await self.round() else _IDLE_S
            except Exception as error:  # noqa: BLE001 - whatever failed: the next round finds the same parties
                log.warning("directory_round_failed", error=f"{type(error).__name__}: {error}")
                pause_s = _AFTER_FAILURE_S
            await asyncio.sleep(pause_s)

    async def round(self) -> bool:
        """Fetch some of the parties that are due; False when none was."""
        self._forget_committed()
        self._waiting.keep_tenants(self._keys.tenants())
        self._waiting.revive(now=self._clock.now())
        candidates = self._first_seen.take(min(ROUND_CANDIDATES, self._waiting.room))
        if candidates:
            self._waiting.add_ahead(await asyncio.to_thread(self._table.never_fetched, candidates))
        ready = self._ready_tenants()
        if not candidates and not self._waiting.waits_for(ready) and self._is_sweep_due(ready):
            await self._sweep(ready)
        parties: list[DueParty] = []
        if len(self._uncommitted) < MAX_UNCOMMITTED:
            parties = self._waiting.take(ready, ROUND_PARTIES)
        remaining = iter(parties)
        await asyncio.gather(*(self._fetch_all(remaining) for _ in range(CONCURRENT_FETCHES)))
        self.counts.overflowed = self._first_seen.overflowed
        self.counts.waiting = len(self._waiting) + len(self._first_seen)
        self.counts.paused_tenants = sum(pace.is_paused(now=self._clock.now()) for pace in self._paces.values())
        return bool(candidates or parties)

    def _forget_committed(self) -> None:
        """Forget fetches whose rows are committed; always before the tables are read for due parties."""
        committed = [
            key
            for key, (shard, offset) in self._uncommitted.items()
            if offset <= self._progress.committed_offset(shard)
        ]
        for key in committed:
            del self._uncommitted[key]
            self._waiting.forget(key)

    def _ready_tenants(self) -> set[str]:
        now, ready = self._clock.now(), set()
        for tenant_id in self._keys.tenants():
            key = self._keys.of_tenant(tenant_id)
            if key is not None and self._pace_of(tenant_id).is_ready(key, now=now):
                ready.add(tenant_id)
        self._swept &= ready
        return ready

    def _pace_of(self, tenant_id: str) -> TenantPace:
        pace = self._paces.get(tenant_id)
        if pace is None:
            pace = self._paces[tenant_id] = TenantPace(per_second=self._per_second)
        return pace

    def _is_sweep_due(self, ready: set[str]) -> bool:
        """From time to time, and at once for a tenant that has just become ready."""
        now = self._clock.now()
        if self._sweep_at - now > DAY_US:  # the clock stepped back
            self._sweep_at = self._no_sweep_before = now
        if not ready or now < self._no_sweep_before:
            return False
        return now >= self._sweep_at or not ready <= self._swept

    async def _sweep(self, ready: set[str]) -> None:
        began = self._clock.now()
        limit = SWEEP_LIMIT + len(self._uncommitted) + len(self._waiting)  # which the tables may show as due
        due = await asyncio.to_thread(self._table.due, [*ready], fetched_until=began - REFRESH_AFTER_US, limit=limit)
        self._waiting.add(due)
        now = self._clock.now()
        self._swept = ready
        self._no_sweep_before = now + SWEEP_COST_SHARE * max(0, now - began)
        is_more_due = len(due) >= limit
        self._sweep_at = max(self._no_sweep_before, now if is_more_due else now + SWEEP_EVERY_US)

    async def _fetch_all(self, remaining: Iterator[DueParty]) -> None:
        for party in remaining:
            try:
                await self._fetch(party)
            except Exception as error:  # noqa: BLE001 - one party's failure: the others go on
                log.warning("directory_fetch_failed", error=f"{type(error).__name__}: {error}")
                self._waiting.try_again(party, now=self._clock.now())

    async def _fetch(self, party: DueParty) -> None:
        tenant_id = party[0].tenant_id
        pace = self._pace_of(tenant_id)
        if tenant_id in self._ready_tenants():
            await asyncio.sleep(pace.take_turn(now=self._clock.now()) / SECOND_US)
        key = self._keys.of_tenant(tenant_id)
        if key is None or not pace.is_ready(key, now=self._clock.now()):
            self._waiting.put_back(party)
            return
        began, fetched_at = asyncio.get_running_loop().time(), self._clock.now()
        trace_id = new_trace_id()  # a new one: the fetch follows from the log, not from a request
        answer = await self._client.fetch(party[0].kind, party[0].id, key, trace_id=trace_id)
        self.counts.seconds.add(asyncio.get_running_loop().time() - began)
        if answer.outcome in _FACTS:
            if pace.note_success():
                log.info("bank_directory_answers_again", tenant_id=tenant_id)
            await self._record(party, answer, fetched_at)
        else:
            self.counts.fetches[party[0].kind.value, answer.outcome.value] += 1
            self._note_trouble(party, answer, key, trace_id)

    def _note_trouble(self, party: DueParty, answer: BankAnswer, key: str, trace_id: str) -> None:
        """Slow down; log each kind of trouble when it begins."""
        tenant_id, now = party[0].tenant_id, self._clock.now()
        pace = self._pace_of(tenant_id)
        if answer.outcome is FetchOutcome.REFUSED:
            if pace.note_refusal(key, now=now):
                log.warning("bank_key_refused", tenant_id=tenant_id, trace_id=trace_id)
            self._waiting.put_back(party)
            return
        if pace.note_failure(now=now, retry_after_us=answer.retry_after_us):
            log.warning("bank_directory_failing", tenant_id=tenant_id, result=answer.outcome.value, trace_id=trace_id)
        if answer.outcome is FetchOutcome.LIMITED:
            self._waiting.put_back(party)
        else:
            self._waiting.try_again(party, now=now)

    async def _record(self, party: DueParty, answer: BankAnswer, fetched_at: int) -> None:
        """Append the answer to the log, with the object only if it differs from the stored one."""
        (_, program_id, kind, party_id), digest = party
        result = _FACTS[answer.outcome]
        if result is DirectoryResult.FOUND and answer.digest == digest:
            result = DirectoryResult.UNCHANGED
        is_new = result is DirectoryResult.FOUND
        entry = DirectoryEntry(
            kind=kind,
            id=party_id,
            result=result,
            fetched_at=fetched_at,
            digest=answer.digest,
            data=msgspec.Raw(answer.data if is_new else b"null"),
        )
        shard = shard_of(program_id, self._progress.shards)
        try:
            offset = await self._appender.append(
                shard, EntryKind.DIRECTORY, program_id, self._clock.now(), _ENCODE(entry)
            )
        except UnavailableError:
            self.counts.unrecorded += 1
            self._waiting.try_again(party, now=self._clock.now())
            return
        self._uncommitted[party[0]] = (shard, offset)
        self.counts.fetches[kind.value, result.value] += 1
