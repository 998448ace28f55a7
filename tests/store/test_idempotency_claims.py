"""Idempotency claims: one holder, stored answers sealed, orphans taken over, nothing done without a claim."""

from collections.abc import AsyncIterator

import msgspec
import pytest
import redis.asyncio
from redis import Redis

from clearhold.api.preflight.routes import PREFLIGHT
from clearhold.features.core.errors import UnavailableError
from clearhold.store.idempotency import (
    LEASE_MS,
    Claimed,
    IdempotencyClaims,
    InFlight,
    OtherRequest,
    StoredAnswer,
    key_of,
)
from clearhold.store.keys import SecretBox
from clearhold.store.redis_log.connect import EmbeddedRedis, RedisMemory, connect_async

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("log_redis")]

ANSWER = StoredAnswer(status=201, body=b'{"secret":"whsec_of_this_test"}')


@pytest.fixture
async def client(redis_server: EmbeddedRedis) -> AsyncIterator[redis.asyncio.Redis]:
    client = connect_async(redis_server.socket_path)
    try:
        yield client
    finally:
        await client.aclose()


def claims_of(client: redis.asyncio.Redis, process: str) -> IdempotencyClaims:
    return IdempotencyClaims(client, box=SecretBox(bytes(32)), process=process, memory=RedisMemory())


async def claimed(claims: IdempotencyClaims) -> Claimed:
    outcome = await claims.claim("scope", "asked")
    assert isinstance(outcome, Claimed)
    return outcome


async def test_given_a_claim_when_the_same_or_another_request_comes_then_they_are_told_apart(
    client: redis.asyncio.Redis, log_redis: Redis
) -> None:
    claims = claims_of(client, "one")
    await claimed(claims)

    assert isinstance(await claims.claim("scope", "asked"), InFlight)
    assert isinstance(await claims.claim("scope", "something else"), OtherRequest)
    assert isinstance(await claims.claim("another scope", "something else"), Claimed)
    assert 0 < int(log_redis.pttl(key_of("scope"))) <= LEASE_MS


async def test_given_a_finished_claim_when_repeated_then_its_answer_and_nothing_legible_in_redis(
    client: redis.asyncio.Redis, log_redis: Redis
) -> None:
    claims = claims_of(client, "one")

    assert await claims.finish(await claimed(claims), ANSWER)

    assert await claims.claim("scope", "asked") == ANSWER
    assert await claims_of(client, "two").claim("scope", "asked") == ANSWER
    assert isinstance(await claims.claim("scope", "something else"), OtherRequest)
    kept = log_redis.get(key_of("scope"))
    assert isinstance(kept, bytes)
    assert b"whsec" not in kept
    assert int(log_redis.pttl(key_of("scope"))) >= 24 * 60 * 60 * 1_000


async def test_given_a_released_claim_when_another_request_comes_then_the_key_is_free(
    client: redis.asyncio.Redis,
) -> None:
    claims = claims_of(client, "one")

    assert await claims.release(await claimed(claims))

    assert isinstance(await claims.claim("scope", "something else"), Claimed)


async def test_given_a_claim_of_a_process_that_is_gone_when_repeated_then_it_is_taken_over_once(
    client: redis.asyncio.Redis,
) -> None:
    gone, here = claims_of(client, "gone"), claims_of(client, "here")
    lost = await claimed(gone)

    assert isinstance(await here.claim("scope", "asked"), Claimed)
    assert isinstance(await here.claim("scope", "asked"), InFlight)
    assert not await gone.finish(lost, ANSWER)
    assert not await gone.release(lost)


async def test_given_a_lease_that_ended_when_the_request_finishes_then_its_answer_is_kept_if_nobody_took_the_key(
    client: redis.asyncio.Redis, log_redis: Redis
) -> None:
    claims = claims_of(client, "one")
    slow = await claimed(claims)
    log_redis.delete(key_of("scope"))

    assert await claims.finish(slow, ANSWER)
    assert await claims.claim("scope", "asked") == ANSWER


async def test_given_a_request_that_failed_when_repeated_then_the_same_one_takes_its_claim_up(
    client: redis.asyncio.Redis,
) -> None:
    claims = claims_of(client, "one")
    failed = await claimed(claims)

    claims.end_request(failed)

    assert isinstance(await claims.claim("scope", "something else"), OtherRequest)
    again = await claimed(claims)
    assert isinstance(await claims.claim("scope", "asked"), InFlight)
    assert not await claims.release(failed)
    assert await claims.release(again)


async def test_given_headers_of_the_answer_when_repeated_then_they_are_there(client: redis.asyncio.Redis) -> None:
    claims = claims_of(client, "one")
    warned = StoredAnswer(status=200, body=b"{}", headers=((b"x-kept", b"true"),))

    await claims.finish(await claimed(claims), warned)

    assert await claims.claim("scope", "asked") == warned


async def test_given_no_redis_when_claimed_then_unavailable() -> None:
    away = connect_async("/nowhere/redis.sock")
    with pytest.raises(UnavailableError, match="nothing was done"):
        await claims_of(away, "one").claim("scope", "asked")
    await away.aclose()


async def test_given_little_memory_left_in_redis_when_claimed_then_unavailable_until_there_is_room(
    client: redis.asyncio.Redis, log_redis: Redis
) -> None:
    memory = RedisMemory()
    claims = IdempotencyClaims(client, box=SecretBox(bytes(32)), process="one", memory=memory)
    usual = str(log_redis.config_get("maxmemory")["maxmemory"])
    try:
        log_redis.config_set("maxmemory", log_redis.info("memory")["used_memory"] * 3 // 2)
        await memory.read(client)
        with pytest.raises(UnavailableError, match="no room"):
            await claims.claim("scope", "asked")
    finally:
        log_redis.config_set("maxmemory", usual)

    await memory.read(client)
    assert isinstance(await claims.claim("scope", "asked"), Claimed)


async def test_given_the_answer_to_a_preflight_when_stored_then_it_takes_little_memory(
    client: redis.asyncio.Redis, log_redis: Redis
) -> None:
    claims = claims_of(client, "one")
    body = msgspec.json.encode(PREFLIGHT)

    await claims.finish(await claimed(claims), StoredAnswer(status=201, body=body))

    assert len(body) > 600
    used = log_redis.memory_usage(key_of("scope"))
    assert used is not None
    assert used < 700
