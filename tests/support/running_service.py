"""``clearhold serve`` as a real process, to be killed and started again; and what it left in its tables."""

import contextlib
import hashlib
import hmac
import http.client
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import duckdb
import msgspec

from clearhold.client.client import ClearholdClient
from tests.support.stalls import Stopwatch
from tests.support.warm import MAIN, WarmProcess

READY_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 60.0
EVENTS_A_BATCH = 500
PACE_S = 0.002  # between events, so that posting outlasts the killing
ADMIN_TOKEN = "adm_of_all_the_tests"
COMMAND = MAIN


_PORTS = range(10_000, 32_000)
"""Below those that Linux hands out by itself: to the client of another test, while a service is being started again."""

_next_ports = itertools.count(os.getpid() * 499)
"""Processes of the tests begin far from each other, and none takes a port twice before it has had all."""


def free_port() -> int:
    while True:
        port = _PORTS[next(_next_ports) % len(_PORTS)]
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


_USUAL_ENVIRONMENT: Final[dict[str, str | None]] = {
    "CLEARHOLD_ADMIN_TOKEN": ADMIN_TOKEN,
    "CLEARHOLD_METRICS_PORT": "0",  # the usual one is one test's
}


class RunningService:
    """Starts on entering; a test that kills it starts it again. A variable that is None is not set. A new ``command``
    counts from the next start on; with ``patches_loaded`` it changes nothing that a module has while it is loaded.
    """

    def __init__(
        self,
        data: Path,
        *options: str,
        command: str = COMMAND,
        patches_loaded: bool = False,
        environment: Mapping[str, str | None] | None = None,
        python: Path | str = sys.executable,
    ) -> None:
        self.data, self.port = data, free_port()
        self.command, self._options, self._python = command, options, python
        self._patches_loaded = patches_loaded
        self._environment = _USUAL_ENVIRONMENT | dict(environment or {})
        self.output = ""
        self._log = data.parent / "service.log"
        self._process: subprocess.Popen[bytes] | WarmProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop()

    def start(self) -> None:
        """Start and wait for the ready line, or for that of a standby."""
        arguments = ["serve", "--data", str(self.data), "--port", str(self.port), *self._options]
        environment = {name: value for name, value in (os.environ | self._environment).items() if value is not None}
        with self._log.open("ab") as log:
            if self._is_warm:
                self._process = WarmProcess(
                    arguments,
                    environment=environment,
                    stdin=0,
                    stdout=subprocess.PIPE,
                    stderr=log.fileno(),
                    command=self.command,
                )
            else:
                command = [self._python, "-c", self.command, *arguments]
                self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=environment)
        assert self._process.stdout is not None
        if not self._process.stdout.readline().startswith((b"ready ", b"standby ")):
            self.kill()
            raise AssertionError(self._log.read_text()[-2_000:])

    @property
    def _is_warm(self) -> bool:
        """Whether nothing differs that an interpreter reads, or that a patch changes, while modules load."""
        is_usual = (self.command == COMMAND or self._patches_loaded) and str(self._python) == sys.executable
        return is_usual and all(name.startswith("CLEARHOLD_") for name in self._environment)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log_lines(self) -> list[str]:
        """What it wrote to standard error, from all its starts."""
        return self._log.read_text().splitlines()

    def stop(self) -> float:
        """SIGTERM; the seconds it took to end with code 0."""
        assert self._process is not None
        with Stopwatch() as stopping:
            self._process.terminate()
            assert self._process.wait(READY_WITHIN_S) == 0
        self._close_pipe()
        return stopping.own_s

    def ended_with(self, *, within_s: float) -> int:
        """The code with which it ends by itself."""
        assert self._process is not None
        code = self._process.wait(within_s)
        self._close_pipe()
        return code

    def kill(self) -> None:
        """As the power would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._close_pipe()

    def kill_redis(self) -> int:
        """Kill the embedded Redis alone; how many processes that were."""
        servers = self.redis_pids()
        with contextlib.suppress(ProcessLookupError):
            for pid in servers:
                os.kill(pid, signal.SIGKILL)
        return len(servers)

    def redis_pids(self) -> list[int]:
        """The process ids of its embedded Redis."""
        return self._children("valkey-server") + self._children("redis-server")

    def kill_scorers(self, sign: signal.Signals = signal.SIGKILL) -> int:
        """Kill each scorer process alone, or stop it, as ``sign`` says; how many there were."""
        scorers = self.scorers()
        with contextlib.suppress(ProcessLookupError):
            for pid in scorers:
                os.kill(pid, sign)
        return len(scorers)

    def scorers(self) -> list[int]:
        """The process ids of its scorers."""
        return [pid for pid in self._children("python") if b"clearhold.flows.scorer.process" in _command_line(pid)]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWERS_WITHIN_S)

    def admin(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST as platform admin."""
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "test", "Content-Type": "application/json"}
        return self.ask("POST", path, headers, msgspec.json.encode(body), expect=201)

    def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None, *, expect: int = 200
    ) -> dict[str, Any]:
        with contextlib.closing(self.connect()) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        assert answer.status == expect, content
        decoded: dict[str, Any] = msgspec.json.decode(content)
        return decoded

    def _children(self, wanted: str) -> list[int]:
        assert self._process is not None
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                name, _, rest = status.read_text().partition(") ")
                if name.partition("(")[2].startswith(wanted) and int(rest.split()[1]) == self._process.pid:
                    found.append(int(status.parent.name))
        return found

    def _close_pipe(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self.output += self._process.stdout.read().decode()  # it has ended
        self._process.stdout.close()


def _command_line(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def post_until_taken(service: RunningService, program: dict[str, Any], bodies: list[bytes], *, within_s: float) -> int:
    """Post in order, each until it is answered 200, as a bank would over days. Returns how many were tried again."""
    deadline = time.monotonic() + within_s
    tried_again = 0
    connection = service.connect()
    for body in bodies:
        signature = hmac.new(program["ingestSecret"].encode(), body, hashlib.sha256).hexdigest()
        while True:
            assert time.monotonic() < deadline
            try:
                headers = {"Bank-Signature": signature, "Content-Type": "application/json"}
                connection.request("POST", f"/api/ingest/bank/{program['id']}", body, headers)
                answer = connection.getresponse()
                content = answer.read()
                if answer.status == http.client.OK:
                    time.sleep(PACE_S)
                    break
                assert answer.status == http.client.SERVICE_UNAVAILABLE, content
            except (OSError, http.client.HTTPException):
                connection.close()
                connection = service.connect()
            tried_again += 1
            time.sleep(0.02)
    connection.close()
    return tried_again


def post_in_batches(service: RunningService, program: dict[str, Any], bodies: list[bytes]) -> None:
    """Post in order and at once, to a service that is left alone; the log gets the same entries as by single posts."""
    with ClearholdClient(f"http://127.0.0.1:{service.port}") as client:
        for first in range(0, len(bodies), EVENTS_A_BATCH):
            batch = bodies[first : first + EVENTS_A_BATCH]
            posted = client.post_events(program["id"], program["ingestSecret"], batch)
            assert not [each.error for each in posted if each.error is not None]


def wait_until_committed(service: RunningService, token: str, transfer_id: str, *, within_s: float = 120.0) -> None:
    """Wait for a transfer to be readable."""
    headers = {"Authorization": f"Bearer {token}", "X-Operator": "test"}
    deadline = time.monotonic() + within_s
    while True:
        with contextlib.closing(service.connect()) as connection:
            connection.request("GET", f"/api/transfers/{transfer_id}", headers=headers)
            if connection.getresponse().status == http.client.OK:
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def tables_of(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a stopped service recorded, without the log's offsets and the times at which things were appended."""
    queries = {
        "events": "SELECT event_id, type, created_at, result, body_crc32 FROM bank_events WHERE result <> 'duplicate'",
        "transfers": "SELECT COLUMNS(c -> c NOT IN ('tenant_id', 'program_id', 'shard', 'offset', 'scored_at', "
        "'scored_offset', 'raw_offset', 'updated_at')) FROM transfers",
        "features": "SELECT COLUMNS(c -> c NOT IN ('tenant_id', 'program_id', 'shard', 'offset', 'scored_at', 'paths'))"
        " FROM transfer_features",
        "alerts": "SELECT replace(dedupe_key, program_id, ''), replace(summary, program_id, ''), severity, "
        "transfer_id, score_at_alert, hard_signal, status, route, evidence->>'$.hits', evidence->>'$.restsOnCount', "
        "stack_kind, stack_key, if(stack_id IS NULL, NULL, min(replace(dedupe_key, program_id, '')) OVER (PARTITION BY "
        "stack_id)) FROM alerts_latest",
        "dispositions": "SELECT replace(dedupe_key, a.program_id, ''), decision, decided_by, chain, seq IS NOT NULL "
        "FROM dispositions d JOIN alerts_latest a ON a.id = alert_id LEFT JOIN record_chain r ON r.id = d.id",
        "entities": "SELECT id, verification_status, name, raw FROM entities",
        "counterparties": "SELECT id, name, routing_number, account_last4, country_code FROM counterparties",
        "rule_matches": "SELECT rule_id, mode, transfer_id, rule_sha256, version, band, "
        "bank_created_at FROM rule_matches",
        "quarantine": "SELECT error FROM quarantine",
    }
    with contextlib.closing(duckdb.connect(str(data / "clearhold.duckdb"), read_only=True)) as connection:
        return {name: connection.execute(f"{query} ORDER BY ALL").fetchall() for name, query in queries.items()}
