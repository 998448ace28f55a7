"""The Idempotency-Key header: its syntax, what it is bound to, what is replayed, and what is let go again."""

from collections.abc import Iterator
from json import dumps
from typing import Any, Final

import httpx
import pytest
from msgspec import json

from clearhold.api.http.idempotency import comparable
from tests.support.callers import TRANSFER, UNKNOWN_ID, Headers, World, bearer, running_world
from tests.support.running_app import assert_refused

HOUR_US: Final = 3_600_000_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("idempotency")) as running:
        yield running


def question(world: World, **transfer: Any) -> dict[str, Any]:
    return {"programId": world.payroll["id"], "transfer": TRANSFER | transfer}


def sent(
    world: World, key: str | None, body: Any, *, caller: str = "operator", path: str = "/api/preflight", **over: Any
) -> httpx.Response:
    """POST under an Idempotency-Key; ``body`` is a value, or bytes as they are."""
    content = body if isinstance(body, bytes) else json.encode(body)
    headers = over.pop("headers", world.callers[caller].headers)
    keyed: Headers = [] if key is None else [("Idempotency-Key", key)]
    more = [("Content-Type", "application/json"), *keyed]
    return world.send(over.pop("method", "POST"), path, [*headers, *more], content=content, **over)


def assert_replayed(replay: httpx.Response, first: httpx.Response) -> None:
    assert (replay.status_code, replay.content) == (first.status_code, first.content)
    assert replay.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert replay.headers["x-request-id"] != first.headers["x-request-id"]
    assert replay.headers["content-type"] == first.headers["content-type"]


def assert_fresh(answer: httpx.Response, status: int = 201) -> None:
    assert answer.status_code == status, answer.text
    assert "idempotent-replayed" not in answer.headers


@pytest.mark.parametrize(
    "value", [b"", b"x" * 256, b"caf\xc3\xa9", b"\xff", b"a\tb", b"a\x7fb", b"\x01"], ids=lambda value: repr(value[:4])
)
def test_given_a_key_that_is_none_when_sent_then_400_names_the_header(world: World, value: bytes) -> None:
    headers = [(name.encode(), text.encode()) for name, text in world.callers["operator"].headers]
    before = world.stored()

    answer = world.api.client.post(
        "/api/preflight", headers=[*headers, (b"Idempotency-Key", value)], json=question(world)
    )

    assert_refused(answer, 400, "Idempotency-Key")
    assert world.stored() == before


@pytest.mark.parametrize("key", ["k", "x" * 255, '"quoted"', "with spaces in it", "!~{}%00;,"])
def test_given_a_key_of_printable_ascii_when_used_twice_then_the_second_is_a_replay(world: World, key: str) -> None:
    answers = [sent(world, key, question(world)) for _ in range(3)]

    assert_fresh(answers[0])
    assert_replayed(answers[1], answers[0])
    assert_replayed(answers[2], answers[0])


def test_given_a_quoted_key_when_the_bare_one_is_used_then_they_are_two(world: World) -> None:
    quoted, bare, upper = (sent(world, key, question(world)) for key in ('"twofold"', "twofold", "TWOFOLD"))

    assert len({answer.json()["preflightId"] for answer in (quoted, bare, upper)}) == 3


def test_given_a_replay_when_sent_then_nothing_is_recorded(world: World) -> None:
    sent(world, "nothing new", question(world))
    before = world.stored()

    replay = sent(world, "nothing new", question(world))

    assert replay.headers["idempotent-replayed"] == "true"
    assert world.stored() == before


def test_given_a_callers_request_id_when_replayed_then_the_replay_has_its_own(world: World) -> None:
    ids = ["first-request", "second-request"]

    answers = [sent(world, "ids", question(world), extra=[("X-Request-Id", each)]) for each in ids]

    assert [answer.headers["x-request-id"] for answer in answers] == ids
    assert answers[1].headers["idempotent-replayed"] == "true"


def test_given_the_same_body_by_another_spelling_when_sent_then_it_is_a_replay(world: World) -> None:
    body = question(world, description="Café A")
    first = sent(world, "spelling", body)
    spellings = [
        json.format(json.encode(body), indent=4),
        json.encode({"transfer": dict(reversed(body["transfer"].items())), "programId": body["programId"]}),
        json.encode(body).replace("Café A".encode(), b"Caf\\u00e9 \\u0041"),
    ]

    for spelling in spellings:
        assert spelling != json.encode(body)
        assert_replayed(sent(world, "spelling", spelling), first)


@pytest.mark.parametrize(
    "change",
    [
        {"amountCents": "12501"},
        {"description": "more"},
        {"currency": "USD"},
        {"type": None},
        {"counterparty": {"name": "Sam"}},
    ],
)
def test_given_another_body_when_sent_under_the_key_then_409_and_the_first_stays(
    world: World, change: dict[str, Any]
) -> None:
    key = world.fresh()
    first = sent(world, key, question(world))
    before = world.stored()

    other = sent(world, key, question(world, **change))

    assert_refused(other, 409, "Idempotency-Key")
    assert "retry-after" not in other.headers
    assert world.stored() == before
    assert_replayed(sent(world, key, question(world)), first)


def test_given_another_person_when_the_key_is_used_then_it_is_the_same_request(world: World) -> None:
    key, token = world.fresh(), world.tenant["operatorToken"]
    first = sent(world, key, question(world))

    assert_fresh(first)
    assert_replayed(sent(world, key, question(world), headers=bearer(token, "bob")), first)


def test_given_a_key_that_names_a_person_then_not_when_used_then_it_is_the_same_request(world: World) -> None:
    key, headers = world.fresh(), world.callers["live key"].headers
    first = sent(world, key, question(world), headers=headers)

    assert_fresh(first)
    assert_replayed(sent(world, key, question(world), headers=[*headers, ("X-Operator", "ann")]), first)


def test_given_a_query_that_confirms_the_tenant_when_the_key_is_used_then_it_is_the_same_request(world: World) -> None:
    key, path = world.fresh(), "/api/preflight?tenant=first-bank"
    first = sent(world, key, question(world), path=path)

    assert_fresh(first)
    assert_replayed(sent(world, key, question(world)), first)
    assert_replayed(sent(world, key, question(world), path=path), first)


def test_given_a_decision_when_another_person_repeats_it_under_the_key_then_the_record_names_the_first(
    world: World,
) -> None:
    path, key = f"/api/alerts/{world.waiting_alert(world.payroll)}/decide", world.fresh()
    decision = {"decision": "close", "narrative": "It was explained to us."}
    first = sent(world, key, decision, path=path)

    again = sent(world, key, decision, path=path, headers=bearer(world.tenant["operatorToken"], "bob"))

    assert_replayed(again, first)
    assert again.json()["decidedBy"] == "operator:ann"


def test_given_other_callers_when_they_use_the_key_then_each_has_its_own_answer(world: World) -> None:
    key = world.fresh()
    callers = ("operator", "live key", "key of the program", "key with the scopes")

    answers = [sent(world, key, question(world), caller=caller) for caller in callers]
    theirs = sent(
        world, key, {"programId": world.theirs["id"], "transfer": TRANSFER}, caller="operator of another tenant"
    )

    for answer in (*answers, theirs):
        assert_fresh(answer)
    assert len({answer.json()["preflightId"] for answer in (*answers, theirs)}) == len(callers) + 1
    for caller, answer in zip(callers, answers, strict=True):
        assert_replayed(sent(world, key, question(world), caller=caller), answer)


def test_given_other_routes_and_ids_when_the_key_is_used_then_each_has_its_own_answer(world: World) -> None:
    key, body = world.fresh(), {"name": "k", "mode": "live"}
    made = [world.key_of(world.tenant) for _ in range(2)]

    answers = [
        sent(world, key, question(world)),
        sent(world, key, body, path="/api/keys"),
        *(world.send("DELETE", f"/api/keys/{each['id']}", operator_with(world, key)) for each in made),
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 200, 200]
    assert not [answer for answer in answers if "idempotent-replayed" in answer.headers]
    assert [answer.json()["id"] for answer in answers[2:]] == [each["id"] for each in made]


@pytest.mark.parametrize("path", ["/api/%70reflight", "//api/preflight", "/api//preflight"])
def test_given_a_route_by_another_spelling_when_the_key_is_used_then_it_is_unknown_and_the_key_is_free(
    path: str, world: World
) -> None:
    key = world.fresh()

    assert sent(world, key, question(world), path=path).status_code == 404
    assert_fresh(sent(world, key, question(world)))


def test_given_a_route_with_a_slash_at_its_end_when_the_key_is_used_then_it_is_the_same_route(world: World) -> None:
    key = world.fresh()
    first = sent(world, key, question(world))

    assert_replayed(sent(world, key, question(world), path="/api/preflight/"), first)


def test_given_an_id_in_upper_case_when_the_key_is_used_then_it_is_the_same_route(world: World) -> None:
    alert_id, key = world.waiting_alert(world.payroll), world.fresh()
    decision = {"decision": "close", "narrative": "It was explained to us."}
    first = sent(world, key, decision, path=f"/api/alerts/{alert_id}/decide")

    again = sent(world, key, decision, path=f"/api/alerts/{alert_id.upper()}/decide")

    assert_fresh(first)
    assert_replayed(again, first)


def operator_with(world: World, key: str) -> Headers:
    return [*world.callers["operator"].headers, ("Idempotency-Key", key)]


def test_given_a_delete_without_a_body_when_sent_again_then_it_is_a_replay(world: World) -> None:
    made, key = world.key_of(world.tenant), world.fresh()

    answers = [world.send("DELETE", f"/api/keys/{made['id']}", operator_with(world, key)) for _ in range(2)]

    assert_fresh(answers[0], 200)
    assert_replayed(answers[1], answers[0])


def test_given_a_patch_when_sent_again_after_another_then_it_is_a_replay_and_changes_nothing(world: World) -> None:
    path, key = f"/api/admin/programs/{world.spare_program['id']}", world.fresh()
    first = sent(world, key, {"name": "First"}, caller="admin", path=path, method="PATCH")
    second = sent(world, None, {"name": "Second"}, caller="admin", path=path, method="PATCH")

    again = sent(world, key, {"name": "First"}, caller="admin", path=path, method="PATCH")

    assert_fresh(first, 200)
    assert_replayed(again, first)
    read = world.send("GET", f"/api/programs/{world.spare_program['id']}", bearer(world.spare["operatorToken"], "ann"))
    assert (second.json()["name"], read.json()["name"]) == ("Second", "Second")


def test_given_a_refusal_when_its_cause_is_gone_then_the_same_key_works(world: World) -> None:
    key, slug = world.fresh(), world.fresh()
    body = {"programSlug": slug, "transfer": TRANSFER}
    refused = [sent(world, key, body) for _ in range(2)]

    world.api.create_program(world.tenant, slug=slug)
    answers = [sent(world, key, body) for _ in range(2)]

    for answer in refused:
        assert_refused(answer, 404)
        assert "idempotent-replayed" not in answer.headers
    assert_fresh(answers[0])
    assert_replayed(answers[1], answers[0])


@pytest.mark.parametrize(
    ("body", "status"),
    [({"surprise": 1}, 400), (b"{nope", 400), ({"programId": UNKNOWN_ID, "transfer": TRANSFER}, 404)],
)
def test_given_a_refused_call_when_another_body_comes_under_its_key_then_it_is_answered(
    world: World, body: Any, status: int
) -> None:
    key = world.fresh()

    assert_refused(sent(world, key, body), status)
    assert_fresh(sent(world, key, question(world)))


def test_given_a_conflict_of_state_when_the_key_is_used_again_then_it_was_let_go(world: World) -> None:
    key, slug = world.fresh(), world.fresh()
    body = {"tenantId": world.spare["id"], "slug": slug, "name": "P"}
    world.api.create_program(world.spare, slug=slug)

    assert_refused(sent(world, key, body, caller="admin", path="/api/admin/programs"), 409, "slug")
    assert_fresh(sent(world, key, body | {"slug": world.fresh()}, caller="admin", path="/api/admin/programs"))


def test_given_an_event_of_the_bank_when_it_has_the_header_then_it_means_nothing(world: World) -> None:
    path, key = f"/api/ingest/bank/{world.payroll['id']}", world.fresh()

    def delivered(value: str) -> httpx.Response:
        event = {"id": world.fresh(), "created_at": "2026-03-02T14:00:00Z", "type": "odd.thing.seen", "data": {}}
        body = json.encode(event)
        return world.send("POST", path, [*world.signed(world.payroll, body), ("Idempotency-Key", value)], content=body)

    answers = [delivered(value) for value in (key, key, "", "x" * 256)]

    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.json()["duplicate"] for answer in answers] == [False] * 4
    assert not [answer for answer in answers if "idempotent-replayed" in answer.headers]


def test_given_both_keys_when_sent_again_then_the_header_answers_before_the_body(world: World) -> None:
    header, other_header, inner = world.fresh(), world.fresh(), world.fresh()
    body = question(world) | {"idempotencyKey": inner}
    first = sent(world, header, body)

    by_header = sent(world, header, body)
    by_body = sent(world, other_header, body)
    by_body_again = sent(world, other_header, body)
    without = sent(world, None, body)
    other_body = sent(world, header, body | {"transfer": TRANSFER | {"amountCents": "1"}})

    assert_fresh(first)
    assert first.json()["idempotent"] is False
    assert_replayed(by_header, first)
    for answer in (by_body, without):
        assert_fresh(answer, 200)
        assert answer.json() == first.json() | {"idempotent": True, "degradedReasons": []}
    assert_replayed(by_body_again, by_body)
    assert_refused(other_body, 409, "Idempotency-Key")


def test_given_a_day_when_it_is_not_over_then_the_answer_is_still_kept(world: World) -> None:
    key = world.fresh()
    first = sent(world, key, question(world))

    world.api.clock.advance(24 * HOUR_US - 60_000_000)

    assert_replayed(sent(world, key, question(world)), first)


def test_given_a_restart_when_the_key_is_used_again_then_the_answer_is_still_kept(world: World) -> None:
    key = world.fresh()
    first = sent(world, key, question(world))

    world.api.restart()

    assert_replayed(sent(world, key, question(world)), first)
    assert_refused(sent(world, key, question(world, amountCents="1")), 409, "Idempotency-Key")


def test_given_bodies_when_they_mean_the_same_then_they_compare_equal_and_else_not() -> None:
    body = {"b": [{"y": 14, "x": None}], "a": 2**60}

    assert dumps(comparable({"a": 2**60, "b": [{"x": None, "y": 14.0}]})) == dumps(comparable(body))
    for other in (
        body | {"a": 2**60 + 1},
        body | {"a": float(2**60) * 2},
        body | {"a": str(2**60)},
        body | {"b": [{"y": 14.000001, "x": None}]},
        body | {"b": [{"y": True, "x": None}]},
        body | {"c": None},
    ):
        assert dumps(comparable(other)) != dumps(comparable(body))
