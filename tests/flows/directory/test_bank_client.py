"""One request to the bank's API, and every way in which its answer may be of no use."""

import gzip
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from msgspec import json

from clearhold.demo.bank_api import TEST_KEY, BankApi
from clearhold.features.core.entries.directory import DirectoryKind
from clearhold.features.core.instants import SECOND_US
from clearhold.flows.running import bank_http
from clearhold.flows.running.bank_http import MAX_BODY_BYTES, BankAnswer, BankClient, FetchOutcome, http_client
from clearhold.store.ids import trace_id_of
from tests.support.clock import FrozenClock

pytestmark = pytest.mark.anyio

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
OBJECT: dict[str, Any] = {"id": "enti_1", "person_details": {"ssn": "123456789"}, "type": "PERSON"}


class Parts(httpx.AsyncByteStream):
    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        self._parts = parts

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._parts


def a_response(status: int, content: bytes = b"", **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))


def ok(content: bytes, **headers: str) -> httpx.Response:
    return a_response(200, content, **headers)


async def answer_to(
    response: httpx.Response | Exception, *, party_id: str = "enti_1", sent: list[httpx.Request] | None = None
) -> BankAnswer:
    """The answer of a bank that gives this response."""

    def respond(request: httpx.Request) -> httpx.Response:
        if sent is not None:
            sent.append(request)
        if isinstance(response, Exception):
            raise response
        return response

    async with httpx.AsyncClient(transport=httpx.MockTransport(respond)) as http:
        client = BankClient("https://api.bank.example/v1", http, FrozenClock())
        return await client.fetch(DirectoryKind.ENTITY, party_id, TEST_KEY, trace_id=TRACE)


async def test_given_an_object_then_it_is_masked_and_its_digest_is_not_of_the_order_of_its_fields() -> None:
    first = await answer_to(ok(json.encode(OBJECT)))
    second = await answer_to(ok(json.encode(dict(reversed(OBJECT.items())))))
    third = await answer_to(ok(json.encode(OBJECT | {"type": "BUSINESS"})))

    assert first.outcome is FetchOutcome.FOUND
    assert json.decode(first.data) == OBJECT | {"person_details": {"ssn": "6789"}}
    assert first.digest == second.digest != third.digest


async def test_given_an_id_of_any_kind_then_it_is_one_quoted_segment_and_the_key_is_the_password() -> None:
    sent: list[httpx.Request] = []
    await answer_to(a_response(404), party_id="../a b/ü?x#%2F", sent=sent)

    (request,) = sent
    assert request.url.raw_path == b"/v1/entities/..%2Fa%20b%2F%C3%BC%3Fx%23%252F"
    assert httpx.BasicAuth("", TEST_KEY)._auth_header == request.headers["authorization"]
    assert TEST_KEY not in str(request.url)


@pytest.mark.parametrize("party_id", [".", ".."])
async def test_given_an_id_that_means_a_folder_then_nothing_is_sent(party_id: str) -> None:
    sent: list[httpx.Request] = []

    assert (await answer_to(a_response(200), party_id=party_id, sent=sent)).outcome is FetchOutcome.UNUSABLE
    assert sent == []


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (a_response(404), FetchOutcome.MISSING),
        (a_response(410), FetchOutcome.MISSING),
        (a_response(401), FetchOutcome.REFUSED),
        (a_response(403), FetchOutcome.REFUSED),
        (a_response(429), FetchOutcome.LIMITED),
        (a_response(400), FetchOutcome.UNUSABLE),
        (a_response(422), FetchOutcome.UNUSABLE),
        (a_response(408), FetchOutcome.FAILED),
        (a_response(500), FetchOutcome.FAILED),
        (a_response(503, b"", **{"Retry-After": "5"}), FetchOutcome.FAILED),
        (a_response(204), FetchOutcome.FAILED),
        (a_response(301, Location="https://elsewhere.example/"), FetchOutcome.FAILED),
        (httpx.ConnectError("no"), FetchOutcome.FAILED),
        (httpx.ReadTimeout("no"), FetchOutcome.FAILED),
        (httpx.RemoteProtocolError("no"), FetchOutcome.FAILED),
        (ok(b""), FetchOutcome.UNUSABLE),
        (ok(b"<html>"), FetchOutcome.UNUSABLE),
        (ok(b"[]"), FetchOutcome.UNUSABLE),
        (ok(b'{"id":"enti_2"}'), FetchOutcome.UNUSABLE),
        (ok(b'{"id":["enti_1"]}'), FetchOutcome.UNUSABLE),
        (ok(b'{"id":"enti_1","n":1e999}'), FetchOutcome.UNUSABLE),
        (ok(b'{"id":"enti_1","x":' + b"[" * 90_000 + b"]" * 90_000 + b"}"), FetchOutcome.UNUSABLE),
    ],
)
async def test_given_another_answer_then_its_outcome_is_a_fact_or_trouble(
    response: httpx.Response | Exception, outcome: FetchOutcome
) -> None:
    answer = await answer_to(response)

    assert (answer.outcome, answer.data, answer.digest) == (outcome, b"", None)


@pytest.mark.parametrize(
    ("text", "retry_after_us"),
    [
        ("7", 7 * SECOND_US),
        ("Mon, 02 Mar 2026 15:00:30 GMT", 30 * SECOND_US),
        ("Mon, 02 Mar 2026 14:00:00 GMT", 0),
        ("soon", None),
        ("-1", None),
        ("9" * 30, None),
        ("", None),
    ],
)
async def test_given_a_retry_after_then_it_is_a_duration(text: str, retry_after_us: int | None) -> None:
    for status in (429, 503):
        answer = await answer_to(a_response(status, b"", **{"Retry-After": text}))
        assert answer.retry_after_us == retry_after_us


async def test_given_a_body_over_the_limit_then_it_is_cut_off() -> None:
    read = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(1_000):
            read += 65_536
            yield b"x" * 65_536

    answer = await answer_to(httpx.Response(200, stream=Parts(parts())))

    assert answer.outcome is FetchOutcome.UNUSABLE
    assert read <= MAX_BODY_BYTES + 2 * 65_536


async def test_given_a_compressed_body_that_nobody_asked_for_then_it_is_not_unpacked() -> None:
    bomb = gzip.compress(b'{"id":"enti_1","x":"' + b"x" * 50_000_000 + b'"}')

    answer = await answer_to(ok(bomb, **{"Content-Encoding": "gzip"}))

    assert answer.outcome is FetchOutcome.UNUSABLE


async def test_given_a_large_object_then_it_is_found() -> None:
    whole = OBJECT | {"documents": ["x" * 100] * 500}

    assert (await answer_to(ok(json.encode(whole)))).outcome is FetchOutcome.FOUND


async def test_given_a_bank_that_hangs_then_the_request_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bank_http, "ANSWER_WITHIN_S", 0.2)
    with BankApi() as bank:
        bank.put_entity(OBJECT)
        bank.hang_next()
        async with http_client(connections=1) as http:
            client = BankClient(bank.url, http, FrozenClock())
            answers = [await client.fetch(DirectoryKind.ENTITY, "enti_1", TEST_KEY, trace_id=TRACE) for _ in range(2)]

    assert [answer.outcome for answer in answers] == [FetchOutcome.FAILED, FetchOutcome.FOUND]


async def test_given_a_proxy_in_the_environment_then_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with BankApi() as bank:
        bank.put_entity(OBJECT)
        async with http_client(connections=1) as http:
            answer = await BankClient(bank.url, http, FrozenClock()).fetch(
                DirectoryKind.ENTITY, "enti_1", TEST_KEY, trace_id=TRACE
            )

    assert answer.outcome is FetchOutcome.FOUND


async def test_given_a_trace_then_each_request_names_it_and_a_span_of_its_own() -> None:
    sent: list[httpx.Request] = []

    await answer_to(ok(json.encode(OBJECT)), sent=sent)
    await answer_to(ok(json.encode(OBJECT)), sent=sent)

    first, second = (request.headers["traceparent"] for request in sent)
    assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-00", first)
    assert first != second
    assert trace_id_of(first.encode()) == trace_id_of(second.encode()) == TRACE


@pytest.mark.parametrize("text", ["1 " * 30_000, "AA11AAAA " * 7_000, "eyJaaaaaaaaa" * 5_000])
async def test_given_a_text_that_is_hard_to_mask_then_it_takes_little_time(text: str) -> None:
    content = json.encode(OBJECT | {"kind": text})
    assert len(content) < MAX_BODY_BYTES
    took_s = []
    for _ in range(3):
        began = time.process_time()
        assert (await answer_to(ok(content))).outcome is FetchOutcome.FOUND
        took_s.append(time.process_time() - began)

    assert min(took_s) < 0.1
    assert (await answer_to(ok(json.encode(OBJECT | {"kind": text * 2})))).outcome is FetchOutcome.UNUSABLE
