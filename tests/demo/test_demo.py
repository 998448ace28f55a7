"""``python -m demo`` as a person starts it, against the real service."""

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from api.client.client import ClearholdClient
from demo.service import CHECKOUT

ENDS_WITHIN_S = 120


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def a_demo(folder: Path, port: int, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "demo", "--data", str(folder), "--port", str(port), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=CHECKOUT)


def read_until(demo: subprocess.Popen[str], sentence: str) -> str:
    """What it says up to and with the sentence, or to its end."""
    assert demo.stdout is not None
    output = ""
    for line in demo.stdout:
        output += line
        if sentence in line:
            break
    return output


def test_given_nothing_when_the_demo_runs_and_ends_then_events_are_scored_and_the_service_is_gone(
    tmp_path: Path,
) -> None:
    port = a_free_port()
    with a_demo(tmp_path / "demo", port, "--days", "3", "--seconds", "3", "--pace", "15", "--exit") as demo:
        output, _ = demo.communicate(timeout=ENDS_WITHIN_S)

    last = [line for line in output.splitlines() if line.startswith("events ")][-1]
    assert demo.returncode == 0, output
    for program in ("payroll", "remittance", "lending"):
        assert re.search(rf"{program}: .*(clear|review|unscored) \d", last), output
    assert re.search(r"pre-flights .*[1-9]", last), output
    assert re.search(r"event to score p50 \d", last), output
    assert "curl -s" in output
    with ClearholdClient(f"http://127.0.0.1:{port}") as client:
        assert not client.ready()


def test_given_a_demo_that_is_left_running_when_interrupted_then_it_stops_the_service_and_can_go_on_later(
    tmp_path: Path,
) -> None:
    port = a_free_port()
    with a_demo(tmp_path / "demo", port, "--days", "2", "--seconds", "1") as demo:
        output = read_until(demo, "The bank has stopped; the service stays up until Ctrl-C.")
        with ClearholdClient(f"http://127.0.0.1:{port}") as client:
            assert client.ready(), output
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=ENDS_WITHIN_S)
            assert demo.returncode == 0
            assert not client.ready()

    with a_demo(tmp_path / "demo", port, "--keep", "--seconds", "1", "--exit") as again:
        output, _ = again.communicate(timeout=ENDS_WITHIN_S)
    assert again.returncode == 0, output
    assert "History" not in output


def test_given_a_taken_port_when_the_demo_starts_then_one_sentence_says_so(tmp_path: Path) -> None:
    started = time.monotonic()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        a_demo(tmp_path / "demo", server.getsockname()[1]) as demo,
    ):
        output, _ = demo.communicate(timeout=ENDS_WITHIN_S)

    assert demo.returncode == 1
    assert "is taken on 127.0.0.1; name another with --port" in output
    assert time.monotonic() - started < 30
