"""The memory of Redis is limited: at the limit writes are answered 503, the metrics show it, and it passes."""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from clearhold.store.redis_log.child import LEAST_BYTES, embedded_limit_bytes
from clearhold.store.redis_log.connect import connect_sync
from tests.support.bank_events import an_ach_transfer, an_event
from tests.support.running_service import RunningService, free_port
from tests.support.waiting import eventually

METRICS = free_port()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    with RunningService(tmp_path / "data", "--metrics-port", str(METRICS)) as service:
        yield service


@pytest.fixture
def embedded(service: RunningService) -> Iterator[Redis]:
    with closing(connect_sync(service.data / "redis.sock")) as client:
        yield client


def metric(name: str) -> float:
    lines = httpx.get(f"http://127.0.0.1:{METRICS}/metrics").text.splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(f"clearhold_{name} ")))


def deliver(service: RunningService, program: dict[str, Any], number: int, *, expect: int) -> None:
    transfer = an_ach_transfer(id=f"acht_{number}")
    body = an_event("ach.outgoing_transfer.initiated", transfer, event_id=f"evnt_{number}")
    headers = {"Bank-Signature": hmac.new(program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()}
    service.ask("POST", f"/api/ingest/bank/{program['id']}", headers, body, expect=expect)


def test_given_an_embedded_redis_that_is_full_when_written_to_then_503_until_it_has_room(
    service: RunningService, embedded: Redis
) -> None:
    tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
    program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"})
    limit = embedded_limit_bytes()
    eventually(lambda: metric("redis_limit_bytes") == limit >= LEAST_BYTES)
    deliver(service, program, 1, expect=200)

    embedded.config_set("maxmemory", 1)
    deliver(service, program, 2, expect=503)
    eventually(lambda: metric("redis_used_bytes") > metric("redis_limit_bytes") == 1)
    embedded.config_set("maxmemory", limit)

    deliver(service, program, 2, expect=200)
    deliver(service, program, 3, expect=200)
