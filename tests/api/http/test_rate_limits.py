"""Rate limits: a second's worth at once, then as fast as it fills, for each caller and kind apart."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.api.http.limits import DEFAULT_LIMITS, RateLimits, limits_of, rate_headers
from clearhold.api.http.operation import RateClass
from clearhold.features.core.errors import RateLimitedError
from clearhold.features.core.instants import SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.store.errors import StartupError
from tests.support.clock import FrozenClock
from tests.support.principals import a_key, an_operator
from tests.support.running_app import RunningApp, assert_refused


def taken(limits: RateLimits, principal: Principal, count: int, rate_class: RateClass = RateClass.READ) -> int:
    """How many of so many requests are let through."""
    through = 0
    for _ in range(count):
        try:
            limits.take({}, principal, rate_class)
        except RateLimitedError:
            continue
        through += 1
    return through


def test_given_a_full_bucket_when_emptied_then_it_fills_with_time() -> None:
    clock = FrozenClock()
    limits = RateLimits(dict.fromkeys(RateClass, 10), clock)
    ann = an_operator("tnt_1")

    assert taken(limits, ann, 12) == 10
    clock.advance(SECOND_US // 2)
    assert taken(limits, ann, 12) == 5
    clock.advance(SECOND_US // 10 - 1)
    assert taken(limits, ann, 12) == 0
    clock.advance(1)
    assert taken(limits, ann, 12) == 1
    clock.advance(60 * SECOND_US)
    assert taken(limits, ann, 12) == 10


def test_given_a_clock_that_goes_back_when_asked_then_nothing_is_gained_or_lost() -> None:
    clock = FrozenClock()
    limits = RateLimits(dict.fromkeys(RateClass, 10), clock)

    assert taken(limits, an_operator("tnt_1"), 4) == 4
    clock.advance(-5 * SECOND_US)
    assert taken(limits, an_operator("tnt_1"), 12) == 6


def test_given_one_caller_at_its_limit_when_others_ask_then_they_are_let_through() -> None:
    limits = RateLimits(dict.fromkeys(RateClass, 3), FrozenClock())

    assert taken(limits, an_operator("tnt_1"), 5) == 3
    assert taken(limits, an_operator("tnt_1"), 5, RateClass.WRITE) == 3
    assert taken(limits, an_operator("tnt_2"), 5) == 3
    assert taken(limits, a_key("tnt_1", "prg_1"), 5) == 3


def test_given_a_request_when_let_through_or_not_then_the_headers_tell_what_is_left() -> None:
    limits = RateLimits(dict.fromkeys(RateClass, 2), FrozenClock())
    scopes: list[dict[str, Any]] = [{}, {}, {}]
    for scope in scopes[:2]:
        limits.take(scope, an_operator("tnt_1"), RateClass.READ)
    with pytest.raises(RateLimitedError):
        limits.take(scopes[2], an_operator("tnt_1"), RateClass.READ)

    assert [rate_headers(scope)[1] for scope in scopes] == [
        (b"ratelimit", b'"read";r=1;t=1'),
        (b"ratelimit", b'"read";r=0;t=1'),
        (b"ratelimit", b'"read";r=0;t=1'),
    ]
    assert {rate_headers(scope)[0] for scope in scopes} == {(b"ratelimit-policy", b'"read";q=2;w=1')}


def test_given_a_service_at_its_limit_when_asked_then_429_in_the_envelope_before_x_operator(api: RunningApp) -> None:
    tenant = api.create_tenant()
    api.limits = dict.fromkeys(RateClass, 2)
    api.restart()
    bearer = {"Authorization": api.operator(tenant)["Authorization"]}

    answers = [api.client.get("/api/programs", headers=api.operator(tenant)) for _ in range(2)]
    refused = api.client.get("/api/programs", headers=bearer)

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].headers["ratelimit"] == '"read";r=1;t=1'
    assert_refused(refused, 429, "Retry-After")
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["ratelimit-policy"] == '"read";q=2;w=1'


def test_given_a_person_at_the_limit_when_another_asks_with_a_token_of_theirs_then_they_are_let_through(
    api: RunningApp,
) -> None:
    tenant = api.create_tenant()
    path = f"/api/admin/tenants/{tenant['id']}/operator-tokens"
    issued = [
        api.client.post(path, json={"name": name, "expiresAt": "2026-06-01"}, headers=api.admin)
        for name in ("ann", "bob")
    ]
    ann, bob = ({"Authorization": f"Bearer {each.json()['token']}"} for each in issued)
    api.limits = dict.fromkeys(RateClass, 2)
    api.restart()

    statuses = [api.client.get("/api/programs", headers=who).status_code for who in (ann, ann, ann, bob)]
    shared = [api.client.get("/api/programs", headers=api.operator(tenant, who)) for who in ("ann", "bob", "carol")]

    assert statuses == [200, 200, 429, 200]
    assert [answer.status_code for answer in shared] == [200, 200, 429]


@pytest.mark.parametrize("text", [None, "", " "])
def test_given_no_setting_when_read_then_the_defaults(text: str | None) -> None:
    assert limits_of(text) == DEFAULT_LIMITS


def test_given_a_setting_when_read_then_what_it_names_is_changed() -> None:
    assert limits_of("read=50, preflight=9") == dict(DEFAULT_LIMITS) | {RateClass.READ: 50, RateClass.PREFLIGHT: 9}


@pytest.mark.parametrize(
    "text", ["read", "read=", "read=0", "read=-1", "read=1.5", "reads=5", "read=9999999", "read=٣"]
)
def test_given_an_unclear_setting_when_read_then_a_sentence(text: str) -> None:
    with pytest.raises(StartupError, match="CLEARHOLD_RATE_LIMITS"):
        limits_of(text)


def scope_of(host: str) -> dict[str, Any]:
    return {"client": (host, 40_000)}


def test_given_addresses_when_one_is_at_its_limit_then_the_others_are_not_and_one_host_is_one() -> None:
    limits = RateLimits(dict.fromkeys(RateClass, 2), FrozenClock())

    def through(*hosts: str) -> int:
        count = 0
        for host in hosts:
            try:
                limits.take_for_address(scope_of(host), RateClass.VERIFY)
            except RateLimitedError:
                continue
            count += 1
        return count

    assert through("10.0.0.1", "10.0.0.1", "10.0.0.1") == 2
    assert through("10.0.0.2", "::ffff:10.0.0.3", "::ffff:10.0.0.4", "::ffff:10.0.0.5") == 4
    assert through("2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:ffff::3", "2001:db8:0:2::1") == 3


@given(waits=st.lists(st.integers(0, 3 * SECOND_US), max_size=40), callers=st.randoms(use_true_random=False))
def test_given_buckets_that_are_forgotten_when_taken_from_then_nobody_gains_or_loses(
    waits: list[int], callers: Any
) -> None:
    clock = FrozenClock()
    limits, remembering = (RateLimits(dict.fromkeys(RateClass, 3), clock) for _ in range(2))
    remembering._forget_full = lambda now: None  # type: ignore[method-assign]  # noqa: ARG005

    for wait in waits:
        clock.advance(wait)
        tenant = an_operator(f"tnt_{callers.randrange(3)}")
        assert taken(limits, tenant, 2) == taken(remembering, tenant, 2)


def test_given_ever_new_addresses_when_they_ask_then_those_of_the_last_seconds_are_remembered_only() -> None:
    clock = FrozenClock()
    limits = RateLimits(dict.fromkeys(RateClass, 2), clock)

    for number in range(1_000):
        limits.take_for_address(scope_of(f"10.0.{number >> 8}.{number & 255}"), RateClass.VERIFY)
        clock.advance(SECOND_US // 50)

    assert len(limits._levels) + len(limits._former) <= 101


def test_given_strangers_who_verify_too_fast_when_answered_then_429_says_when_to_come_back(api: RunningApp) -> None:
    api.limits = dict.fromkeys(RateClass, 1_000) | {RateClass.VERIFY: 2}
    api.restart()

    answers = [api.client.post("/api/proofs/verify", json={}) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["ratelimit-policy"] == '"verify";q=2;w=1'
    assert answers[2].headers["retry-after"] == "1"
    assert_refused(answers[2], 429)
