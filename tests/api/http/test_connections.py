"""Connections without end: a cap in all and from one address, no idle newcomers, and room for whoever was there."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest
from msgspec import json

from clearhold.api.http.envelope import NO_FILES, refusal_of, status_of
from clearhold.api.http.limits import LOG_EVERY_S, RESERVED_FILES, Connections
from clearhold.api.http.protocol import Protocol
from tests.support.callers import TRANSFER
from tests.support.raw_http import RawClient, served
from tests.support.running_app import RunningApp
from tests.support.running_service import COMMAND, RunningService
from tests.support.waiting import eventually

pytestmark = pytest.mark.timed

GET: Final = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
FILES: Final = 2 * RESERVED_FILES
WITH_FEW_FILES: Final = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, {FILES})); {COMMAND}"


class Impatient(Protocol):
    first_request_within_s = 0.2


def is_answered(client: RawClient) -> bool:
    client.send(GET)
    return client.answer().status == 200


def test_given_room_for_some_when_more_connect_then_503_until_one_leaves(api: RunningApp) -> None:
    connections = Connections(8)
    with served(api, connections=connections) as port, ExitStack() as opened:
        first, *_ = [opened.enter_context(RawClient(port)) for _ in range(6)]
        eventually(lambda: connections.open == 6)

        with RawClient(port) as one_more:
            refused = one_more.answer()
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert one_more.is_hung_up_on()

        assert is_answered(first)
        first.__exit__()
        eventually(lambda: connections.open == 5)
        with RawClient(port) as next_one:
            assert is_answered(next_one)
    assert connections.refused == 1


def test_given_one_address_that_has_its_share_when_another_connects_then_there_is_room() -> None:
    connections = Connections(8)
    assert [connections.add("10.0.0.1") for _ in range(7)] == [True] * 6 + [False]

    connections.remove("10.0.0.1")

    assert [connections.add("10.0.0.2") for _ in range(3)] == [True, True, False]


def test_given_a_connection_without_a_request_when_time_passes_then_it_is_closed(api: RunningApp) -> None:
    with served(api, Impatient) as port, RawClient(port) as idle, RawClient(port) as busy:
        assert is_answered(busy)
        assert idle.is_hung_up_on()
        assert is_answered(busy)


def test_given_refusals_when_they_go_on_then_a_line_a_minute_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    connections = Connections(1, now=lambda: now[0])
    for at in (0.0, 0.0, LOG_EVERY_S - 1, LOG_EVERY_S):
        now[0] = at
        connections.add("10.0.0.1")

    assert connections.refused == 3
    assert capsys.readouterr().out.count("connections_refused") == 2


def test_given_no_file_to_open_when_a_request_fails_of_it_then_503() -> None:
    files = OSError(24, "Too many open files")
    assert (status_of(files), str(refusal_of(files))) == (503, NO_FILES)
    assert status_of(OSError(2, "No such file")) == 500


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[RunningService]:
    """A service that may open few files, and whose soft limit is lower still."""
    with RunningService(tmp_path / "data", command=WITH_FEW_FILES) as service:
        yield service


def test_given_idle_connections_without_end_when_others_work_then_they_go_on(narrow: RunningService) -> None:
    tenant = narrow.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
    with closing(narrow.connect()) as early, ExitStack() as opened:
        early.request("GET", "/healthz")
        early.getresponse().read()
        for _ in range(FILES):
            opened.enter_context(socket.create_connection(("127.0.0.1", narrow.port)))
        program = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
        as_admin = {"Authorization": "Bearer adm_of_all_the_tests", "Content-Type": "application/json"}
        named = {"X-Operator": "ann", "Idempotency-Key": "a"}
        early.request("POST", "/api/admin/programs", json.encode(program), as_admin | named)
        created = early.getresponse()
        program_id = json.decode(created.read())["id"]
        transfer = json.encode({"programId": program_id, "transfer": TRANSFER})
        as_operator = as_admin | named | {"Authorization": f"Bearer {tenant['operatorToken']}"}
        early.request("POST", "/api/preflight", transfer, as_operator)

        assert created.status == 201
        assert early.getresponse().status == 201

    assert [line for line in narrow.log_lines if "connections_refused" in line]
