"""The reader of a topic hands out entries in order, each once, from any offset on, and never past a gap."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from clearhold.features.core.log_entry import LogEntry
from clearhold.store.data_dir import StartupError
from clearhold.store.kafka_log.connect import KafkaAddress
from clearhold.store.kafka_log.reader import KafkaLogReader, LogGapError
from tests.support.clock import T0
from tests.support.kafka import REAL, KafkaTopic, kafka_topic
from tests.support.waiting import eventually

PARTITIONS = 4
WITHIN_S = 60.0

needs_a_cluster_to_harm = pytest.mark.skipif(bool(REAL), reason="A real broker is not harmed.")


@pytest.fixture
def topic() -> Iterator[KafkaTopic]:
    with kafka_topic(PARTITIONS, brokers=2) as opened:
        yield opened


@pytest.fixture
def reader(topic: KafkaTopic) -> Iterator[KafkaLogReader]:
    with closing(KafkaLogReader(topic.address, [0, 1, 2])) as opened:
        yield opened


def entry(shard: int, body: bytes, *, offset: int = 0, appended_at: int = T0) -> LogEntry:
    return LogEntry(shard, offset, "bank", "prg_1", appended_at, body)


def bodies(batch: list[tuple[int, list[LogEntry]]]) -> dict[int, list[bytes]]:
    return {shard: [each.body for each in entries] for shard, entries in batch}


def read_on(
    reader: KafkaLogReader, after: dict[int, int], *, count: int = 100, within_s: float = WITHIN_S
) -> list[tuple[int, list[LogEntry]]]:
    """The next entries, as the flow reads them: it tries again while the log cannot be reached."""
    batches: list[list[tuple[int, list[LogEntry]]]] = []

    def reads() -> bool:
        try:
            batches.append(reader.read(after, count=count, block_ms=50))
        except ConnectionError:
            return False
        return bool(batches[-1])

    eventually(reads, within_s=within_s)
    return batches[-1]


def read_to_the_end(reader: KafkaLogReader, start: dict[int, int], *, count: int = 4) -> dict[int, list[bytes]]:
    seen: dict[int, list[bytes]] = {}
    after = dict(start)
    while batch := reader.read(after, count=count, block_ms=0):
        for shard, entries in batch:
            assert len(entries) <= count
            seen.setdefault(shard, []).extend(each.body for each in entries)
            after[shard] = entries[-1].offset
    return seen


def failure_of(read: Callable[[], object], kind: type[Exception], *, within_s: float = WITHIN_S) -> str:
    """The sentence of the error that reading ends with, as the flow tries: a log out of reach is tried again."""
    sentences: list[str] = []

    def fails() -> bool:
        try:
            read()
        except ConnectionError:
            return False
        except kind as error:
            sentences.append(str(error))
            return True
        return False

    eventually(fails, within_s=within_s)
    return sentences[0]


def test_given_an_entry_when_read_then_it_comes_as_it_was_appended(reader: KafkaLogReader, topic: KafkaTopic) -> None:
    topic.append([entry(1, b"\x00\xff", appended_at=T0 + 123)])

    assert reader.read({}, count=10, block_ms=0) == [(1, [entry(1, b"\x00\xff", offset=1, appended_at=T0 + 123)])]


def test_given_offsets_when_read_then_only_what_comes_after_them_in_order(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    topic.append([entry(0, b"0"), entry(0, b"1"), entry(0, b"2"), entry(2, b"3"), entry(3, b"not ours")])

    assert read_to_the_end(reader, {0: 1}) == {0: [b"1", b"2"], 2: [b"3"]}


def test_given_more_than_asked_for_when_read_in_pages_then_nothing_is_missed_or_read_twice(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    topic.append([entry(shard, b"%d" % number) for number in range(50) for shard in (0, 1)])
    topic.append([entry(0, b"%d" % number) for number in range(50, 100)])

    assert read_to_the_end(reader, {}, count=7) == {
        0: [b"%d" % number for number in range(100)],
        1: [b"%d" % number for number in range(50)],
    }


def test_given_an_offset_read_before_when_read_again_then_the_same_entries_come_again(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    topic.append([entry(0, b"%d" % number) for number in range(9)])
    everything = {0: [b"%d" % number for number in range(9)]}

    assert read_to_the_end(reader, {}) == everything
    assert read_to_the_end(reader, {0: 7}) == {0: [b"7", b"8"]}
    [(_, [first, *_])] = reader.read({}, count=4, block_ms=0)
    assert first.offset == 1
    assert read_to_the_end(reader, {}) == everything


@pytest.mark.timed
def test_given_nothing_new_when_read_then_it_answers_with_nothing_once_the_wait_is_over(reader: KafkaLogReader) -> None:
    assert reader.read({}, count=10, block_ms=0) == []
    started = time.monotonic()

    assert reader.read({}, count=10, block_ms=60) == []

    assert 0.05 <= time.monotonic() - started < 2


def test_given_entries_that_were_appended_before_when_read_without_waiting_then_they_are_never_missed(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    after = 0
    for number in range(5):
        assert reader.read({0: after}, count=10, block_ms=0) == []
        topic.append([entry(0, b"%d" % number)])
        [(_, [found])] = reader.read({0: after}, count=10, block_ms=0)
        assert found.body == b"%d" % number
        after = found.offset


def test_given_no_shards_then_there_is_nothing_to_read(topic: KafkaTopic) -> None:
    with closing(KafkaLogReader(topic.address, [])) as reader:
        assert reader.read({}, count=10, block_ms=1_000) == []


@pytest.mark.timed
def test_given_a_reader_that_waits_when_an_entry_comes_then_it_wakes_before_its_time(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    later = threading.Timer(0.05, topic.append, ([entry(0, b"late")],))
    later.start()
    started = time.monotonic()

    batch = reader.read({}, count=10, block_ms=5_000)

    later.join()
    assert bodies(batch) == {0: [b"late"]}
    assert time.monotonic() - started < 2.5


@pytest.mark.timed
def test_given_others_who_wait_when_the_log_is_waited_for_then_they_are_served_every_few_milliseconds(
    topic: KafkaTopic,
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)

    with closing(KafkaLogReader(topic.address, [0], pause=pause)) as reader:
        reader.read({}, count=10, block_ms=0)
        pauses.clear()
        assert reader.read({}, count=10, block_ms=200) == []

    assert max(pauses) <= 0.005
    assert sum(pauses) > 0.1


def test_given_marks_of_transactions_when_read_then_the_offsets_have_holes_and_the_tail_is_an_entrys(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    assert reader.tail(0) == 0
    topic.append_hole(0)
    assert reader.tail(0) == 0
    topic.append([entry(0, b"0")])
    first = reader.tail(0)
    for _ in range(20):
        topic.append_hole(0)
    assert reader.tail(0) == first
    topic.append([entry(0, b"1")])
    second = reader.tail(0)

    [(_, before)] = reader.read({}, count=1, block_ms=0)
    [(_, behind)] = reader.read({0: first}, count=1, block_ms=0)

    assert [(each.offset, each.body) for each in (*before, *behind)] == [(first, b"0"), (second, b"1")]
    assert first > 1
    assert second > first + 20
    assert reader.read({0: second}, count=10, block_ms=0) == []


def test_given_a_record_that_is_no_entry_when_read_then_it_is_handed_on_to_be_set_aside(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    named, kind, at = ("p", b"prg_1"), ("k", b"bank"), ("t", b"%d" % T0)
    stamp = T0 // 1_000
    topic.append_record(0, b"no headers", [], timestamp_ms=stamp)
    topic.append_record(0, b"no kind", [named, at], timestamp_ms=stamp)
    topic.append_record(0, b"no number", [kind, named, ("t", b"soon")], timestamp_ms=stamp)
    topic.append_record(0, b"no text", [kind, ("p", b"\xff"), at], timestamp_ms=stamp)
    topic.append_record(0, None, [("k", b"tick")], timestamp_ms=stamp)
    topic.flush()

    [(_, entries)] = reader.read({}, count=100, block_ms=0)

    stamped_at = stamp * 1_000
    assert entries == [
        LogEntry(0, 1, "unreadable", "", stamped_at, b"no headers"),
        LogEntry(0, 2, "unreadable", "", stamped_at, b"no kind"),
        LogEntry(0, 3, "unreadable", "", stamped_at, b"no number"),
        LogEntry(0, 4, "unreadable", "", stamped_at, b"no text"),
        LogEntry(0, 5, "tick", "", stamped_at, b""),
    ]


@needs_a_cluster_to_harm
def test_given_brokers_that_are_gone_when_read_then_it_is_a_connection_error_and_reading_goes_on_when_they_are_back(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    topic.append([entry(0, b"0")])
    assert bodies(reader.read({}, count=10, block_ms=0)) == {0: [b"0"]}
    topic.cluster.stop()

    def is_noticed() -> bool:
        try:
            return reader.read({0: 1}, count=10, block_ms=50) != []
        except ConnectionError as error:
            return "The log cannot be read" in str(error)

    eventually(is_noticed, within_s=WITHIN_S)
    with pytest.raises(ConnectionError):
        reader.read({0: 1}, count=10, block_ms=0)
    with pytest.raises(ConnectionError):
        reader.tail(0)

    topic.cluster.start()
    topic.append([entry(0, b"1")])
    assert bodies(read_on(reader, {0: 1})) == {0: [b"1"]}
    assert reader.tail(0) == 2


@needs_a_cluster_to_harm
def test_given_partitions_that_move_to_another_broker_when_read_then_nothing_is_missed_or_read_twice(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    seen: list[bytes] = []
    after = {0: 0}
    for turn in range(6):
        topic.cluster.lead(topic.address.topic, 0, 1 + turn % 2)
        topic.append([entry(0, b"%d-%d" % (turn, number)) for number in range(3)])
        while len(seen) < 3 * (turn + 1):
            [(_, entries)] = read_on(reader, after)
            seen += [each.body for each in entries]
            after = {0: entries[-1].offset}

    assert seen == [b"%d-%d" % (turn, number) for turn in range(6) for number in range(3)]


@needs_a_cluster_to_harm
def test_given_entries_that_the_topic_dropped_when_read_then_it_stops_with_a_sentence_and_skips_nothing(
    reader: KafkaLogReader, topic: KafkaTopic
) -> None:
    topic.append([entry(0, b"%d" % number) for number in range(9)])
    topic.cluster.drop_before(topic.address.topic, 0, 5)

    for _ in range(2):  # also when it is tried again
        sentence = failure_of(lambda: reader.read({0: 3}, count=10, block_ms=50), LogGapError)
        assert "no longer has what follows offset 3 of shard 0; it begins after 5" in sentence
        assert "retention" in sentence

    assert bodies(read_on(reader, {0: 5})) == {0: [b"5", b"6", b"7", b"8"]}


@pytest.mark.parametrize("block_ms", [0, 50])
def test_given_an_offset_that_the_topic_never_had_when_read_then_it_stops_with_a_sentence(
    reader: KafkaLogReader, topic: KafkaTopic, block_ms: int
) -> None:
    topic.append([entry(0, b"0")])

    def read() -> None:
        assert reader.read({0: 7}, count=10, block_ms=block_ms) == []
        assert block_ms > 0, "This is not the end of the log."

    sentence = failure_of(read, LogGapError)

    assert "ends at offset 1 of shard 0 and does not have what was read up to 7" in sentence


@needs_a_cluster_to_harm
def test_given_a_topic_that_is_deleted_while_it_is_read_then_it_stops_with_a_sentence(topic: KafkaTopic) -> None:
    soon = {"topic.metadata.propagation.max.ms": "100", "topic.metadata.refresh.interval.ms": "100"}
    address = KafkaAddress(servers=topic.address.servers, topic=topic.address.topic, settings=soon)
    topic.append([entry(0, b"0")])
    with closing(KafkaLogReader(address, [0])) as reader:
        assert bodies(read_on(reader, {})) == {0: [b"0"]}
        topic.cluster.delete(address.topic)

        sentence = failure_of(lambda: reader.read({0: 1}, count=10, block_ms=50), LogGapError)

    assert "is gone, or some of its partitions are" in sentence


def test_given_fewer_partitions_than_shards_when_read_then_the_sentence_says_what_to_create(topic: KafkaTopic) -> None:
    with closing(KafkaLogReader(topic.address, [0, 7])) as reader, pytest.raises(StartupError) as error:
        reader.read({}, count=10, block_ms=0)

    with closing(KafkaLogReader(topic.address, [7])) as reader, pytest.raises(StartupError):
        reader.tail(7)
    assert "has 4 partitions, none for shard 7" in str(error.value)
    assert "cleanup.policy=delete" in str(error.value)


@pytest.mark.parametrize(
    "address", ["kafka://", "kafka://host:9092", "kafka:///topic", "kafka://host/a/b", "http://host/topic"]
)
def test_given_an_address_that_names_no_topic_then_the_sentence_says_what_one_is(address: str) -> None:
    with pytest.raises(StartupError, match="kafka://host:port/topic"):
        KafkaAddress.parsed(address)


def test_given_an_address_with_settings_then_they_are_the_clients_and_an_unknown_one_is_refused() -> None:
    address = KafkaAddress.parsed("kafka://one:9092,two:9092/the%20log?client.id=scorer&sasl.password=a%26b")

    assert address.servers == "one:9092,two:9092"
    assert address.topic == "the log"
    assert address.settings == {"client.id": "scorer", "sasl.password": "a&b"}
    with pytest.raises(StartupError, match=r"no\.such\.setting"):
        KafkaLogReader(KafkaAddress.parsed("kafka://one:9092/log?no.such.setting=1"), [0])
