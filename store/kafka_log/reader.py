"""Reads the log from a topic of Kafka or Redpanda: a partition a shard, in order, from any offset.

Partitions are assigned by hand, at the offset that the caller has; nothing is stored with the brokers.

Errors  the built-in ``ConnectionError`` while no broker answers; a later read continues as before
        ``LogGapError`` when the topic does not have what comes after an offset: nothing is read past a gap
        ``StartupError`` when the topic cannot be the log at all
"""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.data_dir import StartupError
from clearhold.store.kafka_log.connect import KafkaAddress, open_consumer
from clearhold.store.kafka_log.records import entry_of, offset_after

ANSWER_WITHIN_S: Final = 5.0
_PROBE_WITHIN_S: Final = 0.1
_LOOK_EVERY_S: Final = 0.005
_BACK_BY: Final = 16
_END: Final = KafkaError._PARTITION_EOF  # noqa: SLF001 - the client's own name, as below
_OTHER_HISTORY: Final = KafkaError._LOG_TRUNCATION  # noqa: SLF001
_GAP: Final = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET, _OTHER_HISTORY)  # noqa: SLF001
_GONE: Final = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION)  # noqa: SLF001

Pause = Callable[[float], None]


class LogGapError(Exception):
    """The log lacks entries that were not read yet, or that were; the sentence says which."""


class KafkaLogReader:
    """For one thread at a time. ``shards`` are those this process owns."""

    def __init__(self, address: KafkaAddress, shards: Sequence[int], *, pause: Pause | None = None) -> None:
        """``pause`` is called instead of blocking in ``read``, for so many seconds."""
        self._topic, self._shards, self._pause = address.topic, tuple(shards), pause
        self._consumer = open_consumer(address, on_error=self._note)
        self._position: dict[int, int] = {}  # the offset that each shard is handed out up to
        self._reached: dict[int, int] = {}  # the offset that each shard is received up to
        self._received: dict[int, list[LogEntry]] = {}  # and not handed out yet
        self._busy = 1
        self._trouble: KafkaError | None = None

    def close(self) -> None:
        self._consumer.close()

    def read(self, after: Mapping[int, int], *, count: int, block_ms: int) -> list[tuple[int, list[LogEntry]]]:
        """Entries after the given offsets (0 where none is given), at most ``count`` a shard; waits up to ``block_ms``
        for the first one. With 0 it returns ``[]`` only when the log had none left as it was called.
        """
        if not self._shards:
            return []
        self._move_to({shard: after.get(shard, 0) for shard in self._shards})
        room = count * self._busy
        self._receive(room - self._waiting_entries(), 0)
        if not self._waiting_entries():
            if block_ms > 0:
                self._await_entries(room, block_ms / 1_000)
            else:
                ends = self._ends()
                self._receive_until(lambda: self._waiting_entries() or self._reached == ends, room)
        return self._handed_out(count)

    def tail(self, shard: int) -> int:
        """The offset of the newest entry; 0 if there never was one. The newest record may be none: a transaction ends
        with a mark.
        """
        self._check_partitions()
        low, high = self._range(shard, ANSWER_WITHIN_S)
        behind = 1
        while high > low:
            start = max(low, high - behind)
            self._assign({shard: start})
            self._receive_until(lambda: self._reached[shard] >= high, behind)
            entries, self._position = self._received[shard], {}
            if entries:
                return entries[-1].offset
            if start == low:
                return low
            behind *= _BACK_BY
        return high

    def _move_to(self, offsets: dict[int, int]) -> None:
        if offsets != self._position:
            self._check_partitions()
            self._assign(offsets)

    def _assign(self, offsets: dict[int, int]) -> None:
        """Begin to receive after these offsets; what was received and not handed out is dropped."""
        self._consumer.assign([TopicPartition(self._topic, shard, offset) for shard, offset in offsets.items()])
        self._position, self._reached = dict(offsets), dict(offsets)
        self._received = {shard: [] for shard in offsets}

    def _handed_out(self, count: int) -> list[tuple[int, list[LogEntry]]]:
        batch = [(shard, entries[:count]) for shard, entries in self._received.items() if entries]
        for shard, entries in batch:
            del self._received[shard][:count]
            self._position[shard] = entries[-1].offset
        self._busy = max(1, len(batch))
        return batch

    def _waiting_entries(self) -> int:
        return sum(map(len, self._received.values()))

    def _await_entries(self, room: int, seconds: float) -> None:
        deadline = monotonic() + seconds
        while not self._waiting_entries() and (left := deadline - monotonic()) > 0:
            self._receive(room, left)
        if self._trouble is not None and not self._waiting_entries():
            for shard in self._shards:
                self._range(shard, _PROBE_WITHIN_S)
            self._trouble = None

    def _receive_until(self, holds: Callable[[], object], room: int) -> None:
        deadline = monotonic() + ANSWER_WITHIN_S
        while not holds():
            if monotonic() > deadline:
                raise self._unreachable("the brokers do not answer in time")
            self._receive(room, _LOOK_EVERY_S)

    def _receive(self, room: int, seconds: float) -> None:
        """Take in what has come, about ``room`` records at most; waits so long for the first."""
        if room <= 0:
            return
        message = self._consumer.poll(0 if self._pause else seconds)
        if message is None:
            if self._pause and seconds:
                self._pause(min(seconds, _LOOK_EVERY_S))
            return
        try:
            for each in (message, *self._consumer.consume(room, 0)):
                self._take_in(each)
        except Exception:
            self._position = {}  # The others that have come are lost: the next read begins at its offsets anew.
            raise

    def _take_in(self, message: Message) -> None:
        shard, error = message.partition(), message.error()
        if shard not in self._received:  # what is wrong is not wrong with one partition
            if error is not None:
                self._note(error)
        elif error is None:
            self._received[shard].append(entry_of(shard, message))
            self._reached[shard] = offset_after(message)
        elif error.code() == _END:
            self._reached[shard] = offset_after(message) - 1
        elif error.code() in _GAP:
            raise self._gap(shard, is_certain=error.code() == _OTHER_HISTORY)
        else:
            self._note(error)

    def _note(self, error: KafkaError) -> None:
        self._trouble = error

    def _unreachable(self, cause: str) -> Exception:
        if self._trouble is None:
            return ConnectionError(f"The log cannot be read: {cause}")
        if self._trouble.code() in _GONE:
            return LogGapError(
                f"The topic {self._topic} is gone, or some of its partitions are: {self._trouble.str()}. Nothing was "
                "skipped. Put it back as it was; one that is created anew under the same name is another log."
            )
        return ConnectionError(f"The log cannot be read: {self._trouble.str()}")

    def _ends(self) -> dict[int, int]:
        return {shard: self._range(shard, ANSWER_WITHIN_S)[1] for shard in self._shards}

    def _range(self, shard: int, within_s: float) -> tuple[int, int]:
        """The offsets after which the log has entries, and up to which."""
        try:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(self._topic, shard), timeout=within_s)
        except KafkaException as error:
            raise self._unreachable(error.args[0].str()) from error
        return low, high

    def _check_partitions(self) -> None:
        try:
            topic = self._consumer.list_topics(self._topic, timeout=ANSWER_WITHIN_S).topics[self._topic]
        except KafkaException as error:
            raise self._unreachable(error.args[0].str()) from error
        missing = [shard for shard in self._shards if shard not in topic.partitions]
        if missing:
            cause = f" ({topic.error.str()})" if topic.error else ""
            raise StartupError(
                f"The topic {self._topic} has {len(topic.partitions)} partitions, none for shard {missing[0]}{cause}. "
                "Create it with one for each shard of the data directory, cleanup.policy=delete and retention.ms=-1."
            )

    def _gap(self, shard: int, *, is_certain: bool) -> Exception:
        """Why a shard cannot be read on. Brokers may answer late, for an offset that it is not read from any more."""
        after = self._reached[shard]
        low, high = self._range(shard, ANSWER_WITHIN_S)
        if after < low:
            return LogGapError(
                f"The topic {self._topic} no longer has what follows offset {after} of shard {shard}; it begins after "
                f"{low}. Nothing was skipped. Put back the records, or a snapshot of the shard at {low} or later, and "
                "set the topic's retention.ms and retention.bytes to -1."
            )
        if after > high or is_certain:
            return LogGapError(
                f"The topic {self._topic} ends at offset {high} of shard {shard} and does not have what was read up to "
                f"{after}: it lost entries, or was created anew. Nothing more was read. Put the topic back as it was."
            )
        return ConnectionError(f"The log cannot be read: the position of shard {shard} has to be set again.")
