"""A primary and its replicas, and Sentinels, on ports of this machine: real servers, which tests stop and kill."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

import redis

from clearhold.store.redis_log.child import SETTINGS, server_binary
from tests.support.redis_process import pongs
from tests.support.waiting import eventually

HOST: Final = "127.0.0.1"
QUICK: Final = ("--repl-diskless-sync-delay", "0", "--repl-timeout", "3", "--repl-ping-replica-period", "1")


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


class RedisProcess:
    """A server on a port of ``host``, with the settings of the log's Redis and those of ``options``; with ``netns`` in
    that network namespace, on all of its addresses.
    """

    def __init__(self, folder: Path, *options: str, host: str = HOST, netns: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.host, self.port, self._netns = folder, host, free_port(), netns
        self._options = options
        self.process = self._started()

    @property
    def url(self) -> str:
        return f"redis://{self.host}:{self.port}"

    def client(self) -> redis.Redis:
        return redis.Redis(host=self.host, port=self.port, socket_timeout=5)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def again(self) -> None:
        """Start it once more, on its files."""
        self.process = self._started()
        self.wait()

    def wait(self) -> None:
        with closing(self.client()) as client:
            eventually(lambda: pongs(client))

    def stop(self) -> None:
        """It keeps its connections and answers nothing."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def follow(self, primary: "RedisProcess", at: str = "") -> None:
        """Become its replica; ``at`` is its address for this server, if it differs."""
        with closing(self.client()) as client:
            client.replicaof(at or primary.host, primary.port)
            eventually(lambda: client.info("replication").get("master_link_status") == "up", within_s=20)

    def _started(self) -> "subprocess.Popen[bytes]":
        within = ("ip", "netns", "exec", self._netns) if self._netns else ()
        bound = ("--port", str(self.port), "--bind", "*" if self._netns else self.host, "--protected-mode", "no")
        settings = ("--dir", str(self.folder), *SETTINGS, *QUICK, *bound)
        command = [*within, str(server_binary().path), *settings, *self._options]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)


@contextmanager
def replicated_redis(folder: Path, replicas: int) -> Iterator[tuple[RedisProcess, list[RedisProcess]]]:
    """A primary that ``replicas`` follow."""
    with ExitStack() as opened:
        servers = []
        for number in range(1 + replicas):
            servers.append(RedisProcess(folder / f"redis{number}"))
            opened.callback(_ended, servers[-1].process)
        primary, *followers = servers
        for each in servers:
            each.wait()
        for each in followers:
            each.follow(primary)
        yield primary, followers
        for each in servers:
            opened.callback(_ended, each.process)


@contextmanager
def sentinels(folder: Path, primary: RedisProcess, name: str, count: int = 3, down_ms: int = 1_000) -> Iterator[str]:
    """Sentinels that watch a primary; yields the address for the service."""
    ports = [free_port() for _ in range(count)]
    with ExitStack() as opened:
        for number, port in enumerate(ports):
            settings = folder / f"sentinel{number}.conf"
            settings.write_text("\n".join(_watching(port, primary, name, count // 2 + 1, down_ms)) + "\n")
            server = subprocess.Popen([server_binary().path, settings, "--sentinel"], stdout=subprocess.DEVNULL)
            opened.callback(_ended, server)
        for port in ports:
            with closing(redis.Redis(host=HOST, port=port, socket_timeout=5)) as client:
                eventually(lambda: pongs(client))
                eventually(lambda: _knows_all(client, name, count - 1), within_s=20)
        yield f"redis+sentinel://{','.join(f'{HOST}:{port}' for port in ports)}/{name}"


def _watching(port: int, primary: RedisProcess, name: str, quorum: int, down_ms: int) -> Sequence[str]:
    return (
        f"port {port}",
        f"bind {HOST}",
        f"sentinel monitor {name} {primary.host} {primary.port} {quorum}",
        f"sentinel down-after-milliseconds {name} {down_ms}",
        f"sentinel failover-timeout {name} 10000",
    )


def _knows_all(client: redis.Redis, name: str, others: int) -> bool:
    about = client.execute_command("SENTINEL", "MASTER", name)
    state = about if isinstance(about, dict) else dict(zip(about[::2], about[1::2], strict=True))
    known = {str(key, "ascii") if isinstance(key, bytes) else key: value for key, value in state.items()}
    return int(known["num-other-sentinels"]) >= others and int(known["num-slaves"]) >= 1


def _ended(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
