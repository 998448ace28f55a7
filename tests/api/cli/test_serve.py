"""The whole service as a process: starts, says so, serves, refuses what it must, stops cleanly, comes back."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from msgspec import json

from clearhold.client.answers import sign
from tests.support.error_answers import error_of
from tests.support.running_service import COMMAND
from tests.support.waiting import eventually

ADMIN_TOKEN: Final = "adm_of_the_tests_0123456789"
ADMIN: Final = {"Authorization": f"Bearer {ADMIN_TOKEN}", "X-Operator": "root"}
STOP_WITHIN_S: Final = 5.0
START_WITHIN_S: Final = 60


def serve(data: Path, port: int = 0, *, token: str = ADMIN_TOKEN) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "serve", "--data", str(data), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("CLEARHOLD_")}
        | {"CLEARHOLD_ADMIN_TOKEN": token},
    )


@contextmanager
def running(data: Path, token: str = ADMIN_TOKEN) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The service's address and process; ended, if the test has not done it, in the way that asks nothing of it."""
    process = serve(data, token=token)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready http://127.0.0.1:"), process.communicate(timeout=START_WITHIN_S)
        yield line.removeprefix("ready ").strip(), process
    finally:
        process.kill()
        process.communicate(timeout=START_WITHIN_S)


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, float, str]:
    """Exit code, seconds it took, standard error."""
    began = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=START_WITHIN_S)
    return process.returncode, time.monotonic() - began, errors


def a_tenant_and_program(client: httpx.Client) -> tuple[dict[str, Any], dict[str, Any]]:
    tenant = client.post("/api/admin/tenants", json={"slug": "first", "name": "First"}, headers=ADMIN).json()
    body = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"}
    return tenant, client.post("/api/admin/programs", json=body, headers=ADMIN).json()


def a_transfer_event(number: int) -> bytes:
    at = f"2026-03-02T14:00:{number:02d}Z"
    data = {
        "id": f"acht_{number}",
        "type": "CREDIT",
        "amount": 10_000 + number,
        "currency_code": "USD",
        "status": "INITIATED",
        "is_incoming": False,
        "bank_account_id": "bacc_1",
        "counterparty_id": "cpty_1",
        "created_at": at,
        "updated_at": at,
    }
    event = {"id": f"evnt_{number}", "created_at": at, "type": "ach.outgoing_transfer.initiated", "data": data}
    return json.encode(event)


def deliver(client: httpx.Client, program: dict[str, Any], body: bytes) -> Any:
    headers = {"Bank-Signature": sign(program["ingestSecret"], body)}
    return client.post(f"/api/ingest/bank/{program['id']}", content=body, headers=headers).json()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_given_a_service_that_ended_when_started_again_then_all_it_acknowledged_is_there(
    tmp_path: Path, ending: signal.Signals
) -> None:
    data = tmp_path / "data"
    with running(data) as (url, process), httpx.Client(base_url=url) as client:
        tenant, program = a_tenant_and_program(client)
        operator = {"Authorization": f"Bearer {tenant['operatorToken']}", "X-Operator": "ann"}
        question = {
            "programSlug": "pay",
            "idempotencyKey": "k",
            "transfer": {"rail": "ach", "direction": "outgoing", "amountCents": "10001", "counterpartyId": "cpty_1"},
        }
        answers = [deliver(client, program, a_transfer_event(number)) for number in range(20)]
        asked = client.post("/api/preflight", json=question, headers=operator).json()
        code, seconds, errors = stop(process, ending)

    assert answers == [{"received": True, "duplicate": False}] * 20
    if ending != signal.SIGKILL:
        assert (code, seconds < STOP_WITHIN_S) == (0, True), errors
    for secret in (tenant["operatorToken"], program["ingestSecret"], ADMIN_TOKEN, "acht_1"):
        assert secret not in errors
    with running(data) as (url, _), httpx.Client(base_url=url) as client:
        listed = client.get("/api/transfers?limit=100", headers=operator).json()["data"]
        again = client.post("/api/preflight", json=question, headers=operator)
        assert sorted(transfer["id"] for transfer in listed) == sorted(f"acht_{number}" for number in range(20))
        replay = again.json()
        assert replay.pop("latencyMs") <= asked.pop("latencyMs")  # a record cannot hold how long its own write took
        assert (again.status_code, replay) == (200, asked | {"idempotent": True, "degradedReasons": []})
        assert deliver(client, program, a_transfer_event(3)) == {"received": True, "duplicate": True}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    data = tmp_path_factory.mktemp("service")
    with running(data) as (url, _):
        yield url, data


def listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def raw_exchange(url: str, sent: bytes) -> tuple[bytes, bytes]:
    """Head and body of the answer to exactly these bytes."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(sent)
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            part = connection.recv(65_536)
            if not part:
                break
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.lower(), body


def test_given_a_service_that_runs_when_asked_then_it_is_ready(service: tuple[str, Path]) -> None:
    url, _ = service

    ready = httpx.get(f"{url}/readyz")

    components = dict.fromkeys(("database", "redis", "flow", "preflights", "background", "log", "clock"), "up")
    assert ready.json() == {"status": "ready", "components": components}
    assert "server" not in ready.headers


def test_given_bytes_that_are_not_http_when_sent_then_the_answer_is_the_envelope(service: tuple[str, Path]) -> None:
    head, body = raw_exchange(service[0], b"nonsense\r\n\r\n")

    assert head.startswith(b"http/1.1 400")
    assert b"score-version: 2026-09-17" in head
    assert error_of(400, body)["code"] == "http_unreadable"


@pytest.mark.parametrize("headers", [b"X: " + b"a" * 400_000, b"A: b\r\n" * 100_000], ids=["long", "many"])
def test_given_headers_without_end_when_sent_then_the_service_hangs_up_on_them(
    service: tuple[str, Path], headers: bytes
) -> None:
    with suppress(ConnectionError):  # It may hang up while this is still being sent; waiting in vain is a TimeoutError.
        head, _ = raw_exchange(service[0], b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + headers)
        assert head.startswith(b"http/1.1 431") or not head


def test_given_long_headers_within_the_limit_when_sent_then_they_are_read(service: tuple[str, Path]) -> None:
    assert httpx.get(f"{service[0]}/healthz", headers={"X-Long": "a" * 30_000}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\nX-Operator: ann\r\n", b"401"),
        (b"Authorization: Bearer {token}\r\nX-Operator: ann\r\nX-Operator: bob\r\n", b"400"),
        (b"Authorization: Bearer {token}\r\nX-Operator: ann\r\n", b"200"),
    ],
)
def test_given_a_repeated_header_when_sent_then_it_is_refused(
    service: tuple[str, Path], headers: bytes, status: bytes
) -> None:
    url, _ = service
    slug = f"t-{time.monotonic_ns()}"
    tenant = httpx.post(f"{url}/api/admin/tenants", json={"slug": slug, "name": "A"}, headers=ADMIN).json()
    sent = headers.replace(b"{token}", tenant["operatorToken"].encode())

    head, body = raw_exchange(url, b"GET /api/programs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + sent + b"\r\n")

    assert head.split(b" ")[1] == status, body


def test_given_a_directory_in_use_when_served_again_then_a_sentence_and_no_start(service: tuple[str, Path]) -> None:
    output, errors = (second := serve(service[1])).communicate(timeout=START_WITHIN_S)

    assert second.returncode not in {0, None}
    assert output == ""
    assert "in use by another clearhold process" in errors
    assert "Traceback" not in errors


def test_given_a_taken_port_when_served_then_a_sentence_and_no_start(service: tuple[str, Path], tmp_path: Path) -> None:
    port = int(service[0].rsplit(":", 1)[1])

    output, errors = (second := serve(tmp_path / "other", port=port)).communicate(timeout=START_WITHIN_S)

    assert second.returncode not in {0, None}
    assert output == ""
    assert f"Port {port} is already in use" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("token", ["short", "with a space in the middle"])
def test_given_a_weak_admin_token_when_served_then_a_sentence_and_no_start(tmp_path: Path, token: str) -> None:
    _, errors = (process := serve(tmp_path, token=token)).communicate(timeout=START_WITHIN_S)

    assert process.returncode not in {0, None}
    assert "CLEARHOLD_ADMIN_TOKEN" in errors
    assert token not in errors


def test_given_no_admin_token_when_served_then_the_directory_has_one_that_works(tmp_path: Path) -> None:
    with running(tmp_path, token="") as (url, _):
        path = tmp_path / "admin.token"
        headers = {"Authorization": f"Bearer {path.read_text().strip()}", "X-Operator": "root"}

        assert httpx.get(f"{url}/api/admin/tenants", headers=headers).json() == []
        assert path.stat().st_mode & 0o777 == 0o600


def test_given_a_request_under_way_when_stopped_then_it_is_answered(tmp_path: Path) -> None:
    with running(tmp_path) as (url, process), httpx.Client(base_url=url) as client:
        _, program = a_tenant_and_program(client)
        body = a_transfer_event(1)
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            head = (
                f"POST /api/ingest/bank/{program['id']} HTTP/1.1\r\nHost: a\r\n"
                f"Bank-Signature: {sign(program['ingestSecret'], body)}\r\nContent-Length: {len(body)}\r\n"
                "Expect: 100-continue\r\n\r\n"
            )
            connection.sendall(head.encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 100")  # the body is being waited for
            process.send_signal(signal.SIGTERM)
            eventually(lambda: not listens(host, int(port)))
            connection.sendall(body)
            answer = connection.recv(65_536)
        eventually(lambda: process.poll() is not None, within_s=STOP_WITHIN_S)

    assert answer.startswith(b"HTTP/1.1 200")
    assert process.returncode == 0
