"""A Redis that hangs holds up a reading thread only while that attends to others."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.reader import LogReader
from clearhold.store.redis_log.reads import LATE_S
from tests.support.redis_process import pid_of

HELD_UP_S = 1.0
"""Far below the time limit of a command."""


class Attended:
    """Waits no longer than this test, and keeps count."""

    def __init__(self) -> None:
        self.asked_s: list[float] = []

    def wait(self, _descriptor: int, seconds: float) -> None:
        self.asked_s.append(seconds)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    server = EmbeddedRedis(tmp_path)
    server.start()
    try:
        yield server
    finally:
        os.kill(pid_of(server), signal.SIGCONT)
        server.stop()


@pytest.mark.parametrize("has_read", [True, False])
def test_given_a_redis_that_hangs_when_read_then_each_read_fails_when_its_attended_wait_is_over(
    server: EmbeddedRedis, *, has_read: bool
) -> None:
    attended = Attended()
    with closing(connect_sync(server.socket_path)) as client:
        reader = LogReader(client, range(4), wait=attended.wait)
        if has_read:
            reader.read({}, count=1, block_ms=0)
        os.kill(pid_of(server), signal.SIGSTOP)
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(ConnectionError, match="does not answer"):
                reader.read({}, count=1, block_ms=500)
        took_s = time.monotonic() - began

        os.kill(pid_of(server), signal.SIGCONT)
        assert reader.read({}, count=1, block_ms=0) == []

    assert attended.asked_s == [0.5 + LATE_S] * 3
    assert took_s < HELD_UP_S
