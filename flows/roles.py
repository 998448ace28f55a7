"""What a node does in its role: the owner of the log acts and answers, a standby follows the log and takes over.

stand by ─▶ the owner is silent ─▶ take the log ─▶ commit it to its end ─▶ registries, seals, pre-flights ─▶ open
  reads, scores, commits              from here on no other node appends                      acts and answers

The same process does both, so that its state is in memory when it takes over. Work that has effects outside of the
node's own files waits for the role: ticks, actions, webhooks, imports, checkpoints. A node never goes back to standing
by: a former owner ends, and stands by after its next start.

Unit    seconds
Errors  ``LostLogError`` when the log ends before what this node has committed: the node ends
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import structlog
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from redis.exceptions import RedisError

from clearhold.flows.engine import Engine
from clearhold.flows.running.counts import counter, gauge
from clearhold.flows.webhooks.shared import DeliveryTail
from clearhold.store.control.tail import ControlTail
from clearhold.store.errors import StartupError
from clearhold.store.lake.log_segments import ControlCopy
from clearhold.store.nodes.watch import OwnerWatch, SeenOwner
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.owned import end_fenced, url_in
from clearhold.store.redis_log.owner import LogOwnership
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.tables import RowTables

LOOK_EVERY_S: Final = 0.2
FLUSHED_WITHIN_S: Final = 5.0
_POLL_S: Final = 0.02

log = structlog.get_logger()


class LostLogError(StartupError):
    """The log ends before what this node has committed of it."""


class Role(StrEnum):
    """The role of a node."""

    OWNER = "owner"
    STANDBY = "standby"


class Roles:
    """The role of this node, for any thread. Without ``ownership``, with the embedded Redis, it is the owner."""

    def __init__(self, ownership: LogOwnership | None) -> None:
        self.ownership = ownership
        self.owner: SeenOwner | None = None
        """The owner of the log as a standby last saw it."""
        self.refused: LostLogError | None = None
        """Why this node could not take over; it ends."""
        self.on_open: list[Callable[[], None]] = []
        """Called on the event loop when a standby opens."""
        self.take_overs = 0
        self._opened = asyncio.Event()
        if ownership is None or ownership.is_owner:
            self._opened.set()

    @property
    def is_open(self) -> bool:
        """Whether this node has taken its role as the owner, and has all of the log."""
        return self._opened.is_set()

    @property
    def role(self) -> Role:
        return Role.OWNER if self.is_open else Role.STANDBY

    @property
    def may_answer(self) -> bool:
        """Whether answers are those of the owner. With other members it must have renewed its ownership just now:
        another node may have taken the log.
        """
        ownership = self.ownership
        return self.is_open and (ownership is None or ownership.members <= 1 or ownership.is_current())

    @property
    def owner_url(self) -> str | None:
        """The address of the owner, while this node stands by."""
        return None if self.owner is None or self.is_open else url_in(self.owner.address)

    def open(self) -> None:
        """On the event loop: from now on this node answers and acts."""
        self.take_overs += 1
        for each in self.on_open:
            each()
        self._opened.set()

    def close(self) -> None:
        """On the event loop: this node answers no more, because another node takes the log."""
        self._opened.clear()

    def while_open(self, take: Callable[[RowTables], None]) -> Callable[[RowTables], None]:
        """Hands rows of commits on while this node is open; later the tables have the earlier ones."""

        def take_while_open(rows: RowTables) -> None:
            if self.is_open:
                take(rows)

        return take_while_open

    def as_owner(self, run: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        """Work that begins once this node is open."""

        async def run_as_owner() -> None:
            await self._opened.wait()
            await run()

        return run_as_owner


class RoleCollector(Collector):
    """The metrics of the role."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles

    def collect(self) -> Iterator[Metric]:
        roles = self._roles
        standing_by = "1 while this node stands by, and another node owns the log, else 0."
        yield gauge("clearhold_standby", standing_by, not roles.is_open)
        members = roles.ownership.members if roles.ownership is not None and roles.ownership.is_owner else 0
        yield gauge("clearhold_log_members", "Nodes that own or follow the log, as its owner counts them.", members)
        fences = self._fences()
        if fences is not None:  # else not known yet; a lower number would count as a restart
            fenced = "Services that ended because another node had taken the log from them, since the log was begun."
            yield counter("clearhold_fences", fenced, fences)
        took_over = "Times that this process took the log over as a standby."
        yield counter("clearhold_take_overs", took_over, roles.take_overs)

    def _fences(self) -> int | None:
        roles = self._roles
        if roles.ownership is None:
            return 0
        if roles.ownership.fences is not None:
            return roles.ownership.fences
        return None if roles.owner is None else roles.owner.fences


class Successor(NamedTuple):
    """The parts of a node that must be at the end of the log before it opens."""

    engine: Engine
    reader: LogReader
    appender: LogAppender
    control_copy: ControlCopy
    control_tail: ControlTail
    delivery_tail: DeliveryTail
    require_confirmed: Callable[[], None]
    compare_clock: Callable[[int], None]
    open_preflights: Callable[[], None]


class Succession:
    """The watch of a standby, and its promotion. ``run`` may begin again after a failure."""

    def __init__(self, roles: Roles, ownership: LogOwnership, watch: OwnerWatch, successor: Successor) -> None:
        self._roles, self._ownership, self._watch, self._successor = roles, ownership, watch, successor
        self._failure: str | None = None

    async def run(self) -> None:
        """Return once this node is open; at once if it is."""
        engine = self._successor.engine
        while not self._roles.is_open and not engine.caught_up():  # the engine has threads, no events
            await asyncio.to_thread(self._look, may_take=False)
            await asyncio.sleep(LOOK_EVERY_S)
        if self._roles.is_open:
            return
        while not self._ownership.is_owner:
            if not await asyncio.to_thread(self._look):
                await asyncio.sleep(LOOK_EVERY_S)
        try:
            await self._promote()
        except LostLogError as error:
            self._roles.refused = error
            log.critical("promotion_refused", error=str(error))
            raise

    def _look(self, *, may_take: bool = True) -> bool:
        """Look, and take the log if it is free and this node may; whether this node has it now."""
        try:
            seen = self._roles.owner = self._watch.look()
            if not seen.is_free or not may_take:
                self._note(None)
                return False
            self._require_whole()
            log.warning("owner_is_silent", node=seen.node, address=seen.address, silent_s=round(seen.silent_s, 1))
            other = self._ownership.attempt(dead_beat=seen.beat)
        except (RedisError, OSError, LostLogError) as error:
            self._note(f"{type(error).__name__}: {error}")
            return False
        self._note(None)
        if other is None:
            self._ownership.start(end_fenced)
        return other is None

    def _note(self, failure: str | None) -> None:
        """Log a failure once, and its end."""
        if failure is not None and self._failure is None:
            log.warning("owner_not_seen", error=failure)
        elif failure is None and self._failure is not None:
            log.info("owner_seen_again")
        self._failure = failure

    def _require_whole(self) -> None:
        """Refuse a log that ends before what this node has committed."""
        progress = self._successor.engine.progress
        for shard, tail in enumerate(self._tails()):
            if tail < progress.committed_offset(shard):
                raise LostLogError(
                    f"The log of shard {shard} in the Redis at CLEARHOLD_REDIS_URL ends before what this node has "
                    "committed: it is an older copy, so this node does not take it over. Bring back the newest copy, "
                    "or stop all nodes and start one with --accept-loss."
                )

    def _tails(self) -> Sequence[int]:
        reader, progress = self._successor.reader, self._successor.engine.progress
        return [reader.tail(shard) for shard in range(progress.shards)]

    async def _promote(self) -> None:
        """No other node appends any more: commit the log to its end, and bring everything else there."""
        engine, reader = self._successor.engine, self._successor.reader
        await asyncio.to_thread(self._successor.require_confirmed)
        await asyncio.to_thread(self._require_whole)
        await asyncio.to_thread(engine.aim_at_end)
        while not engine.caught_up() or engine.failure is not None:  # noqa: ASYNC110 - as above
            await asyncio.sleep(_POLL_S)
        await asyncio.to_thread(self._successor.control_copy.restore_removed)
        await self._successor.control_tail.read_new()
        await self._successor.delivery_tail.read_new()
        await asyncio.to_thread(engine.flush, FLUSHED_WITHIN_S)
        shards = range(engine.progress.shards)
        numbers = await asyncio.to_thread(lambda: [reader.newest_number(shard) for shard in shards])
        self._successor.appender.resume(numbers, await asyncio.to_thread(self._tails))
        await self._successor.appender.connect()
        self._successor.compare_clock(await asyncio.to_thread(reader.newest_at))
        await asyncio.to_thread(self._successor.open_preflights)
        log.warning("promoted", epoch=self._ownership.epoch)
        self._roles.open()
