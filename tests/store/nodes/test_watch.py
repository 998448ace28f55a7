"""How long the owner of a log has been silent, as a standby sees it."""

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from clearhold.store.nodes import watch
from clearhold.store.nodes.watch import OwnerWatch

LIVE_S = 5.0


class WatchedRedis:
    """Redis as the watch asks it, and the time of the watch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.fields = 100.0, {"node": b"there", "address": b"h (http://there)", "beat": b"1", "seen": b"9"}
        self.is_away = False
        monkeypatch.setattr(watch, "now_s", lambda: self.now)
        self.watch = OwnerWatch(self, "here", live_s=LIVE_S)  # type: ignore[arg-type]  # it asks for one command

    def execute_command(self, _command: str, _key: str, *names: str) -> list[bytes | None]:
        if self.is_away:
            raise RedisConnectionError("away")
        return [self.fields.get(name) for name in names]

    def after(self, seconds: float) -> bool:
        """Whether the log is free then."""
        self.now += seconds
        return self.watch.look().is_free


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> WatchedRedis:
    return WatchedRedis(monkeypatch)


def test_given_an_owner_that_renews_when_watched_then_only_its_silence_frees_the_log(watched: WatchedRedis) -> None:
    assert not watched.after(0)
    assert not watched.after(4)
    watched.fields["beat"] = b"2"
    assert not watched.after(4)
    assert not watched.after(LIVE_S)
    assert watched.after(0.1)


def test_given_a_redis_that_was_away_when_it_is_back_then_its_owner_has_the_whole_time_again(
    watched: WatchedRedis,
) -> None:
    assert not watched.after(0)
    watched.is_away = True
    with pytest.raises(RedisConnectionError):
        watched.after(10)
    watched.is_away = False
    assert not watched.after(1)
    assert not watched.after(LIVE_S)
    assert watched.after(0.1)


def test_given_a_log_that_was_released_or_handed_to_this_node_then_it_is_free_at_once(watched: WatchedRedis) -> None:
    assert not watched.after(0)
    watched.fields["seen"] = b"0"
    assert watched.after(0)
    watched.fields |= {"seen": b"9", "node": b"here"}
    assert watched.after(0)


def test_given_a_redis_without_an_owner_then_the_log_is_free_after_the_usual_time(watched: WatchedRedis) -> None:
    watched.fields.clear()
    assert not watched.after(0)
    assert watched.after(LIVE_S + 0.1)
