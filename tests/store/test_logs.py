"""Logs: each line is one JSON object, failures have tracebacks, and nothing that a caller sent is in any of it."""

import contextlib
import hashlib
import hmac
import http.client
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from clearhold.store.logs import without_values
from tests.support.bank_events import an_ach_transfer, an_event
from tests.support.running_service import ADMIN_TOKEN, RunningService
from tests.support.waiting import eventually

PLANTED: Final = "op_plantedTokenThatNobodyMayRead"

_FAILING: Final = f"""
import structlog
from clearhold.store.logs import configure_logs

def handler(headers):
    raise OverflowError("date value out of range")

configure_logs()
try:
    handler({{"authorization": "{PLANTED}"}})
except OverflowError as error:
    structlog.get_logger().error("request_failed", exc_info=error)
"""


def test_given_a_secret_in_a_frame_when_its_failure_is_logged_then_the_secret_is_not() -> None:
    ended = subprocess.run([sys.executable, "-c", _FAILING], capture_output=True, text=True, check=True)

    assert "date value out of range" in ended.stderr
    assert "handler" in ended.stderr
    assert PLANTED not in ended.stderr


_REFUSED: Final = """
from litestar import Request
from clearhold.api.http.envelope import render_error
from clearhold.store.logs import configure_logs
from clearhold.features.core.errors import UnavailableError

configure_logs()
scope = {"type": "http", "headers": []}
answer = render_error(Request(scope), UnavailableError("The log did not confirm this in time. Try again."))
assert answer.status_code == 503
"""


def test_given_a_refusal_of_ours_when_it_is_logged_then_its_sentence_is_enough() -> None:
    ended = subprocess.run([sys.executable, "-c", _REFUSED], capture_output=True, text=True, check=True)

    assert "did not confirm this in time" in ended.stderr
    assert "frames" not in ended.stderr


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("invalid literal for int() with base 10: '4111'", "invalid literal for int() with base 10: …"),
        ("can't read 'it's quoted' here", "can't read … here"),
        ('O"Brien has "a secret" of "others"', 'O"Brien has …'),
        ("account 123456789 is odd", "account … is odd"),
        ("op_0123456789abcdefghij is unknown", "… is unknown"),
        ("date value out of range", "date value out of range"),
        ("page 1234 of table scores", "page 1234 of table scores"),
    ],
)
def test_given_what_an_exception_says_when_it_quotes_values_then_they_are_blanked(said: str, told: str) -> None:
    assert without_values(said) == told


_GROUP: Final = """
import sys, structlog, threading, warnings
from clearhold.store.logs import configure_logs

configure_logs()
try:
    try:
        int("x4111000011110001")
    except ValueError as cause:
        cause.add_note("while reading 4111000011110002")
        raise ExceptionGroup("both", [KeyError("4111000011110003")]) from cause
except ExceptionGroup as error:
    structlog.get_logger().error("failed", exc_info=error)
structlog.get_logger().error("failed", error="ValueError: '4111000011110004'")
warnings.warn("careful", stacklevel=1)
thread = threading.Thread(target=lambda: int("x4111000011110005"), name="worker")
thread.start()
thread.join()

class Odd:
    def __del__(self):
        int("x4111000011110006")

del_me = Odd()
del del_me
structlog.get_logger().info("one\\r\\ntwo", said="a\\r\\nb")
int("x4111000011110007")
"""


def test_given_all_that_python_itself_would_print_then_each_is_one_line_of_json_without_values() -> None:
    ended = subprocess.run([sys.executable, "-W", "always", "-c", _GROUP], capture_output=True, text=True, check=False)

    lines = [json.loads(line) for line in ended.stderr.splitlines()]

    events = [line["event"] for line in lines]
    assert events[:2] == ["failed", "failed"]
    assert "careful" in events[2]
    assert events[3:] == ["thread_ended", "unraisable", "one\r\ntwo", "uncaught"]
    assert "41110000" not in ended.stderr
    assert "invalid literal" in ended.stderr
    assert lines[3]["thread"] == "worker"
    assert ended.returncode == 1


_BREAKING: Final = """
import clearhold.api.transfers.service as transfers

async def read(self, principal, transfer_id, program_id):
    held = {"authorization": "op_plantedInAFrame0123456789", "account": transfer_id}
    raise ValueError(f"no such account: {transfer_id!r}", held)

transfers.TransferService.read = read
from clearhold.api.cli.main import main
main()
"""
BEARER: Final = "op_plantedBadBearer0123456789"
BAD_SIGNATURE: Final = "ba" * 32
IDEMPOTENCY_KEY: Final = "planted-idempotency-key"
COOKIE: Final = "planted-cookie"
IN_QUERY: Final = "planted-in-query"
IN_PATH: Final = "5500000000000004"
ACCOUNTS: Final = ("400000000000000001", "400000000000000002", "400000000000000003")


class Planting:
    """Sends secrets to a service in every place that a caller can put one."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.planted = [ADMIN_TOKEN, BEARER, BAD_SIGNATURE, IDEMPOTENCY_KEY, COOKIE, IN_QUERY, IN_PATH, *ACCOUNTS]
        tenant = self._admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
        program = self._admin("/api/admin/programs", {"tenantId": tenant["id"], "slug": "payroll", "name": "Payroll"})
        self.token, self.program_id, self.secret = tenant["operatorToken"], program["id"], program["ingestSecret"]
        self.planted += [self.token, self.secret, "op_plantedInAFrame"]

    @property
    def operator(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "X-Operator": "ann", "Cookie": COOKIE}

    def _admin(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root", "Content-Type": "application/json"}
        keyed = headers | {"Idempotency-Key": f"{IDEMPOTENCY_KEY} {path}"}
        return self.service.ask("POST", path, keyed, json.dumps(body).encode(), expect=201)

    def events(self) -> None:
        """Taken, taken again, signed wrongly, unusable."""
        data = an_ach_transfer(id="acht_log", account_number=ACCOUNTS[0])
        body = an_event("ach.outgoing_transfer.initiated", data, event_id="evnt_log")
        unusable = json.dumps({"id": "evnt_odd", "account_number": ACCOUNTS[1]}).encode()
        path = f"/api/ingest/bank/{self.program_id}"
        for sent, status in ((body, 200), (body, 200), (unusable, 400)):
            signature = hmac.new(self.secret.encode(), sent, hashlib.sha256).hexdigest()
            self.planted.append(signature)
            self.service.ask("POST", path, {"Bank-Signature": signature}, sent, expect=status)
        self.service.ask("POST", path, {"Bank-Signature": BAD_SIGNATURE}, body, expect=401)

    def refusals(self) -> None:
        bad = self.operator | {"Authorization": f"Bearer {BEARER}"}
        self.service.ask("GET", "/api/programs", bad, expect=401)
        self.service.ask("GET", f"/api/programs?token={IN_QUERY}", self.operator, expect=400)
        self.service.ask("GET", f"/api/transfers?cursor={IN_QUERY}", self.operator, expect=400)
        self.service.ask("GET", f"/{IN_PATH}%0D%0A%7B%22event%22:%22forged%22%7D", self.operator, expect=404)
        self.service.ask("GET", f"/api/programs/{IN_PATH}", self.operator, expect=400)
        asking = self.operator | {"Content-Type": "application/json", "Idempotency-Key": IDEMPOTENCY_KEY}
        for body in (f'{{"accountNumber":"{ACCOUNTS[2]}"}}', f'{{"accountNumber":{ACCOUNTS[2]}'):
            self.service.ask("POST", "/api/preflight", asking, body.encode(), expect=400)

    def failures(self) -> None:
        """An exception in a handler, a log that went away, bytes that are not HTTP."""
        self.service.ask("GET", f"/api/transfers/{IN_PATH}", self.operator, expect=500)
        assert self.service.kill_redis() == 1
        body = an_event("ach.outgoing_transfer.initiated", {"account_number": ACCOUNTS[0]}, event_id="evnt_later")
        headers = {"Bank-Signature": hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()}
        eventually(lambda: self._delivered(body, headers))
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=60) as connection:
            connection.sendall(f"{IN_PATH} {IN_QUERY}\r\n\r\n".encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 400")

    def _delivered(self, body: bytes, headers: dict[str, str]) -> bool:
        with contextlib.closing(self.service.connect()) as connection:
            connection.request("POST", f"/api/ingest/bank/{self.program_id}", body, headers)
            return connection.getresponse().status == http.client.OK


def test_given_secrets_planted_everywhere_when_the_service_logs_then_none_is_in_it(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data", "--metrics-port", "0", command=_BREAKING) as service:
        planting = Planting(service)
        planting.events()
        planting.refusals()
        planting.failures()

    lines = [json.loads(line) for line in service.log_lines]
    assert all(isinstance(line, dict) for line in lines)
    told = {(line["route"], line["status"]) for line in lines if line["event"] == "request"}
    assert told >= {
        ("/api/admin/tenants", 201),
        ("/api/ingest/bank/{program_id}", 400),
        ("/api/ingest/bank/{program_id}", 401),
        ("/api/programs", 400),
        ("/api/programs", 401),
        ("/api/transfers", 400),
        ("/api/transfers/{transfer_id}", 500),
        ("/api/preflight", 400),
        ("unmatched", 404),
    }
    assert ("/api/ingest/bank/{program_id}", 200) not in told
    assert {line["tenant"] for line in lines if line["event"] == "request" and line["principal"] == "operator"} == {
        "first-bank"
    }
    assert "request_failed" in {line["event"] for line in lines}
    everything = "\n".join([service.output, *service.log_lines])
    assert [secret for secret in planting.planted if secret in everything] == []


_LOSING: Final = """
import os
import structlog
from clearhold.store.logs import STANDARD_ERROR, configure_logs

def log(event):
    structlog.get_logger().info(event)

configure_logs()
usual = os.dup(2)
os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
log("lost")
STANDARD_ERROR.write("{{}}\\n{{}}\\n")
os.dup2(usual, 2)
{first}
log("last")
"""


@pytest.mark.parametrize(
    "first",
    ["log('first')", "STANDARD_ERROR.write('{}\\n')", "log('first'); log('second')"],
    ids=["logger", "file", "two"],
)
def test_given_lines_that_were_lost_when_the_next_one_is_written_by_anyone_then_they_are_counted_and_logging_goes_on(
    first: str,
) -> None:
    script = _LOSING.format(first=first)

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["lines"] for line in lines if line.get("event") == "log_lines_lost"] == [3]
    assert lines[-1]["event"] == "last"
