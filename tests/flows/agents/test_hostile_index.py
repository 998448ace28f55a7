"""An index that wants the service's memory or time: what a page may take, and where a list and an import end."""

import asyncio
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clearhold.features.core.instants import HOUR_US, MINUTE_US
from clearhold.flows.agents import scan_client
from clearhold.flows.agents.scan_client import ScanClient, ScanError
from clearhold.flows.agents.service import STOPPING
from clearhold.flows.running.bank_http import http_client
from tests.support.clock import FrozenClock
from tests.support.hostile_server import HostileServer, read_request
from tests.support.running_bank import RunningBank
from tests.support.running_service import RunningService

Page = Callable[[int], bytes]


def answer_of(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def read_list(page: Page, *, kind: str = "agents", clock: FrozenClock | None = None, pause_us: int = 0) -> list[int]:
    """The numbers of items of the pages that an index answers; ``pause_us`` passes with each page."""
    numbers: Iterator[int] = count(1)

    def script(connection: Any, _: int) -> None:
        while read_request(connection):
            connection.sendall(answer_of(page(next(numbers))))

    async def never(_: float) -> None:
        raise AssertionError("nothing is to be tried again")

    async def run() -> list[int]:
        at, lengths = clock or FrozenClock(), list[int]()
        async with http_client(connections=1) as http:
            client = ScanClient(server.url, http, at, sleep=never)
            try:
                async for each in client.pages(kind):
                    lengths.append(len(each.items))
                    at.advance(pause_us)
            except ScanError as error:
                raise ScanError(f"after {len(lengths)}: {error}") from None
        return lengths

    with HostileServer(script) as server:
        return asyncio.run(run())


def test_given_an_index_that_never_answers_when_the_service_stops_then_it_ends_and_the_caller_is_told(
    tmp_path: Path,
) -> None:
    asked = threading.Event()

    def script(connection: socket.socket, _: int) -> None:
        read_request(connection)
        asked.set()
        connection.recv(1)

    answers: list[Any] = []
    with HostileServer(script) as server:
        environment = {"CLEARHOLD_ALLOW_LOCAL_WEBHOOKS": "1", "CLEARHOLD_SCAN_INDEX_URL": server.url}
        with RunningService(tmp_path / "data", environment=environment) as service:
            bank = RunningBank(service, "agents")

            def run_import() -> None:
                answers.append(bank.ask("POST", "/api/agents/import", {}, expect=503))

            importing = threading.Thread(target=run_import)
            importing.start()
            assert asked.wait(30)
            stopped_in_s = service.stop()
            importing.join(30)

        assert [answer["error"] for answer in answers] == [STOPPING]
        assert not [line for line in service.log_lines if "Exception in ASGI" in line]
    assert stopped_in_s < scan_client.ANSWER_WITHIN_S


def a_page(number: int, items: int) -> bytes:
    return msgspec.json.encode({"items": [{}] * items, "nextCursor": str(number)})


@pytest.mark.parametrize(
    "body",
    [
        b'{"items":[' + b"1," * 4_000_000 + b"1]}",
        b'{"items":[' + b"{}," * 2_500_000 + b"{}]}",
        b'{"items":[' + b"[]," * 600 + b'"' + b"x" * 8_000_000 + b'"]}',
    ],
    ids=["numbers", "objects", "a long last one"],
)
def test_given_a_page_of_millions_of_items_then_it_is_refused_and_takes_no_memory_beyond_its_text(body: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ScanError, match="more items than the 500"):
            scan_client._read_page("agents", body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 2 * len(body)


def test_given_the_most_items_of_a_page_then_all_are_read_as_they_are() -> None:
    items = [msgspec.json.encode({"n": number, "of": None}) for number in range(500)]
    page = scan_client._read_page("agents", b'{"items":[' + b", ".join(items) + b'],"items_":1}')

    assert page.items == items
    assert scan_client._read_page("agents", b'{"items":[null, 1]}').items == [b"null", b"1"]
    assert scan_client._read_page("agents", b'{"items":[1],"items":[]}').items == []


@pytest.mark.parametrize("kind", ["agents", "profiles", "settlements"])
def test_given_pages_without_end_then_the_list_ends_at_its_most_items(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scan_client.MAX_ITEMS == {"agents": 250_000, "profiles": 250_000, "settlements": 5_000_000}
    monkeypatch.setitem(scan_client.MAX_ITEMS, kind, 1_000)

    with pytest.raises(ScanError, match=f"after 3: .* it has more than 1,000 {kind}"):
        read_list(lambda number: a_page(number, 300), kind=kind)


def test_given_an_index_that_takes_its_time_with_each_page_then_the_import_ends() -> None:
    assert scan_client.READ_WITHIN_US == 6 * HOUR_US
    clock = FrozenClock()

    with pytest.raises(ScanError, match=r"after 7: .* agents were not read within 6 hours"):
        read_list(lambda number: a_page(number, 1), clock=clock, pause_us=59 * MINUTE_US)
