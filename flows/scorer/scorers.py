"""All scorer processes of a service: started, asked, informed of commits, and ended together."""

from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from time import monotonic

import redis
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from clearhold.features.shard.questions import Owner
from clearhold.flows.running.counts import counter, gauge
from clearhold.flows.scorer.scoring import Commits
from clearhold.flows.scorer.supervisor import SCORER, ScorerPaths, ScorerProcess
from clearhold.flows.scorer.wire import FrameKind, RemoteOwner, ScorerConnection


class ScorerProcesses:
    """The ``Scorers`` of a service with scorer processes; shard ``n`` belongs to scorer ``n`` modulo their number."""

    def __init__(
        self,
        count: int,
        shards: int,
        places: ScorerPaths,
        *,
        open_redis: Callable[[], redis.Redis],
        module: str = SCORER,
    ) -> None:
        """``module`` runs in each process; a benchmark has one that measures itself."""
        self.processes = tuple(
            ScorerProcess(
                number,
                tuple(range(number, shards, count)),
                places,
                shards=shards,
                open_redis=open_redis,
                module=module,
            )
            for number in range(min(count, shards))
        )
        self.owner: Owner = RemoteOwner(shards, self._connection_of)
        self._threads: list[Thread] = []

    def begin(self) -> None:
        """Load as much as is possible without the log and the tables. ``start`` also works without it."""
        for each in self.processes:
            each.begin()

    def abandon(self) -> None:
        """End what ``begin`` started, if ``start`` is not called."""
        for each in self.processes:
            each.abandon()

    def start(self, commits: Commits) -> None:
        for each in self.processes:
            thread = Thread(target=each.look_after, args=(commits,), name=f"scorer-{each.number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def on_commit(self, _rows: object, offsets: Mapping[int, int]) -> None:
        """Send each scorer the committed offsets of its shards."""
        for each in self.processes:
            its = {shard: offset for shard, offset in offsets.items() if shard in each.owned}
            if its:
                each.send(FrameKind.COMMITTED, its)

    @property
    def snapshot_offsets(self) -> Mapping[int, int]:
        """The offset of each shard's newest snapshot on disk."""
        return {shard: offset for each in self.processes for shard, offset in each.snapshot_offsets.items()}

    def applied_offset(self, shard: int) -> int:
        """The offset up to which the shard's state has applied the log, as far as known."""
        return self.processes[shard % len(self.processes)].applied_offsets.get(shard, 0)

    @property
    def failure(self) -> str | None:
        """The error that holds up scoring, or None."""
        down = [each for each in self.processes if each.failure is not None]
        return f"Scorer {down[0].number}: {down[0].failure}" if down else None

    @property
    def ended(self) -> bool:
        """True when scoring has ended until the service is restarted."""
        return any(each.gave_up for each in self.processes)

    def drain(self, timeout_s: float) -> None:
        """Apply the rest of the log, and stop; returns when done or when the time is over."""
        deadline = monotonic() + timeout_s
        for each in self.processes:
            each.drain()
        for each in self.processes:
            each.drained.wait(max(0.1, deadline - monotonic()))

    def close(self, timeout_s: float) -> None:
        """Take last snapshots of the committed states, and end."""
        deadline = monotonic() + timeout_s
        for each in self.processes:
            each.close()
        for each in self.processes:
            if not each.ended.wait(max(0.1, deadline - monotonic())):
                each.kill()

    async def disconnect(self) -> None:
        """Before the event loop ends: close its connections to the owner."""
        for each in self.processes:
            if each.connection is not None:
                each.connection.disconnect()

    def _connection_of(self, shard: int) -> ScorerConnection | None:
        return self.processes[shard % len(self.processes)].connection


class ScorerCollector(Collector):
    """Without series for a service that scores in its own process."""

    def __init__(self, scorers: object) -> None:
        self._processes = scorers.processes if isinstance(scorers, ScorerProcesses) else ()

    def collect(self) -> Iterator[Metric]:
        up = {str(each.number): each.connection is not None for each in self._processes}
        yield gauge("clearhold_scorer_up", "1 while the scorer process answers, else 0.", up, "scorer")
        restarts = {str(each.number): each.restarts for each in self._processes}
        replaced = "Times that a scorer process died or hung and was replaced."
        yield counter("clearhold_scorer_restarts", replaced, restarts, "scorer")
