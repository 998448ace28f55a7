"""The feed when the service is killed or stopped, and when a reader does not read."""

import itertools
import socket
import threading
import time
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Self

import msgspec

from tests.support.following import Follower
from tests.support.listening import Listener, Told
from tests.support.live_feed import DAY, WIRE, LiveBank, LiveFeed, now, text_of
from tests.support.running_service import COMMAND, RunningService, post_until_taken
from tests.support.waiting import eventually

EVENTS = 240
KILLS = 2
SCORED = "transfer.scored"

LITTLE_ROOM = f"""
import socket
from clearhold.api.http.protocol import Protocol
from clearhold.flows.live import readers

readers.BACKLOG_BYTES = 4_096
original = Protocol.connection_made

def connection_made(self, transport):
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    original(self, transport)

Protocol.connection_made = connection_made
{COMMAND}
"""


def bodies(first: int, count: int) -> list[bytes]:
    begin = now() - DAY
    events = []
    for number in range(first, first + count):
        at = text_of(begin + timedelta(seconds=number))
        data = {"id": f"wire_{number}", "amount": 900_000 + number, "entity_id": f"enti_{number % 5}"}
        data |= {"counterparty_id": f"cpty_{number % 7}", "created_at": at, "updated_at": at}
        events.append({"id": f"evnt_kill_{number}", "type": WIRE, "created_at": at, "data": data})
    return [msgspec.json.encode(event) for event in events]


def test_given_kills_of_the_service_when_a_reader_comes_back_then_it_has_every_event_once_and_in_order(
    tmp_path: Path,
) -> None:
    with RunningService(tmp_path / "data", "--scorers", "0") as service, closing(LiveBank(service)) as bank:
        programs = [bank.feed() for _ in range(3)]
        halves = [bodies(number * 1_000, EVENTS // len(programs)) for number in range(len(programs))]
        posting = [
            threading.Thread(target=post_until_taken, args=(service, feed.program, half), kwargs={"within_s": 240.0})
            for feed, half in zip(programs, halves, strict=True)
        ]
        with Follower(service, bank.tenant["operatorToken"]) as follower:
            for thread in posting:
                thread.start()
            for _ in range(KILLS):
                time.sleep(0.7)  # The moment must not depend on the service's state.
                service.kill()
                service.start()
            for thread in posting:
                thread.join(240)
            for feed, half in zip(programs, halves, strict=True):
                feed.last_event = msgspec.json.decode(half[-1])["id"]
                feed.settle()
            with Listener(service.port, bank.tenant["operatorToken"], last_id=follower.first_id) as whole:
                eventually(lambda: len(whole.of(SCORED)) == EVENTS)
            eventually(lambda: follower.breaks >= KILLS)
        with Listener(service.port, bank.tenant["operatorToken"], last_id=follower.last_id) as rest:
            eventually(lambda: len(without_notices(follower.told + rest.told)) >= len(whole.events))

    told = follower.told + rest.told
    got = {feed.id: of_program(told, feed.id) for feed in programs}
    assert not [each for each in told if each.kind == "resync"]
    assert got == {feed.id: of_program(whole.told, feed.id) for feed in programs}
    assert sum(len(each) for each in got.values()) == len(without_notices(told))


def without_notices(told: list[Told]) -> list[Told]:
    return [each for each in told if each.kind not in {"resync", "end"}]


def of_program(told: list[Told], program_id: str) -> list[tuple[str, object]]:
    """The program's events in order: the entry in Redis and the content."""
    return [
        (each.id.partition(".")[0], each.data) for each in without_notices(told) if each.data["programId"] == program_id
    ]


def test_given_readers_when_the_service_is_told_to_stop_then_their_answers_end_properly_and_it_stops_in_time(
    tmp_path: Path,
) -> None:
    with (
        RunningService(tmp_path / "data", "--scorers", "0") as service,
        closing(LiveBank(service)) as bank,
        ExitStack() as stack,
    ):
        token = bank.tenant["operatorToken"]
        listeners = [stack.enter_context(Listener(service.port, token)) for _ in range(8)]
        took_s = service.stop()
        eventually(lambda: all(listener.is_done for listener in listeners))

    assert took_s < 5.0
    for listener in listeners:
        assert [each.data for each in listener.told] == [{"reason": "stopping"}]
        assert listener.failure is None


def test_given_a_reader_that_does_not_read_when_money_moves_then_it_is_told_once_and_others_miss_nothing(
    tmp_path: Path,
) -> None:
    with (
        RunningService(tmp_path / "data", "--scorers", "0", command=LITTLE_ROOM) as service,
        closing(LiveBank(service)) as bank,
    ):
        feed, token = bank.feed(), bank.tenant["operatorToken"]
        with Sluggish(service.port, token) as sluggish, Listener(service.port, token) as listener:
            send_many(feed, range(400))
            eventually(lambda: len(listener.of(SCORED)) == 400)
            send_many(feed, range(400, 401))  # its connection is full by now, even if all before were one commit
            eventually(lambda: len(listener.of(SCORED)) == 401)
            sluggish.begin_reading()
            numbers = itertools.count(401)

            def gets_after_one_more(text: bytes) -> bool:
                """Whatever is committed while its connection is full is lost to it."""
                number = next(numbers)
                send_many(feed, range(number, number + 1))
                return sluggish.has(text)

            eventually(lambda: gets_after_one_more(b"event: resync"))
            after = sluggish.received.rindex(b"event: resync")
            eventually(lambda: gets_after_one_more(b"") and b"event: transfer.scored" in sluggish.received[after:])
            newest = next(numbers) - 1
            eventually(lambda: len(listener.of(SCORED)) == newest + 1)

    assert not listener.of("resync")
    assert sluggish.received.count(b"event: resync") == 1
    assert b'{"reason":"slow"}' in sluggish.received
    assert not sluggish.has(b'"wire_400"')


def send_many(feed: LiveFeed, numbers: range) -> None:
    begin = now() - DAY
    feed.send_all(
        (
            WIRE,
            {"id": f"wire_{number}", "amount": 10_000 + number, "entity_id": f"enti_{number}"}
            | {"counterparty_id": f"cpty_{number}"},
            begin + timedelta(seconds=number),
        )
        for number in numbers
    )
    feed.settle()


class Sluggish:
    """A connection with little room whose bytes nothing reads at first."""

    def __init__(self, port: int, token: str) -> None:
        self.received = b""
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._socket.settimeout(60)
        self._socket.connect(("127.0.0.1", port))
        head = f"GET /api/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nX-Operator: ann\r\n\r\n"
        self._socket.sendall(head.encode())
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        while b"\nid: " not in self.received:
            self.received += self._socket.recv(512)
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        if self._thread.is_alive():
            self._thread.join(60)
        self._socket.close()

    def begin_reading(self) -> None:
        self._thread.start()

    def has(self, text: bytes) -> bool:
        return text in self.received

    def _read(self) -> None:
        while part := self._socket.recv(65_536):
            self.received += part
