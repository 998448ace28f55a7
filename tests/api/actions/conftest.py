"""An application beside a simulated bank whose key the tenant has, unless a test takes it away."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from store.redis_log.server import EmbeddedRedis
from tests.support.acting import Acting
from tests.support.bank_api import BankApi
from tests.support.running_app import RunningApp


@pytest.fixture
def acting(tmp_path: Path, redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[Acting]:
    assert log_redis.dbsize() == 0
    with BankApi() as bank, ExitStack() as opened:
        yield Acting(RunningApp(tmp_path, redis_server.socket_path, opened, bank_url=bank.url), bank)
