"""One import of agents, their profiles and their settlements, from the scan index into the log.

begin ─▶ agents ─▶ committed ─▶ profiles ─▶ settlements ─▶ end, with the reason when the index cannot be read

Agents come first, so that profiles and settlements find them; both lists are read whole. Settlements are read from
``since_of`` on, or from the registration of an agent that is new here. Items are appended a few at a time, never far
ahead of the commits; one that is equal to its last version, byte for byte, is not appended again, except a settlement
whose agent was not listed at that time and is now. Appended items stay, however an import ends.

Unit    instants in microseconds, durations in seconds
Errors  none: a failure of the index ends the import, with its reason. UnavailableError when the log takes nothing for
        minutes: then the end is not in the log either, and the service imports again
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from time import monotonic
from typing import Final

import msgspec
import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.agents.reading import read_agent, read_profile, read_settlement
from clearhold.features.core.entries.directory import AgentImportEntry, ImportStage, SkipReason
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import DAY_US, DAYS_30
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.rows.parties import AgentImportRow
from clearhold.flows.agents.scan_client import ScanClient, ScanError
from clearhold.flows.backfill.step_log import Settle
from clearhold.flows.running.counts import Distribution, counter, gauge, histogram, zeros
from clearhold.store.clock import Clock
from clearhold.store.redis_log.appender import LogAppender

AT_ONCE: Final = 16
UNDER_WAY: Final = 12
"""The most appends that wait for their commit: the events of the stream never wait behind more."""

MOST_PER_S: Final = 1_000
"""This many settlements take about half of an interpreted scorer's time; the rest is for events and pre-flights."""

MAX_REMEMBERED: Final = 250_000
MAX_TRIES: Final = 300
_RETRY_S: Final = 0.2
LOG_TAKES_NOTHING: Final = "The log did not take the items for too long. Appended items stay; try again."
_DIGEST_BYTES: Final = 8

log = structlog.get_logger()


class KnownItems:
    """Digests of the items of a program's newest imports, by the digest of their id, in two generations."""

    def __init__(self) -> None:
        self._now: dict[bytes, bytes] = {}
        self._before: dict[bytes, bytes] = {}

    def get(self, key: bytes) -> bytes | None:
        content = self._now.get(key)
        return self._before.get(key) if content is None else content

    def put(self, key: bytes, content: bytes) -> None:
        if len(self._now) >= MAX_REMEMBERED:
            self.turn()
        self._now[key] = content

    def turn(self) -> None:
        """After an import: drop items that two imports in a row did not bring."""
        self._before, self._now = self._now, {}


class ItemLog:
    """The log of one program, for an import. Belongs to one event loop."""

    def __init__(
        self, program_id: str, appender: LogAppender, *, shards: int, settle: Settle, clock: Clock, known: KnownItems
    ) -> None:
        self._program_id, self._shard = program_id, shard_of(program_id, shards)
        self._appender, self._settle, self._clock, self.known = appender, settle, clock, known
        self._under_way: deque[int] = deque()
        self._last = 0
        self._due = 0.0

    async def append(self, kind: EntryKind, bodies: Sequence[bytes]) -> int:
        """Append entries in order, once there is room; returns the offset of the last one."""
        while len(self._under_way) >= UNDER_WAY:
            await self._settle(self._shard, self._under_way.popleft())
        await self._take_turn(len(bodies))
        for _ in range(MAX_TRIES):
            try:
                offsets = await self._appender.append_events(
                    self._shard, self._program_id, self._clock.now(), bodies, kind=kind
                )
            except UnavailableError as error:
                log.warning("agent_import_waits", program_id=self._program_id, error=str(error))
                await asyncio.sleep(_RETRY_S)
                continue
            self._under_way.append(offsets[-1])
            self._last = offsets[-1]
            return offsets[-1]
        raise UnavailableError(LOG_TAKES_NOTHING)

    async def _take_turn(self, items: int) -> None:
        """Wait while the rate of items is too high."""
        now = monotonic()
        if self._due > now:
            await asyncio.sleep(self._due - now)
        self._due = max(self._due, now) + items / MOST_PER_S

    async def settled(self) -> None:
        """Return when all appended entries are committed."""
        self._under_way.clear()
        await self._settle(self._shard, self._last)


def digest_of(item: bytes) -> bytes:
    return blake2b(item, digest_size=_DIGEST_BYTES).digest()


IMPORT_SECONDS_BOUNDS: Final = (1, 5, 15, 60, 300, 900, 3_600)


class ImportCounts(Collector):
    def __init__(self) -> None:
        self.running = 0
        self.imports: Counter[str] = zeros((ImportStage.DONE, ImportStage.FAILED))
        self.read: Counter[str] = zeros(_LISTS)  # items by kind
        self.appended: Counter[str] = zeros(_LISTS)
        self.skipped: Counter[str] = zeros((SkipReason.MALFORMED, SkipReason.TOO_LARGE, SkipReason.UNKNOWN_ASSET))
        self.seconds = Distribution(IMPORT_SECONDS_BOUNDS)

    def collect(self) -> Iterator[Metric]:
        yield gauge("clearhold_agent_imports_running", "Imports under way.", self.running)
        yield counter("clearhold_agent_imports", "Imports that ended.", self.imports, "stage")
        yield counter("clearhold_agent_items_read", "Items read from the scan index.", self.read, "kind")
        yield counter("clearhold_agent_items_appended", "Items appended to the log.", self.appended, "kind")
        yield counter("clearhold_agent_items_skipped", "Items left out.", self.skipped, "reason")
        yield histogram("clearhold_agent_import_duration_seconds", "Duration of a whole import.", self.seconds)


OVERLAP_US: Final = DAY_US
PENDING_US: Final = DAYS_30
MAX_ITEM_BYTES: Final = 16 * 1024
LOG_EVERY_S: Final = 5.0

_ENCODE: Final = msgspec.json.Encoder().encode
_LISTS: Final = {
    EntryKind.AGENT: "agents",
    EntryKind.PROFILE: "profiles",
    EntryKind.SETTLEMENT: "settlements",
}


class ImportProgress(msgspec.Struct, kw_only=True):
    """The progress of an import. Agents and profiles are counted once each, settlements once for each reading."""

    id: str
    started_at: int
    reading: str | None = None
    agents: int = 0
    profiles: int = 0
    settlements_scanned: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter)


def since_of(last: AgentImportRow) -> int | None:
    """The first instant from which the next import reads settlements.

    It is a day before the newest one of the last import, because a chain may revert; or that of the oldest settlement
    that is not final, if it is younger than a month.
    """
    if last.read_until_at is None:
        return None
    since = last.read_until_at - OVERLAP_US
    pending_at = last.oldest_pending_at
    return since if pending_at is None else max(min(since, pending_at), since - PENDING_US)


class AgentImport:
    """One import after the last finished one; without one it reads everything.

    ``first_registered`` returns the earliest registration among the agents that came after an offset: that of the last
    finished import, since one that failed may have brought agents without their settlements.
    """

    def __init__(
        self,
        progress: ImportProgress,
        client: ScanClient,
        item_log: ItemLog,
        *,
        last: AgentImportRow | None,
        first_registered: Callable[[int], int | None],
        counts: ImportCounts,
    ) -> None:
        self.progress = progress
        self._client, self._log, self._counts = client, item_log, counts
        self._first_registered = first_registered
        self._last = last
        self._newest_at = None if last is None else last.read_until_at
        self._listed: set[bytes] = set()  # digests of the agents' ids and wallets
        self._logged_at = monotonic()

    async def run(self) -> None:
        """Return when all its entries are committed."""
        await self._log.append(EntryKind.AGENT_IMPORT, [self._entry(ImportStage.BEGUN)])
        last, since = self._last, None if self._last is None else since_of(self._last)
        try:
            await self._take_list(EntryKind.AGENT, None)
            await self._log.settled()
            await self._take_list(EntryKind.PROFILE, None)
            if last is not None and since is not None:
                registered_at = await asyncio.to_thread(self._first_registered, last.offset)
                since = since if registered_at is None else min(since, registered_at)
            await self._take_list(EntryKind.SETTLEMENT, since)
        except ScanError as error:
            await self._end(ImportStage.FAILED, str(error))
        else:
            await self._end(ImportStage.DONE, None)

    async def _take_list(self, kind: EntryKind, since: int | None) -> None:
        self.progress.reading = _LISTS[kind]
        seen: set[bytes] = set()
        async for page in self._client.pages(_LISTS[kind], since=since):
            for first in range(0, len(page.items), AT_ONCE):
                await self._take(kind, page.items[first : first + AT_ONCE], seen)

    async def _take(self, kind: EntryKind, items: list[bytes], seen: set[bytes]) -> None:
        """Append the readable items that differ from their last version."""
        bodies: list[bytes] = []
        news: list[tuple[bytes, bytes]] = []
        for item in items:
            self._counts.read[kind.value] += 1
            self.progress.settlements_scanned += kind is EntryKind.SETTLEMENT
            read = self._read(kind, item)
            if isinstance(read, SkipReason):
                self.progress.skipped[read.value] += 1
                self._counts.skipped[read.value] += 1
                continue
            item_id, is_listed = read
            key, content = digest_of(item_id.encode()), digest_of(item + bytes(is_listed))
            if kind is not EntryKind.SETTLEMENT and key not in seen:
                seen.add(key)
                self.progress.agents += kind is EntryKind.AGENT
                self.progress.profiles += kind is EntryKind.PROFILE
            if self._log.known.get(key) != content:
                bodies.append(item)
            news.append((key, content))
        if bodies:
            await self._log.append(kind, bodies)
            self._counts.appended[kind.value] += len(bodies)
        for key, content in news:
            self._log.known.put(key, content)
        if monotonic() - self._logged_at > LOG_EVERY_S:
            self._log_progress("agent_import_progress")

    def _read(self, kind: EntryKind, item: bytes) -> tuple[str, tuple[bool, ...]] | SkipReason:
        """The item's id, and whether a settlement's agent and paid wallet are listed; or why the item is skipped."""
        if len(item) > MAX_ITEM_BYTES:
            return SkipReason.TOO_LARGE
        match kind:
            case EntryKind.AGENT:
                agent = read_agent(item)
                if isinstance(agent, SkipReason):
                    return agent
                self._listed.update(digest_of(each.encode()) for each in (agent.entity_id, agent.wallet) if each)
                return agent.entity_id, ()
            case EntryKind.PROFILE:
                profile = read_profile(item)
                return profile if isinstance(profile, SkipReason) else (profile.wallet, ())
            case _:
                settlement = read_settlement(item)
                if isinstance(settlement, SkipReason):
                    return settlement
                self._newest_at = max(settlement.settled_at, self._newest_at or settlement.settled_at)
                paid = (settlement.agent or "", settlement.pay_to)
                return settlement.transfer_id, tuple(digest_of(each.encode()) in self._listed for each in paid)

    async def _end(self, stage: ImportStage, reason: str | None) -> None:
        self.progress.reading = None
        await self._log.append(EntryKind.AGENT_IMPORT, [self._entry(stage, reason)])
        await self._log.settled()
        self._counts.imports[stage.value] += 1
        self._log_progress("agent_import_ended", stage=stage.value, reason=reason)

    def _entry(self, stage: ImportStage, reason: str | None = None) -> bytes:
        progress, until = self.progress, None
        if stage is ImportStage.DONE and self._newest_at is not None:
            until = min(self._newest_at, progress.started_at)
        return _ENCODE(
            AgentImportEntry(
                id=progress.id,
                stage=stage,
                agents=progress.agents,
                profiles=progress.profiles,
                settlements_scanned=progress.settlements_scanned,
                skipped=dict(progress.skipped),
                read_until_at=until,
                reason=reason,
            )
        )

    def _log_progress(self, event: str, **more: object) -> None:
        self._logged_at = monotonic()
        progress = self.progress
        log.info(
            event,
            import_id=progress.id,
            reading=progress.reading,
            agents=progress.agents,
            profiles=progress.profiles,
            settlements=progress.settlements_scanned,
            skipped=dict(progress.skipped),
            **more,
        )
