"""Brokers that speak Kafka's protocol over TCP, and a producer that writes entries as records.

``MockKafka`` is librdkafka's own mock cluster, which lives in this process; a real broker is taken instead where
``CLEARHOLD_TEST_KAFKA=host:port`` names one.
"""

import ctypes
import importlib.util
import os
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.kafka_log.connect import KafkaAddress

REAL: Final = os.environ.get("CLEARHOLD_TEST_KAFKA")
WITHIN_S: Final = 60.0
_PRODUCER: Final = 0


def _library() -> Any:
    """The librdkafka that the client has loaded: its mock cluster has functions that the client does not pass on."""
    spec = importlib.util.find_spec("confluent_kafka")
    assert spec is not None
    assert spec.origin is not None
    [path] = (Path(spec.origin).parent.parent / "confluent_kafka.libs").glob("librdkafka*")
    library = ctypes.CDLL(str(path))
    for name in ("rd_kafka_new", "rd_kafka_conf_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    return library


class MockKafka:
    """A cluster that can be harmed. Brokers are numbered from 1."""

    def __init__(self, brokers: int) -> None:
        self._library = _library()
        error = ctypes.create_string_buffer(512)
        conf = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", error, len(error))
        self._handle = ctypes.c_void_p(self._library.rd_kafka_new(_PRODUCER, conf, error, len(error)))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._handle, brokers))
        self.brokers = range(1, brokers + 1)
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def close(self) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)

    def create(self, topic: str, partitions: int) -> None:
        self._do("rd_kafka_mock_topic_create", topic.encode(), partitions, len(self.brokers))
        for partition in range(partitions):
            self.lead(topic, partition, 1 + partition % len(self.brokers))

    def stop(self) -> None:
        for broker in self.brokers:
            self._do("rd_kafka_mock_broker_set_down", broker)

    def start(self) -> None:
        for broker in self.brokers:
            self._do("rd_kafka_mock_broker_set_up", broker)

    def lead(self, topic: str, partition: int, broker: int) -> None:
        self._do("rd_kafka_mock_partition_set_leader", topic.encode(), partition, broker)

    def drop_before(self, topic: str, partition: int, offset: int) -> None:
        self._do("rd_kafka_mock_partition_delete_records", topic.encode(), partition, ctypes.c_int64(offset))

    def delete(self, topic: str) -> None:
        self._do("rd_kafka_mock_topic_delete", topic.encode())

    def append_mark(self, topic: str, partition: int) -> None:
        """A control batch, sent to the broker that has led the partition from the start."""
        host, _, port = self.servers.split(",")[partition % len(self.brokers)].partition(":")
        request = _produce(topic.encode(), partition, _COMMIT_MARK)
        with socket.create_connection((host, int(port)), WITHIN_S) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.recv(1_024)
        error_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
        assert struct.unpack_from(">h", answer, error_at) == (0,), answer

    def _do(self, function: str, *args: Any) -> None:
        error = getattr(self._library, function)(self._cluster, *args)
        assert not error, f"{function}: {error}"


def _produce(topic: bytes, partition: int, batch: bytes) -> bytes:
    """A Produce request of version 3, acknowledged by all."""
    header = struct.pack(">hhih", 0, 3, 1, -1)
    about = struct.pack(">hhii", -1, -1, int(WITHIN_S * 1_000), 1) + struct.pack(">h", len(topic)) + topic
    return header + about + struct.pack(">iii", 1, partition, len(batch)) + batch


def _control_batch() -> bytes:
    """A record batch of one commit mark, as a broker appends it at the end of a transaction."""
    key, value = struct.pack(">hh", 0, 1), struct.pack(">hi", 0, 0)
    fields = b"\x00\x00\x00" + bytes((len(key) * 2,)) + key + bytes((len(value) * 2,)) + value + b"\x00"
    record = bytes((len(fields) * 2,)) + fields
    of_a_transaction, control = 0x10, 0x20
    about = struct.pack(">hiqqqhii", of_a_transaction | control, 0, 0, 0, 1, 0, -1, 1)
    unchecked = 0
    rest = struct.pack(">ibI", 0, 2, unchecked) + about + record
    return struct.pack(">qi", 0, len(rest)) + rest


_COMMIT_MARK: Final = _control_batch()


class KafkaTopic:
    """A topic as the log, and who appends to it."""

    def __init__(self, servers: str, topic: str, cluster: MockKafka | None) -> None:
        self.address = KafkaAddress(servers=servers, topic=topic, settings={})
        self._cluster = cluster
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 0, "log_level": 0})

    @property
    def cluster(self) -> MockKafka:
        assert self._cluster is not None
        return self._cluster

    def create(self, partitions: int) -> None:
        if self._cluster is not None:
            self._cluster.create(self.address.topic, partitions)
            return
        client = AdminClient({"bootstrap.servers": self.address.servers})
        [created] = client.create_topics([NewTopic(self.address.topic, partitions)]).values()
        created.result(WITHIN_S)

    def append(self, entries: Iterable[LogEntry]) -> None:
        """Write them in order; each gets an offset of its own, whatever it says."""
        for entry in entries:
            headers = [("k", entry.kind.encode()), ("p", entry.program_id.encode()), ("t", b"%d" % entry.appended_at)]
            self.append_record(entry.shard, entry.body, headers, timestamp_ms=entry.appended_at // 1_000)
        self.flush()

    def append_record(
        self, partition: int, value: bytes | None, headers: list[tuple[str, bytes]], *, timestamp_ms: int
    ) -> None:
        self._producer.produce(
            self.address.topic, value, partition=partition, headers=list(headers), timestamp=timestamp_ms
        )

    def append_hole(self, partition: int) -> None:
        """Take up an offset that no entry will have: the mark at the end of a transaction."""
        if self._cluster is not None:
            self._cluster.append_mark(self.address.topic, partition)
            return
        settings = {"bootstrap.servers": self.address.servers, "transactional.id": str(uuid4())}
        producer = Producer(settings)
        producer.init_transactions(WITHIN_S)
        producer.begin_transaction()
        producer.produce(self.address.topic, b"never", partition=partition)
        assert producer.flush(WITHIN_S) == 0
        producer.abort_transaction(WITHIN_S)

    def flush(self) -> None:
        assert self._producer.flush(WITHIN_S) == 0


@contextmanager
def kafka_topic(partitions: int, *, brokers: int = 1) -> Iterator[KafkaTopic]:
    """A topic of its own: on the real broker if there is one, else on a mock cluster of its own."""
    name = f"clearhold-{uuid4()}"
    if REAL:
        topic = KafkaTopic(REAL, name, None)
        topic.create(partitions)
        yield topic
        return
    cluster = MockKafka(brokers)
    try:
        topic = KafkaTopic(cluster.servers, name, cluster)
        topic.create(partitions)
        yield topic
    finally:
        cluster.close()
