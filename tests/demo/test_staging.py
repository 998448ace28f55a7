"""The demo's surroundings: its directory, the port, the service as a child, the figures."""

import fcntl
import socket
import stat
import sys
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import pytest

from clearhold.client.answers import RefusedError
from clearhold.client.client import ClearholdClient
from clearhold.demo.bank import SimulatedBank
from clearhold.demo.board import Board, percentile
from clearhold.demo.ledger import Ledger
from clearhold.demo.parties import Other, cast_of
from clearhold.demo.reporter import Delivery
from clearhold.demo.runner import Runner, newest_transfers
from clearhold.demo.service import DemoError, Service, require_free
from clearhold.demo.stage import Access, Stage, StageDir, set_up
from clearhold.demo.summary import directions, hold_lines, plain
from clearhold.demo.watcher import Watcher
from tests.support.fake_service import BUSY, PROGRAM, SECRET, FakeService, fake_service
from tests.support.running_service import free_port

PROGRAMS = {slug: Access(program_id=PROGRAM, secret=SECRET) for slug in ("payroll", "remittance", "lending")}
STAGE = Stage(seed=1, operator_token="op_1", programs=PROGRAMS, runs=1)
NOW = 1_790_000_000_000_000
SERVE_SCRIPT = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def nobody_listens(_newcomers: Iterable[tuple[Other, int]]) -> None:
    """No bank's API stands beside the stand-in for the service."""


def a_runner(service: FakeService, client: ClearholdClient, board: Board) -> Runner:
    watcher = Watcher(client, board, PROGRAMS)
    ledger = Ledger()
    return Runner(
        SimulatedBank(1), STAGE, client, board, watcher, ledger=ledger, introduce=nobody_listens, url=service.url
    )


def test_given_a_fresh_directory_when_prepared_then_what_an_earlier_demo_left_is_gone(tmp_path: Path) -> None:
    folder = StageDir(tmp_path / "demo")
    assert folder.prepare(keep=False) is None
    folder.data.mkdir()
    (folder.data / "clearhold.duckdb").write_bytes(b"old")
    folder.remember(STAGE)

    assert folder.prepare(keep=False) is None
    assert list(folder.path.iterdir()) == []


def test_given_keep_when_prepared_then_the_tokens_come_back_and_are_the_owners_alone(tmp_path: Path) -> None:
    folder = StageDir(tmp_path)
    folder.remember(STAGE)

    assert folder.prepare(keep=True) == STAGE
    assert stat.S_IMODE((tmp_path / "demo.json").stat().st_mode) == 0o600


def test_given_a_directory_with_other_things_in_it_when_prepared_then_nothing_is_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    (tmp_path / "data").mkdir()

    with pytest.raises(DemoError, match=r"thesis\.txt"):
        StageDir(tmp_path).prepare(keep=False)

    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "data").is_dir()


def test_given_a_running_service_on_the_directory_when_prepared_then_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with (tmp_path / "data" / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(DemoError, match="A service is running"):
            StageDir(tmp_path).prepare(keep=False)

    assert (tmp_path / "data" / "lock").exists()


def test_given_a_taken_port_when_required_then_one_sentence_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(DemoError, match="is taken"):
        require_free(server.getsockname()[1])


def test_given_a_service_when_entered_and_left_then_it_is_ready_and_then_gone(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"

    with Service([sys.executable, "-c", SERVE_SCRIPT, str(port)], url=url, log_path=tmp_path / "log") as service:
        service.require_running()
        with ClearholdClient(url) as client:
            assert client.ready()

    with ClearholdClient(url) as client:
        assert not client.ready()


def test_given_a_service_that_dies_at_start_when_entered_then_its_last_words_are_shown(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('the disk is full')"]

    with (
        pytest.raises(DemoError, match="the disk is full"),
        Service(command, url=f"http://127.0.0.1:{free_port()}", log_path=tmp_path / "log"),
    ):
        pass


def test_given_an_admin_when_setting_up_then_the_tenant_and_three_programs_are_made() -> None:
    with fake_service() as service, ClearholdClient(service.url, token="a", operator="o") as client:
        service.answers["/api/admin/tenants"] = (201, {"id": "t1", "operatorToken": "op_9"})
        service.answers["/api/admin/tenants/t1/bank-key"] = (204, {})
        service.answers["/api/admin/programs"] = (201, {"id": PROGRAM, "ingestSecret": SECRET})

        stage = set_up(client, cast_of(1), seed=1, bank_key="test_1")

    assert stage == Stage(seed=1, operator_token="op_9", programs=PROGRAMS)
    assert [body for _, path, _, body in service.asked if path.endswith("/bank-key")] == [b'{"key":"test_1"}']


def test_given_a_refusal_when_setting_up_then_the_services_sentence_is_passed_on() -> None:
    with fake_service() as service, ClearholdClient(service.url) as client:
        service.answers["/api/admin/tenants"] = (409, {"error": "The slug demo-bank is taken"})

        with pytest.raises(DemoError, match="The slug demo-bank is taken"):
            set_up(client, cast_of(1), seed=1, bank_key="test_1")


def test_given_the_history_when_loaded_then_every_event_is_delivered_in_order() -> None:
    board = Board(tuple(PROGRAMS))
    expected = SimulatedBank(1).history(NOW)
    with fake_service() as service, ClearholdClient(service.url) as client:
        runner = a_runner(service, client, board)
        events = runner.load_history(NOW, lambda _done, _total: None)

    mine: dict[str, list[bytes]] = {slug: [] for slug in PROGRAMS}
    seen: set[bytes] = set()
    for delivery in expected:
        if delivery.body not in seen:
            mine[delivery.program].append(delivery.body)
        seen.add(delivery.body)
    assert events == len(expected) == board.figures().sent
    assert len(service.taken) == board.figures().accepted
    assert set(service.taken) == seen


def test_given_the_live_phase_when_it_runs_then_moves_are_posted_and_some_are_asked_about_first() -> None:
    board = Board(tuple(PROGRAMS))
    with fake_service({9: BUSY}) as service, ClearholdClient(service.url, token="t", operator="o") as client:
        service.answers["/api/preflight"] = (201, {"decision": "review"})
        runner = a_runner(service, client, board)
        passes: list[int] = []

        def enough() -> None:
            passes.append(1)
            if board.figures().decisions.get("review", 0) >= 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            runner.live(transfers_per_second=100_000, until=None, between=enough)
        runner.finish()

    figures = board.figures()
    assert figures.decisions == {"review": 3}
    assert figures.preflight_ms[0] is not None
    assert figures.accepted == len(service.taken) > 20


def test_given_a_refused_history_when_loaded_then_it_stops_and_says_so() -> None:
    board = Board(tuple(PROGRAMS))
    wrong = Stage(seed=1, operator_token="o", programs={"payroll": Access(program_id=PROGRAM, secret="no")})
    with fake_service() as service, ClearholdClient(service.url) as client:
        watcher = Watcher(client, board, PROGRAMS)
        runner = Runner(
            SimulatedBank(1), wrong, client, board, watcher, ledger=Ledger(), introduce=nobody_listens, url=service.url
        )

        with pytest.raises(DemoError, match="history could not be loaded: The signature is missing or wrong"):
            runner.load_history(NOW, lambda _done, _total: None)


def test_given_scores_when_read_back_then_bands_and_holds_are_shown() -> None:
    transfer = {"id": "wire_1", "score": 85, "scoreBand": "hold", "amountCents": "985000"}
    scored = {**transfer, "bankCreatedAt": "2026-03-02T15:04:05.000Z"}
    board = Board(("payroll",))
    board.story("wire_1", "structuring under $10,000")
    with fake_service() as service, ClearholdClient(service.url) as client:
        first = f"/api/transfers?programId={PROGRAM}&limit=100"
        service.answers[first] = (200, {"data": [scored], "hasMore": True, "nextCursor": "c1"})
        older = {**scored, "id": "wire_0", "scoreBand": None}
        service.answers[first + "&cursor=c1"] = (200, {"data": [older], "hasMore": False, "nextCursor": None})
        reasons = [{"signal": "structuring", "sentence": "5 transfers just under 10,000.00"}]
        service.answers[f"/api/transfers/wire_1?programId={PROGRAM}"] = (200, {**scored, "reasons": reasons})
        watcher = Watcher(client, board, {"payroll": PROGRAMS["payroll"]})
        watcher.probe("payroll", "wire_1", 0.0)

        watcher._look()

    figures = board.figures()
    assert figures.bands == {"payroll": {"hold": 1, "not yet": 1}}
    assert hold_lines(figures) == [
        "hold 85 payroll wire_1 $9,850.00 (structuring under $10,000): 5 transfers just under 10,000.00"
    ]
    assert "payroll: hold 1, not yet 1" in plain(figures)


def test_given_an_old_transfer_that_settles_last_when_the_newest_is_asked_for_then_it_is_not_that_one() -> None:
    deliveries = [
        Delivery(program="p", due_at=at, body=b"", transfer_id=name) for at, name in enumerate(["a", "b", "a"])
    ]

    assert newest_transfers([*deliveries, Delivery(program="p", due_at=9, body=b"")]) == {"p": "b"}


def test_given_a_history_that_is_being_scored_when_awaited_then_it_asks_until_the_last_one_is_there() -> None:
    board = Board(("payroll",))
    path = f"/api/transfers/acht_9?programId={PROGRAM}"
    with fake_service() as service, ClearholdClient(service.url) as client:
        watcher = Watcher(client, board, {"payroll": PROGRAMS["payroll"]})

        def score_it() -> None:
            band = "clear" if path in service.answers else None
            service.answers[path] = (200, {"id": "acht_9", "scoreBand": band})

        watcher.await_scores({"payroll": "acht_9"}, check=score_it)

    assert [asked[1] for asked in service.asked] == [path] * 3


def test_given_a_service_that_refuses_to_be_read_when_watched_then_the_demo_hears_of_it() -> None:
    board = Board(("payroll",))
    with fake_service() as service, ClearholdClient(service.url) as client:
        watcher = Watcher(client, board, {"payroll": PROGRAMS["payroll"]})
        watcher.start()
        watcher.stop()

        with pytest.raises(DemoError, match="could not be read back: No such route"):
            watcher.require_well()


def test_given_a_stage_when_directions_are_given_then_they_can_be_pasted() -> None:
    text = directions("http://127.0.0.1:8080", STAGE, transfer_id="acht_1")

    assert "curl -s http://127.0.0.1:8080/api/preflight -H 'Authorization: Bearer op_1'" in text
    assert f"curl -s 'http://127.0.0.1:8080/api/transfers/acht_1?programId={PROGRAM}'" in text


@pytest.mark.parametrize(
    ("samples", "percent", "expected"), [([], 50, None), ([5.0], 99, 5.0), ([4.0, 1.0, 3.0, 2.0], 50, 2.0)]
)
def test_given_samples_when_a_percentile_is_taken_then_it_is_the_nearest_rank_and_none_of_nothing(
    samples: list[float], percent: int, expected: float | None
) -> None:
    assert percentile(deque(samples), percent) == expected


def test_given_a_refusal_of_a_preflight_when_live_then_it_is_not_swallowed() -> None:
    board = Board(tuple(PROGRAMS))
    with fake_service() as service, ClearholdClient(service.url) as client:
        runner = a_runner(service, client, board)

        with pytest.raises(RefusedError, match="No such route"):
            runner.live(transfers_per_second=100_000, until=None, between=lambda: None)
