"""The log's Redis: connections, required settings, the memory in use; and the embedded one, a server process beside us
on a unix socket in the data directory, kept alive while we run.

A command is never repeated automatically: an append that was sent twice would be in the log twice. At its memory limit
Redis refuses to grow (``noeviction``), and callers get a 503. Idempotency claims stay for a day and would fill it
first: they are refused above half of the limit, so that events and decisions still have room.

Errors  ``RedisSettingsError`` for a Redis that could forget an entry it has confirmed, or that cannot be reached;
        ``StartupError`` when the embedded one cannot be started; its later failures are logged, and tried again
"""

import asyncio
import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import redis
import redis.asyncio
import structlog
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from clearhold.store.data_dir import DataDir
from clearhold.store.errors import StartupError
from clearhold.store.redis_log.child import ServerBinary, end, last_words, server_binary, spawn
from clearhold.store.redis_log.finders import ClusterNodes, knows_primary
from clearhold.store.redis_log.primary import primary_async, primary_sync

CONNECT_TIMEOUT_S: Final = 1.0
COMMAND_TIMEOUT_S: Final = 5.0
REQUIRED_SETTINGS: Final = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}

_NO_GREETING: Final[dict[str, Any]] = (
    {"driver_info": None} if find_spec("redis.driver_info") else {"lib_name": None, "lib_version": None}
)
"""A new connection waits for no answer, unless it needs a password: a thread would wait, for a Redis that hangs."""

_USUAL: Final[dict[str, Any]] = {
    "decode_responses": False,
    "protocol": 2,
    "socket_connect_timeout": CONNECT_TIMEOUT_S,
    "socket_timeout": COMMAND_TIMEOUT_S,
}


class RedisSettingsError(StartupError):
    """The settings of this Redis do not suit the log."""


def connect_sync(target: str | Path, *, answers_within_s: float = COMMAND_TIMEOUT_S) -> redis.Redis:
    """A client for threads. ``target`` is the path of a socket or a URL: ``redis://``, ``rediss://``, ``unix://``, or
    that of Sentinels or of a cluster (``finders.py``).
    """
    options = {**_USUAL, **_NO_GREETING, "socket_timeout": answers_within_s}
    retry = Retry(NoBackoff(), 0)
    if knows_primary(target):
        return primary_sync(str(target), retry=retry, **options)
    if _is_url(target):
        return redis.Redis.from_url(str(target), retry=retry, **options)
    return redis.Redis(unix_socket_path=str(target), retry=retry, **options)


def connect_async(target: str | Path) -> redis.asyncio.Redis:
    """As ``connect_sync``, for the event loop that uses it first."""
    retry = AsyncRetry(NoBackoff(), 0)
    if knows_primary(target):
        return primary_async(str(target), retry=retry, **_USUAL)
    if _is_url(target):
        return redis.asyncio.Redis.from_url(str(target), retry=retry, **_USUAL)
    return redis.asyncio.Redis(unix_socket_path=str(target), retry=retry, **_USUAL)


def unsafe_settings(client: redis.Redis) -> dict[str, str | None]:
    """The settings by which a confirmed entry can be lost, with their values; None for one that it does not have."""
    settings = {name: client.config_get(name).get(name) for name in REQUIRED_SETTINGS}
    return {name: value for name, value in settings.items() if value != REQUIRED_SETTINGS[name]}


def check_external(client: redis.Redis) -> None:
    """Refuse a Redis that may lose a confirmed entry; the sentence names the settings to change, and the commands."""
    try:
        wrong = unsafe_settings(client)
        is_cluster = client.config_get("cluster-enabled").get("cluster-enabled") == "yes"
    except AuthenticationError as error:
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL refuses the user or password of the URL, or demands one ({error})."
        ) from error
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL cannot be reached ({error}). Does it run, and is the address right?"
        ) from error
    except RedisError as error:
        raise RedisSettingsError(
            f"The settings of the Redis at CLEARHOLD_REDIS_URL cannot be read ({error}); CONFIG GET must be allowed."
        ) from error
    if is_cluster and not isinstance(client.connection_pool.connection_kwargs.get("finder"), ClusterNodes):
        raise RedisSettingsError(
            "The Redis at CLEARHOLD_REDIS_URL is a node of a cluster. Name several of its nodes, as "
            "redis+cluster://HOST:6379,HOST:6379."
        )
    if wrong:
        states = ", ".join(f"{name} is {value or 'unknown'}" for name, value in wrong.items())
        commands = "; ".join(f"CONFIG SET {name} {REQUIRED_SETTINGS[name]}" for name in wrong)
        raise RedisSettingsError(
            f"The Redis at CLEARHOLD_REDIS_URL could lose what it has confirmed: {states}. "
            f"Run {commands}; then CONFIG REWRITE, or set the same in its redis.conf."
        )


def _is_url(target: str | Path) -> bool:
    return isinstance(target, str) and "://" in target


READ_EVERY_S: Final = 1.0

_CLAIMS_SHARE: Final = 2


class RedisMemory:
    """The last reading; ``limit_bytes`` 0 is no limit. Belongs to the event loop; any thread may read it."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.limit_bytes = 0

    @property
    def has_room_for_claims(self) -> bool:
        return not self.limit_bytes or self.used_bytes <= self.limit_bytes // _CLAIMS_SHARE

    async def read(self, client: redis.asyncio.Redis) -> None:
        """Read it now; while Redis does not answer the last reading stays, and other metrics show the outage."""
        try:
            reading = await client.info("memory")
        except (RedisError, OSError):
            return
        self.used_bytes, self.limit_bytes = int(reading["used_memory"]), int(reading["maxmemory"])

    async def read_regularly(self, client: redis.asyncio.Redis) -> None:
        """Read it regularly until cancelled."""
        while True:
            await self.read(client)
            await asyncio.sleep(READ_EVERY_S)


READY_WITHIN_S: Final = 120.0
"""Reading back a log of some gigabytes takes about this long."""

_WATCH_EVERY_S: Final = 0.05
_POLL_S: Final = 0.01
_RETRY_AFTER_S: Final = 0.5
_SOCKET_PATH_BYTES: Final = 107

log = structlog.get_logger(__name__)


class EmbeddedRedis:
    """Owns the server. One thread starts, watches and ends it, since the server ends with the thread that forked it."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "redis"
        self._socket = data_dir / "redis.sock"
        self._reach = _short_enough(self._socket)
        self._binary: ServerBinary | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: threading.Thread | None = None
        self._started: Future[None] = Future()
        self._stopping = threading.Event()

    @property
    def socket_path(self) -> Path:
        """Where clients connect; relative to the working directory if the whole path is too long for a socket."""
        return self._reach

    @property
    def pid(self) -> int | None:
        """The server's process, or None."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def start(self) -> None:
        """Return once the server answers and has read back its log."""
        self.begin()
        self.wait()

    def begin(self) -> None:
        """Start the server, which reads back its log while the caller does something else."""
        if self._keeper is not None:
            raise RuntimeError("This Redis was started already.")
        self._stopping.clear()
        self._started = Future()
        self._keeper = threading.Thread(target=self._keep, args=(self._started,), name="redis-keeper", daemon=True)
        self._keeper.start()

    def wait(self) -> None:
        """Return once the server that was begun answers and has read back its log."""
        try:
            self._started.result()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, and wait for it."""
        if self._keeper is None:
            return
        self._stopping.set()
        self._keeper.join()
        self._keeper = None

    def _keep(self, started: Future[None]) -> None:
        try:
            self._launch()
        except BaseException as error:  # noqa: BLE001  # Nothing is swallowed: start() raises it
            started.set_exception(error)
            return
        started.set_result(None)
        while not self._stopping.wait(_WATCH_EVERY_S):
            self._revive_if_dead()
        self._end()

    def _revive_if_dead(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        log.error("redis_ended", status=self._process and self._process.returncode)
        try:
            self._launch()
        except StartupError as error:
            log.error("redis_restart_failed", error=str(error))  # noqa: TRY400  # The sentence says it all
            self._stopping.wait(_RETRY_AFTER_S)
        else:
            log.info("redis_restarted", pid=self.pid)

    def _launch(self) -> None:
        """Start a server and wait for it; a server that does not become ready is ended, and the reason raised."""
        try:
            self._process = spawn(self._chosen_binary(), self._folder, self._socket)
        except OSError as error:
            raise StartupError(f"Redis cannot be started in {self._folder}: {error}.") from error
        if not self._ready_in_time(self._process):
            self._end()
            raise StartupError(
                f"Redis did not start in {self._folder}. If its file is damaged, put a copy back, or repair it with "
                "the check-aof program of its version. If another server wrote it, as redis_chosen in an earlier log "
                f"says, only that one may be able to read it. Its last words: {last_words(self._folder)}"
            )

    def _chosen_binary(self) -> ServerBinary:
        """The server program, chosen once, so that it does not change during a run."""
        if self._binary is None:
            binary = server_binary()
            log.info("redis_chosen", path=str(binary.path), version=".".join(map(str, binary.version)))
            self._binary = binary
        return self._binary

    def _ready_in_time(self, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + READY_WITHIN_S
        with contextlib.closing(connect_sync(self._reach)) as client:
            while time.monotonic() < deadline and process.poll() is None and not self._stopping.is_set():
                # Not listening yet, or still reading its log (-LOADING): wait.
                with contextlib.suppress(redis.RedisError):
                    if client.ping() and not client.info("persistence")["loading"]:
                        return True
                time.sleep(_POLL_S)
        return False

    def _end(self) -> None:
        if self._process is not None:
            end(self._process)


def _short_enough(socket: Path) -> Path:
    for path in (socket, Path(os.path.relpath(socket))):
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES:
            return path
    raise StartupError(
        f"The path {socket} is too long for a unix socket ({_SOCKET_PATH_BYTES} bytes); "
        "use a shorter data directory, or start from within it."
    )


class BegunRedis(NamedTuple):
    """The address of Redis, and a wait for its first answer: loading its log may take seconds."""

    target: str | Path
    wait: Callable[[], None]


def begun_redis(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> BegunRedis:
    """The embedded Redis, started and not awaited, or the named one, checked."""
    if redis_url is not None:
        with closing(connect_sync(redis_url)) as client:
            check_external(client)
        return BegunRedis(redis_url, lambda: None)
    embedded = EmbeddedRedis(data_dir.path)
    embedded.begin()
    opened.callback(embedded.stop)
    return BegunRedis(embedded.socket_path, embedded.wait)


def redis_target(redis_url: str | None, data_dir: DataDir, opened: ExitStack) -> str | Path:
    """The address of the log's Redis: the embedded one, started now, or the named one."""
    begun = begun_redis(redis_url, data_dir, opened)
    begun.wait()
    return begun.target
