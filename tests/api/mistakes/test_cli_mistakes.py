"""What somebody gets wrong on the command line: each ends in a sentence with cause and cure, in no stack trace."""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import pytest
from typer.testing import CliRunner

from clearhold.api.cli.main import app
from tests.support.running_service import COMMAND, RunningService

WITHIN_S: Final = 60
PROGRAM: Final = "0b0c4a53-0000-4000-8000-000000000001"
JWKS: Final = {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """A command line, in which ``{folder}`` has files of every kind; and words that must be in the answer."""

    command: str
    variables: Mapping[str, str] = {}
    exit_code: int = 2
    words: tuple[str, ...]


SERVE: Final = "serve --data {folder}/data --port 0 --metrics-port 0"
REPLAY: Final = f"replay --program {PROGRAM} --secret whsec_x"
MISTAKES: Final[dict[str, Mistake]] = {
    "29 port out of range": Mistake(
        command="serve --data {folder}/data --port 99999", words=("--port", "equal to 65535")
    ),
    "29 unknown host": Mistake(command=f"{SERVE} --host nowhere.invalid", words=("Cannot listen on nowhere.invalid",)),
    "31 nothing there": Mistake(
        command="explain acht_1 --data {folder}/nowhere", words=("There is no database at", "--url and --token")
    ),
    "31 no database": Mistake(
        command="explain acht_1 --data {folder}", words=("is no database that can be read.", "--url and --token")
    ),
    "32 data is a file": Mistake(command="serve --data {folder}/empty", words=("is a file",)),
    "34 short admin token": Mistake(
        command=SERVE, variables={"CLEARHOLD_ADMIN_TOKEN": "short"}, words=("CLEARHOLD_ADMIN_TOKEN", "at least 16")
    ),
    "34 bad rates": Mistake(
        command=SERVE,
        variables={"CLEARHOLD_RATE_LIMITS": "fast"},
        words=("CLEARHOLD_RATE_LIMITS", "preflight=5000,write=100,read=200"),
    ),
    "34 bad metrics port": Mistake(
        command="serve --data {folder}/data --port 0",
        variables={"CLEARHOLD_METRICS_PORT": "many"},
        words=("CLEARHOLD_METRICS_PORT", "0-65535"),
    ),
    "35 base URL without scheme": Mistake(
        command=SERVE,
        variables={"CLEARHOLD_BASE_URL": "risk.bank.example"},
        words=("CLEARHOLD_BASE_URL", "https://risk.bank.example"),
    ),
    "35 base URL with a query": Mistake(
        command=SERVE,
        variables={"CLEARHOLD_BASE_URL": "https://risk.bank.example/?a=b"},
        words=("CLEARHOLD_BASE_URL", "https://risk.bank.example"),
    ),
    "43 nobody listens": Mistake(
        command=f"{REPLAY} --max-tries 1 --url http://127.0.0.1:9 {{folder}}/events.ndjson",
        exit_code=1,
        words=("Connection refused", "To continue, run the command again"),
    ),
    "43 no scheme": Mistake(command=f"{REPLAY} --url 127.0.0.1:9 {{folder}}/events.ndjson", words=("http",)),
    "44 no file": Mistake(
        command=f"{REPLAY} --url http://127.0.0.1:9 {{folder}}/nothing",
        words=("nothing cannot be read: No such file or directory.",),
    ),
    "44 folder": Mistake(
        command=f"{REPLAY} --url http://127.0.0.1:9 {{folder}}", words=("cannot be read: Is a directory.",)
    ),
    "44 empty file": Mistake(
        command=f"{REPLAY} --url http://127.0.0.1:9 {{folder}}/empty", exit_code=1, words=("holds no events.",)
    ),
    "45 no export": Mistake(
        command="verify {folder}/nothing {folder}/jwks.json",
        words=("nothing cannot be read: No such file or directory.", "GET /api/record/export"),
    ),
    "45 no checkpoint": Mistake(
        command="verify {folder}/export.ndjson {folder}/jwks.json {folder}/nothing",
        words=("nothing cannot be read: No such file or directory.", "GET /api/record/checkpoint"),
    ),
    "46 swapped": Mistake(
        command="verify {folder}/jwks.json {folder}/export.ndjson",
        words=("export.ndjson: This is no JWKS: ", "in this order"),
    ),
    "46 no text": Mistake(
        command="verify {folder}/export.ndjson {folder}/jwks.json {folder}/binary",
        exit_code=1,
        words=("FAIL: {folder}/binary: This is no checkpoint.",),
    ),
    "47 neither": Mistake(command="explain acht_1", words=("Name either --data, or --url with --token.",)),
    "47 both": Mistake(
        command="explain acht_1 --data {folder} --url http://127.0.0.1:9 --token t",
        words=("Name either --data, or --url with --token.",),
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "clearhold.duckdb").write_text("This is no database.")
    (tmp_path / "jwks.json").write_bytes(msgspec.json.encode(JWKS))
    (tmp_path / "export.ndjson").write_text('{"kind":"policy"}\n')
    (tmp_path / "events.ndjson").write_text('{"id":"evnt_1","type":"ach.x","created_at":"2026-03-02T15:04:05Z"}\n')
    return tmp_path


def run(*arguments: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        env=os.environ | {"COLUMNS": "400", "CLEARHOLD_SCORERS": "0"} | dict(variables or {}),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


@pytest.mark.parametrize("name", MISTAKES)
def test_given_a_mistake_when_made_then_one_sentence_says_the_cause_and_the_cure(folder: Path, name: str) -> None:
    mistake = MISTAKES[name]

    arguments = mistake.command.format(folder=folder).split()
    if arguments[0] == "serve":  # A process of its own: one that is not refused goes on.
        ended = run(*arguments, variables=mistake.variables)
        exit_code, stderr = ended.returncode, ended.stderr
    else:
        result = CliRunner().invoke(app, arguments, env={"COLUMNS": "400"} | dict(mistake.variables))
        exit_code, stderr = result.exit_code, result.stderr

    assert exit_code == mistake.exit_code, stderr
    for words in mistake.words:
        assert words.format(folder=folder) in stderr, stderr
    assert "Traceback" not in stderr


def test_given_a_service_that_runs_when_its_port_its_directory_or_its_database_is_wanted_then_that_is_said(
    folder: Path,
) -> None:
    with RunningService(folder / "data", "--metrics-port", "0", "--scorers", "0") as service, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        port_taken = run("serve", "--data", str(folder / "other"), "--port", port, "--metrics-port", "0")
        data_taken = run("serve", "--data", str(service.data), "--port", "0", "--metrics-port", "0")
        database_taken = run("explain", "acht_1", "--data", str(service.data))

    assert [each.returncode for each in (port_taken, data_taken, database_taken)] == [2, 2, 2]
    assert f"Port {port} is already in use on 127.0.0.1. Choose a different port with --port." in port_taken.stderr
    assert "is in use by another clearhold process (pid " in data_taken.stderr
    assert database_taken.stderr == (
        f"{service.data / 'clearhold.duckdb'} is in use: a service has it open. "
        "If the service runs, name it with --url and --token instead of --data.\n"
    )


def test_given_the_version_when_wanted_then_it_is_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])

    assert result.stdout.startswith("clearhold ")
