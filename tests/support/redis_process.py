"""Redis processes as tests meet them: killed, stopped, left behind."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from redis import Redis, RedisError

from clearhold.store.redis_log.child import SETTINGS, server_binary
from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.waiting import eventually

_SERVICE = """
import sys, time
from pathlib import Path
from redis import Redis, RedisError

from clearhold.store.logs import configure_logs
from clearhold.store.redis_log.connect import EmbeddedRedis
configure_logs()
server = EmbeddedRedis(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def redis_of_its_own(folder: Path) -> Iterator[Callable[[], None]]:
    """A Redis in ``folder/redis.sock`` that nobody keeps alive, set up as the log needs it; yields what kills it.

    A folder that is there already is read back.
    """
    folder.mkdir(exist_ok=True)
    settings = ["--dir", str(folder), "--unixsocket", str(folder / "redis.sock"), *SETTINGS]
    server = subprocess.Popen([server_binary().path, *settings], stdout=subprocess.DEVNULL)
    try:
        with Redis(unix_socket_path=str(folder / "redis.sock")) as client:
            eventually(lambda: pongs(client))
        yield server.kill
    finally:
        server.kill()
        server.wait()


def alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def pid_of(server: EmbeddedRedis) -> int:
    assert server.pid is not None
    return server.pid


def pongs(client: Redis) -> bool:
    """Whether the server answers, and has read back its log."""
    try:
        return bool(client.ping())
    except RedisError:
        return False


def service_with_redis(data_dir: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A process of its own that keeps an embedded Redis; and the pid of that Redis."""
    service = subprocess.Popen([sys.executable, "-c", _SERVICE, str(data_dir)], stdout=subprocess.PIPE, env=os.environ)
    assert service.stdout is not None
    with service.stdout:
        return service, int(service.stdout.readline())
