"""The registry: append first, apply after; the same after a replay; slugs taken once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import json
from redis import Redis

from clearhold.features.core.errors import ConflictError, NotFoundError, UnavailableError
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.control.credential_registry import CredentialRegistry
from clearhold.store.control.registry import Registry
from clearhold.store.keys import SecretBox
from clearhold.store.redis_log.appender import LogAppender
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_async
from clearhold.store.redis_log.reader import LogReader, control_key
from tests.support.clock import FrozenClock, SequentialIds
from tests.support.principals import an_operator

SHARDS = 4
KEY = bytes(range(32))

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("log_redis")]


class Opened:
    """A registry over the shared Redis, and what reads its log."""

    def __init__(self, appender: LogAppender, redis: Redis, clock: FrozenClock) -> None:
        self.appender, self.clock = appender, clock
        self.reader = LogReader(redis, range(SHARDS))
        self.new_id = SequentialIds()
        self.copied: list[str] = []
        self.disk_is_full = False
        self.registry = self.replayed()
        self.credentials = CredentialRegistry(self.registry, box=SecretBox(KEY), clock=clock, new_id=self.new_id)

    def _copy(self, tenant_id: str) -> None:
        if self.disk_is_full:
            raise OSError("No space left on device")
        self.copied.append(tenant_id)

    def replayed(self) -> Registry:
        """The registry as another process would find it."""
        box = SecretBox(KEY)
        registry = Registry(
            log=self.appender,
            read=self.reader.control_of,
            copy=self._copy,
            box=box,
            clock=self.clock,
            new_id=self.new_id,
            shards=SHARDS,
        )
        registry.tenancy.load(self.reader.control())
        return registry


@asynccontextmanager
async def opened(server: EmbeddedRedis, redis: Redis, clock: FrozenClock) -> AsyncIterator[Opened]:
    client = connect_async(server.socket_path)
    try:
        yield Opened(LogAppender(client, shards=SHARDS), redis, clock)
    finally:
        await client.aclose()


@pytest.fixture
async def store(redis_server: EmbeddedRedis, log_redis: Redis, clock: FrozenClock) -> AsyncIterator[Opened]:
    async with opened(redis_server, log_redis, clock) as it:
        yield it


def view_of(registry: Registry) -> dict[str, Any]:
    tenancy = registry.tenancy
    tenants = tenancy.tenants.list_all()
    programs = [program for tenant in tenants for program in tenancy.programs.of_principal(an_operator(tenant.id))]
    return {
        "tenants": tenants,
        "programs": programs,
        "targets": [tenancy.ingest_targets.find(program.id) for program in programs],
        "tokens": tenancy.operator_tokens._tokens,
    }


def control_bytes(redis: Redis, tenant_id: str) -> bytes:
    """Everything that the tenant's control stream holds."""
    found: Any = redis.xrange(control_key(tenant_id))
    return repr(found).encode()


async def test_given_changes_when_replayed_then_the_registry_is_the_same(store: Opened) -> None:
    first, _ = await store.registry.create_tenant(slug="first", name="First")
    second, _ = await store.registry.create_tenant(slug="second", name="Second")
    program, _ = await store.registry.create_program(first.id, slug="pay", name="Pay", webhook_endpoint_id="whep_1")
    await store.registry.create_program(second.id, slug="pay", name="Pay", source=ProgramSource.SIMULATED)
    await store.registry.change_program(program.id, name="Payroll", webhook_endpoint_id=None)
    await store.credentials.rotate_ingest_secret(program.id, overlap_hours=3)
    await store.credentials.rotate_operator_token(first.id, overlap_hours=0)

    assert view_of(store.replayed()) == view_of(store.registry)


async def test_given_a_tenant_when_created_then_its_token_opens_it_and_is_nowhere_in_the_log(
    store: Opened, log_redis: Redis
) -> None:
    tenant, token = await store.registry.create_tenant(slug="first", name="First")
    assert token is not None

    found = store.replayed().tenancy.tenant_of_token(token, at=store.clock.now())

    assert found == tenant
    assert token.startswith("op_")
    assert len(token) == 46
    assert token.encode() not in control_bytes(log_redis, tenant.id)


async def test_given_a_program_when_created_or_changed_then_its_shard_hears_of_it(
    store: Opened, log_redis: Redis
) -> None:
    tenant, _ = await store.registry.create_tenant(slug="first", name="First")
    program, secret = await store.registry.create_program(tenant.id, slug="pay", name="Pay")
    changed = await store.registry.change_program(program.id, declared_rails=("ach",))
    assert secret is not None

    shard = shard_of(program.id, SHARDS)
    entries = store.reader.range(shard, 0, store.reader.tail(shard), count=10)

    assert [entry.kind for entry in entries] == [EntryKind.PROGRAM, EntryKind.PROGRAM]
    assert [json.decode(entry.body, type=Program) for entry in entries] == [program, changed]
    control = control_bytes(log_redis, tenant.id)
    assert secret.encode() not in control + b"".join(entry.body for entry in entries)


async def test_given_twenty_creations_of_one_slug_at_once_when_they_end_then_one_has_it(store: Opened) -> None:
    tenants = await asyncio.gather(
        *(store.registry.create_tenant(slug="first", name="First") for _ in range(20)), return_exceptions=True
    )
    (tenant,) = store.registry.tenancy.tenants.list_all()
    programs = await asyncio.gather(
        *(store.registry.create_program(tenant.id, slug="pay", name="Pay") for _ in range(20)), return_exceptions=True
    )

    assert [type(answer) for answer in tenants].count(ConflictError) == 19
    assert [type(answer) for answer in programs].count(ConflictError) == 19
    assert view_of(store.replayed()) == view_of(store.registry)


async def test_given_one_program_slug_on_two_tenants_when_created_then_both_have_it(store: Opened) -> None:
    first, _ = await store.registry.create_tenant(slug="first", name="First")
    second, _ = await store.registry.create_tenant(slug="second", name="Second")

    mine, _ = await store.registry.create_program(first.id, slug="pay", name="Pay")
    theirs, _ = await store.registry.create_program(second.id, slug="pay", name="Pay")

    assert store.registry.tenancy.programs.find_by_slug(an_operator(first.id), "pay") == mine
    assert store.registry.tenancy.programs.find_by_slug(an_operator(second.id), "pay") == theirs
    assert store.registry.tenancy.programs.find(an_operator(first.id), theirs.id) is None


async def test_given_unknown_ids_when_changed_then_not_found(store: Opened) -> None:
    with pytest.raises(NotFoundError):
        await store.registry.create_program("nobody", slug="pay", name="Pay")
    with pytest.raises(NotFoundError):
        await store.registry.change_program("nobody", name="Pay")
    with pytest.raises(NotFoundError):
        await store.credentials.rotate_operator_token("nobody", overlap_hours=0)
    with pytest.raises(NotFoundError):
        await store.credentials.rotate_ingest_secret("nobody", overlap_hours=0)


async def test_given_a_log_that_is_away_when_created_then_nothing_is_applied(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> int:
        raise UnavailableError("The log is away.")

    with monkeypatch.context() as broken:
        broken.setattr(store.appender, "append_control", away)
        with pytest.raises(UnavailableError):
            await store.registry.create_tenant(slug="first", name="First")

    assert store.registry.tenancy.tenants.list_all() == ()
    assert (await store.registry.create_tenant(slug="first", name="First"))[0].slug == "first"


async def test_given_a_creation_whose_answer_was_lost_when_tried_again_then_the_second_has_the_slug(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_control = store.appender.append_control

    async def answer_lost(*entry: Any, **more: Any) -> int:
        await append_control(*entry, **more)
        raise UnavailableError("The answer got lost.")

    for_tenant, _ = await store.registry.create_tenant(slug="other", name="Other")
    with monkeypatch.context() as broken:
        broken.setattr(store.appender, "append_control", answer_lost)
        with pytest.raises(UnavailableError):
            await store.registry.create_tenant(slug="first", name="Lost")
        with pytest.raises(UnavailableError):
            await store.registry.create_program(for_tenant.id, slug="pay", name="Lost")
    tenant, token = await store.registry.create_tenant(slug="first", name="Heard of")
    assert token is not None
    program, _ = await store.registry.create_program(for_tenant.id, slug="pay", name="Heard of")

    replayed = store.replayed()

    assert {known.id for known in replayed.tenancy.tenants.list_all()} == {for_tenant.id, tenant.id}
    assert replayed.tenancy.tenant_of_token(token, at=0) == tenant
    assert replayed.tenancy.programs.of_principal(an_operator(for_tenant.id)) == (program,)
    assert view_of(replayed) == view_of(store.registry)


async def test_given_two_rotations_when_the_first_overlap_still_runs_then_at_most_two_hold(store: Opened) -> None:
    tenant, first = await store.registry.create_tenant(slug="first", name="First")
    second = await store.credentials.rotate_operator_token(tenant.id, overlap_hours=10)
    third = await store.credentials.rotate_operator_token(tenant.id, overlap_hours=1)
    now = store.clock.now()
    tokens = [token for token in (first, second, third) if token is not None]

    held_now = [store.registry.tenancy.tenant_of_token(token, at=now) is not None for token in tokens]
    held_later = [store.registry.tenancy.tenant_of_token(token, at=now + HOUR_US) is not None for token in tokens]

    assert held_now == [False, True, True]
    assert held_later == [False, False, True]


async def test_given_a_rotation_whose_answer_was_lost_when_repeated_then_the_promised_overlap_survives_a_replay(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_control = store.appender.append_control

    async def answer_lost(*entry: Any, **more: Any) -> int:
        await append_control(*entry, **more)
        raise UnavailableError("The answer got lost.")

    tenant, first = await store.registry.create_tenant(slug="first", name="First")
    program, _ = await store.registry.create_program(tenant.id, slug="pay", name="Pay")
    with monkeypatch.context() as broken:
        broken.setattr(store.appender, "append_control", answer_lost)
        with pytest.raises(UnavailableError):
            await store.credentials.rotate_operator_token(tenant.id, overlap_hours=2, effect_id="once")
        with pytest.raises(UnavailableError):
            await store.credentials.rotate_ingest_secret(program.id, overlap_hours=2, effect_id="twice")
    second = await store.credentials.rotate_operator_token(tenant.id, overlap_hours=2, effect_id="once")
    await store.credentials.rotate_ingest_secret(program.id, overlap_hours=2, effect_id="twice")
    assert first is not None
    assert second is not None

    replayed = store.replayed()

    assert view_of(replayed) == view_of(store.registry)
    assert replayed.tenancy.tenant_of_token(first, at=store.clock.now()) == tenant
    assert replayed.tenancy.tenant_of_token(second, at=store.clock.now()) == tenant


async def test_given_a_change_when_it_is_answered_then_it_was_copied_into_the_lake(store: Opened) -> None:
    tenant, _ = await store.registry.create_tenant(slug="bank", name="Bank")
    await store.registry.create_program(tenant.id, slug="pay", name="Pay")
    await store.credentials.rotate_operator_token(tenant.id, overlap_hours=1)

    assert store.copied == [tenant.id] * 3


async def test_given_a_full_disk_when_changed_then_the_change_stands_and_is_copied_later(store: Opened) -> None:
    store.disk_is_full = True

    tenant, token = await store.registry.create_tenant(slug="bank", name="Bank")

    assert token is not None
    assert store.replayed().tenancy.tenants.find(tenant.id) == tenant
