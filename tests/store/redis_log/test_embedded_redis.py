"""The embedded Redis keeps what it confirmed, whatever is killed, and never stands in the way of the next start."""

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from redis import Redis, RedisError

from clearhold.store.errors import StartupError
from clearhold.store.redis_log.connect import EmbeddedRedis, RedisSettingsError, check_external, connect_sync
from tests.support.redis_process import alive, pid_of, service_with_redis
from tests.support.waiting import eventually

STREAM = "log:0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    """A server of the test's own, to be harmed."""
    server = EmbeddedRedis(tmp_path)
    server.start()
    yield server
    server.stop()


def length_of(client: Redis) -> int:
    """Entries in the stream; -1 while the server does not answer."""
    try:
        return int(client.xlen(STREAM))
    except RedisError:
        return -1


def has_entries(client: Redis, count: int) -> bool:
    return length_of(client) == count


def log_file(data_dir: Path) -> Path:
    """The one with the newest entries: Redis has a single one, or from version 7 on a folder of them."""
    return max((data_dir / "redis").rglob("*.aof"), key=lambda path: path.name.endswith(".incr.aof"))


def a_server_with(entries: int, data_dir: Path) -> None:
    """Leave a data directory behind in which a server confirmed so many entries."""
    server = EmbeddedRedis(data_dir)
    server.start()
    with closing(connect_sync(server.socket_path)) as client:
        for _ in range(entries):
            client.xadd(STREAM, {"k": "bank"})
    server.stop()


def test_given_a_running_server_then_it_has_the_settings_we_demand_of_others(server: EmbeddedRedis) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        check_external(client)

        assert client.config_get("port")["port"] == "0"
        assert client.config_get("no-appendfsync-on-rewrite")["no-appendfsync-on-rewrite"] == "no"
        assert client.config_get("save")["save"] == ""
        assert stat.S_IMODE(server.socket_path.stat().st_mode) == 0o700


def test_given_a_url_of_a_socket_then_it_connects_as_the_path_does(server: EmbeddedRedis) -> None:
    with closing(connect_sync(f"unix://{server.socket_path}")) as client:
        assert client.ping()


@pytest.mark.parametrize(
    ("setting", "value"), [("appendonly", "no"), ("appendfsync", "everysec"), ("maxmemory-policy", "allkeys-lru")]
)
def test_given_a_setting_that_could_lose_entries_then_a_redis_is_refused_with_the_way_to_mend_it(
    server: EmbeddedRedis, setting: str, value: str
) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        client.config_set(setting, value)

        with pytest.raises(RedisSettingsError, match=rf"{setting} is {value}\. Run CONFIG SET {setting} "):
            check_external(client)


def test_given_no_redis_behind_the_url_then_it_is_refused(tmp_path: Path) -> None:
    with (
        closing(connect_sync(tmp_path / "nobody.sock")) as client,
        pytest.raises(RedisSettingsError, match=r"cannot be reached .* Does it run"),
    ):
        check_external(client)


@pytest.mark.parametrize("userinfo", ["", ":wrong@"])
def test_given_a_redis_with_a_password_when_the_url_has_another_or_none_then_that_is_said(
    server: EmbeddedRedis, userinfo: str
) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        client.config_set("requirepass", "the right one")
    with (
        closing(connect_sync(f"unix://{userinfo}{server.socket_path}")) as client,
        pytest.raises(RedisSettingsError, match="refuses the user or password of the URL, or demands one"),
    ):
        check_external(client)


def test_given_a_user_that_may_not_read_the_settings_then_that_is_said(server: EmbeddedRedis) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        client.execute_command("ACL", "SETUSER", "default", "-config")

        with pytest.raises(RedisSettingsError, match="CONFIG GET must be allowed"):
            check_external(client)


def test_given_entries_when_stopped_and_started_again_then_they_are_there(tmp_path: Path) -> None:
    a_server_with(3, tmp_path)

    server = EmbeddedRedis(tmp_path)
    server.start()
    with closing(connect_sync(server.socket_path)) as client:
        assert length_of(client) == 3
    server.stop()

    assert server.pid is None


@pytest.mark.timed
def test_given_the_server_is_killed_then_another_takes_over_within_a_second_or_so_with_every_entry(
    server: EmbeddedRedis,
) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        for _ in range(50):
            client.xadd(STREAM, {"k": "bank"})
        killed = pid_of(server)
        os.kill(killed, signal.SIGKILL)

        eventually(lambda: length_of(client) == 50 and server.pid not in {None, killed}, within_s=5)


def test_given_the_server_is_killed_over_and_over_then_it_is_back_each_time(server: EmbeddedRedis) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        for count in range(1, 4):
            client.xadd(STREAM, {"k": "bank"})
            os.kill(pid_of(server), signal.SIGKILL)
            eventually(partial(has_entries, client, count))


@pytest.mark.timed
def test_given_the_server_is_killed_while_its_fork_rewrites_the_file_then_another_takes_over_all_the_same(
    server: EmbeddedRedis,
) -> None:
    with closing(connect_sync(server.socket_path)) as client:
        client.xadd(STREAM, {"k": "bank"})
        client.config_set("rdb-key-save-delay", 60_000_000)  # The fork sleeps for a minute at its first key.
        client.bgrewriteaof()
        eventually(lambda: client.info("persistence")["aof_rewrite_in_progress"])
        killed = pid_of(server)
        os.kill(killed, signal.SIGKILL)

        eventually(lambda: length_of(client) == 1 and server.pid not in {None, killed}, within_s=20)


def test_given_the_service_is_killed_then_its_server_ends_and_the_next_one_has_the_entries(tmp_path: Path) -> None:
    service, orphan = service_with_redis(tmp_path)
    with closing(connect_sync(tmp_path / "redis.sock")) as client:
        client.xadd(STREAM, {"k": "bank"})

        service.kill()
        service.wait()

        eventually(lambda: not alive(orphan))
        server = EmbeddedRedis(tmp_path)
        server.start()
        assert length_of(client) == 1
        server.stop()


def test_given_an_orphan_that_does_not_end_when_the_next_one_starts_then_the_orphan_is_gone_first(
    tmp_path: Path,
) -> None:
    service, orphan = service_with_redis(tmp_path)
    with closing(connect_sync(tmp_path / "redis.sock")) as client:
        client.xadd(STREAM, {"k": "bank"})
        os.kill(orphan, signal.SIGSTOP)  # Deaf to every request to end.
        service.kill()
        service.wait()
        assert alive(orphan)

        server = EmbeddedRedis(tmp_path)
        server.start()

        assert not alive(orphan)
        client.connection_pool.disconnect()
        assert length_of(client) == 1
        server.stop()


def test_given_a_log_file_cut_off_midway_when_started_then_all_whole_entries_are_there(tmp_path: Path) -> None:
    a_server_with(2, tmp_path)
    with log_file(tmp_path).open("ab") as file:
        file.write(b"*5\r\n$4\r\nXADD\r\n$5\r\nlog")

    server = EmbeddedRedis(tmp_path)
    server.start()
    with closing(connect_sync(server.socket_path)) as client:
        assert length_of(client) == 2
    server.stop()


def test_given_a_log_file_damaged_in_the_middle_when_started_then_the_error_carries_what_the_server_said(
    tmp_path: Path,
) -> None:
    a_server_with(2, tmp_path)
    file = log_file(tmp_path)
    file.write_bytes(b"not a command\r\n" + file.read_bytes())

    with pytest.raises(StartupError, match="Bad file format reading the append only file"):
        EmbeddedRedis(tmp_path).start()


def test_given_leftovers_of_a_rewrite_that_was_killed_when_started_then_they_are_swept(tmp_path: Path) -> None:
    a_server_with(1, tmp_path)
    leftover = tmp_path / "redis" / "temp-rewriteaof-1.aof"
    leftover.write_bytes(b"half")

    server = EmbeddedRedis(tmp_path)
    server.start()
    server.stop()

    assert not leftover.exists()


def test_given_a_directory_that_cannot_hold_it_when_started_then_a_sentence_says_so(tmp_path: Path) -> None:
    (tmp_path / "redis").write_text("in the way")

    with pytest.raises(StartupError, match="cannot be started in"):
        EmbeddedRedis(tmp_path).start()


def test_given_it_was_started_when_started_again_then_that_is_our_mistake(server: EmbeddedRedis) -> None:
    with pytest.raises(RuntimeError, match="started already"):
        server.start()


def test_given_a_path_too_long_for_a_socket_then_it_is_reached_from_within_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)

    with pytest.raises(StartupError, match="too long for a unix socket"):
        EmbeddedRedis(deep)

    monkeypatch.chdir(deep)
    server = EmbeddedRedis(deep)
    server.start()
    with closing(connect_sync(server.socket_path)) as client:
        assert client.ping()
    server.stop()
