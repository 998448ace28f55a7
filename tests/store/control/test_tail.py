"""The tail of the control streams: a node that follows the log has what the owner wrote, each entry once."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, suppress

import pytest
from redis import Redis

from clearhold.features.core.principal import KeyMode
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.control.tail import EVERY_S, ControlTail
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogReader, control_key
from clearhold.store.seals import EntrySeals
from tests.store.control.test_registry import SHARDS, Opened, opened, view_of
from tests.support.clock import FrozenClock
from tests.support.principals import an_operator

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("log_redis")]


@pytest.fixture
async def owner(redis_server: EmbeddedRedis, log_redis: Redis, clock: FrozenClock) -> AsyncIterator[Opened]:
    async with opened(redis_server, log_redis, clock) as it:
        yield it


@pytest.fixture
async def standby(redis_server: EmbeddedRedis, log_redis: Redis, clock: FrozenClock) -> AsyncIterator[Opened]:
    async with opened(redis_server, log_redis, clock) as it:
        yield it


@pytest.fixture
def tail(redis_server: EmbeddedRedis, standby: Opened) -> Iterator[ControlTail]:
    with closing(connect_sync(redis_server.socket_path)) as client:
        yield ControlTail(standby.registry, LogReader(client, range(SHARDS)), lambda: None)


async def test_given_an_owner_that_writes_when_a_node_follows_then_it_knows_the_same_and_each_entry_once(
    owner: Opened, standby: Opened, tail: ControlTail
) -> None:
    first, _ = await owner.registry.create_tenant(slug="first", name="First")
    assert await tail.read_new() == 1
    second, _ = await owner.registry.create_tenant(slug="second", name="Second")
    program, _ = await owner.registry.create_program(first.id, slug="pay", name="Pay")
    await owner.registry.create_program(second.id, slug="pay", name="Pay", source=ProgramSource.SIMULATED)
    await owner.registry.change_program(program.id, name="Payroll")
    await owner.credentials.rotate_ingest_secret(program.id, overlap_hours=3)

    assert await tail.read_new() == 5
    assert await tail.read_new() == 0
    assert view_of(standby.registry) == view_of(owner.registry)
    assert standby.registry.tenancy.end_of(first.id) == owner.registry.tenancy.end_of(first.id)


async def test_given_a_revoked_key_and_token_when_a_node_follows_then_it_refuses_them(
    owner: Opened, standby: Opened, tail: ControlTail
) -> None:
    tenant, token = await owner.registry.create_tenant(slug="first", name="First")
    assert token is not None
    operator = an_operator(tenant.id)
    key, _ = await owner.credentials.create_key(operator, name="App", mode=KeyMode.LIVE, program_id=None, scopes=())
    await tail.read_new()
    tenancy, now = standby.registry.tenancy, standby.clock.now()
    assert tenancy.tenant_of_token(token, at=now) is not None

    following = asyncio.create_task(tail.run(lambda: True))
    await owner.credentials.rotate_operator_token(tenant.id, overlap_hours=0)
    await owner.credentials.revoke_key(operator, key.entry.id)
    await _soon(lambda: tenancy.tenant_of_token(token, at=now) is None)
    await _soon(lambda: _revoked_at(standby, tenant.id, key.entry.id) is not None)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following


async def test_given_a_node_that_owns_the_log_then_its_tail_reads_nothing(owner: Opened, tail: ControlTail) -> None:
    following = asyncio.create_task(tail.run(lambda: False))
    await owner.registry.create_tenant(slug="first", name="First")
    await asyncio.sleep(2 * EVERY_S)
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following

    assert await tail.read_new() == 1


async def test_given_a_redis_that_is_away_when_followed_then_a_later_round_goes_on(
    owner: Opened, standby: Opened, tail: ControlTail, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(tail._reader, "tenants", _away)
        following = asyncio.create_task(tail.run(lambda: True))
        await owner.registry.create_tenant(slug="first", name="First")
        await asyncio.sleep(2 * EVERY_S)
        assert standby.registry.tenancy.tenants.list_all() == ()
    await _soon(lambda: len(standby.registry.tenancy.tenants.list_all()) == 1)
    assert not following.done()
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following


async def test_given_a_forged_control_entry_when_followed_then_it_has_no_effect(
    owner: Opened, standby: Opened, redis_server: EmbeddedRedis, log_redis: Redis
) -> None:
    tenant, _ = await owner.registry.create_tenant(slug="first", name="First")
    assert log_redis.xlen(control_key(tenant.id)) == 1  # without a seal, as another program would write it
    with closing(connect_sync(redis_server.socket_path)) as client:
        reader = LogReader(client, range(SHARDS), seals=EntrySeals(bytes(range(32))))
        sealed = ControlTail(standby.registry, reader, lambda: None)
        assert await sealed.read_new() == 0
    assert standby.registry.tenancy.tenants.list_all() == ()


async def _soon(holds: Callable[[], bool]) -> None:
    """Return once it holds; an error after the second that is promised."""
    for _ in range(int(1.0 / EVERY_S) * 5):
        if holds():
            return
        await asyncio.sleep(EVERY_S / 5)
    raise AssertionError("It did not hold within a second.")


def _away() -> list[str]:
    raise ConnectionError("The log cannot be read.")


def _revoked_at(node: Opened, tenant_id: str, key_id: str) -> str | None:
    key = node.registry.tenancy.keys.find(tenant_id, key_id)
    assert key is not None
    return key.revoked_at
