"""What a client library would not send: repeated headers, floods of them, and bytes that are hardly HTTP."""

import contextlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.support.callers import TRANSFER, Headers, bearer
from tests.support.error_answers import error_of
from tests.support.running_service import RunningService

KIB: Final = 1_024
HANGS_UP_WITHIN_S: Final = 60.0
READ_BYTES: Final = 1 << 16
PATH: Final = "/api/preflight"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    status: int
    headers: dict[str, str]
    content: bytes


class Wire:
    """A service, and a tenant that asks about a transfer with exactly the headers of a test."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        self.program = service.admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"})
        self.authorization = f"Bearer {tenant['operatorToken']}"
        self.usual: Headers = [*bearer(tenant["operatorToken"], "ann"), ("Content-Type", "application/json")]
        self.body = msgspec.json.encode({"programId": self.program["id"], "transfer": TRANSFER})

    def send(self, headers: Headers, *, path: str = PATH, method: str = "POST", body: bytes | None = None) -> Answer:
        """Send these headers in this order, repeated where they are."""
        content = self.body if body is None else body
        with contextlib.closing(self.service.connect()) as connection:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in (*headers, ("Content-Length", str(len(content)))):
                connection.putheader(name, value)
            connection.endheaders(content)
            return answer_of(connection)

    def raw(self, content: bytes, *, then_silent: bool = False) -> bytes:
        """Send these bytes, nothing more after them if told so, and read until the service hangs up."""
        read = b""
        address = ("127.0.0.1", self.service.port)
        with socket.create_connection(address, HANGS_UP_WITHIN_S) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(content)
            if then_silent:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(READ_BYTES):
                read += part
        return read

    def assert_well(self) -> None:
        assert self.send(self.usual).status == 201


def answer_of(connection: http.client.HTTPConnection) -> Answer:
    answer = connection.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(status=answer.status, headers=headers, content=answer.read())


def assert_envelope(answer: Answer, status: int, sentence: str = "") -> None:
    assert answer.status == status, answer.content
    envelope = error_of(answer.status, answer.content)
    assert envelope["requestId"] == answer.headers["x-request-id"]
    assert answer.headers["score-version"] == "2026-09-17"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert sentence in envelope["error"]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder: Path = tmp_path_factory.mktemp("wire")
    with RunningService(folder / "data") as service:
        yield Wire(service)


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("second", ["{}", "Bearer x", ""])
def test_given_two_bearers_when_sent_then_401(wire: Wire, method: str, second: str) -> None:
    again = ("Authorization", second.format(wire.authorization) or wire.authorization)
    path = PATH if method == "POST" else "/api/programs"

    for headers in ([*wire.usual, again], [again, *wire.usual]):
        answer = wire.send(headers, method=method, path=path)
        assert_envelope(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("second", ["ann", "bob", ""])
def test_given_two_operators_when_sent_then_400(wire: Wire, second: str) -> None:
    assert_envelope(wire.send([*wire.usual, ("X-Operator", second)]), 400, "X-Operator")


@pytest.mark.parametrize("second", ["one", "two", ""])
def test_given_two_idempotency_keys_when_sent_then_400(wire: Wire, second: str) -> None:
    keys = [("Idempotency-Key", "one"), ("idempotency-key", second)]

    assert_envelope(wire.send([*wire.usual, *keys]), 400, "Idempotency-Key")


@pytest.mark.parametrize("second", ["application/json", "text/plain"])
def test_given_two_media_types_when_sent_then_415(wire: Wire, second: str) -> None:
    assert_envelope(wire.send([*wire.usual, ("Content-Type", second)]), 415)


@pytest.mark.parametrize("second", ["2026-09-17", "2026-09-16"])
def test_given_two_versions_when_sent_then_no_wrong_one_is_taken(wire: Wire, second: str) -> None:
    answer = wire.send([*wire.usual, ("Score-Version", "2026-09-16"), ("Score-Version", second)])

    assert_envelope(answer, 400, "Score-Version")


def test_given_two_request_ids_when_sent_then_the_answer_has_one_of_the_usual_form(wire: Wire) -> None:
    answer = wire.send([*wire.usual, ("X-Request-Id", "one"), ("X-Request-Id", "two")])

    assert answer.status == 201
    assert "," not in answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Operator", "ann\u00e9"),
        ("Idempotency-Key", "caf\u00e9"),
        ("Idempotency-Key", "a\tb"),
        ("Score-Version", "\u00e9"),
    ],
)
def test_given_a_header_that_is_not_plain_ascii_when_sent_then_400_names_it(wire: Wire, name: str, value: str) -> None:
    headers = [each for each in wire.usual if each[0] != name]

    assert_envelope(wire.send([*headers, (name, value)]), 400, name)


FLOODS: Final = {
    "a thousand headers": [(f"X-Flood-{number}", "x") for number in range(1_000)],
    "one header a thousand times": [("X-Flood", "x")] * 1_000,
    "a header of 60 KB": [("X-Flood", "x" * 60 * KIB)],
    "a header of 4 MB": [("X-Flood", "x" * 4_096 * KIB)],
    "a name of 60 KB": [("X" * 60 * KIB, "x")],
    "a request id of 60 KB": [("X-Request-Id", "x" * 60 * KIB)],
    "five thousand cookies": [("Cookie", f"a{number}=b") for number in range(5_000)],
}


@pytest.mark.parametrize("flood", FLOODS)
def test_given_a_flood_of_headers_when_sent_then_it_is_answered_or_refused_and_the_service_goes_on(
    wire: Wire, flood: str
) -> None:
    try:
        answer = wire.send([*wire.usual, *FLOODS[flood]])
    except (http.client.RemoteDisconnected, ConnectionError):
        answer = None  # Hanging up on a head that never ends is an answer too.

    if answer is None:
        assert "4 MB" in flood
    elif answer.status != 201:
        assert 400 <= answer.status < 500
        assert_envelope(answer, answer.status)
        assert b"xxxx" not in answer.content
    wire.assert_well()


@pytest.mark.parametrize(
    ("name", "status"), [("Authorization", 401), ("X-Operator", 400), ("Idempotency-Key", 400), ("Content-Type", 415)]
)
def test_given_a_flood_of_one_header_that_counts_when_sent_then_it_is_refused(
    wire: Wire, name: str, status: int
) -> None:
    value = dict(wire.usual).get(name, "key")

    assert_envelope(wire.send([*wire.usual, *[(name, value)] * 500]), status)


@pytest.mark.parametrize("query", ["a" * 50 * KIB, "&".join(["tenant=bank"] * 4_000), "&" * 50_000, "a=1;" * 10_000])
def test_given_a_query_without_measure_when_sent_then_it_is_a_4xx(wire: Wire, query: str) -> None:
    answer = wire.send(wire.usual, path=f"/api/programs?{query}", method="GET", body=b"")

    assert answer.status in {200, 400, 414} if set(query) == {"&"} else answer.status in {400, 414}
    if answer.status != 200:
        assert_envelope(answer, answer.status)
        assert len(answer.content) < 4 * KIB
    wire.assert_well()


def in_chunks(content: bytes, size: int) -> bytes:
    parts = [content[start : start + size] for start in range(0, len(content), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(("path", "limit"), [(PATH, 64 * KIB), ("/api/keys", 256 * KIB)])
@pytest.mark.parametrize("size", [1_000, 100_000])
def test_given_a_chunked_body_over_its_limit_when_sent_then_413_and_at_the_limit_it_is_read(
    wire: Wire, path: str, limit: int, size: int
) -> None:
    content = generated_body(wire, path)
    head = "".join(f"{name}: {value}\r\n" for name, value in wire.usual)
    start = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode()

    taken = wire.raw(start + in_chunks(content + b" " * (limit - len(content)), size))
    refused = wire.raw(start + in_chunks(content + b" " * (limit + 1 - len(content)), size))

    assert taken.startswith(b"HTTP/1.1 201 ")
    assert refused.startswith(b"HTTP/1.1 413 ")
    assert b'"requestId"' in refused


def generated_body(wire: Wire, path: str) -> bytes:
    return wire.body if path == PATH else b'{"name":"k","mode":"live"}'


NOT_HTTP: Final = {
    "nothing": b"",
    "noise": bytes(range(256)) * 8,
    "a greeting of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,
    "a version that is none": b"GET /api/programs HTTP/9.9\r\nHost: x\r\n\r\n",
    "a method that is none": b"STEAL /api/programs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a NUL in the path": b"GET /api/pro\x00grams HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "a NUL in a header": b"GET /api/programs HTTP/1.1\r\nHost: x\r\nX-Operator: a\x00b\r\nConnection: close\r\n\r\n",
    "two lengths": b"POST /api/preflight HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a length below zero": b"POST /api/preflight HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
    "a length beyond numbers": b"POST /api/preflight HTTP/1.1\r\nHost: x\r\nContent-Length: "
    + b"9" * 60
    + b"\r\n\r\n{}",
    "a length and chunks": b"POST /api/preflight HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n0\r\n\r\nGET /api/admin/tenants HTTP/1.1\r\nHost: x\r\n\r\n",
    "a chunk beyond numbers": b"POST /api/preflight HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"f" * 40
    + b"\r\n",
    "a folded header": b"GET /api/programs HTTP/1.1\r\nHost: x\r\nX-Operator: a\r\n b\r\nConnection: close\r\n\r\n",
    "a space before the colon": b"GET /api/programs HTTP/1.1\r\nHost: x\r\nX-Operator : a\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("case", NOT_HTTP)
def test_given_bytes_that_are_hardly_http_when_sent_then_nothing_is_answered_but_a_refusal(
    wire: Wire, case: str
) -> None:
    answer = wire.raw(NOT_HTTP[case], then_silent=True)

    statuses = [line.split(b" ")[1] for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert len(statuses) <= 1
    assert not [status for status in statuses if not b"400" <= status < b"500"], answer
    wire.assert_well()
