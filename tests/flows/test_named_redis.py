"""The service on a named Redis, over TLS and as the user of the manual, who may do what it needs and no more."""

import asyncio
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from redis import Redis
from redis.exceptions import NoPermissionError

from tests.flows.test_backups import run
from tests.support.alerting import outgoing
from tests.support.callers import UNKNOWN_ID
from tests.support.console import use_console
from tests.support.raw_receiver import certificate, raw_receiver
from tests.support.redis_process import redis_of_its_own
from tests.support.running_service import RunningService, post_until_taken, wait_until_committed

PASSWORD = "a-password-of-the-tests"
MANUAL = Path(__file__).parents[2] / "docs" / "operations.md"
NOT_IN_THE_TEST = {"hdel", "xlen", "zcard", "zpopmin", "wait", "role", "zrangebyscore", "zscore"}
"""``hdel`` is for a start with ``--accept-loss``; ``wait`` and ``role`` for replicas and Sentinels, which
``test_failover.py`` has; ``zrangebyscore`` for approvals and ``zscore`` for
passkeys; the others bound the memory of the live streams.
"""


def rules() -> list[str]:
    """The rules of the user, as the manual gives them to the administrator."""
    found = re.search(r"redis-cli ACL SETUSER clearhold (.*?)\nredis-cli", MANUAL.read_text(), re.DOTALL)
    assert found is not None
    return [rule.replace("PASSWORD", PASSWORD) for rule in shlex.split(found[1].replace("\\\n", " "))]


@pytest.fixture
def administrator(tmp_path: Path) -> Iterator[Redis]:
    """The default user of a server that knows the manual's user."""
    with redis_of_its_own(tmp_path / "redis"), Redis(unix_socket_path=str(tmp_path / "redis" / "redis.sock")) as client:
        client.execute_command("ACL", "SETUSER", "clearhold", *rules())
        yield client


@pytest.fixture
def url(tmp_path: Path, administrator: Redis) -> Iterator[str]:  # noqa: ARG001 - the server has to run
    """The address of the server as that user, behind TLS."""

    async def pumped(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()
        writer.close()

    async def to_redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, on = await asyncio.open_unix_connection(tmp_path / "redis" / "redis.sock")
        await asyncio.gather(pumped(reader, on), pumped(back, writer))

    server, _ = certificate(tmp_path, "127.0.0.1")
    with start_blocking_portal() as portal:
        receiver = portal.wrap_async_context_manager(raw_receiver(to_redis, tls=server))
        with receiver as port:
            ca = tmp_path / "receiver.pem"
            yield f"rediss://clearhold:{PASSWORD}@127.0.0.1:{port}/0?ssl_ca_certs={ca}"


def test_given_the_user_of_the_manual_over_tls_when_the_service_runs_then_it_needs_all_that_it_may_and_nothing_else(
    tmp_path: Path, administrator: Redis, url: str
) -> None:
    environment, data = {"CLEARHOLD_REDIS_URL": url}, tmp_path / "data"
    with RunningService(data, "--scorers", "1", environment=environment) as service:
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"})
        post_until_taken(service, program, [outgoing("acht_1")], within_s=60)
        wait_until_committed(service, tenant["operatorToken"], "acht_1")
        headers = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        headers |= {"Content-Type": "application/json", "Idempotency-Key": "one"}
        administrator.execute_command("CLIENT", "KILL", "USER", "clearhold")
        post_until_taken(service, program, [outgoing("acht_2")], within_s=60)
        key = service.ask("POST", "/api/keys", headers, b'{"name":"k","mode":"live"}', expect=201)
        headers["Idempotency-Key"] = "given back, since nothing is done"
        decision = b'{"decision":"hold","narrative":"To see."}'
        service.ask("POST", f"/api/alerts/{UNKNOWN_ID}/decide", headers, decision, expect=404)
        use_console(service.port, tenant["operatorToken"])
    with RunningService(data, "--scorers", "1", environment=environment) as service:
        service.ask("GET", "/api/transfers", {"Authorization": f"Bearer {key['secret']}"})
    refused = run("restore", tmp_path, "--data", tmp_path / "restored", environment=os.environ | environment)

    assert "The Redis at CLEARHOLD_REDIS_URL is not empty" in refused.stderr
    refusals, statistics = administrator.acl_log(), administrator.info("commandstats")
    assert refusals == []
    assert statistics["cmdstat_client|kill"]["calls"] > 1  # not the administrator alone
    used = {name.removeprefix("cmdstat_") for name in statistics}
    assert {rule[1:] for rule in rules() if rule.startswith("+")} - used == NOT_IN_THE_TEST


@pytest.mark.parametrize(
    "command",
    ["FLUSHALL", "CONFIG SET appendonly no", "KEYS *", "XDEL log:1 1-0", "DEL others", "ACL LIST", "SCRIPT FLUSH"],
)
def test_given_the_user_of_the_manual_when_it_asks_for_more_then_it_is_refused(
    tmp_path: Path, administrator: Redis, command: str
) -> None:
    socket = str(tmp_path / "redis" / "redis.sock")
    with closing(Redis(unix_socket_path=socket, username="clearhold", password=PASSWORD)) as client:
        assert client.ping()
        with pytest.raises(NoPermissionError):
            client.execute_command(*command.split())
    refusals: Any = administrator.acl_log()
    assert len(refusals) == 1
