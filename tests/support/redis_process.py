"""Redis processes as tests meet them: killed, stopped, left behind."""

import os
import subprocess
import sys
from pathlib import Path

from redis import Redis, RedisError

from store.redis_log.server import EmbeddedRedis

_SERVICE = """
import sys, time
from pathlib import Path
from redis import Redis, RedisError

from store.redis_log.server import EmbeddedRedis
server = EmbeddedRedis(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


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
