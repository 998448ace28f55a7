"""Chunks, trailers and pipelined heads: nothing outside a body grows without limit, and no trailer becomes a header."""

import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.api.http.protocol import FRAMING_LIMIT, HEAD_LIMIT
from tests.support.raw_http import RawClient, served
from tests.support.running_app import ADMIN_TOKEN, RunningApp

KIB: Final = 1_024
ENDLESS_BYTES: Final = 64 * KIB * KIB
BODY: Final = json.encode({"slug": "late-bank", "name": "Late Bank"})
HEAD: Final = (
    b"POST /api/admin/tenants HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
)
BEARER: Final = f"Authorization: Bearer {ADMIN_TOKEN}\r\n".encode()
OPERATOR: Final = b"X-Operator: root\r\n"


@pytest.fixture
def client(api: RunningApp) -> Iterator[RawClient]:
    with served(api) as port, RawClient(port) as client:
        yield client


def chunked(body: bytes, *, size: int, trailers: bytes = b"") -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailers + b"\r\n"


def sent_until_refused(client: RawClient, start: bytes, forever: bytes) -> int:
    """How many bytes of ``forever`` the service took before it hung up."""
    client.send(start)
    size = 0
    while size < ENDLESS_BYTES:
        try:
            client.send(forever)
        except OSError:
            break
        size += len(forever)
    return size


def test_given_identity_in_trailers_only_when_sent_then_401(client: RawClient) -> None:
    client.send(HEAD, b"\r\n", chunked(BODY, size=100, trailers=BEARER + OPERATOR))

    assert client.answer().status == 401


def test_given_a_trailer_beside_a_header_when_sent_then_the_header_alone_counts(client: RawClient) -> None:
    client.send(HEAD, BEARER, OPERATOR, b"\r\n", chunked(BODY, size=100, trailers=BEARER + b"X-Operator: eve\r\n"))

    assert client.answer().status == 201


@pytest.mark.parametrize(
    ("begun", "forever"),
    [
        (b"0\r\n", b"X-1: aaaaaaaaaaaaaaaaaaaa\r\n" * 1_000),
        (b"0\r\nX-A: ", b"a" * 64 * KIB),
        (b"1;", b"a" * 64 * KIB),
        (b"", b"1\r\nz\r\n" * 10_000),
    ],
    ids=["many trailers", "a trailer without end", "a chunk extension without end", "chunks of one byte"],
)
def test_given_framing_without_end_when_sent_then_it_is_refused_and_hung_up_on(
    api: RunningApp, begun: bytes, forever: bytes
) -> None:
    with served(api) as port, RawClient(port) as client:
        sent = sent_until_refused(client, HEAD + b"\r\n1\r\n{\r\n" + begun, forever)

        assert sent < ENDLESS_BYTES / 4  # What the sockets hold is the rest of it.


def test_given_framing_that_outweighs_its_content_when_sent_then_400_says_so(client: RawClient) -> None:
    client.send(HEAD, BEARER, OPERATOR, b"\r\n", b"1\r\nz\r\n" * FRAMING_LIMIT)

    assert "outweighs" in client.answer().error
    assert client.is_hung_up_on()


def test_given_a_refused_body_behind_an_answer_when_sent_then_the_answer_comes_first(client: RawClient) -> None:
    client.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", HEAD, b"\r\n", b"1\r\nz\r\n" * FRAMING_LIMIT)

    assert client.answer().status == 200
    assert client.answer().status == 400
    assert client.is_hung_up_on()


@pytest.mark.parametrize("size", [1, 7, 100])
def test_given_a_short_body_in_small_chunks_when_sent_then_it_is_read(client: RawClient, size: int) -> None:
    client.send(HEAD, BEARER, OPERATOR, b"\r\n", chunked(BODY, size=size))

    assert client.answer().status == 201


def test_given_small_requests_in_one_packet_when_sent_then_each_is_answered(client: RawClient) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Filler: %s\r\n\r\n" % (b"a" * 900)
    count = 6 * HEAD_LIMIT // len(request)
    cut = len(request) // 2
    sending = threading.Thread(target=client.send, args=(request * count + request[:cut], request[cut:]))
    sending.start()

    statuses = [client.answer().status for _ in range(count + 1)]
    sending.join()

    assert statuses == [200] * (count + 1)


@pytest.mark.parametrize("hosts", [b"", b"Host: a\r\nHost: a\r\n", b"Host: a\r\nhost: b\r\n"])
def test_given_no_host_or_two_when_sent_then_400(client: RawClient, hosts: bytes) -> None:
    client.send(b"GET /healthz HTTP/1.1\r\n", hosts, b"\r\n")

    assert "Host" in client.answer().error
    assert client.is_hung_up_on()


@pytest.mark.parametrize(
    "codings",
    [
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: identity, chunked\r\n",
        b"Transfer-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: x-none,Chunked\r\n",
    ],
)
def test_given_a_coding_beside_chunked_when_sent_then_501_and_nothing_is_read(
    api: RunningApp, client: RawClient, codings: bytes
) -> None:
    head = HEAD.replace(b"Transfer-Encoding: chunked\r\n", codings)
    client.send(head, BEARER, OPERATOR, b"\r\n", chunked(BODY, size=100))

    answer = client.answer()
    assert (answer.status, "transfer coding" in answer.error) == (501, True)
    assert client.is_hung_up_on()
    assert api.client.get("/api/admin/tenants", headers=api.admin).json() == []


@pytest.mark.parametrize("version", [b"2.0", b"0.9"])
def test_given_another_version_of_http_in_text_when_sent_then_505_and_the_connection_ends(
    api: RunningApp, client: RawClient, version: bytes
) -> None:
    client.send(HEAD.replace(b"HTTP/1.1", b"HTTP/" + version), BEARER, OPERATOR, b"\r\n", chunked(BODY, size=100))

    answer = client.answer()
    assert (answer.status, answer.error) == (505, "This service speaks HTTP/1.1 and HTTP/1.0.")
    assert client.is_hung_up_on()
    assert api.client.get("/api/admin/tenants", headers=api.admin).json() == []


@pytest.mark.parametrize("coding", [b"Chunked", b"CHUNKED ", b"\tchunked"])
def test_given_chunked_in_other_letters_when_sent_then_it_is_read(client: RawClient, coding: bytes) -> None:
    head = HEAD.replace(b"chunked\r\n", coding + b"\r\n")
    client.send(head, BEARER, OPERATOR, b"\r\n", chunked(BODY, size=100))

    assert client.answer().status == 201


@pytest.mark.parametrize(
    "target",
    [
        *(b"//api/programs", b"/api%2fprograms", b"/api%2Fprograms", b"/%61pi/programs", b"/api/program%73"),
        *(b"//api/admin/tenants", b"/api%2fadmin%2ftenants", b"/api/%61dmin/tenants", b"/api/admin/tenants%2F"),
    ],
)
def test_given_a_path_in_another_spelling_when_called_then_404(
    api: RunningApp, client: RawClient, target: bytes
) -> None:
    of_tenant = f"Authorization: Bearer {api.create_tenant()['operatorToken']}\r\n".encode()
    token = BEARER if b"admin" in target else of_tenant
    client.send(b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n", token, OPERATOR, b"\r\n")

    assert client.answer().status == 404


def test_given_an_id_in_another_spelling_when_called_then_it_is_that_id(
    program: dict[str, Any], client: RawClient
) -> None:
    spelt = b"".join(b"%%%02x" % each for each in program["id"].encode())
    path = b"/api/admin/programs/" + spelt + b"/ingest-secret"
    head = HEAD.replace(b"/api/admin/tenants", path)
    client.send(head, BEARER, OPERATOR, b"\r\n", chunked(b"{}", size=2))

    assert client.answer().status == 201


def test_given_http_1_0_when_no_host_is_named_then_it_is_answered(client: RawClient) -> None:
    client.send(b"GET /healthz HTTP/1.0\r\n\r\n")

    assert client.answer().status == 200
