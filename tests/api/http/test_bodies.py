"""Untrusted bodies and queries: every failing path is named, nothing that was sent is echoed, nothing is a 500."""

import json as stdlib_json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from clearhold.api.http.gate import MAX_QUERY_PARAMETERS
from clearhold.api.http.operation import PREFLIGHT_BODY_LIMIT
from clearhold.api.http.validation import MOST_PARTS
from tests.support.running_app import RunningApp, assert_refused

PATH: Final = "/api/preflight"
TRANSFER: Final[dict[str, Any]] = {"rail": "ach", "direction": "outgoing", "amountCents": "12500"}


def posted(api: RunningApp, tenant: dict[str, Any], content: Any, **headers: str) -> Any:
    sent = api.operator(tenant) | {"Content-Type": "application/json"} | headers
    return api.client.post(PATH, content=content, headers=sent)


def body_with(**transfer: Any) -> bytes:
    return stdlib_json.dumps({"programSlug": "payroll", "transfer": TRANSFER | transfer}).encode()


VALID: Final = body_with()
DUPLICATED: Final = VALID.replace(b'"amountCents": "12500"', b'"amountCents": "1", "amountCents": "999"')

HOSTILE: Final = {
    "empty": (b"", "body is required"),
    "blank": (b"  \n", "body is required"),
    "not json": (b"{nope", "body must be valid JSON"),
    "cut short": (VALID[:-1], "body must be valid JSON"),
    "two values": (VALID + VALID, "body must be valid JSON"),
    "a list": (b"[]", "body must be an object"),
    "null": (b"null", "body must be an object"),
    "a string": (b'"x"', "body must be an object"),
    "byte order mark": (b"\xef\xbb\xbf" + VALID, "body must be valid JSON"),
    "utf-16": (VALID.decode().encode("utf-16"), "body must be valid JSON"),
    "bad utf-8": (VALID.replace(b"payroll", b"pay\xffroll"), "body must be valid JSON"),
    "lone surrogate": (VALID.replace(b"payroll", b"\\ud800"), "body must be valid JSON"),
    "nan": (VALID.replace(b'"12500"', b"NaN"), "body must be valid JSON"),
    "infinity": (VALID.replace(b'"12500"', b"-Infinity"), "body must be valid JSON"),
    "1e999": (VALID.replace(b'"12500"', b"1e999"), "number"),
    "a number of fifty thousand digits": (b'{"transfer": ' + b"9" * 50_000 + b"}", "number"),
    "deep lists": (b"[" * 60_000, "body must"),
    "deep objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "body must not nest so deeply"),
    "nul": (body_with(description="a\x00b"), "transfer.description must not have NUL characters"),
    "nul in a name": (VALID[:-1] + b', "a\\u0000b": 1}', "a?b"),
    "repeated key": (DUPLICATED, ": transfer.amountCents must not be repeated"),
    "repeated key in a list": (b'{"transfer": [{"a": 1}, {"a": 1, "a": 2}]}', "transfer[1].a must not be repeated"),
    "repeated objects": (b'{"transfer": {"a": 1, "a": 2}, "transfer": {}}', ": transfer must not be repeated"),
    "cents as a number": (body_with(amountCents=12500), "transfer.amountCents must be a string"),
    "cents with a newline": (body_with(amountCents="5\n"), "transfer.amountCents must be a string of digits"),
    "cents in wide digits": (body_with(amountCents="\uff11\uff12"), "transfer.amountCents must be a string of digits"),
    "cents with a sign": (body_with(amountCents="+5"), "transfer.amountCents must be a string of digits"),
    "cents with underscores": (body_with(amountCents="1_000"), "transfer.amountCents must be a string of digits"),
    "cents with a leading zero": (body_with(amountCents="05"), "transfer.amountCents must be a string of digits"),
    "cents of 19 digits": (body_with(amountCents="9" * 19), "transfer.amountCents must be a string of digits"),
    "negative cents": (body_with(amountCents="-5"), "transfer.amountCents must be a string of digits"),
    "an unknown rail": (body_with(rail="pigeon"), "transfer.rail must be one of ach, book"),
    "a rail in capitals": (body_with(rail="ACH"), "transfer.rail must be one of"),
    "an unknown type": (body_with(type="credit"), "transfer.type must be one of CREDIT, DEBIT"),
    "an unknown property": (body_with(amount="5"), "transfer.amount is not a known property"),
    "no such date": (body_with(effectiveOn="2026-02-30"), "transfer.effectiveOn must be a date"),
    "no such instant": (body_with(effectiveOn="2026-02-30T00:00:00Z"), "transfer.effectiveOn must be a date"),
    "a date-time without offset": (body_with(effectiveOn="2026-02-03T00:00:00"), "transfer.effectiveOn must be a date"),
    "a nameless counterparty": (body_with(counterparty={}), "transfer.counterparty.name is required"),
    "an empty name": (body_with(counterparty={"name": ""}), "transfer.counterparty.name must not be empty"),
    "a text too long": (body_with(description="x" * 8_001), "transfer.description must have at most 8000"),
    "a bank id too long": (body_with(entityId="x" * 256), "transfer.entityId must have at most 255"),
    "no last digits": (body_with(counterparty={"name": "A", "accountLast4": "- -"}), "accountLast4 must"),
    "a long country": (body_with(counterparty={"name": "A", "countryCode": "USAA"}), "countryCode must be an ISO"),
    "a country with a newline": (body_with(counterparty={"name": "A", "countryCode": "U\nS"}), "countryCode must be"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_given_a_hostile_body_when_posted_then_400_says_what_it_must_be(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], case: str
) -> None:
    body, sentence = HOSTILE[case]

    answer = posted(api, tenant, body)

    assert program["slug"] == "payroll"
    assert_refused(answer, 400, "Validation failed: ")
    assert sentence in answer.json()["error"]


def test_given_the_body_that_the_hostile_ones_are_made_from_when_posted_then_it_is_taken(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    assert posted(api, tenant, VALID).status_code == 201
    assert program["slug"] == "payroll"


def test_given_many_failures_when_posted_then_all_paths_are_listed_and_no_value_is_echoed(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    secret = "s3cr3t-value"
    body = {
        "programId": secret,
        "idempotencyKey": "",
        "surprise": secret,
        "transfer": {
            "rail": secret,
            "amountCents": secret,
            "currency": secret,
            "counterparty": {"countryCode": secret, "odd": secret},
        },
    }

    answer = posted(api, tenant, stdlib_json.dumps(body))

    assert_refused(answer, 400)
    error = answer.json()["error"]
    assert secret not in error
    paths = {part.split(" ")[0] for part in error.removeprefix("Validation failed: ").split("; ")}
    assert paths == {
        "programId",
        "idempotencyKey",
        "surprise",
        "transfer.rail",
        "transfer.direction",
        "transfer.amountCents",
        "transfer.currency",
        "transfer.counterparty.countryCode",
        "transfer.counterparty.name",
        "transfer.counterparty.odd",
    }


def test_given_more_failures_than_are_shown_when_posted_then_twenty_are_and_the_rest_are_counted(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = posted(api, tenant, stdlib_json.dumps({f"p{n}": 1 for n in range(40)}))

    parts = answer.json()["error"].split("; ")
    assert len(parts) == 21
    assert parts[-1] == "and 22 more"  # transfer and programId are missing as well


def test_given_a_body_of_very_many_parts_when_posted_then_one_failure_is_named(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = posted(api, tenant, stdlib_json.dumps({"transfer": dict.fromkeys(map(str, range(MOST_PARTS)), 0)}))

    assert_refused(answer, 400)
    first, of_rules = answer.json()["fields"]
    assert first["path"].startswith("transfer.")
    assert of_rules["path"] == "programId"


@pytest.mark.parametrize(
    ("named", "path"),
    [({}, "programId"), ({"programId": "0b0c4a53-0000-4000-8000-000000000001", "programSlug": "a"}, "programSlug")],
)
def test_given_no_program_or_two_when_posted_then_400(
    api: RunningApp, tenant: dict[str, Any], named: dict[str, str], path: str
) -> None:
    assert_refused(posted(api, tenant, stdlib_json.dumps(named | {"transfer": TRANSFER})), 400, path)


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""]
)
def test_given_another_media_type_when_posted_then_415_before_validation(
    api: RunningApp, tenant: dict[str, Any], media_type: str
) -> None:
    assert_refused(posted(api, tenant, b"{nope", **{"Content-Type": media_type}), 415)


@pytest.mark.parametrize(
    "media_type", ["application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"']
)
def test_given_json_by_another_spelling_when_posted_then_it_is_read(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], media_type: str
) -> None:
    assert posted(api, tenant, VALID, **{"Content-Type": media_type}).status_code == 201
    assert program["slug"] == "payroll"


def sized(length: int) -> bytes:
    return VALID[:-1] + b" " * (length - len(VALID)) + b"}"


def chunked(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 10_000):
        yield body[start : start + 10_000]


@pytest.mark.parametrize("declared", [True, False])
def test_given_a_body_at_its_limit_when_posted_then_it_is_read_and_one_byte_more_is_413(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], *, declared: bool
) -> None:
    answers = [
        posted(api, tenant, body if declared else chunked(body))
        for body in (sized(PREFLIGHT_BODY_LIMIT), sized(PREFLIGHT_BODY_LIMIT + 1))
    ]

    assert program["slug"] == "payroll"
    assert answers[0].status_code == 201
    assert_refused(answers[1], 413, "65536 bytes")


def test_given_a_huge_body_when_the_bearer_is_missing_then_its_size_answers_first(api: RunningApp) -> None:
    assert_refused(api.client.post(PATH, content=sized(PREFLIGHT_BODY_LIMIT + 1)), 413)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/api/programs?programID=1", "programID is not a known parameter"),
        ("/api/programs?source=wire", "source[0] must be one of bank, simulated"),
        ("/api/policies?active=true&active=true", "active must be given once"),
        ("/api/programs?source=", "source[0] must be one of"),
        ("/api/programs?source=%ff", "source must be"),
        ("/api/programs?%00=1", "is not a known parameter"),
        ("/api/preflight/00000000-0000-4000-8000-000000000009?days=1", "days is not a known parameter"),
        ("/api/transfers?limit=0", "limit must be at least 1"),
        ("/api/transfers?limit=101", "limit must be at most 100"),
        ("/api/transfers?limit=1000000000000", "limit must be an integer"),
        ("/api/transfers?limit=+5", "limit must be an integer"),
        ("/api/transfers?band=clear,purple", "band[1] must be one of"),
        ("/api/transfers?from=yesterday", "from must be a date-time with an offset, or a date"),
        ("/api/transfers?from=2026-02-30", "from must be a date-time"),
        ("/api/transfers?to=2026-02-03T00:00:00", "to must be a date-time"),
        ("/api/transfers?cursor=%20", "cursor must be"),
        ("/api/transfers?cursor=abc", "cursor must be"),
        ("/api/transfers?cursor=bnVsbA", "cursor must be"),
        ("/api/transfers?entityId=a%00b", "entityId must"),
        ("/api/programs?" + "&".join(f"a{n}=1" for n in range(MAX_QUERY_PARAMETERS + 1)), "query parameters"),
        ("/api/programs?source=" + "bank," * (MAX_QUERY_PARAMETERS + 1), "each value of a list counted"),
        ("/api/programs?nothing=" + "%2C" * (MAX_QUERY_PARAMETERS + 1), "each value of a list counted"),
        ("/api/transfers?" + "&".join(["band=" + "a," * 60] * 9), "each value of a list counted"),
        (
            "/api/programs?" + "&".join(f"x{n}=a,b" for n in range(MAX_QUERY_PARAMETERS // 2 + 1)),
            "each value of a list counted",
        ),
        ("/api/programs?nothing=a" + ",a" * MAX_QUERY_PARAMETERS, "each value of a list counted"),
        (
            "/api/programs?" + "&".join(f"x{n}=a,b" for n in range(MAX_QUERY_PARAMETERS // 2)),
            "is not a known parameter",
        ),
    ],
)
def test_given_a_bad_query_when_read_then_400_names_the_parameter(
    api: RunningApp, tenant: dict[str, Any], path: str, sentence: str
) -> None:
    assert_refused(api.client.get(path, headers=api.operator(tenant)), 400, sentence)


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "br", "identity, gzip"])
def test_given_an_encoded_body_when_sent_then_415_on_every_kind_of_route(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], encoding: str
) -> None:
    event = b'{"id":"evnt_1","type":"a.b","created_at":"2026-03-02T14:00:00Z","data":{}}'
    before = api.stored()

    answers = [
        posted(api, tenant, VALID, **{"Content-Encoding": encoding}),
        api.deliver(program, event, **{"Content-Encoding": encoding}),
    ]

    for answer in answers:
        assert_refused(answer, 415, "Content-Encoding must not be set")
    assert api.stored() == before


@pytest.mark.parametrize("encoding", ["identity", "Identity "])
def test_given_a_body_that_is_as_it_is_when_sent_then_it_is_read(
    api: RunningApp, program: dict[str, Any], encoding: str
) -> None:
    event = b'{"id":"evnt_1","type":"a.b","created_at":"2026-03-02T14:00:00Z","data":{}}'

    assert api.deliver(program, event, **{"Content-Encoding": encoding}).status_code == 200
