"""The one owner of the log in a named Redis: taken at a start, renewed each second, demanded by every write.

stand by ─▶ take (at the start, or after another's silence) ─▶ renew each second ─▶ release (at a clean stop)
                                                            └▶ FENCED: another service has taken it; this one ends

A copy of a data directory, a restored disk or a snapshot of a machine is a second service for the same log, and the
directory's lock does not see it. Redis is the place that both share. The writes of a former owner are refused there, so
neither its clock nor its pauses matter. What it does outside of the log (commits, webhooks, actions, signatures) waits
until a renewal is newer than ``CURRENT_WITHIN_S``.

A node is a data directory in its place: a copy is another node, and so is a restored one. The same node in the same run
of the machine may take the log at once, because the directory's lock shows that its former process has ended.

A member that finds another owner stands by (``flows/roles.py``): it commits what the log has, and takes the log when
the owner has been silent for ``LIVE_S`` by the member's clock.

Clock   Redis' own for ``seen``; this process's monotonic clock for its own renewals
Errors  ``StartupError`` while another owner is live; ``RedisSettingsError`` for a Redis without functions
"""

import os
import socket
import time
from collections import deque
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple

import redis
import structlog
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from clearhold.store.errors import StartupError
from clearhold.store.redis_log.child import LEAST_VERSION
from clearhold.store.redis_log.connect import RedisSettingsError
from clearhold.store.redis_log.reader import TRIMMED, shard_key, stream_id_of
from clearhold.store.redis_log.writes import EPOCH, FENCES, MEMBERS, OWNER, WANTED

LIBRARY_NAME: Final = "clearhold"
LIBRARY: Final = Path(__file__).with_name("owner.lua").read_text(encoding="utf-8")
DIGEST: Final = sha256(LIBRARY.encode()).hexdigest()

RENEW_EVERY_S: Final = 1.0
LIVE_S: Final = 5.0
"""The time without a renewal after which another node may take the log; ``LIVE_MS`` of the library."""

CURRENT_WITHIN_S: Final = 4.0
"""The time since a renewal within which the log has no other owner; below ``LIVE_S``."""

FENCED_EXIT: Final = 3
"""The exit code of a process that no longer owns its log."""

ANSWERS_WITHIN_S: Final = 1.0
_RETRY_S: Final = 0.2
_LOOK_EVERY_S: Final = 0.2
_KEPT_BEATS: Final = 30  # renewals that a failover may lose
_FENCED: Final = "FENCED"
_LOST_FUNCTION: Final = ("ERR Function not found", "Function not found")
NODE_FILE: Final = "node"
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # a suspended machine is not current either

log = structlog.get_logger()


class OwnerRefusedError(StartupError):
    """Another node owns the log."""


class NotOwnerError(Exception):
    """No renewal is new enough to do what only the owner may do."""


class LogNode(NamedTuple):
    """A data directory in its place, and the present run of its machine."""

    id: str
    boot: str


def node_of(folder: Path) -> LogNode:
    """The node of a directory. The kernel gives a copy of its file another inode or time of change."""
    path = folder / NODE_FILE
    if not path.exists():
        path.write_bytes(os.urandom(16))
    status = path.stat()
    own = f"{path.read_bytes().hex()} {status.st_ino} {status.st_ctime_ns}"
    boot = _BOOT.read_text(encoding="ascii").strip() if _BOOT.exists() else socket.gethostname()
    return LogNode(f"node_{sha256(own.encode()).hexdigest()[:12]}", boot)


def _require_functions(client: redis.Redis) -> None:
    """Load the functions; refuse a Redis that is too old."""
    version = str(client.info("server")["redis_version"])
    if tuple(map(int, version.split(".")[:2])) < LEAST_VERSION:
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL has version {version}. It must be Redis or Valkey 7.2 or newer, for the "
            "functions that guard the log."
        )
    load_library(client)


def load_library(client: redis.Redis) -> None:
    """Make sure that Redis has this version's functions."""
    if not _has_library(client.execute_command("FUNCTION", "LIST", "LIBRARYNAME", LIBRARY_NAME, "WITHCODE")):
        client.execute_command("FUNCTION", "LOAD", "REPLACE", LIBRARY)


async def load_library_on(connection: AbstractConnection) -> None:
    """As ``load_library``, on one connection."""
    await connection.send_command("FUNCTION", "LIST", "LIBRARYNAME", LIBRARY_NAME, "WITHCODE")
    if not _has_library(await connection.read_response(disable_decoding=True)):
        await connection.send_command("FUNCTION", "LOAD", "REPLACE", LIBRARY)
        await connection.read_response()


def _has_library(listing: Any) -> bool:
    for library in listing:
        pairs = library.items() if isinstance(library, dict) else zip(library[::2], library[1::2], strict=True)
        for name, value in pairs:
            if name == b"library_code":
                return sha256(value).hexdigest() == DIGEST
    return False


class OtherOwner(NamedTuple):
    """Another owner, as Redis has it: ``silent_ms`` by Redis' clock, ``beat`` the word of its newest renewal."""

    node: str
    address: str
    silent_ms: int
    beat: bytes


class LogOwnership:
    """Held from ``attempt`` until ``release``, or until another node takes the log; a standby does not hold it. For any
    thread.
    """

    def __init__(
        self, client: redis.Redis, node: LogNode, address: str, epoch: int = 0, beat: str = "", *, taken_at: float = 0.0
    ) -> None:
        """``client`` belongs to the renewals; ``epoch`` 0 is that of a standby. ``taken_at`` is a time of ``now_s``
        before the log was taken.
        """
        self.node, self.address, self.epoch = node, address, epoch
        self.members = 1
        """How many nodes own or follow the log, at the newest renewal."""
        self.wanted: LogNode | None = None
        """The node that an operator wants to be the owner, at the newest renewal."""
        self.fences: int | None = None
        """How many services ended as former owners of the log, at the newest renewal."""
        self._client, self._beats = client, deque([beat], maxlen=_KEPT_BEATS)
        self._renewed_at, self._is_fenced = taken_at, False
        self._lock, self._stopping = Lock(), Event()
        self._thread = Thread(target=self._renew_regularly, name="log-owner", daemon=True)
        self._on_fenced: Callable[[str], None] = lambda _: None
        self._failure: str | None = None

    def attempt(self, *, take_over: bool = False, dead_beat: bytes = b"") -> OtherOwner | None:
        """Take the log; None once this node has it. Another owner keeps it unless it has been silent or released it, or
        ``take_over``, or its newest renewal is still ``dead_beat``.
        """
        taken_at, beat = now_s(), os.urandom(8).hex()
        node = self.node
        call = (node.id, node.boot, self.address, beat, int(take_over), dead_beat)
        epoch, *other = self._client.execute_command("FCALL", "clearhold_take", 2, OWNER, EPOCH, *call)
        if not epoch:
            their_node, their_address, silent_ms, their_beat = other
            return OtherOwner(their_node.decode(), their_address.decode(), silent_ms, their_beat)
        self._beats, self._renewed_at = deque([beat], maxlen=_KEPT_BEATS), taken_at
        self.epoch = epoch
        log.info("owner_taken", epoch=epoch, node=node.id)
        return None

    @property
    def is_owner(self) -> bool:
        """Whether this node has taken the log, and no other one since, as far as is known."""
        return self.epoch > 0 and not self._is_fenced

    def start(self, on_fenced: Callable[[str], None]) -> None:
        """Renew from now on; ``on_fenced`` gets a sentence, once, on any thread, and should end the process."""
        self._on_fenced = on_fenced
        self._thread.start()

    def release(self) -> None:
        """Let the next owner take the log at once."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2 * ANSWERS_WITHIN_S)
        try:
            if self.is_owner:
                self._client.execute_command("FCALL", "clearhold_release", 1, OWNER, self.epoch)
        except (RedisError, OSError) as error:
            log.warning("owner_not_released", error=str(error))
        self._client.close()

    def hand_over(self, to: LogNode, address: str) -> None:
        """Let this node take the log at once, and appends of this one end; raises the client's errors."""
        self._stopping.set()
        epoch, self.epoch = self.epoch, 0  # first: a refusal of the ended epoch is expected from here on
        call = ("clearhold_hand_over", 2, OWNER, EPOCH, epoch, to.id, to.boot, address)
        self._client.execute_command("FCALL", *call)
        log.warning("owner_handed_over", epoch=epoch, node=to.id, address=address)

    def is_current(self) -> bool:
        """Whether the log has no other owner now, as far as the last renewal shows it."""
        return self.is_owner and now_s() - self._renewed_at < CURRENT_WITHIN_S

    @property
    def renewed_s_ago(self) -> float:
        """Seconds since the newest renewal; 0 for a standby."""
        return now_s() - self._renewed_at if self.epoch else 0.0

    def require_current(self) -> None:
        """Raise NotOwnerError unless ``is_current``: before an effect outside of the log."""
        if not self.is_current():
            raise NotOwnerError("It is not certain that this service still owns the log in Redis.")

    def require_commit(self) -> None:
        """Raise NotOwnerError unless this node may commit what the log has: as a standby, or as the owner."""
        if self.epoch:
            self.require_current()

    def note(self, error: Exception) -> bool:
        """Look at a refusal of Redis: end as a former owner if it says so. True when the functions are gone, so that
        the connection must be made again.
        """
        text = str(error)
        if text.startswith(_FENCED) and self.epoch:
            self._end(text)
        return text.startswith(_LOST_FUNCTION)

    def trim(self, execute: Callable[..., Any], shard: int, upto: int) -> int:
        """Drop a shard's entries up to an offset, by ``execute``, which runs a command; refused with ``NEEDED`` while a
        member needs one of them.
        """
        if not self.is_owner:
            raise NotOwnerError("The log is trimmed by its owner alone.")
        keys, least = (OWNER, TRIMMED, shard_key(shard), MEMBERS), stream_id_of(upto + 1)
        try:
            return int(execute("FCALL", "clearhold_trim", len(keys), *keys, self.epoch, shard, upto, least))
        except ResponseError as error:
            self.note(error)
            raise

    def _renew_regularly(self) -> None:
        pause_s = RENEW_EVERY_S
        while not self._stopping.wait(pause_s):
            pause_s = RENEW_EVERY_S if self._renewed() else _RETRY_S

    def _renewed(self) -> bool:
        began, beat = now_s(), os.urandom(8).hex()
        self._beats.append(beat)  # before it is sent: the reply may be lost
        try:
            self._client.execute_command("FCALL", "clearhold_renew", 1, OWNER, self.epoch, *reversed(self._beats))
            self.members = int(self._client.execute_command("HLEN", MEMBERS))
            self.fences = int(self._client.execute_command("HGET", OWNER, FENCES) or 0)
            wanted = self._client.execute_command("GET", WANTED)
            self.wanted = None if wanted is None else LogNode(*wanted.decode().split(" ", 1))
        except (RedisError, OSError) as error:
            self._look_at_failure(error)
            return False
        self._renewed_at = began
        if self._failure is not None:
            log.warning("owner_renewed_again", epoch=self.epoch)
            self._failure = None
        return True

    def _look_at_failure(self, error: Exception) -> None:
        if self._failure is None:
            log.warning("owner_not_renewed", epoch=self.epoch, error=str(error))
        self._failure = str(error)
        if self.note(error):
            try:
                load_library(self._client)
            except (RedisError, OSError) as again:
                log.warning("owner_functions_not_loaded", error=str(again))

    def _end(self, text: str) -> None:
        with self._lock:
            if self._is_fenced:
                return
            self._is_fenced = True
        try:
            self._client.execute_command("HINCRBY", OWNER, FENCES, 1)  # for the metrics of the next owner
        except (RedisError, OSError) as error:
            log.warning("fence_not_counted", error=str(error))
        refusal, _, other = text.partition(" by ")
        self._on_fenced(
            f"The log at CLEARHOLD_REDIS_URL was taken by {other}, with epoch {refusal.split()[-1]}. This service had "
            f"epoch {self.epoch}; it has appended nothing since, and stops."
        )


def now_s() -> float:
    """Seconds of a clock that nothing sets, and that counts while the machine is suspended."""
    return time.clock_gettime(_CLOCK)


def taken(client: redis.Redis, node: LogNode, address: str, *, take_over: bool) -> LogOwnership:
    """Take the log; OwnerRefusedError while another node renews it, unless ``take_over``.

    A silent owner is waited for, ``LIVE_S`` at the longest: it may have been killed just now.
    """
    try:
        _require_functions(client)
        return _taken(client, node, address, take_over=take_over)
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise RedisSettingsError(f"The Redis at CLEARHOLD_REDIS_URL does not answer ({error}). Does it run?") from error
    except RedisError as error:
        raise RedisSettingsError(
            f"The functions that guard the log cannot be loaded or called in the Redis at CLEARHOLD_REDIS_URL ({error})"
            ". Its user needs +fcall +function|list +function|load +time; docs/operations.md has the whole list."
        ) from error


def _taken(client: redis.Redis, node: LogNode, address: str, *, take_over: bool) -> LogOwnership:
    ownership = LogOwnership(client, node, address)
    began, watched = now_s(), b""
    while True:
        is_dead = watched if now_s() - began > LIVE_S else b""
        other = ownership.attempt(take_over=take_over, dead_beat=is_dead)
        if other is None:
            return ownership
        if watched and watched != other.beat:
            raise OwnerRefusedError(
                "The log at CLEARHOLD_REDIS_URL has an owner, which renewed it "
                f"{max(0, other.silent_ms) / 1_000:.1f} s ago: {other.node} at {other.address}. Stop that service "
                "first. If it must end at once, start this one with --take-over: it then owns the log, and the other "
                "one stops."
            )
        if not watched:
            log.info("owner_watched", node=other.node, address=other.address)
        watched = watched or other.beat
        time.sleep(_LOOK_EVERY_S)
