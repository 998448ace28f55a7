"""Receivers that hold what all share, the slots of attempts and the look-ups of names; and their answers on sockets."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from clearhold.features.webhooks.delivery import Attempt, AttemptError
from clearhold.flows.webhooks import dispatcher, sender
from clearhold.flows.webhooks.sender import GuardedNetwork, Resolver, Sender
from clearhold.store.control.webhooks import Endpoint
from tests.support.raw_receiver import Answer, raw_receiver, saying
from tests.support.webhook_bank import OK, Sent, WebhookBank

HOSTILE: Final = 100  # the endpoints that one tenant may have
HOUR_S: Final = 3_600
SLOW_S: Final = 0.02


@pytest.fixture(autouse=True)
def _soon_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dispatcher.SLOW_S < sender.ATTEMPT_WITHIN_S
    monkeypatch.setattr(dispatcher, "SLOW_S", SLOW_S)


async def first_slow_then_silent(bank: WebhookBank, outcome: Attempt) -> list[Endpoint]:
    """Endpoints whose first attempt took long and ended so, and whose others do not end."""
    endpoints = [bank.register() for _ in range(HOSTILE)]
    urls, begun = {each.url for each in endpoints}, set[str]()

    async def answer(sent: Sent) -> Attempt:
        if sent.url not in urls:
            return OK
        is_first = sent.url not in begun
        begun.add(sent.url)
        await asyncio.sleep(SLOW_S if is_first else HOUR_S)
        return outcome

    bank.sender.answer = answer
    for endpoint in endpoints:
        bank.waiting(endpoint, 1)
    await bank.until_sent(HOSTILE)
    await bank.idle()
    for endpoint in endpoints:
        bank.waiting(endpoint, 8, first=1)
    await bank.until(lambda: sum(bank.sender.at_once.values()) == dispatcher.SLOW_IN_FLIGHT)
    return endpoints


@pytest.mark.parametrize("outcome", [OK, Attempt(None, AttemptError.TIMEOUT), Attempt(500, AttemptError.HTTP_STATUS)])
def test_given_many_receivers_that_hold_their_attempts_then_the_others_get_theirs(
    tmp_path: Path, outcome: Attempt
) -> None:
    async def story(bank: WebhookBank) -> None:
        await first_slow_then_silent(bank, outcome)
        good = bank.register()
        bank.waiting(good, 50)

        await bank.until(lambda: sum(sent.url == good.url for sent in bank.sender.sent) == 50)

        assert sum(bank.sender.at_once.values()) == dispatcher.SLOW_IN_FLIGHT

    played(tmp_path, story)


def test_given_receivers_that_have_never_answered_then_each_holds_one_attempt_and_the_others_get_theirs(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        silent = [bank.register() for _ in range(HOSTILE)]
        urls = {each.url for each in silent}

        async def answer(sent: Sent) -> Attempt:
            await asyncio.sleep(HOUR_S if sent.url in urls else 0)
            return OK

        bank.sender.answer = answer
        for endpoint in silent:
            bank.waiting(endpoint, 8)
        await bank.until_sent(HOSTILE)
        good = bank.register()
        bank.waiting(good, 50)

        await bank.until(lambda: sum(sent.url == good.url for sent in bank.sender.sent) == 50)

        assert sum(bank.sender.at_once.values()) == HOSTILE

    played(tmp_path, story)


def test_given_a_slow_receiver_that_answers_quickly_again_then_it_shares_with_the_quick_ones_after_a_while(
    tmp_path: Path,
) -> None:
    async def story(bank: WebhookBank) -> None:
        better, *_ = await first_slow_then_silent(bank, OK)
        queue = bank.dispatcher._queue_of(better.id)
        bank.clock.advance(dispatcher.SLOW_FOR_US)
        assert queue.is_slow(bank.clock.now()), "nothing has shown yet that it is quick"
        queue.was_slow = False
        assert not queue.is_slow(bank.clock.now())
        assert queue.is_slow(bank.clock.now() - 1), "one quick answer is not enough"

    played(tmp_path, story)


def test_given_names_whose_look_up_hangs_then_the_other_names_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def look_up(host: str, _port: int) -> Sequence[str]:
        if host.endswith(".hangs.example"):
            released.wait()
        return ("8.8.8.8",)

    monkeypatch.setattr(sender, "_addresses_of", look_up)

    async def run() -> Sequence[str]:
        resolver = Resolver()
        hanging = [asyncio.ensure_future(resolver(f"{n}.hangs.example", 443)) for n in range(dispatcher.IN_FLIGHT)]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(sender.CONNECT_WITHIN_S):
                return await resolver("hooks.bank.example", 443)
        finally:
            released.set()
            await asyncio.gather(*hanging)

    assert asyncio.run(run()) == ("8.8.8.8",)


async def _drip(content: bytes, pause_s: float, writer: asyncio.StreamWriter) -> None:
    for byte in content:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(pause_s)


async def _drips(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _drip(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + b"X-A: b\r\n" * 1_000, 0.05, writer)


async def _never_reads(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(HOUR_S)


def _pouring(head: bytes, more: bytes) -> Answer:
    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        while True:
            writer.write(more)
            await writer.drain()

    return pour


_RECEIVERS: Final[dict[str, tuple[Answer, Attempt]]] = {
    "one byte at a time": (_drips, Attempt(None, AttemptError.TIMEOUT)),
    "never reads": (_never_reads, Attempt(None, AttemptError.TIMEOUT)),
    "a head without an end": (
        _pouring(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 999),
        Attempt(None, AttemptError.CONNECTION),
    ),
    "hints without an end": (_pouring(b"", b"HTTP/1.1 103 E\r\n\r\n" * 99), Attempt(None, AttemptError.CONNECTION)),
    "a bomb": (
        _pouring(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9999999999\r\n\r\n", b"\0" * 9_999),
        OK,
    ),
    "bytes as chunks": (_pouring(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 999), OK),
    "ends in its body": (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf"), OK),
    "a wait of ages": (
        saying(b"HTTP/1.1 429 No\r\nRetry-After: -" + b"9" * 900 + b"\r\nContent-Length: 0\r\n\r\n"),
        Attempt(429, AttemptError.HTTP_STATUS),
    ),
}


@pytest.mark.parametrize("over_tls", [False, True], ids=["plain", "awaited as TLS"])
@pytest.mark.parametrize("kind", _RECEIVERS)
def test_given_a_hostile_receiver_on_a_socket_then_one_clock_ends_the_attempt(
    kind: str, *, over_tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ATTEMPT_WITHIN_S", "CONNECT_WITHIN_S", "READ_WITHIN_S", "CLOSED_WITHIN_S"):
        monkeypatch.setattr(sender, name, 0.4)
    answer, expected = _RECEIVERS[kind]

    async def run() -> tuple[Attempt, float]:
        sending = Sender(GuardedNetwork(Resolver(), allow_local=True))
        async with raw_receiver(answer) as port:
            began = time.monotonic()
            outcome = await sending.send(f"{'https' if over_tls else 'http'}://127.0.0.1:{port}/", {}, b"{}")
            return outcome, time.monotonic() - began

    outcome, took_s = asyncio.run(run())

    assert took_s < 10 * 0.4  # not one after the other, and with room for a busy machine
    if over_tls:
        assert outcome.error in {AttemptError.TLS, AttemptError.TIMEOUT, AttemptError.CONNECTION}
    else:
        assert outcome == expected


def played(folder: Path, story: Callable[[WebhookBank], Awaitable[None]]) -> None:
    async def play() -> None:
        async with WebhookBank(folder) as bank:
            await story(bank)

    asyncio.run(play())
