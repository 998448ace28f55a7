"""Scorer processes and their supervision: each is started, read from, and replaced when it dies or hangs.

One thread a scorer does all of it in order: give the scorer its shards under a new epoch, start it, take its rows until
it ends, wait a little, begin again. Until a scorer is ready, its programs have no answers, and their events stay in the
log.
"""

import mmap
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Final, NamedTuple

import msgspec
import redis
import structlog

from clearhold.features.core.instants import pause_after
from clearhold.flows.running.own_python import import_environment, module_command
from clearhold.flows.scorer.scoring import Commits
from clearhold.flows.scorer.wire import Beginning, FrameKind, ScorerConnection, Start, frame, receive
from clearhold.flows.stream.dataflow import decoded
from clearhold.store.redis_log.reader import owner_key

AT_WORK: Final = frozenset("RD")  # runs or could run; waits for a disk


class Usage(NamedTuple):
    """The kernel's account of a process: the letter of its state, and its processor time in ticks."""

    state: str
    ticks: int


def usage_of(pid: int) -> Usage:
    """From ``/proc/<pid>/stat``: Linux, where scorers run. A name may hold blanks and brackets; none follows it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return Usage(fields[0], int(fields[11]) + int(fields[12]))


class Silence:
    """The silence of one scorer, checked every ``step_s`` without a message: one that hangs is replaced soon.

    On an overloaded machine or with a stalled disk a healthy scorer is silent too, and replacing it would add the work
    of a start. The kernel shows the difference: a working process uses or awaits a processor or a disk.
    """

    def __init__(self, pid: int, *, step_s: float, hung_after_s: float, longest_s: float) -> None:
        self._pid, self._step_s = pid, step_s
        self._hung_after_s, self._longest_s = hung_after_s, longest_s
        self._lasts_s = self._idle_s = 0.0
        self._ticks = 0

    def ended(self) -> None:
        self._lasts_s = self._idle_s = 0.0

    def goes_on(self) -> None:
        """One more silent step; ``TimeoutError`` at the limit."""
        state, ticks = usage_of(self._pid)
        worked = state in AT_WORK or (self._lasts_s > 0 and ticks > self._ticks)
        self._lasts_s += self._step_s
        self._idle_s = 0.0 if worked else self._idle_s + self._step_s
        self._ticks = ticks
        if self._idle_s >= self._hung_after_s:
            raise TimeoutError(f"It has been silent and without work for {self._idle_s:.0f} s.")
        if self._lasts_s >= self._longest_s:
            raise TimeoutError(f"It has been silent for {self._lasts_s:.0f} s.")


HUNG_AFTER_S: Final = 10.0
LOADED_WITHIN_S: Final = 120.0
SILENT_AT_WORK_S: Final = 120.0
STEPS: Final = 4  # checks of a silent scorer until it counts as hung
AGAIN_AFTER_S: Final = 0.25
MOST_FAILED_STARTS: Final = 5
LONGEST_PAUSE_S: Final = 15.0
SCORER: Final = "clearhold.flows.scorer.process"
_OURS: Final = "CLEARHOLD_"  # variables of the service, among them its secrets
_EPOCH: Final = "epoch"
_ADDRESS: Final = "address"

log = structlog.get_logger()


class ScorerFailedError(Exception):
    """A scorer reported an error and ended."""


class ScorerPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The address of the log, the key of its seals and the folders of the scorers; ``with_live`` they make the entries
    of the live streams.
    """

    log: str
    seal_key: bytes | None
    snapshots: Path
    lake: Path
    state_version: int
    replicas: int = 0
    with_live: bool = False


class _Begun(NamedTuple):
    """A process that loads its snapshots, and our ends of its sockets."""

    process: "subprocess.Popen[bytes]"
    rows: socket.socket
    questions: ScorerConnection


class ScorerProcess:
    """The owner of some shards: one process at a time."""

    def __init__(
        self,
        number: int,
        owned: tuple[int, ...],
        places: ScorerPaths,
        *,
        shards: int,
        open_redis: Callable[[], redis.Redis],
        module: str = SCORER,
    ) -> None:
        self.number, self.owned = number, owned
        self._places, self._shards, self._open_redis, self._module = places, shards, open_redis, module
        self._begun: _Begun | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._rows: socket.socket | None = None
        self._sending = Lock()
        self._ending = Event()
        self.drained, self.ended = Event(), Event()
        self._questions: ScorerConnection | None = None
        self.connection: ScorerConnection | None = None  # while the scorer is ready
        self.failure: str | None = "is starting"
        self.restarts = self._failed_starts = 0
        self.gave_up = False
        self.snapshot_offsets: dict[int, int] = {}
        self.applied_offsets: dict[int, int] = {}
        """The offset of its states, as reported while it starts; a lower bound afterwards."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def begin(self) -> None:
        """Start a process that imports, loads its newest snapshots, and waits for ``look_after``."""
        self._begun = self._new_process()

    def abandon(self) -> None:
        """End a process that ``begin`` started, if ``look_after`` is not called."""
        if self._begun is None:
            return
        begun, self._begun = self._begun, None
        begun.process.kill()
        begun.process.communicate()  # which closes its input and waits
        begun.rows.close()
        begun.questions.close()

    def look_after(self, commits: Commits) -> None:
        """Keep a scorer running until ``close``; the thread's whole life."""
        failures = 1
        while not self._ending.is_set() and not self.gave_up:
            began = monotonic()
            try:
                self._run_one(commits)
            except Exception as error:  # noqa: BLE001 - whatever failed: without this thread its shards have no owner
                self.failure = f"{type(error).__name__}: {error}"
                self._failed_starts += not isinstance(error, redis.RedisError)  # Redis returns without a new scorer
            self._clean_up()
            if self._ending.is_set():
                break
            self.restarts += 1
            self.gave_up = self._failed_starts >= MOST_FAILED_STARTS
            log.error("scorer_ended", scorer=self.number, error=self.failure, restarts=self.restarts)
            failures = 1 if monotonic() - began > LONGEST_PAUSE_S else failures + 1
            self._ending.wait(pause_after(failures, AGAIN_AFTER_S, LONGEST_PAUSE_S))
        self.drained.set()
        self.ended.set()

    def send(self, kind: FrameKind, body: object = None) -> None:
        """Send a message; a scorer that cannot take it has a full socket or is dying, and gets it later."""
        data = frame(kind, b"" if body is None else msgspec.msgpack.encode(body))
        with self._sending:
            if self._rows is not None:
                try:
                    self._rows.sendall(data)
                except OSError as error:
                    log.warning("scorer_not_told", scorer=self.number, kind=kind.name, error=str(error))

    def drain(self) -> None:
        self._ending.set()
        self.send(FrameKind.DRAIN)

    def close(self) -> None:
        self._ending.set()
        self.send(FrameKind.CLOSE)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _run_one(self, commits: Commits) -> None:
        self.applied_offsets = {}
        epochs = self._new_epochs(commits)
        places = self._places
        start = Start(
            log=places.log,
            epochs=epochs,
            committed=commits.give_away(epochs),
            with_live=places.with_live,
            seal_key=places.seal_key,
            replicas=places.replicas,
        )
        begun, self._begun = self._begun or self._new_process(), None
        self._process, self._questions = begun.process, begun.questions
        with self._sending:
            self._rows = begun.rows
        assert begun.process.stdin is not None
        with begun.process.stdin as stdin:
            stdin.write(msgspec.json.encode(start) + b"\n")
        if self._ending.is_set():
            self.send(FrameKind.DRAIN)
        self._listen(begun.rows, self._questions, commits)

    def _new_process(self) -> _Begun:
        rows, their_rows = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        questions, their_questions = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        flag = os.memfd_create("clearhold-asked")
        os.ftruncate(flag, 1)
        with their_rows, their_questions:
            beginning = Beginning(
                rows=their_rows.fileno(),
                questions=their_questions.fileno(),
                flag=flag,
                snapshots=str(self._places.snapshots),
                lake=str(self._places.lake),
                state_version=self._places.state_version,
                shards=self._shards,
                owned=self.owned,
            )
            process = self._spawned(beginning)
        shared = mmap.mmap(flag, 1)
        os.close(flag)
        return _Begun(process, rows, ScorerConnection(questions, shared))

    def _spawned(self, beginning: Beginning) -> "subprocess.Popen[bytes]":
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        process = subprocess.Popen(  # noqa: S603 - the module is named by code
            module_command(self._module),
            stdin=subprocess.PIPE,
            pass_fds=(beginning.rows, beginning.questions, beginning.flag),
            process_group=0,  # apart from a Ctrl-C, and in the service's session: store/scheduling.py
            env=inherited | import_environment(),
        )
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(beginning) + b"\n")
        process.stdin.flush()
        return process

    def _listen(self, rows: socket.socket, connection: ScorerConnection, commits: Commits) -> None:
        """Take messages until the scorer closes; too long a silence ends it."""
        silence = self._silence(rows, LOADED_WITHIN_S)
        while True:
            try:
                kind, body = receive(rows, silence.goes_on)
            except ConnectionError:
                if self._ending.is_set():
                    return
                raise
            silence.ended()
            if kind is FrameKind.BATCH:
                commits.put(decoded(body))
            elif kind is FrameKind.READY:
                silence = self._silence(rows, HUNG_AFTER_S)
                self.failure, self.connection, self._failed_starts = None, connection, 0
                log.info("scorer_ready", scorer=self.number, pid=self.pid)
            else:
                self._note(kind, body)

    def _silence(self, rows: socket.socket, hung_after_s: float) -> Silence:
        assert self.pid is not None
        step_s = hung_after_s / STEPS
        rows.settimeout(step_s)
        return Silence(self.pid, step_s=step_s, hung_after_s=hung_after_s, longest_s=SILENT_AT_WORK_S)

    def _note(self, kind: FrameKind, body: memoryview) -> None:
        """Note the scorer's report on itself."""
        if kind is FrameKind.SNAPSHOTS:
            self.snapshot_offsets |= msgspec.msgpack.decode(body, type=dict[int, int])
        elif kind is FrameKind.APPLIED:
            self.applied_offsets = msgspec.msgpack.decode(body, type=dict[int, int])
        elif kind is FrameKind.DRAINED:
            self.drained.set()
        elif kind is FrameKind.FAILED:
            raise ScorerFailedError(msgspec.msgpack.decode(body, type=str))

    def _new_epochs(self, commits: Commits) -> dict[int, int]:
        """A new epoch for each shard, larger than those in Redis and in the tables, since Redis may have been
        reset. Redis shows it to readers that look for the owner.
        """
        address = f"{socket.gethostname()}/{os.getpid()}/{self.number}"
        with self._open_redis() as client:
            pipeline = client.pipeline(transaction=True)
            for shard in self.owned:
                pipeline.hincrby(owner_key(shard), _EPOCH, 1)
            counted = zip(self.owned, map(int, pipeline.execute()), strict=True)
            epochs = {shard: max(epoch, commits.epoch_of(shard) + 1) for shard, epoch in counted}
            for shard, epoch in epochs.items():
                pipeline.hset(owner_key(shard), mapping={_EPOCH: epoch, _ADDRESS: address})
            pipeline.execute()
        return epochs

    def _clean_up(self) -> None:
        self.connection = None
        if self._questions is not None:
            self._questions.close()
            self._questions = None
        self.failure = self.failure or "It has ended."
        with self._sending:
            if self._rows is not None:
                self._rows.close()
                self._rows = None
        self.kill()
        if self._process is not None:
            self._process.wait()
