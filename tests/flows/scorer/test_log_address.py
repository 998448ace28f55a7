"""An address of a log opens the reader of its kind."""

import sys
from contextlib import closing

import pytest

from clearhold.flows.scorer.log_address import open_log
from clearhold.store.data_dir import StartupError
from clearhold.store.kafka_log.reader import KafkaLogReader
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.server import EmbeddedRedis
from tests.support.kafka import kafka_topic


class Nobody:
    """There is nobody to serve while the log is waited for."""

    def wait(self, _descriptor: int, _seconds: float) -> None:
        raise AssertionError

    def pause(self, _seconds: float) -> None:
        raise AssertionError


def test_given_the_path_of_a_socket_then_the_log_is_in_redis(redis_server: EmbeddedRedis) -> None:
    reader = open_log(str(redis_server.socket_path), [0], Nobody())

    assert isinstance(reader, LogReader)
    assert reader.tail(0) >= 0


def test_given_an_address_of_kafka_then_the_log_is_a_topic() -> None:
    with kafka_topic(1) as topic:
        reader = open_log(f"kafka://{topic.address.servers}/{topic.address.topic}", [0], Nobody())

        assert isinstance(reader, KafkaLogReader)
        with closing(reader):
            assert reader.tail(0) == 0


def test_given_no_client_of_kafka_then_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clearhold.store.kafka_log.connect", None)

    with pytest.raises(StartupError, match=r"pip install 'clearhold\[kafka\]'"):
        open_log("kafka://host:9092/topic", [0], Nobody())
