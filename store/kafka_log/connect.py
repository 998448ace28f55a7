"""Where a log in Kafka is: ``kafka://host:port,host:port/topic``, and how it is connected to.

Settings of librdkafka follow as a query, as in ``?security.protocol=SASL_SSL&sasl.mechanism=PLAIN&sasl.username=…``. So
an address may hold a password.

Errors  ``StartupError`` for an address that is none, and for a setting that the client does not know
"""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException

from clearhold.store.data_dir import StartupError

_SETTINGS: Final[dict[str, Any]] = {
    "group.id": "clearhold",  # the client demands one; it is never joined, and no offset is stored under it
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",  # what the log no longer has is never jumped over
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "allow.auto.create.topics": False,
    "log_level": 0,  # whatever matters is an error that is handed over
}
_USUAL: Final[dict[str, Any]] = {
    "fetch.wait.max.ms": 100,
    "fetch.queue.backoff.ms": 20,
    "fetch.error.backoff.ms": 100,
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 32_768,
    "reconnect.backoff.max.ms": 1_000,
    "socket.timeout.ms": 10_000,
    "socket.keepalive.enable": True,
}
"""A second is long for whoever waits for a score, and what is fetched ahead is memory."""


class KafkaAddress(msgspec.Struct, frozen=True, kw_only=True):
    servers: str
    topic: str
    settings: dict[str, str]

    @classmethod
    def parsed(cls, address: str) -> "KafkaAddress":
        parts = urlsplit(address)
        topic = unquote(parts.path.strip("/"))
        if parts.scheme != "kafka" or not parts.netloc or not topic or "/" in topic:
            raise StartupError("The address of a log in Kafka is kafka://host:port/topic; brokers go between commas.")
        return cls(servers=parts.netloc, topic=topic, settings=dict(parse_qsl(parts.query)))


def open_consumer(address: KafkaAddress, *, on_error: Callable[[KafkaError], None]) -> Consumer:
    """A client that reads; ``on_error`` hears, while it polls, what goes wrong with the connection."""
    its = {"bootstrap.servers": address.servers, "error_cb": on_error}
    try:
        return Consumer(_USUAL | address.settings | _SETTINGS | its)
    except KafkaException as error:
        raise StartupError(f"The settings in the log's address cannot be used: {error.args[0].str()}") from error
