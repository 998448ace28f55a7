"""Two nodes of one log under load: callers that change to the node that answers, and the ids of confirmed requests."""

import hashlib
import hmac
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import duckdb
import httpx
from redis import Redis

from tests.support.alerting import ALERTING, DETECTOR, outgoing
from tests.support.callers import TRANSFER
from tests.support.running_bank import RunningBank
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.warm import ran

EVENTS_A_POST: Final = 10
POST_EVERY_S: Final = 0.05  # 200 events a second
PREFLIGHT_EVERY_S: Final = 0.05
DECIDE_EVERY_S: Final = 0.2
ALERTING_EVERY: Final = 50  # events; the others open no alert that waits for a person
NARRATIVE: Final = "The payee's documents explain it."

_NODE_LOCAL: Final = {
    "alerts": "has a row for each commit that changed an alert; `alerts_latest` is compared",
    "lake_source": "says how far the node's own lake is",
    "log_identity": "is compared by the start",
    "log_offsets": "its epochs are those of the node's own scorers",
    "webhook_attempts": "the owner of the time sends",
    "webhook_deliveries": "the owner of the time sends",
}


class TwoNodes:
    """Two services on one log; ``join`` makes the directory of the second one beside the running first."""

    def __init__(self, folder: Path, environment: dict[str, str], *options: str) -> None:
        self.environment = environment | {"CLEARHOLD_ADMIN_TOKEN": ADMIN_TOKEN, "CLEARHOLD_METRICS_PORT": "0"}
        self.nodes: list[RunningService] = []
        self.redis: Redis
        for name in ("one", "two"):
            (folder / name).mkdir()
            self.nodes.append(RunningService(folder / name / "data", *options, environment=environment))
        self.nodes[0].start()
        self.bank = RunningBank(self.nodes[0], "payroll")

    def join(self) -> None:
        first, second = self.nodes
        url, key = f"http://127.0.0.1:{first.port}", first.data / "master.key"
        command = ("join", "--from", url, "--data", second.data, "--master-key", key)
        joined = ran(*command, environment=self.environment)
        assert joined.returncode == 0, joined.stderr
        second.start()

    def end(self) -> None:
        for each in self.nodes:
            if each.is_running:
                each.kill()


class Caller:
    """Calls the node that answered last, and the other one after a 503 or no answer."""

    def __init__(self, nodes: list[RunningService], opened: ExitStack) -> None:
        self._clients = [
            opened.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{each.port}", timeout=10)) for each in nodes
        ]
        self._at = 0

    def call(self, method: str, path: str, **sent: Any) -> httpx.Response | None:
        """An answer that is no 503; None when neither node gives one."""
        for _ in self._clients:
            with suppress(httpx.HTTPError):
                answer = self._clients[self._at].request(method, path, **sent)
                if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    return answer
            self._at = (self._at + 1) % len(self._clients)
        return None


class Load:
    """Events, pre-flights and decisions, each by its own thread, until ``stop``; the lists have the confirmed ids. A
    repeated call keeps its key, so that it acts once.
    """

    def __init__(self, two: TwoNodes) -> None:
        self._two, self._stopping, self._opened = two, threading.Event(), ExitStack()
        self.events: list[str] = []
        self.preflights: list[str] = []
        self.decisions: list[str] = []
        self.failures: list[str] = []
        self.event_times: list[float] = []
        self._threads = [
            threading.Thread(target=self._repeat, args=(each,)) for each in (self._post, self._preflight, self._decide)
        ]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._stopping.set()
        for each in self._threads:
            each.join()
        self._opened.close()
        assert not self.failures, self.failures[:3]

    def first_event_after(self, moment: float) -> float | None:
        """Seconds from a moment of ``time.monotonic`` to the next confirmed post."""
        return next((at - moment for at in self.event_times if at > moment), None)

    def _repeat(self, work: Callable[[Caller], Iterator[float]]) -> None:
        caller = Caller(self._two.nodes, self._opened)
        try:
            for pause_s in work(caller):
                if self._stopping.wait(pause_s):
                    return
        except Exception as error:  # noqa: BLE001 - the test's thread states it
            self.failures.append(f"{type(error).__name__}: {error}")

    def _until_answered(self, caller: Caller, method: str, path: str, **sent: Any) -> httpx.Response | None:
        while not self._stopping.is_set():
            answer = caller.call(method, path, **sent)
            if answer is not None:
                return answer
            time.sleep(0.05)
        return None

    def _post(self, caller: Caller) -> Iterator[float]:
        program = self._two.bank.program
        for number in itertools.count():
            ids = [f"acht_{number}_{each}" for each in range(EVENTS_A_POST)]
            over = [ALERTING if not (number * EVENTS_A_POST + at) % ALERTING_EVERY else {} for at in range(len(ids))]
            parties = [{"bank_account_id": f"bacc_{each}", "counterparty_id": f"cpty_{each}"} for each in ids]
            bodies = [outgoing(each, **more, **party) for each, more, party in zip(ids, over, parties, strict=True)]
            body = b"\n".join(bodies)
            signature = hmac.new(program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
            headers = {"Bank-Signature": signature, "Content-Type": "application/x-ndjson"}
            path = f"/api/ingest/bank/{program['id']}/batch"
            answer = self._until_answered(caller, "POST", path, content=body, headers=headers)
            if answer is not None:
                assert answer.status_code == httpx.codes.OK, answer.text
                self.event_times.append(time.monotonic())
                self.events += ids
            yield POST_EVERY_S

    def _preflight(self, caller: Caller) -> Iterator[float]:
        program, headers = self._two.bank.program, self._two.bank.headers
        for number in itertools.count():
            transfer = TRANSFER | {"counterpartyId": f"cpty_{number}"}
            body = {"programId": program["id"], "idempotencyKey": f"pre_{number}", "transfer": transfer}
            answer = self._until_answered(caller, "POST", "/api/preflight", json=body, headers=headers)
            if answer is not None:
                assert answer.status_code in {httpx.codes.OK, httpx.codes.CREATED}, answer.text
                self.preflights.append(answer.json()["preflightId"])
            yield PREFLIGHT_EVERY_S

    def _decide(self, caller: Caller) -> Iterator[float]:
        headers, query = self._two.bank.headers, {"detector": DETECTOR, "status": "open", "limit": 1}
        while True:
            listed = self._until_answered(caller, "GET", "/api/alerts", params=query, headers=headers)
            waiting = [] if listed is None else listed.json()["data"]
            for alert in waiting:
                keyed = headers | {"Idempotency-Key": alert["id"]}
                body = {"decision": "close", "narrative": NARRATIVE}
                path = f"/api/alerts/{alert['id']}/decide"
                answer = self._until_answered(caller, "POST", path, json=body, headers=keyed)
                if answer is not None:
                    assert answer.status_code in {201, 409}, answer.text
                    if answer.status_code == httpx.codes.CREATED:
                        self.decisions.append(answer.json()["id"])
            yield DECIDE_EVERY_S


@contextmanager
def under_load(two: TwoNodes) -> Iterator[Load]:
    load = Load(two)
    load.start()
    try:
        yield load
    finally:
        load.stop()


def ids_in(data: Path, table: str) -> list[str]:
    """The ids of a stopped service's table, sorted; one that is there twice is listed twice."""
    with duckdb.connect(str(data / "clearhold.duckdb"), read_only=True) as database:
        return [row[0] for row in database.execute(f"SELECT id FROM {table} ORDER BY id").fetchall()]  # noqa: S608


def rows_of(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All tables of a stopped service that follow from the log."""
    with duckdb.connect(str(data / "clearhold.duckdb"), read_only=True) as database:
        names = database.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        names.append(("alerts_latest",))
        return {
            name: database.execute(f'SELECT * FROM "{name}" ORDER BY ALL').fetchall()  # noqa: S608
            for (name,) in names
            if name not in _NODE_LOCAL
        }


def record_of(data: Path) -> dict[str, bytes]:
    """The files of the chains, without the checkpoints, which the owner of the time signs."""
    folder = data / "record"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.glob("*/*.ndjson"))
        if "checkpoint" not in path.name
    }
