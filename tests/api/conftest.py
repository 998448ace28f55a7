"""A running application, a tenant and a program for tests of the interface."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from clearhold.store.redis_log.connect import EmbeddedRedis
from tests.support.running_app import RunningApp


@pytest.fixture
def api(tmp_path: Path, redis_server: EmbeddedRedis, log_redis: Redis) -> Iterator[RunningApp]:
    assert log_redis.dbsize() == 0
    with ExitStack() as opened:
        yield RunningApp(tmp_path, redis_server.socket_path, opened)


@pytest.fixture
def tenant(api: RunningApp) -> dict[str, Any]:
    return api.create_tenant()


@pytest.fixture
def program(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    return api.create_program(tenant)
