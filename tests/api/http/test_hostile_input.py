"""What nobody honest sends, to every write route there is: refused in the envelope, never stored, never echoed."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import msgspec
import pytest

from tests.support.callers import Headers, Ids, World, bearer, running_world
from tests.support.hostile_bodies import CANARY, HOSTILE
from tests.support.naming import naming
from tests.support.operations import OPERATIONS, WRITES, Access, Operation, call, ids_for
from tests.support.running_app import assert_refused

KIB: Final = 1_024
BATCH: Final = "/api/ingest/bank/{}/batch"
CHECK: Final = "/api/ingest/bank/{}/check"
VERIFY: Final = "/api/proofs/verify"
LIMITS: Final = {
    "/api/preflight": 64 * KIB,
    "/api/ladder/evaluate": 64 * KIB,
    "/api/ingest/bank/{}": 1_024 * KIB,
    BATCH: 4_096 * KIB,
    CHECK: 64 * KIB,
    "/api/config/plan": 512 * KIB,
    "/api/config/apply": 512 * KIB,
}
USUAL_LIMIT: Final = 256 * KIB
JSON: Final = "application/json"

BODIES: Final = [each for each in WRITES if each.body is not None]
OURS: Final = [
    each for each in BODIES if each.access not in {Access.SIGNATURE, Access.BEARER_ALONE} and each.path != CHECK
]


ANY_TOKEN: Final = {
    "a flag for a text",
    "a list for a text",
    "an object for a text",
    "a fraction of fifty thousand digits",
    "a text that is too long",
}
"""What the verification of proofs answers with a verdict: 200, malformed."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("hostile")) as running, pytest.MonkeyPatch.context() as patched:
        patched.setattr("clearhold.store.control.credential_registry.MOST_KEYS", 10_000)  # each case makes some
        yield running


def titled(value: object) -> str | None:
    return value.title if isinstance(value, Operation) else None


def caller_of(world: World, operation: Operation) -> Headers:
    if operation.sandbox:
        return world.callers["test key"].headers
    return world.callers["admin" if operation.access is Access.ADMIN else "operator"].headers


def body_of(world: World, operation: Operation, ids: Ids | None = None) -> dict[str, Any]:
    assert operation.body is not None
    return operation.body(world, ids_for(world, operation) if ids is None else ids)


def hostile_to(operation: Operation) -> list[str]:
    """The cases that are hostile to this one: a body may be left out, and any text is a token for those who verify."""
    harmless: set[str] = {"empty"} if operation.body_optional else set()
    return [case for case in HOSTILE if case not in (harmless | (ANY_TOKEN if operation.path == VERIFY else set()))]


@pytest.mark.parametrize("operation", OURS, ids=titled)
def test_given_hostile_bodies_when_written_then_400_and_nothing_is_stored_or_echoed(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    body = body_of(world, operation, ids)
    headers = [*caller_of(world, operation), ("Idempotency-Key", world.fresh())]
    before = world.stored()

    for case in hostile_to(operation):
        spoil, raw = HOSTILE[case]
        answer = call(world, operation, headers, ids, content=spoil(body, raw))

        with naming(case):
            assert_refused(answer, 400, "Validation failed: ")
            assert CANARY not in answer.text
            assert len(answer.text) < 4 * KIB
            assert world.stored() == before
    right = call(world, operation, headers, ids)  # None of them kept the key.
    assert (right.status_code, "idempotent-replayed" in right.headers) == (operation.success, False)


@pytest.mark.parametrize("operation", OURS, ids=titled)
def test_given_a_number_of_a_million_digits_when_written_then_it_is_refused_without_being_read(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    before = world.stored()

    answer = call(world, operation, caller_of(world, operation), ids, content=b'{"name":' + b"9" * 1_000_000 + b"}")

    assert_refused(answer, 413)
    assert world.stored() == before


UNREADABLE: Final = {
    "empty": b"",
    "not json": b"{" + CANARY.encode(),
    "a list": b"[]",
    "no id": b'{"created_at":"2026-03-02T14:00:00Z","type":"a.b","data":{}}',
    "a NUL in its id": b'{"id":"a\\u0000b","created_at":"2026-03-02T14:00:00Z","type":"a.b","data":{}}',
    "a lone surrogate in its id": b'{"id":"a\\ud800","created_at":"2026-03-02T14:00:00Z","type":"a.b","data":{}}',
    "bad utf-8 in its id": b'{"id":"a\xff","created_at":"2026-03-02T14:00:00Z","type":"a.b","data":{}}',
    "a number for its id": b'{"id":1e999,"created_at":"2026-03-02T14:00:00Z","type":"a.b","data":{}}',
    "NaN for its type": b'{"id":"a","created_at":"2026-03-02T14:00:00Z","type":NaN,"data":{}}',
    "a time that is none": b'{"id":"a","created_at":"s3cr3t-c4n4ry","type":"a.b","data":{}}',
    "lists in lists": b"[" * 100_000,
    "objects in objects": b'{"a":' * 100_000,
    "a number of a million digits": b'{"id":' + b"9" * 1_000_000 + b"}",
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_given_an_envelope_of_the_bank_that_cannot_be_used_when_signed_then_400_and_nothing_is_stored(
    world: World, case: str
) -> None:
    (ingest, batch) = [each for each in BODIES if each.access is Access.SIGNATURE]
    before = world.stored()

    answer = call(world, ingest, [], content=UNREADABLE[case])

    assert_refused(answer, 400)
    in_batch = call(world, batch, [], content=UNREADABLE[case])
    assert in_batch.status_code == 400 or b'"received":false' in in_batch.content
    assert CANARY not in answer.text + in_batch.text
    assert world.stored() == before


NOT_JSON: Final = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "*/*", "")
MEDIA_TYPES: Final[tuple[list[str], ...]] = (
    *([each] for each in NOT_JSON),
    ["application/xml"],
    ["application/jsonp"],
    ["application/json-patch+json"],
    ["application/octet-stream"],
    ["application/json; charset=utf-16"],
    [JSON, JSON],
    [JSON, "text/plain"],
    ["text/plain", JSON],
    [],
)


@pytest.mark.parametrize("operation", OURS, ids=titled)
def test_given_a_right_body_when_it_is_not_called_json_then_415_and_nothing_is_stored(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    content = msgspec.json.encode(body_of(world, operation, ids))
    before = world.stored()

    for media_types in MEDIA_TYPES:
        headers = [*caller_of(world, operation), *(("Content-Type", each) for each in media_types), *operation.sends]
        answer = world.send(operation.method, operation.url(ids), headers, content=content)

        with naming(repr(media_types)):
            assert_refused(answer, 415, JSON)
            assert world.stored() == before


@pytest.mark.parametrize("operation", OURS, ids=titled)
def test_given_a_form_when_written_then_it_is_no_body(world: World, operation: Operation) -> None:
    ids = ids_for(world, operation)
    form = {name: str(value) for name, value in body_of(world, operation, ids).items()}
    before = world.stored()

    url, headers = operation.url(ids), [*caller_of(world, operation), *operation.sends]
    answers = [
        world.send(operation.method, url, headers, data=form),
        world.send(operation.method, url, headers, data=form, files={"file": (CANARY, b"{}")}),
    ]

    for answer in answers:
        assert_refused(answer, 415)
        assert CANARY not in answer.text
    assert world.stored() == before


def padded(content: bytes, length: int) -> bytes:
    return content + b" " * (length - len(content))


def in_chunks(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), 50_000):
        yield content[start : start + 50_000]


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "chunked"])
@pytest.mark.parametrize("operation", BODIES, ids=titled)
def test_given_a_body_at_its_limit_when_written_then_it_is_taken_and_a_byte_more_is_413(
    world: World, operation: Operation, *, declared: bool
) -> None:
    limit = LIMITS.get(operation.path, USUAL_LIMIT)
    headers, ids = caller_of(world, operation), ids_for(world, operation)

    def answered(length: int) -> httpx.Response:
        content = padded(msgspec.json.encode(body_of(world, operation, ids)), length)
        signed = world.signed(world.payroll, content)
        sent: dict[str, Any] = {
            "content": content if declared else in_chunks(content),
            "extra": [*signed, *operation.sends],
        }
        return world.send(operation.method, operation.url(ids), headers, **sent)

    taken = answered(limit)
    before = world.stored()
    refused = answered(limit + 1)

    assert taken.status_code == operation.success, taken.text
    assert_refused(refused, 413, f"{limit} bytes")
    assert world.stored() == before


BODILESS: Final = [each for each in WRITES if each.body is None]


@pytest.mark.parametrize("operation", BODILESS, ids=titled)
def test_given_a_write_without_a_body_when_a_large_one_comes_then_413_and_nothing_is_done(
    world: World, operation: Operation
) -> None:
    headers, ids = caller_of(world, operation), ids_for(world, operation)
    before = world.stored()

    refused = world.send(operation.method, operation.url(ids), headers, content=b" " * (USUAL_LIMIT + 1))

    assert_refused(refused, 413)
    assert world.stored() == before


@pytest.mark.parametrize("operation", BODILESS, ids=titled)
@pytest.mark.parametrize("case", ["not json", "lists in lists", "bad utf-8", "a number of fifty thousand digits"])
def test_given_a_write_without_a_body_when_a_hostile_one_comes_then_it_is_ignored_or_refused(
    world: World, operation: Operation, case: str
) -> None:
    spoil, raw = HOSTILE[case]

    answer = call(world, operation, caller_of(world, operation), content=spoil({"a": "b"}, raw))

    assert answer.status_code in {200, 400, 415}, answer.text
    assert CANARY not in answer.text
    if answer.status_code >= 400:
        assert_refused(answer, answer.status_code)


QUERIES: Final = (
    ("surprise=" + CANARY, "surprise is not a known parameter"),
    ("Tenant=first-bank", "Tenant is not a known parameter"),
    ("tenant[]=" + CANARY, "is not a known parameter"),
    ("=" + CANARY, "is not a known parameter"),
    (CANARY, "is not a known parameter"),
)


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS if each.access not in {Access.PUBLIC, Access.SIGNATURE}], ids=titled
)
def test_given_an_unknown_parameter_when_called_then_400_and_nothing_is_stored(
    world: World, operation: Operation
) -> None:
    ids = ids_for(world, operation)
    content: dict[str, Any] = {"extra": [*operation.sends]}
    if operation.body is not None:
        content["json"] = operation.body(world, ids)
    url = operation.url(ids)
    before = world.stored()

    for query, sentence in QUERIES:
        answer = world.send(
            operation.method, f"{url}{'&' if '?' in url else '?'}{query}", caller_of(world, operation), **content
        )

        with naming(query[:12]):
            assert_refused(answer, 400, sentence)
            assert "=" + CANARY not in answer.text
            assert world.stored() == before


@pytest.mark.parametrize("tenant", ["first-bank&tenant=first-bank", "first-bank&tenant=second-bank", "%00", "a" * 300])
def test_given_a_tenant_that_is_none_when_named_then_it_is_refused(world: World, tenant: str) -> None:
    answer = world.send("GET", f"/api/programs?tenant={tenant}", world.callers["operator"].headers)

    assert answer.status_code in {400, 401}
    assert_refused(answer, answer.status_code)


HUGE: Final = ("1000000000", "9" * 5_000, "-1", "0", "101", "1e2", "0x10", "1_0", "%EF%BC%91", "1.0", "NaN", "", "5%0A")


@pytest.mark.parametrize("limit", HUGE, ids=lambda value: value[:12])
def test_given_a_limit_that_is_none_when_listed_then_400(world: World, limit: str) -> None:
    assert_refused(
        world.send("GET", f"/api/transfers?limit={limit}", world.callers["operator"].headers), 400, "limit must be"
    )


def cursor_of(world: World, query: str = "") -> str:
    """A cursor that a list has given out."""
    answer = world.send("GET", f"/api/transfers?limit=1{query}", world.callers["operator"].headers)
    cursor: str = answer.json()["nextCursor"]
    assert cursor
    return cursor


def test_given_a_cursor_of_another_list_when_used_then_400(world: World) -> None:
    filtered, plain = cursor_of(world, "&counterpartyId=cpty_1"), cursor_of(world)
    headers = world.callers["operator"].headers

    for cursor, query in (
        (filtered, ""),
        (plain, "&counterpartyId=cpty_1"),
        (plain, "&from=2026-01-01"),
        (filtered, "&counterpartyId=cpty_2"),
        (plain, f"&programId={world.payroll['id']}"),
    ):
        assert_refused(world.send("GET", f"/api/transfers?cursor={cursor}{query}", headers), 400, "cursor")


def test_given_a_cursor_of_another_tenant_when_used_then_it_opens_nothing(world: World) -> None:
    answer = world.send("GET", f"/api/transfers?cursor={cursor_of(world)}", bearer(world.other["operatorToken"], "eve"))

    assert answer.status_code in {200, 400}
    if answer.status_code == 200:
        theirs = {world.theirs["id"], world.their_simulated["id"]}
        assert {transfer["programId"] for transfer in answer.json()["data"]} <= theirs


@pytest.mark.parametrize("position", range(0, 60, 7))
def test_given_a_cursor_that_was_changed_when_used_then_it_is_refused_or_harmless(world: World, position: int) -> None:
    cursor = cursor_of(world)
    at = position % len(cursor)
    changed = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]

    answer = world.send("GET", f"/api/transfers?cursor={changed}", world.callers["operator"].headers)

    assert answer.status_code in {200, 400}, answer.text
    if answer.status_code == 400:
        assert_refused(answer, 400, "cursor")
        assert changed not in answer.text
