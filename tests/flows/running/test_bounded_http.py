"""The transport to servers that are not trusted, over sockets: what an answer costs, and when a connection is kept."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import httpx
import pytest

from clearhold.flows.running import bounded_http
from clearhold.flows.running.bank_http import body_of, http_client
from tests.support.hostile_server import HostileServer, Script, read_request
from tests.support.raw_receiver import certificate, raw_receiver
from tests.support.raw_receiver import saying as answering

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
OK: Final = HEAD + b"Content-Length: 2\r\n\r\n{}"
MOST_TURN_S: Final = 0.02  # of the processor's time; the answers below took 0.05 to 0.27 with the usual transport
MOST_TRIES: Final = 3


def saying(content: bytes, *, then: Callable[[socket.socket], None] = lambda _: None) -> Script:
    def script(connection: socket.socket, _: int) -> None:
        while read_request(connection):
            connection.sendall(content)
            then(connection)

    return script


async def body_from(http: httpx.AsyncClient, url: str, *, within_s: float = 5.0) -> bytes | None:
    async with asyncio.timeout(within_s), http.stream("GET", url) as response:
        return await body_of(response)


def read_all(script: Script, *, times: int = 1) -> tuple[list[bytes | Exception | None], int]:
    """The bodies of requests one after the other, or why there is none; and the number of connections."""

    async def run() -> list[bytes | Exception | None]:
        outcomes: list[bytes | Exception | None] = []
        async with http_client(connections=1) as http:
            for _ in range(times):
                try:
                    outcomes.append(await body_from(http, server.url))
                except (httpx.HTTPError, TimeoutError) as error:
                    outcomes.append(error)
                await asyncio.sleep(0.05)  # what comes late has come
        return outcomes

    with HostileServer(script) as server:
        return asyncio.run(run()), server.connections


async def longest_turn_s(work: Awaitable[object]) -> float:
    """The most time of the processor that one turn of the event loop took while this was done."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(watch())
    try:
        await work
    except (httpx.HTTPError, TimeoutError):
        pass
    finally:
        watching.cancel()
    return longest


@pytest.mark.parametrize(
    "content",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 200_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000,
        HEAD + b"a: b\r\n" * 15_000 + b"Content-Length: 2\r\n\r\n{}",
    ],
    ids=["a byte a chunk", "interim answers", "many headers"],
)
def test_given_an_answer_in_many_pieces_then_no_turn_of_the_event_loop_is_long(content: bytes) -> None:
    async def run() -> float:
        async with http_client(connections=1) as http:
            return await longest_turn_s(body_from(http, server.url, within_s=2.0))

    with HostileServer(saying(content)) as server:
        turns = [asyncio.run(run()) for _ in range(MOST_TRIES)]

    assert min(turns) < MOST_TURN_S


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.7\r\n",
        HEAD + b"X: " + b"a" * 70_000 + b"\r\n\r\n",
        HEAD + b"a: b\r\n" * 257 + b"Content-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 99\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        HEAD + b"Content-Length: -1\r\n\r\n{}",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nnone\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000,
    ],
    ids=[
        "nothing",
        "another protocol",
        "a long header",
        "too many headers",
        "half a body",
        "two lengths",
        "a negative length",
        "chunks without an end",
        "a broken chunk",
        "an upgrade",
        "interim answers alone",
    ],
)
def test_given_what_is_no_whole_answer_then_it_is_an_error(content: bytes) -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)

    outcomes, connections = read_all(saying(content, then=hang_up), times=2)

    assert [type(outcome) for outcome in outcomes] == [httpx.RemoteProtocolError] * 2
    assert connections == 2


@pytest.mark.parametrize(
    ("content", "body"),
    [
        (OK, b"{}"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK, b"{}"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nX-Trailer: 1\r\n\r\n", b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
    ids=["a length", "an interim answer first", "chunks", "no content"],
)
def test_given_whole_answers_then_one_connection_is_enough(content: bytes, body: bytes) -> None:
    assert read_all(saying(content), times=3) == ([body] * 3, 1)


def test_given_a_body_that_ends_with_its_connection_then_it_is_whole() -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.shutdown(socket.SHUT_WR)

    assert read_all(saying(HEAD + b"\r\n{}", then=hang_up), times=2) == ([b"{}"] * 2, 2)


@pytest.mark.parametrize(
    ("at_once", "later"),
    [
        (OK + b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n", b""),
        (OK + OK, b""),
        (OK, b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"),
        (HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", b""),
    ],
    ids=["an answer behind", "the same behind", "an answer later", "closes"],
)
def test_given_bytes_that_answer_no_request_then_they_answer_none(at_once: bytes, later: bytes) -> None:
    def send_later(connection: socket.socket) -> None:
        time.sleep(0.01)
        connection.sendall(later)

    assert read_all(saying(at_once, then=send_later), times=3) == ([b"{}"] * 3, 3)


def test_given_a_server_that_hangs_then_each_request_gives_its_connection_back() -> None:
    def script(connection: socket.socket, number: int) -> None:
        read_request(connection)
        if number <= 2:
            connection.sendall(HEAD if number == 1 else HEAD + b"Content-Length: 9\r\n\r\n{")
            connection.recv(1)
        connection.sendall(OK)

    async def run() -> list[bytes | type[Exception] | None]:
        outcomes: list[bytes | type[Exception] | None] = []
        async with http_client(connections=1) as http:
            for within_s in (0.2, 0.2, 5.0):
                try:
                    outcomes.append(await body_from(http, server.url, within_s=within_s))
                except TimeoutError:
                    outcomes.append(TimeoutError)
        return outcomes

    with HostileServer(script) as server:
        assert asyncio.run(run()) == [TimeoutError, TimeoutError, b"{}"]


@pytest.mark.parametrize(
    ("name", "is_trusted", "is_read"),
    [("localhost", True, True), ("other.example", True, False), ("localhost", False, False)],
    ids=["right", "another name", "unknown authority"],
)
def test_given_a_certificate_then_it_must_be_that_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, is_trusted: bool, is_read: bool
) -> None:
    server, trusted = certificate(tmp_path, name)
    if is_trusted:
        monkeypatch.setattr(bounded_http, "usual_authorities", lambda: trusted)

    async def run() -> bytes | None:
        async with raw_receiver(answering(OK), tls=server) as port, http_client(connections=1) as http:
            return await body_from(http, f"https://localhost:{port}/")

    if is_read:
        assert asyncio.run(run()) == b"{}"
    else:
        with pytest.raises(httpx.ConnectError):
            asyncio.run(run())


@pytest.mark.parametrize("requests", [1, 2, 3])
def test_given_a_connection_that_is_not_used_again_then_it_is_ended(
    requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_http, "KEPT_S", 0.2)
    ends: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(requests):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try:
            await ends.put(await reader.read())
        except ConnectionError:
            await ends.put(b"")
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server, http_client(connections=2) as http:
            port = server.sockets[0].getsockname()[1]
            for _ in range(requests):
                assert (await http.get(f"http://127.0.0.1:{port}/")).text == "ok"
            assert ends.empty()
            assert await asyncio.wait_for(ends.get(), 2.0) == b""

    asyncio.run(run())
