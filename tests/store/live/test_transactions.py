"""Transactions of packed commands on a real Redis: their replies, a refused one, and a lost connection."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from clearhold.store.live.transactions import Transactions, transaction
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.pipeline import command
from tests.support.redis_process import redis_of_its_own


@pytest.fixture
def client(tmp_path: Path) -> Iterator[redis.Redis]:
    with redis_of_its_own(tmp_path), connect_sync(tmp_path / "redis.sock") as opened:
        yield opened


def test_given_many_commands_then_each_has_its_reply_in_order_and_a_failed_one_leaves_the_others(
    client: redis.Redis,
) -> None:
    replies = Transactions(client).execute(
        transaction(
            [
                *(command("RPUSH", "list", "x" * 1_000) for _ in range(500)),
                command("INCR", "list"),
                command("GET", "other"),
            ]
        )
    )
    assert replies[:500] == [*range(1, 501)]
    assert isinstance(replies[500], ResponseError)
    assert replies[501:] == [None]


def test_given_a_command_that_redis_does_not_take_then_nothing_of_the_transaction_is_executed(
    client: redis.Redis,
) -> None:
    transactions = Transactions(client)
    with pytest.raises(ResponseError, match="unknown command"):
        transactions.execute(transaction([command("SET", "key", "a"), command("NOSUCH", "key")]))
    assert client.get("key") is None
    assert transactions.execute(transaction([command("SET", "key", "b")])) == [b"OK"]


def test_given_a_connection_that_ends_within_a_transaction_then_that_is_an_error_and_the_next_one_is_whole(
    client: redis.Redis, tmp_path: Path
) -> None:
    transactions = Transactions(client)
    with connect_sync(tmp_path / "redis.sock") as other, ThreadPoolExecutor(1) as threads:
        other.client_pause(60_000, all=False)  # holds back what writes, so the transaction cannot end
        under_way = threads.submit(transactions.execute, transaction([command("SET", "key", "a")]))
        while not under_way.done():
            other.client_kill_filter(_type="normal", skipme=True)
            time.sleep(0.01)
        other.client_unpause()
        with pytest.raises(RedisConnectionError):
            under_way.result()
        assert other.get("key") is None
    assert transactions.execute(transaction([command("SET", "key", "b"), command("GET", "key")])) == [b"OK", b"b"]
