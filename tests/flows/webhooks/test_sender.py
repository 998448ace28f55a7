"""One attempt against receivers that mean no good: where it may connect, what it reads, how long it takes."""

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from clearhold.features.webhooks.delivery import Attempt, AttemptError
from clearhold.flows.webhooks import sender
from clearhold.flows.webhooks.sender import GuardedNetwork, Resolver, Sender, Stream, UnresolvedError
from tests.support.raw_receiver import Answer, certificate, raw_receiver, saying

NAME: Final = "hooks.bank.example"
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HOUR_S: Final = 3_600


class ScriptedNames:
    """A resolver that answers as scripted, the last answer again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = [*answers]
        self.lookups: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.lookups.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            raise UnresolvedError
        return answer


class RecordedNetwork:
    """Connects to this machine, whatever the address, and keeps which it was."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def open_stream(self, address: str, port: int, **how: Any) -> Stream:
        self.addresses.append(address)
        return await asyncio.open_connection("127.0.0.1", port, **how)


def attempted(
    answer: Answer, resolve: ScriptedNames | None = None, *, times: int = 1, tls: bool = False, **over: Any
) -> tuple[list[Attempt], list[str]]:
    """What attempts at a receiver under a public name led to, and the addresses that were connected to."""
    connected = RecordedNetwork()
    names = resolve or ScriptedNames(["8.8.8.8"])

    async def run() -> list[Attempt]:
        guarded = GuardedNetwork(names, allow_local=False, open_stream=connected.open_stream)
        sending = Sender(guarded, certificates=over.get("trusted"))
        async with raw_receiver(answer, tls=over.get("server")) as port:
            url = f"{'https' if tls else 'http'}://{NAME}:{port}/hook"
            return [await sending.send(url, {"Score-Event": "ping"}, b"{}") for _ in range(times)]

    return asyncio.run(run()), connected.addresses


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["169.254.169.254"], ["::ffff:192.168.0.1"], ["64:ff9b::a9fe:a9fe"]],
    ids=" ".join,
)
def test_given_a_name_with_an_address_inside_when_attempted_then_nothing_connects(answers: list[str]) -> None:
    outcome, addresses = attempted(saying(OK), ScriptedNames(answers))

    assert outcome == [Attempt(None, AttemptError.BLOCKED_ADDRESS)]
    assert addresses == []


def test_given_a_name_that_rebinds_when_attempted_again_then_the_second_attempt_is_blocked() -> None:
    names = ScriptedNames(["8.8.8.8"], ["127.0.0.1"])

    outcomes, addresses = attempted(saying(OK), names, times=2)

    assert outcomes == [Attempt(200, None), Attempt(None, AttemptError.BLOCKED_ADDRESS)]
    assert addresses == ["8.8.8.8"]
    assert names.lookups == [NAME, NAME]  # once an attempt: what was checked is what was connected to


def test_given_a_redirect_to_the_metadata_address_when_answered_then_it_is_not_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data\r\nContent-Length: 0\r\n\r\n"

    outcomes, addresses = attempted(saying(moved))

    assert outcomes == [Attempt(302, AttemptError.REDIRECT)]
    assert addresses == ["8.8.8.8"]


def test_given_an_endless_body_when_accepted_then_four_kibibytes_of_it_are_read() -> None:
    written = 0

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99999999999\r\n\r\n")
        while True:
            writer.write(b"\x1f\x8b" * 2_048)
            await writer.drain()
            written += 4_096

    assert attempted(pour)[0] == [Attempt(200, None)]
    assert written < 16 << 20  # what the sockets of this machine hold, not what was sent


def test_given_a_body_that_drips_when_accepted_then_it_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "READ_WITHIN_S", 0.05)

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\n")
        await asyncio.sleep(HOUR_S)

    assert attempted(drip)[0] == [Attempt(202, None)]


@pytest.mark.timed
def test_given_a_status_at_the_last_moment_then_it_counts_however_the_rest_drips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "ATTEMPT_WITHIN_S", 0.5)
    monkeypatch.setattr(sender, "READ_WITHIN_S", 0.6)

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        await asyncio.sleep(HOUR_S)

    assert attempted(drip)[0] == [Attempt(200, None)]


def test_given_headers_that_drip_when_attempted_then_the_time_of_the_whole_attempt_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (sender.ATTEMPT_WITHIN_S, sender.CONNECT_WITHIN_S) == (15, 5)
    monkeypatch.setattr(sender, "ATTEMPT_WITHIN_S", 0.3)

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(HOUR_S):
            writer.write(b"X-%d: a\r\n" % number)
            await writer.drain()
            await asyncio.sleep(0.02)

    assert attempted(drip)[0] == [Attempt(None, AttemptError.TIMEOUT)]


def test_given_a_name_server_that_hangs_when_attempted_then_it_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "CONNECT_WITHIN_S", 0.05)

    async def hang(_host: str, _port: int) -> Sequence[str]:
        await asyncio.sleep(HOUR_S)
        return ()

    sending = Sender(GuardedNetwork(hang, allow_local=False))
    assert asyncio.run(sending.send(f"http://{NAME}/", {}, b"{}")) == Attempt(None, AttemptError.TIMEOUT)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", AttemptError.CONNECTION),
        (b"SSH-2.0-OpenSSH_9.7\r\n", AttemptError.CONNECTION),
        (b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n", AttemptError.CONNECTION),
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", AttemptError.CONNECTION),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10_000, AttemptError.CONNECTION),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 No\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n", None),
        (b"HTTP/1.0 200 OK\nContent-Length: 0\n\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", None),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", AttemptError.HTTP_STATUS),
    ],
    ids=[
        "nothing",
        "another protocol",
        "a header without an end",
        "an upgrade",
        "hints without an end",
        "a hint first, and more behind",
        "a body that is broken",
        "lines without a return",
        "two lengths",
        "an error",
    ],
)
def test_given_an_answer_then_its_first_final_status_counts_and_what_is_none_failed(
    content: bytes, error: AttemptError | None
) -> None:
    outcome = attempted(saying(content))[0][0]

    assert outcome.error is error


def test_given_names_and_ports_that_nobody_has_then_the_failure_is_named() -> None:
    assert attempted(saying(OK), ScriptedNames([]))[0] == [Attempt(None, AttemptError.DNS)]
    sending = Sender(GuardedNetwork(Resolver(), allow_local=True))
    assert asyncio.run(sending.send("http://127.0.0.1:1/", {}, b"{}")) == Attempt(None, AttemptError.CONNECTION)
    assert asyncio.run(sending.send("https://no-host.invalid/", {}, b"{}")) == Attempt(None, AttemptError.DNS)


@pytest.mark.parametrize(
    ("names", "is_trusted", "error"),
    [((NAME,), True, None), (("other.example",), True, AttemptError.TLS), ((NAME,), False, AttemptError.TLS)],
    ids=["right", "another name", "unknown authority"],
)
def test_given_a_certificate_then_it_must_be_that_of_the_name(
    tmp_path: Path, names: tuple[str, ...], *, is_trusted: bool, error: AttemptError | None
) -> None:
    server, trusted = certificate(tmp_path, *names)
    usual = ssl.create_default_context()

    outcome = attempted(saying(OK), tls=True, server=server, trusted=trusted if is_trusted else usual)[0]

    assert outcome == [Attempt(200 if error is None else None, error)]


def test_given_a_proxy_in_the_environment_when_attempted_then_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert attempted(saying(OK)) == ([Attempt(200, None)], ["8.8.8.8"])


def test_given_deliveries_to_one_host_when_looked_up_at_once_then_they_share_the_look_up() -> None:
    class Counted(Resolver):
        lookups = 0

        async def _look_up(self, host: str, port: int) -> Sequence[str]:
            assert (host, port) == (NAME, 443)
            self.lookups += 1
            await asyncio.sleep(0.01)
            return ("8.8.8.8",)

    async def run() -> tuple[list[Sequence[str]], int]:
        resolver = Counted()
        return list(await asyncio.gather(*(resolver(NAME, 443) for _ in range(8)), resolver("8.8.4.4", 443))), (
            resolver.lookups
        )

    assert asyncio.run(run()) == ([("8.8.8.8",)] * 8 + [("8.8.4.4",)], 1)
