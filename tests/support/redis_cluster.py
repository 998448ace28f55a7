"""A Redis Cluster on ports of this machine: three primaries with a replica each, real servers, which tests kill."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from clearhold.store.redis_log.tagged import SLOT, TAG
from tests.support.redis_replicas import HOST, RedisProcess, free_port
from tests.support.waiting import eventually

PRIMARIES: Final = 3
SLOTS: Final = 16_384
NODE_TIMEOUT_MS: Final = 1_000


class Cluster:
    """``nodes`` are the primaries, and a replica of each in the same order."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.nodes: list[RedisProcess] = []
        self._bus_ports: list[int] = []
        for number in range(2 * PRIMARIES):
            self._bus_ports.append(free_port())
            settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MS))
            node = RedisProcess(folder / f"node{number}", *settings, "--cluster-port", str(self._bus_ports[-1]))
            self.nodes.append(node)
            opened.callback(node.kill)
        for node in self.nodes:
            node.wait()
        self._join()

    @property
    def url(self) -> str:
        return f"redis+cluster://{','.join(f'{HOST}:{node.port}' for node in self.nodes)}"

    def ask(self, node: RedisProcess, *words: str | int) -> Any:
        with closing(node.client()) as client:
            return client.execute_command(*words)

    def running(self) -> list[RedisProcess]:
        return [node for node in self.nodes if node.process.poll() is None]

    def owner(self) -> RedisProcess:
        """The primary of the log's slot, as the first node says that runs."""
        return self.owner_by(self.running()[0])

    def is_owned_by(self, owner: RedisProcess) -> bool:
        """Whether all nodes that run say so."""
        return all(self.owner_by(node) is owner for node in self.running())

    def owner_by(self, node: RedisProcess) -> RedisProcess:
        for first, last, (_, port, *_), *_ in self.ask(node, "CLUSTER", "SLOTS"):
            if first <= SLOT <= last:
                return next(each for each in self.nodes if each.port == port)
        raise AssertionError

    def others(self) -> list[RedisProcess]:
        """The primaries of the other slots."""
        owner = self.owner()
        return [node for node in self.running() if node is not owner and self.ask(node, "ROLE")[0] == b"master"]

    def move_slot(self, to: RedisProcess) -> None:
        """Move the log's slot key by key, as ``redis-cli --cluster reshard`` does."""
        source = self.owner()
        source_id, target_id = self.id_of(source), self.id_of(to)
        self.ask(to, "CLUSTER", "SETSLOT", SLOT, "IMPORTING", source_id)
        self.ask(source, "CLUSTER", "SETSLOT", SLOT, "MIGRATING", target_id)
        while keys := self.ask(source, "CLUSTER", "GETKEYSINSLOT", SLOT, 100):
            self.ask(source, "MIGRATE", HOST, to.port, "", 0, 5_000, "REPLACE", "KEYS", *keys)
        for node in (to, source):
            self.ask(node, "CLUSTER", "SETSLOT", SLOT, "NODE", target_id)
        eventually(lambda: self.is_owned_by(to))

    def stored(self) -> set[bytes]:
        """The keys of the log's primary."""
        return set(self.ask(self.owner(), "KEYS", "*"))

    def _join(self) -> None:
        first, primaries = self.nodes[0], self.nodes[:PRIMARIES]
        for number, node in enumerate(primaries):
            begin, end = number * SLOTS // PRIMARIES, (number + 1) * SLOTS // PRIMARIES - 1
            self.ask(node, "CLUSTER", "ADDSLOTSRANGE", begin, end)
        for node, bus_port in zip(self.nodes[1:], self._bus_ports[1:], strict=True):
            self.ask(first, "CLUSTER", "MEET", HOST, node.port, bus_port)
        eventually(lambda: all(self._knows_all(node) for node in self.nodes), within_s=30)
        for node, primary in zip(self.nodes[PRIMARIES:], primaries, strict=True):
            self.ask(node, "CLUSTER", "REPLICATE", self.id_of(primary))
        eventually(lambda: all(self._is_ready(node) for node in self.nodes), within_s=30)

    def id_of(self, node: RedisProcess) -> str:
        return str(self.ask(node, "CLUSTER", "MYID"), "ascii")

    def _knows_all(self, node: RedisProcess) -> bool:
        return f"cluster_known_nodes:{len(self.nodes)}" in _text(self.ask(node, "CLUSTER", "INFO"))

    def _is_ready(self, node: RedisProcess) -> bool:
        """Whether it knows all slots and replicas, and its own primary or replica is connected."""
        slots = self.ask(node, "CLUSTER", "SLOTS")
        replicated = all(len(each) == 4 for each in slots) and len(slots) == PRIMARIES  # first, last, two nodes
        role = self.ask(node, "ROLE")
        linked = bool(role[2]) if role[0] == b"master" else role[3] == b"connected"
        return replicated and linked and "cluster_state:ok" in _text(self.ask(node, "CLUSTER", "INFO"))


@contextmanager
def redis_cluster(folder: Path) -> Iterator[Cluster]:
    with ExitStack() as opened:
        yield Cluster(folder, opened)


def tagged_key(name: str) -> str:
    return TAG.decode() + name


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
