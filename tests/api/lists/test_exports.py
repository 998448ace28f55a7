"""Exports: what a list would page through, as lines or rows, whole or recognisably broken, two at a time."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import pytest
from msgspec import json

from clearhold.api.lists import exports
from clearhold.api.lists.exports import Concurrency
from clearhold.api.transfers import service as transfer_service
from clearhold.features.core.errors import RateLimitedError
from clearhold.features.core.principal import Principal, PrincipalKind
from tests.api.transfers.test_transfers import land
from tests.support.raw_http import RawClient, served
from tests.support.running_app import RunningApp, assert_refused, assert_stamped
from tests.support.waiting import eventually

PATH: Final = "/api/transfers/export"
ENDLESS: Final = 10**9
WITHIN_S: Final = 60.0


class Cell(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    plain_text: str | None
    parts: tuple[int, ...] = ()


@pytest.fixture
def seven(api: RunningApp, program: dict[str, Any]) -> None:
    for number in range(7):
        land(api, program, number)
    api.catch_up()


def download(api: RunningApp, tenant: dict[str, Any], **query: Any) -> Any:
    return api.client.get(PATH, params=query or None, headers=api.operator(tenant))


def lines_of(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert not answer.content or answer.content.endswith(b"\n")
    return [json.decode(line) for line in answer.content.split(b"\n")[:-1]]


def listed(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get("/api/transfers", params=query | {"limit": 100}, headers=api.operator(tenant))
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


@pytest.mark.usefixtures("seven")
@pytest.mark.parametrize("batch", [1, 3, 250])
@pytest.mark.parametrize(
    "query", [{}, {"counterpartyId": "cpty_1"}, {"from": "2026-03-02T14:03:00Z"}, {"band": "hold"}, {"entityId": "e"}]
)
def test_given_filters_when_exported_then_the_lines_are_what_the_list_shows(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, str], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer_service, "BATCH", batch)

    answer = download(api, tenant, **query)

    assert lines_of(answer) == listed(api, tenant, **query)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="transfers.ndjson"'
    assert answer.headers["cache-control"] == "no-store"
    assert_stamped(answer)


def test_given_versions_of_a_transfer_when_exported_then_the_newest_comes_once(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    land(api, program, 1)
    land(api, program, 1, status="SUBMITTED", updated_at="2026-03-02T14:30:00Z")
    api.catch_up()

    assert lines_of(download(api, tenant)) == listed(api, tenant)


@pytest.mark.usefixtures("seven")
def test_given_csv_when_exported_then_the_rows_hold_the_same_under_their_names(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = download(api, tenant, format="csv")

    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="transfers.csv"'
    assert answer.text.endswith("\r\n")
    for row, line in zip(rows, listed(api, tenant), strict=True):
        assert row.pop("simulated") == ""
        assert list(row) == list(line)
        for name in ("scoreInputs", "alertIds"):
            assert json.decode(row.pop(name)) == line.pop(name)
        assert row == {name: "" if value is None else str(value) for name, value in line.items()}


@pytest.mark.parametrize(
    "start",
    [
        *("=", "+", "-", "@", "\t", "\r", "\0", "\n", "\x1b", "\x0b", "\u202e"),
        *("\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66", "\u207a"),
    ],
)
def test_given_text_that_a_spreadsheet_would_run_when_written_as_csv_then_it_is_only_text(start: str) -> None:
    written = exports._csv_of(Cell.__struct_encode_fields__, [Cell(plain_text=f"{start}1+1", parts=(1, 2))])

    assert list(csv.reader(io.StringIO(written.decode(), newline=""))) == [[f"'{start}1+1", "[1,2]"]]


@pytest.mark.parametrize("text", ["1+1", " =1", "½", "é=", "\u3000x", "", "acht_1"])
def test_given_text_that_no_spreadsheet_runs_when_written_as_csv_then_it_is_unchanged(text: str) -> None:
    written = exports._csv_of(Cell.__struct_encode_fields__, [Cell(plain_text=text)])

    assert [row[0] for row in csv.reader(io.StringIO(written.decode(), newline=""))] == [text]


def test_given_quotes_commas_and_line_ends_when_written_as_csv_then_they_are_read_back() -> None:
    text = 'a "b", c\r\nd\u2028e'

    written = exports._csv_of(Cell.__struct_encode_fields__, [Cell(plain_text=text), Cell(plain_text=None)])

    assert written.startswith(b'"a ""b"", c\r\nd')
    assert [row[0] for row in csv.reader(io.StringIO(written.decode(), newline=""))] == [text, ""]


def test_given_a_line_separator_in_a_value_when_written_as_ndjson_then_it_does_not_end_the_line() -> None:
    written = exports._ndjson_of([Cell(plain_text="a\n\u2028b"), Cell(plain_text="c")])

    assert [json.decode(line)["plainText"] for line in written.split(b"\n")[:-1]] == ["a\n\u2028b", "c"]


@pytest.mark.usefixtures("seven")
def test_given_another_tenant_when_it_exports_then_nothing_is_there(api: RunningApp, program: dict[str, Any]) -> None:
    other = api.create_tenant("second-bank")

    assert lines_of(download(api, other)) == []
    assert len(download(api, other, format="csv").text.splitlines()) == 1
    assert_refused(download(api, other, programId=program["id"]), 404, "Unknown program on this tenant.")


def test_given_keys_when_they_export_then_each_finds_its_own_programs_only(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    land(api, program, 1)
    land(api, simulated, 2)
    api.catch_up()

    for mode, number in (("live", 1), ("test", 2)):
        answer = api.client.get(PATH, headers=api.key(tenant, mode=mode))
        assert [line["id"] for line in lines_of(answer)] == [f"acht_{number}"]


@pytest.mark.parametrize(
    ("query", "named"),
    [({"format": "xml"}, "format"), ({"limit": 1}, "limit"), ({"cursor": "a"}, "cursor"), ({"from": "x"}, "from")],
)
def test_given_a_query_that_is_not_valid_when_exported_then_400(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, Any], named: str
) -> None:
    assert_refused(download(api, tenant, **query), 400, named)


def test_given_a_database_that_fails_at_once_when_exported_then_it_is_an_error_and_no_download(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    api.stores.database.execute("ALTER TABLE transfers RENAME TO elsewhere")

    assert_refused(download(api, tenant), 500, "Internal error.")


def a_principal(id_: str = "op_1", tenant_id: str = "tnt_1") -> Principal:
    return Principal(kind=PrincipalKind.OPERATOR, id=id_, tenant_id=tenant_id, tenant="first")


def test_given_two_exports_of_a_tenant_when_any_key_of_it_asks_for_another_then_only_that_tenant_waits() -> None:
    limit = Concurrency(2, in_all=3)

    with limit.slot(a_principal()), limit.slot(a_principal("key_1")):
        for caller in ("op_1", "key_2"):
            with (
                pytest.raises(RateLimitedError, match="At most 2 exports run at a time for a tenant"),
                limit.slot(a_principal(caller)),
            ):
                pass
        with (
            limit.slot(a_principal(tenant_id="tnt_2")),
            pytest.raises(RateLimitedError, match="At most 3 exports run at a time in all"),
            limit.slot(a_principal(tenant_id="tnt_3")),
        ):
            pass

    with limit.slot(a_principal()), limit.slot(a_principal()):
        assert len(limit._running) == 1
    assert not limit._running


class Endless:
    """Batches without end, or until a number of them, where it breaks."""

    def __init__(self, until: int) -> None:
        self._until = until
        self.created = 0
        self.closed = 0

    def batches(self, *_: object) -> Iterator[Sequence[Cell]]:
        try:
            while self.created < self._until:
                self.created += 1
                yield [Cell(plain_text="x" * 1_000)] * 50
            raise ConnectionError
        finally:
            self.closed += 1


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Endless:
    source = Endless(ENDLESS)
    use(source, monkeypatch)
    return source


def use(source: Endless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_service, "batches_of", source.batches)


def asked(api: RunningApp, tenant: dict[str, Any]) -> bytes:
    headers = "".join(f"{name}: {value}\r\n" for name, value in api.operator(tenant).items())
    return f"GET {PATH} HTTP/1.1\r\nHost: a\r\n{headers}\r\n".encode()


def begun(client: RawClient) -> bytes:
    return client.socket.recv(12)


def test_given_two_downloads_under_way_when_a_third_is_asked_for_then_429_until_a_client_goes_away(
    api: RunningApp, tenant: dict[str, Any], endless: Endless
) -> None:
    with served(api) as port, RawClient(port) as first:
        with RawClient(port) as second:
            for client in (first, second):
                client.send(asked(api, tenant))
                assert begun(client) == b"HTTP/1.1 200"
            with RawClient(port) as third:
                third.send(asked(api, tenant))
                refused = third.answer()
        eventually(lambda: endless.closed == 1, within_s=WITHIN_S)
        with RawClient(port) as fourth:
            fourth.send(asked(api, tenant))
            assert begun(fourth) == b"HTTP/1.1 200"
        first.socket.close()
        first._read.close()
        eventually(lambda: endless.closed == 3, within_s=WITHIN_S)

    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert "At most 2 exports" in refused.error


def test_given_a_client_that_reads_nothing_when_the_buffers_are_full_then_no_more_is_made_and_it_is_hung_up_on(
    api: RunningApp, tenant: dict[str, Any], endless: Endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "STALL_WITHIN_S", 0.5)

    with served(api) as port, RawClient(port) as client:
        client.send(asked(api, tenant))
        eventually(lambda: endless.closed == 1, within_s=WITHIN_S)

        assert endless.created < 1_000  # 50 KB each: what the sockets' buffers hold, and no more


def test_given_a_failure_midway_when_downloading_then_the_end_is_no_clean_one(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(source := Endless(3), monkeypatch)

    with served(api) as port, RawClient(port) as client:
        client.send(asked(api, tenant))
        received = client._read.read()

    assert received.startswith(b"HTTP/1.1 200")
    assert received.count(b"plainText") == 150
    assert not received.endswith(b"0\r\n\r\n")  # the last chunk of a whole answer
    assert source.closed == 1


@pytest.mark.usefixtures("seven")
def test_given_a_whole_export_when_downloaded_over_a_socket_then_it_ends_cleanly(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    with served(api) as port, RawClient(port) as client:
        client.send(asked(api, tenant).replace(b"Host: a\r\n", b"Host: a\r\nConnection: close\r\n"))
        received = client._read.read()

    assert received.endswith(b"0\r\n\r\n")


@pytest.mark.timed
def test_given_an_export_that_takes_too_long_when_downloaded_then_it_is_ended(
    api: RunningApp, tenant: dict[str, Any], endless: Endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "EXPORT_WITHIN_S", 0.3)

    with served(api) as port, RawClient(port) as client:
        client.send(asked(api, tenant))
        received = client._read.read()

    assert received.startswith(b"HTTP/1.1 200")
    assert not received.endswith(b"0\r\n\r\n")
    assert endless.closed == 1
