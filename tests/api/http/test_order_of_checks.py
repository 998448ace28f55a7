"""When two things are wrong at once, the check that comes first answers."""

import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import pytest

from tests.support.callers import FORGED, TRANSFER, UNKNOWN_ID, Headers, World, bearer, running_world
from tests.support.running_app import assert_refused
from tests.support.running_service import RunningService

KIB: Final = 1_024
USED: Final = "a key that was used"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("order")) as running:
        spend(running.send, running.callers["live key"].headers, running.payroll["id"])
        spend(running.send, running.callers["operator"].headers, running.payroll["id"])
        yield running


def spend(send: Callable[..., Any], headers: Headers, program_id: str) -> None:
    """Use an Idempotency-Key for a pre-flight that no test asks for."""
    body = {"programId": program_id, "transfer": TRANSFER | {"amountCents": "1"}}
    answer = send("POST", "/api/preflight", [*headers, ("Idempotency-Key", USED)], json=body)
    assert answer.status_code == 201, answer.text


class Call(msgspec.Struct, kw_only=True):
    """A pre-flight that is right, until a failure is put into it."""

    authorization: str
    operator: str = "ann"
    key: str | None = None
    media_type: str = "application/json"
    body: dict[str, Any]
    padding: int = 0
    query: str = ""

    @property
    def headers(self) -> Headers:
        sent = [("Authorization", self.authorization), ("X-Operator", self.operator), ("Content-Type", self.media_type)]
        return sent if self.key is None else [*sent, ("Idempotency-Key", self.key)]

    @property
    def content(self) -> bytes:
        return msgspec.json.encode(self.body) + b" " * self.padding


def too_large(call: Call, _: World) -> None:
    call.padding = 64 * KIB


def no_bearer(call: Call, _: World) -> None:
    call.authorization = f"Bearer op_{FORGED}"


def wrong_scope(call: Call, world: World) -> None:
    call.authorization = dict(world.callers["key with another scope"].headers)["Authorization"]


def bad_operator(call: Call, _: World) -> None:
    call.operator = "key:forged"


def bad_key(call: Call, _: World) -> None:
    call.key = "x" * 256


def bad_media_type(call: Call, _: World) -> None:
    call.media_type = "text/plain"


def invalid_body(call: Call, _: World) -> None:
    call.body["surprise"] = True


def unknown_query(call: Call, _: World) -> None:
    call.query = "?programID=1"


def key_used_otherwise(call: Call, _: World) -> None:
    call.key = call.key or USED


def unknown_program(call: Call, _: World) -> None:
    call.body["programId"] = UNKNOWN_ID


FAILURES: Final[dict[str, tuple[Callable[[Call, World], None], int, str]]] = {
    "413 body size": (too_large, 413, "65536 bytes"),
    "401 bearer": (no_bearer, 401, "bearer"),
    "403 scope": (wrong_scope, 403, "scope"),
    "400 X-Operator": (bad_operator, 400, "X-Operator"),
    "400 Idempotency-Key": (bad_key, 400, "Idempotency-Key"),
    "415 media type": (bad_media_type, 415, "application/json"),
    "400 body": (invalid_body, 400, "surprise"),
    "400 query": (unknown_query, 400, "programID"),
    "409 stored answer": (key_used_otherwise, 409, "Idempotency-Key"),
    "404 object": (unknown_program, 404, "Unknown program on this tenant."),
}
SAME_STEP: Final = {("400 body", "400 query")}
APART: Final = {("401 bearer", "403 scope"), ("400 Idempotency-Key", "409 stored answer")}
"""Two failures of one header cannot be sent at once."""
PAIRS: Final = [pair for pair in combinations(FAILURES, 2) if pair not in SAME_STEP | APART]
CALLERS: Final = ("operator", "live key")


def a_call(world: World, caller: str) -> Call:
    return Call(
        authorization=dict(world.callers[caller].headers)["Authorization"],
        body={"programId": world.payroll["id"], "transfer": TRANSFER},
    )


def sent(world: World, call: Call) -> httpx.Response:
    return world.send("POST", f"/api/preflight{call.query}", call.headers, content=call.content)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("failure", FAILURES)
def test_given_one_failure_when_called_then_it_answers(world: World, failure: str, caller: str) -> None:
    put, status, sentence = FAILURES[failure]
    call = a_call(world, caller)
    put(call, world)

    assert_refused(sent(world, call), status, sentence)


@pytest.mark.parametrize("caller", CALLERS)
def test_given_no_failure_when_called_then_it_is_answered(world: World, caller: str) -> None:
    assert sent(world, a_call(world, caller)).status_code == 201


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(("earlier", "later"), PAIRS)
def test_given_two_failures_when_called_then_the_earlier_answers(
    world: World, earlier: str, later: str, caller: str
) -> None:
    call = a_call(world, caller)
    for failure in (later, earlier):
        FAILURES[failure][0](call, world)
    before = world.stored()

    answer = sent(world, call)

    _, status, sentence = FAILURES[earlier]
    assert_refused(answer, status, sentence)
    assert world.stored() == before


@pytest.mark.parametrize(
    "later", ["400 X-Operator", "400 Idempotency-Key", "400 body", "400 query", "409 stored answer"]
)
@pytest.mark.parametrize("caller", ["test key", "key of another program"])
def test_given_a_program_out_of_reach_and_another_failure_when_called_then_403_answers(
    world: World, caller: str, later: str
) -> None:
    call = a_call(world, caller)
    FAILURES[later][0](call, world)

    assert_refused(sent(world, call), 403)


OUT_OF_REACH: Final = (
    "/api/transfers?programId={}&limit=0",
    "/api/programs/{}?limit=1",
    "/api/transfers/export?programId={}&x=1",
)


@pytest.mark.parametrize("path", OUT_OF_REACH)
def test_given_a_program_out_of_reach_and_a_bad_query_when_read_then_403_answers(world: World, path: str) -> None:
    headers = [*world.callers["test key"].headers, ("X-Operator", "policy:forged")]

    assert_refused(world.send("GET", path.format(world.payroll["id"]), headers), 403)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "/api/keys", b"{nope"), ("GET", "/api/keys?x=1", b""), ("DELETE", f"/api/keys/{UNKNOWN_ID}", b"")],
)
def test_given_an_operators_route_and_another_failure_when_a_key_calls_then_403_answers(
    world: World, method: str, path: str, body: bytes
) -> None:
    headers = [*world.callers["live key"].headers, ("X-Operator", "key:x"), ("Content-Type", "text/plain")]

    assert_refused(world.send(method, path, headers, content=body), 403)


@pytest.mark.parametrize("path", ["/api/preflight/{}?x=1", "/api/programs/{}?x=1", "/api/transfers/{}?limit=1"])
def test_given_a_bad_query_and_an_unknown_object_when_read_then_the_query_answers(world: World, path: str) -> None:
    headers = world.callers["operator"].headers

    assert_refused(world.send("GET", path.format(UNKNOWN_ID), headers), 400, "is not a known parameter")


@pytest.mark.parametrize("path", ["/api/preflight/{}", "/api/programs/{}", "/api/transfers/{}"])
def test_given_no_operator_and_an_unknown_object_when_read_then_the_operator_is_asked_for(
    world: World, path: str
) -> None:
    headers = world.callers["nameless operator"].headers

    assert_refused(world.send("GET", path.format(UNKNOWN_ID), headers), 400, "X-Operator")


def test_given_a_tenant_that_is_not_the_bearers_when_named_then_401_before_all_that_follows(world: World) -> None:
    headers = world.callers["key with another scope"].headers
    foreign = [*headers, ("X-Operator", "key:x"), ("Idempotency-Key", ""), ("Content-Type", "text/plain")]

    answer = world.send("POST", "/api/preflight?tenant=second-bank", foreign, content=b"{nope")

    assert_refused(answer, 401)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_given_an_unknown_tenant_and_a_taken_slug_when_administered_then_404_comes_before_409(world: World) -> None:
    headers = world.callers["admin"].headers
    both = {"tenantId": UNKNOWN_ID, "slug": "payroll", "name": "P"}
    taken = both | {"tenantId": world.tenant["id"]}

    assert_refused(world.send("POST", "/api/admin/programs", headers, json=both), 404)
    assert_refused(world.send("POST", "/api/admin/programs", headers, json=taken), 409)


def test_given_a_replay_when_the_body_is_no_longer_read_as_valid_then_validation_answers(world: World) -> None:
    headers = [*world.callers["operator"].headers, ("Idempotency-Key", USED)]
    body = {"programId": world.payroll["id"], "transfer": TRANSFER | {"amountCents": "1"}}

    replayed = world.send("POST", "/api/preflight", headers, json=body)
    invalid = world.send("POST", "/api/preflight", headers, json=body | {"surprise": 1})

    assert (replayed.status_code, replayed.headers["idempotent-replayed"]) == (201, "true")
    assert_refused(invalid, 400, "surprise")


RATES: Final = "preflight=1,write=1000,read=1000"
EMPTIED_WITHIN_S: Final = 60.0
WINDOW_S: Final = 1.0
"""In which the bucket of ``RATES`` gets no token back."""


class Limited:
    """A service whose pre-flight buckets hold one, and two callers of one tenant."""

    def __init__(self, service: RunningService, client: httpx.Client) -> None:
        self.client = client
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        body = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
        self.program = service.admin("/api/admin/programs", body)
        self.operator = dict(bearer(tenant["operatorToken"], "ann"))
        key = client.post("/api/keys", json={"name": "k", "mode": "live"}, headers=self.operator).json()
        self.key = dict(bearer(key["secret"]))
        other = {"name": "k", "mode": "test"}
        self.test_key = dict(bearer(client.post("/api/keys", json=other, headers=self.operator).json()["secret"]))

    def ask(self, headers: dict[str, str], **over: Any) -> httpx.Response:
        usual: dict[str, Any] = {"json": {"programId": self.program["id"], "transfer": TRANSFER}, "headers": headers}
        return self.client.post("/api/preflight", **usual | over)

    def when_emptied(self, headers: dict[str, str], **over: Any) -> httpx.Response:
        """The answer of a call within the window of one that took the last token, so the bucket was empty."""
        until = time.monotonic() + EMPTIED_WITHIN_S
        while True:
            began = time.monotonic()
            last = self.ask(self.key)
            answer = self.ask(headers, **over)
            if last.is_success and time.monotonic() - began < WINDOW_S:
                return answer
            assert time.monotonic() < until


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Limited]:
    folder: Path = tmp_path_factory.mktemp("limited")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CLEARHOLD_RATE_LIMITS", RATES)
        with RunningService(folder / "data") as service, contextlib.ExitStack() as opened:
            yield Limited(service, opened.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{service.port}")))


def test_given_an_empty_bucket_when_called_then_429_says_when_to_come_back(limited: Limited) -> None:
    answer = limited.when_emptied(limited.key)

    assert_refused(answer, 429)
    assert int(answer.headers["retry-after"]) >= int(answer.headers["ratelimit"].rpartition("t=")[2]) >= 1
    assert answer.headers["ratelimit"].startswith('"preflight";r=0;t=')
    assert answer.headers["ratelimit-policy"] == '"preflight";q=1;w=1'


@pytest.mark.parametrize(
    ("over", "headers"),
    [
        ({}, {"X-Operator": "key:forged"}),
        ({}, {"Idempotency-Key": ""}),
        ({}, {"Idempotency-Key": "x" * 256}),
        ({}, {"Content-Type": "text/plain"}),
        ({"json": {"surprise": 1}}, {}),
        ({"json": {"programId": UNKNOWN_ID, "transfer": TRANSFER}}, {}),
    ],
)
def test_given_an_empty_bucket_and_a_later_failure_when_called_then_429_answers(
    limited: Limited, over: dict[str, Any], headers: dict[str, str]
) -> None:
    assert_refused(limited.when_emptied(limited.key | headers, **over), 429)


def test_given_an_empty_bucket_and_an_earlier_failure_when_called_then_the_earlier_answers(limited: Limited) -> None:
    large = {"json": None, "content": b" " * (64 * KIB + 1)}

    assert_refused(limited.when_emptied(limited.key, **large), 413)
    assert_refused(limited.when_emptied(limited.key | {"Authorization": "Bearer x"}), 401)
    assert_refused(limited.when_emptied(limited.key, params={"tenant": "other"}), 401)
    assert_refused(limited.when_emptied(limited.test_key), 403)


def test_given_one_callers_empty_bucket_when_others_call_then_they_have_buckets_of_their_own(limited: Limited) -> None:
    limited.when_emptied(limited.key)
    answer = limited.ask(limited.operator)
    read = limited.client.get("/api/programs", headers=limited.key)

    assert answer.status_code == 201
    assert (read.status_code, read.headers["ratelimit-policy"]) == (200, '"read";q=1000;w=1')
