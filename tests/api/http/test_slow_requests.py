"""Slow, half, lying and pipelined requests over a real socket: answered once, hung up on, and nothing is stored."""

import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.api.http import body
from clearhold.api.http.protocol import Protocol
from tests.support.raw_http import RawClient, served
from tests.support.running_app import ADMIN_TOKEN, RunningApp, signature
from tests.support.waiting import eventually

pytestmark = pytest.mark.timed

HEAD_WITHIN_S: Final = 0.4
PART_WITHIN_S: Final = 0.4
WHOLE_WITHIN_S: Final = 0.8
REST_WITHIN_S: Final = 0.3
BETWEEN_BYTES_S: Final = 0.1
SOON_S: Final = 5.0

GET: Final = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
BODY: Final = json.encode({"slug": "late-bank", "name": "Late Bank"})
H2C: Final = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n"
UPGRADE: Final = b"Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2l4dGVlbg==\r\n"


class Impatient(Protocol):
    head_within_s = HEAD_WITHIN_S
    rest_within_s = REST_WITHIN_S


@pytest.fixture
def port(api: RunningApp, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(body, "BODY_PART_WITHIN_S", PART_WITHIN_S)
    monkeypatch.setattr(body, "BODY_WITHIN_S", WHOLE_WITHIN_S)
    with served(api, Impatient) as port:
        yield port


@pytest.fixture
def client(port: int) -> Iterator[RawClient]:
    with RawClient(port) as client:
        yield client


def create_tenant_head(*headers: str, length: int | None = len(BODY)) -> bytes:
    framing = [f"Content-Length: {length}"] if length is not None else ["Transfer-Encoding: chunked"]
    sent = ["POST /api/admin/tenants HTTP/1.1", "Host: a", f"Authorization: Bearer {ADMIN_TOKEN}", "X-Operator: root"]
    return "\r\n".join([*sent, "Content-Type: application/json", *framing, *headers, "", ""]).encode()


def dribble(client: RawClient, text: bytes) -> float:
    """Send byte by byte until it is all sent or nobody listens; the seconds until the service answered."""
    began = time.monotonic()
    answered: list[float] = []

    def send() -> None:
        for at in range(len(text)):
            if answered:
                return
            try:
                client.send(text[at : at + 1])
            except OSError:
                return
            time.sleep(BETWEEN_BYTES_S)

    sending = threading.Thread(target=send)
    sending.start()
    client.socket.recv(1, 2)  # MSG_PEEK: something came.
    answered.append(time.monotonic() - began)
    sending.join()
    return answered[0]


def tenants(api: RunningApp) -> list[str]:
    return [tenant["slug"] for tenant in api.client.get("/api/admin/tenants", headers=api.admin).json()]


def test_given_a_head_of_one_byte_at_a_time_when_it_takes_too_long_then_400_and_the_end(client: RawClient) -> None:
    took = dribble(client, GET)

    answer = client.answer()
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert "did not arrive in time" in answer.error
    assert HEAD_WITHIN_S * 0.9 < took < SOON_S
    assert client.is_hung_up_on()


def test_given_half_a_head_when_nothing_follows_then_400_and_the_end(client: RawClient) -> None:
    client.send(GET[:-2])

    assert "did not arrive in time" in client.answer().error
    assert client.is_hung_up_on()


def test_given_a_head_in_pieces_when_in_time_then_it_is_answered(client: RawClient) -> None:
    client.send(GET[:20])
    client.send(GET[20:])

    assert client.answer().status == 200


def test_given_an_answered_request_when_the_next_head_is_half_then_its_own_time_runs_out(client: RawClient) -> None:
    client.send(GET)
    first = client.answer()
    client.send(GET[:-2])

    second = client.answer()

    assert (first.status, second.status) == (200, 400)
    assert client.is_hung_up_on()


def test_given_a_body_of_one_byte_at_a_time_when_it_takes_too_long_overall_then_400_and_nothing_stored(
    api: RunningApp, client: RawClient
) -> None:
    client.send(create_tenant_head())
    took = dribble(client, BODY)

    answer = client.answer()
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert answer.error == body.TOO_SLOW
    assert WHOLE_WITHIN_S * 0.9 < took < SOON_S
    assert client.is_hung_up_on()
    assert tenants(api) == []


@pytest.mark.parametrize("sent", [b"", BODY[:10]], ids=["none", "half"])
def test_given_a_length_longer_than_the_body_when_nothing_follows_then_400_and_nothing_stored(
    api: RunningApp, client: RawClient, sent: bytes
) -> None:
    client.send(create_tenant_head(), sent)

    answer = client.answer()

    assert (answer.status, answer.error, answer.headers["connection"]) == (400, body.TOO_SLOW, "close")
    assert client.is_hung_up_on()
    assert tenants(api) == []


def test_given_a_chunked_body_without_end_when_nothing_follows_then_400_and_nothing_stored(
    api: RunningApp, client: RawClient
) -> None:
    client.send(create_tenant_head(length=None), b"%x\r\n%b\r\n" % (len(BODY), BODY))

    assert client.answer().error == body.TOO_SLOW
    assert client.is_hung_up_on()
    assert tenants(api) == []


def test_given_a_chunked_body_that_ends_when_posted_then_it_is_taken(api: RunningApp, client: RawClient) -> None:
    client.send(create_tenant_head(length=None), b"%x\r\n%b\r\n" % (len(BODY), BODY), b"0\r\n\r\n")

    assert client.answer().status == 201
    assert tenants(api) == ["late-bank"]


def test_given_a_chunk_that_lies_about_its_size_when_sent_then_one_400_and_nothing_stored(
    api: RunningApp, client: RawClient
) -> None:
    client.send(create_tenant_head(length=None), b"3\r\n%b\r\n0\r\n\r\n" % BODY)

    assert client.answer().error == "The request is not readable as HTTP."
    assert client.is_hung_up_on()
    assert tenants(api) == []


def test_given_half_a_body_when_the_client_goes_away_then_nothing_is_stored_and_others_are_served(
    api: RunningApp, port: int
) -> None:
    with RawClient(port) as leaving:
        leaving.send(create_tenant_head(), BODY[:10])
    with RawClient(port) as staying:
        staying.send(GET)
        assert staying.answer().status == 200

    assert tenants(api) == []


def test_given_half_a_bank_event_when_nothing_follows_then_the_log_stays_as_it_was(
    api: RunningApp, client: RawClient, program: dict[str, Any]
) -> None:
    before = api.entries()
    event = b'{"id":"evnt_1","type":"x","created_at":"2026-03-02T14:00:00Z","data":{}}'
    head = (
        f"POST /api/ingest/bank/{program['id']} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(event)}\r\n"
        f"Bank-Signature: {signature(program['ingestSecret'], event)}\r\n\r\n"
    )
    client.send(head.encode(), event[:-1])

    assert client.answer().error == body.TOO_SLOW
    assert api.entries() == before


def test_given_a_length_shorter_than_the_body_when_sent_then_the_answer_comes_before_the_refusal_of_the_rest(
    api: RunningApp, client: RawClient
) -> None:
    client.send(create_tenant_head() + BODY + b"and more\r\n\r\n")

    taken, refused = client.answer(), client.answer()

    assert (taken.status, refused.status) == (201, 400)
    assert refused.error == "The request is not readable as HTTP."
    assert client.is_hung_up_on()
    assert tenants(api) == ["late-bank"]


@pytest.mark.parametrize(
    "headers",
    [["Content-Length: 3"], ["Transfer-Encoding: chunked"]],
    ids=["another length", "chunks beside a length"],
)
def test_given_two_lengths_when_sent_then_400_and_nothing_stored(
    api: RunningApp, client: RawClient, headers: list[str]
) -> None:
    client.send(create_tenant_head(*headers), BODY)

    assert client.answer().error == "The request is not readable as HTTP."
    assert client.is_hung_up_on()
    assert tenants(api) == []


def test_given_pipelined_requests_when_sent_at_once_then_they_are_answered_in_order(client: RawClient) -> None:
    ids = [f"req-{number}" for number in range(20)]
    client.send(b"".join(GET[:-2] + f"X-Request-Id: {each}\r\n\r\n".encode() for each in ids))

    assert [client.answer().headers["x-request-id"] for _ in ids] == ids


def test_given_pipelined_requests_when_the_last_is_no_request_then_the_others_are_answered_first(
    client: RawClient,
) -> None:
    client.send(GET + GET + b"nonsense\r\n\r\n" + GET)

    assert [client.answer().status for _ in range(3)] == [200, 200, 400]
    assert client.is_hung_up_on()


def test_given_pipelined_requests_when_the_body_of_the_last_is_malformed_then_it_alone_is_refused(
    api: RunningApp, client: RawClient
) -> None:
    client.send(GET + create_tenant_head(length=None) + b"zz\r\n")

    assert [client.answer().status for _ in range(2)] == [200, 400]
    assert client.is_hung_up_on()
    assert tenants(api) == []


@pytest.mark.parametrize("before", [0, 1, 2])
def test_given_a_target_without_a_path_when_sent_then_it_alone_is_refused_and_the_connection_ends(
    client: RawClient, before: int
) -> None:
    client.send(GET * before + b"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n")

    assert [client.answer().status for _ in range(before + 1)] == [200] * before + [400]
    assert client.is_hung_up_on()


def test_given_an_answered_request_when_the_next_target_has_no_path_then_400_and_the_end(client: RawClient) -> None:
    client.send(GET)
    first = client.answer()
    client.send(b"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n")

    assert (first.status, client.answer().status) == (200, 400)
    assert client.is_hung_up_on()


def test_given_a_body_nobody_wants_when_it_keeps_coming_then_the_service_hangs_up(client: RawClient) -> None:
    client.send(create_tenant_head(length=10**9).replace(ADMIN_TOKEN.encode(), b"forged"), b"x")

    assert client.answer().status in {401, 413}
    eventually(client.is_hung_up_on, within_s=SOON_S)


def test_given_a_body_refused_early_when_the_rest_comes_in_time_then_the_connection_goes_on(client: RawClient) -> None:
    head = create_tenant_head().replace(b"application/json", b"text/plain").replace(b"/api/admin/tenants", b"/nowhere")
    client.send(head)
    first = client.answer()
    client.send(BODY)
    client.send(GET)

    assert (first.status, client.answer().status) == (404, 200)


@pytest.mark.parametrize("path", [b"/healthz", b"/api/transfers", b"/nowhere"])
def test_given_a_websocket_upgrade_when_sent_then_the_answer_is_the_envelope(client: RawClient, path: bytes) -> None:
    client.send(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n" + UPGRADE + b"\r\n")

    answer = client.answer()

    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert answer.error == "This service does not speak WebSocket."
    assert client.is_hung_up_on()


def test_given_another_upgrade_when_offered_then_the_request_is_answered_as_it_is(client: RawClient) -> None:
    client.send(GET[:-2] + H2C + b"\r\n")
    offered = client.answer()
    client.send(GET)

    assert (offered.status, client.answer().status) == (200, 200)


@pytest.mark.parametrize("length", [len(BODY), None], ids=["length", "chunks"])
def test_given_another_upgrade_when_offered_with_a_body_then_400_and_the_body_is_no_request(
    api: RunningApp, client: RawClient, length: int | None
) -> None:
    client.send(create_tenant_head(length=length)[:-2] + H2C + b"\r\n" + GET)

    assert client.answer().error == "A request with a body cannot offer an upgrade."
    assert client.is_hung_up_on()
    assert tenants(api) == []
