"""The log that an address names: ``kafka://…`` a topic of Kafka or Redpanda, anything else a Redis."""

from collections.abc import Callable, Sequence
from typing import Protocol

from clearhold.flows.log_source import Reader
from clearhold.store.data_dir import StartupError
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import LogReader, Wait


class Waits(Protocol):
    """What is done for others while a reader waits for the log."""

    @property
    def wait(self) -> Wait: ...

    @property
    def pause(self) -> Callable[[float], None]: ...


def open_log(address: str, shards: Sequence[int], meanwhile: Waits) -> Reader:
    """A reader of these shards, which waits by ``meanwhile``; ``StartupError`` for an address that cannot be used."""
    if not address.startswith("kafka:"):
        return LogReader(connect_sync(address), shards, wait=meanwhile.wait)
    try:
        from clearhold.store.kafka_log.connect import KafkaAddress  # noqa: PLC0415 - an extra, which few installations have
        from clearhold.store.kafka_log.reader import KafkaLogReader  # noqa: PLC0415 - as above
    except ImportError as error:
        raise StartupError("A log in Kafka needs its client: pip install 'clearhold[kafka]'.") from error
    return KafkaLogReader(KafkaAddress.parsed(address), shards, pause=meanwhile.pause)
