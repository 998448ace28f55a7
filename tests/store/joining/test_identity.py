"""A Redis is taken by one directory, also when two start on it at once."""

import pytest
from redis import Redis

from clearhold.store.data_dir import LogIdentity
from clearhold.store.errors import StartupError
from clearhold.store.joining.agreement import LogInRedis

OWN = LogIdentity(log_id="0b6f6f3e-5b0e-4f6e-9d57-2f3f1c9b7a11", shards=16)
OTHER = LogIdentity(log_id="9a1c1f0e-77aa-4a52-8a0e-0f6f1d2c3b44", shards=16)


def test_given_two_directories_that_saw_an_empty_redis_when_both_take_it_then_the_second_is_refused(
    log_redis: Redis,
) -> None:
    log = LogInRedis(log_redis, "the Redis")
    assert log.identity() is None
    assert not log.holds_streams(16)

    log.claim(OWN)
    log.claim(OWN)  # as at each further start
    with pytest.raises(StartupError, match="Another data directory has just taken the Redis"):
        log.claim(OTHER)

    assert log.identity() == OWN


@pytest.mark.parametrize("key", ["log:tenants", "log:0", "log:15"])
def test_given_a_log_without_an_id_then_its_streams_give_it_away(log_redis: Redis, key: str) -> None:
    log_redis.set(key, "x")

    assert LogInRedis(log_redis, "the Redis").holds_streams(16)
