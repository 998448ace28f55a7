"""Backfills of the real service: beside live events, killed in the middle, stopped in the middle, seen from outside."""

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from clearhold.demo.bank import SimulatedBank
from clearhold.features.core.entries.commands import BackfillStep
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.store.data_dir import DEFAULT_SHARDS
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.reader import shard_key
from tests.support.running_service import (
    RunningService,
    post_in_batches,
    post_until_taken,
    tables_of,
    wait_until_committed,
)
from tests.support.waiting import eventually

UNTIL: Final = 1_780_000_000_000_000
EVENTS: Final = 700
WITHIN_S: Final = 120.0
STOP_WITHIN_S: Final = 10.0
WRONG: Final = "UPDATE transfer_features SET score = 1, confidence = 0.01, reasons = '[]', band = 'clear'"
OLD: Final = "UPDATE transfer_features SET feature_version = 'features-v0', score = NULL, band = 'unscored'"
IN_SMALL_STEPS: Final = """
import asyncio
from pathlib import Path
import clearhold.flows.backfill.rescoring as transfers
from clearhold.api.cli.start import main

transfers.STEP_TRANSFERS, transfers.PAGE_TRANSFERS = 1, 5
take = transfers.TransferBackfill._take

async def slowly(*page):
    await take(*page)
    if Path({walks!r}).exists():
        await asyncio.sleep(0.3)

transfers.TransferBackfill._take = slowly
main()
"""
NEWEST: Final = (
    "SELECT COLUMNS(c -> c NOT IN ('tenant_id', 'program_id', 'shard', 'offset', 'scored_at', 'paths', 'rescored')) "
    'FROM transfer_features QUALIFY row_number() OVER (PARTITION BY transfer_id ORDER BY "offset" DESC) = 1 '
    "ORDER BY transfer_id"
)
TRANSFERS: Final = "SELECT id, status, score, score_band, score_n, score_confidence FROM transfers_latest ORDER BY id"


@pytest.fixture(scope="module")
def bodies() -> list[bytes]:
    history = SimulatedBank(11).history(UNTIL)
    return [delivery.body for delivery in history if delivery.program == "remittance"][:EVENTS]


class Room:
    """A service with one program, whose transfers are scored again and again."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        tenant = service.admin("/api/admin/tenants", {"slug": "bank", "name": "Bank"})
        described = {"tenantId": tenant["id"], "slug": "remittance", "name": "Remittance"}
        self.program = service.admin("/api/admin/programs", described)
        self.token: str = tenant["operatorToken"]

    def post(self, bodies: list[bytes]) -> None:
        post_until_taken(self.service, self.program, bodies, within_s=WITHIN_S)

    def rescore(self) -> tuple[int, Any]:
        """Status and answer; 0 when the connection broke off."""
        with contextlib.closing(self.service.connect()) as connection:
            headers = {"Authorization": f"Bearer {self.token}"}
            try:
                connection.request("POST", f"/api/skoor/backfill/{self.program['id']}", headers=headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException):
                return 0, None

    def change(self, statement: str) -> None:
        """Stop, change the tables, and start again."""
        self.service.stop()
        with closing(duckdb.connect(str(self.service.data / "clearhold.duckdb"))) as connection:
            connection.execute(statement)
        self.service.start()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Read the tables of the stopped service."""
        with closing(duckdb.connect(str(self.service.data / "clearhold.duckdb"), read_only=True)) as connection:
            return connection.execute(query).fetchall()

    def results_in_log(self) -> int:
        """How many results backfills have put into the log so far."""
        key = shard_key(shard_of(self.program["id"], DEFAULT_SHARDS))
        with closing(connect_sync(self.service.data / "redis.sock")) as client:
            entries: Any = client.xrange(key)
        bodies = [fields[b"b"] for _, fields in entries if fields[b"k"] == EntryKind.BACKFILL.value.encode()]
        return sum(len(msgspec.json.decode(body, type=BackfillStep).rescored) for body in bodies)


def in_small_steps(folder: Path, *options: str) -> RunningService:
    command = IN_SMALL_STEPS.format(walks=str(folder / "walks"))
    return RunningService(folder / "data", *options, command=command, patches_loaded=True)


@pytest.fixture
def room(tmp_path: Path, bodies: list[bytes]) -> Iterator[Room]:
    """In small steps, so that there is a middle to be killed in."""
    with in_small_steps(tmp_path, "--metrics-port", "0") as service:
        room = Room(service)
        post_in_batches(service, room.program, bodies)
        wait_until_committed(service, room.token, the_last_transfer(bodies))
        yield room


def the_last_transfer(bodies: list[bytes]) -> str:
    ids = [json.loads(body)["data"]["id"] for body in bodies if b'"amount":' in body]
    return str(ids[-1])


def in_the_middle(room: Room, end: Callable[[], object]) -> list[tuple[int, Any]]:
    """Ask, and once more results are in the log, end the service; what the one who asked hears.

    Until then each page takes so long that none comes to the end before this process is back from wherever it was.
    """
    walks = room.service.data.parent / "walks"
    walks.touch()
    heard: list[tuple[int, Any]] = []
    before = room.results_in_log()
    asking = threading.Thread(target=lambda: heard.append(room.rescore()))
    asking.start()
    eventually(lambda: room.results_in_log() >= before + 3)
    end()
    asking.join(WITHIN_S)
    walks.unlink()
    return heard


def test_given_kills_in_the_middle_when_started_again_then_it_is_completed_and_nothing_is_there_twice(
    room: Room,
) -> None:
    room.service.stop()
    right = [room.rows(query) for query in (NEWEST, TRANSFERS)]
    ((versions,),) = room.rows("SELECT count(*) FROM transfer_features")
    room.service.start()
    room.change(f"{OLD} WHERE hash(transfer_id) % 2 = 0; {WRONG} WHERE hash(transfer_id) % 2 = 1")

    for _ in range(2):
        assert in_the_middle(room, room.service.kill) == [(0, None)]
        room.service.start()
    status, answer = room.rescore()

    room.service.stop()
    assert (status, answer) == (200, {"scored": len(right[0])})
    assert [room.rows(query) for query in (NEWEST, TRANSFERS)] == right
    assert room.rows("SELECT count(*) FROM transfer_features") == [(versions + len(right[0]),)]
    assert room.rows("SELECT count(DISTINCT id), count(*) FILTER (stage = 'done') FROM backfills") == [(1, 1)]
    assert room.rows("SELECT count(*) FROM quarantine") == [(0,)]


def test_given_a_stop_in_the_middle_then_who_asked_hears_of_it_and_the_next_start_goes_on(room: Room) -> None:
    room.service.stop()
    right = room.rows(NEWEST)
    room.service.start()
    room.change(WRONG)
    took: list[float] = []

    heard = in_the_middle(room, lambda: took.append(room.service.stop()))

    assert [status for status, _ in heard] == [503]
    assert "next start" in heard[0][1]["error"]
    assert took[0] < STOP_WITHIN_S
    room.service.start()
    eventually(lambda: "backfill_done" in room.service.log_lines[-1])
    room.service.stop()
    assert room.rows(NEWEST) == right
    assert "request_failed" not in "".join(room.service.log_lines)


def test_given_live_events_beside_backfills_then_the_record_is_that_of_a_run_without_them(
    room: Room, bodies: list[bytes], tmp_path: Path
) -> None:
    (tmp_path / "beside").mkdir()
    with in_small_steps(tmp_path / "beside") as service:
        beside = Room(service)
        post_in_batches(beside.service, beside.program, bodies[: EVENTS // 2])
        beside.change(f"{WRONG} WHERE hash(transfer_id) % 2 = 0; {OLD} WHERE hash(transfer_id) % 2 = 1")
        posting = threading.Thread(target=lambda: beside.post(bodies[EVENTS // 2 :]))
        posting.start()
        answers = [beside.rescore()]
        while posting.is_alive():
            answers.append(beside.rescore())
        posting.join()
        wait_until_committed(service, beside.token, the_last_transfer(bodies))
        answers.append(beside.rescore())
        service.stop()
    room.service.stop()

    assert [status for status, _ in answers] == [200] * len(answers)
    counts = [answer["scored"] for _, answer in answers]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == len(room.rows(NEWEST))
    assert [beside.rows(query) for query in (NEWEST, TRANSFERS)] == [room.rows(query) for query in (NEWEST, TRANSFERS)]
    for table in ("events", "entities", "counterparties", "quarantine"):
        assert tables_of(beside.service.data)[table] == tables_of(room.service.data)[table]


def test_given_a_backfill_then_log_and_metrics_tell_of_it(room: Room) -> None:
    status, answer = room.rescore()

    lines = [json.loads(line) for line in room.service.log_lines]
    done = [line for line in lines if line["event"] == "backfill_done"]
    address = next(line["address"] for line in lines if line["event"] == "metrics_on")
    families = text_string_to_metric_families(httpx.get(address).raise_for_status().text)
    values = {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}
    assert status == 200
    assert (done[0]["done"], done[0]["total"], done[0]["changed"]) == (answer["scored"], answer["scored"], 0)
    assert values["clearhold_backfill_transfers_total"] == answer["scored"]
    assert values["clearhold_backfill_duration_seconds_count"] == 1
    assert values["clearhold_backfill_failures_total"] == 0
