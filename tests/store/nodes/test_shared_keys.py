"""The nodes of a log have the same signing keys, whichever of them was away when a key was announced or removed."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from clearhold.features.core.errors import ConflictError, UnavailableError
from clearhold.features.core.instants import HOUR_US
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, KeyState, SecretBox, SigningKeys
from clearhold.store.nodes.shared_keys import SIGNING_KEYS, KeysInLog, opened_keys
from clearhold.store.redis_log.connect import EmbeddedRedis, connect_sync
from clearhold.store.redis_log.owner import LogNode, LogOwnership, taken
from clearhold.store.redis_log.writes import EPOCH, OWNER
from tests.support.clock import FrozenClock

BOX = SecretBox(bytes(32))

Opened = Callable[..., SigningKeys]


@pytest.fixture
def ownership(redis_server: EmbeddedRedis, log_redis: redis.Redis) -> Iterator[LogOwnership]:
    assert log_redis.dbsize() == 0
    ownership = taken(connect_sync(redis_server.socket_path), LogNode("node_one", "boot"), "one", take_over=False)
    yield ownership
    ownership.release()


@pytest.fixture
def open_keys(redis_server: EmbeddedRedis, tmp_path: Path, clock: FrozenClock) -> Iterator[Opened]:
    with closing(connect_sync(redis_server.socket_path)) as client:

        def open_keys(name: str, ownership: LogOwnership | None = None, *, box: SecretBox = BOX) -> SigningKeys:
            in_log = KeysInLog(client, ownership)
            return opened_keys(tmp_path / f"{name}.json", box=box, clock=clock, in_log=in_log)

        yield open_keys


def kids(keys: SigningKeys) -> list[tuple[str, KeyState]]:
    return sorted((key.kid, state) for key, state in keys.states())


def signing(keys: SigningKeys) -> list[str]:
    return [keys.signing(purpose).kid for purpose in KeyPurpose]


@pytest.mark.parametrize("is_running", [True, False])
def test_given_a_change_on_the_owner_then_a_node_has_it_whether_it_runs_or_starts_later(
    ownership: LogOwnership, open_keys: Opened, clock: FrozenClock, *, is_running: bool
) -> None:
    owner = open_keys("owner", ownership)
    owner.create(KeyPurpose)
    other = open_keys("other")
    assert kids(other) == kids(owner)

    announced = owner.announce(KeyPurpose.PROOF)
    owner.remove(owner.signing(KeyPurpose.CHECKPOINT).kid)
    if is_running:
        other.follow()
    else:
        other = open_keys("other")

    assert kids(other) == kids(owner)
    assert signing(other) == signing(owner)
    clock.advance(HOUR_US)
    assert signing(other) == signing(owner)
    assert other.signing(KeyPurpose.PROOF).kid == announced.kid
    again = open_keys("other")
    assert kids(again) == kids(owner)
    document = b"a checkpoint"
    by_both = [each.signing(KeyPurpose.CHECKPOINT).private.sign(document) for each in (again, owner)]
    assert by_both[0] == by_both[1]


def test_given_an_announced_key_that_begins_at_once_because_another_was_removed_then_a_node_that_knew_it_follows(
    ownership: LogOwnership, open_keys: Opened
) -> None:
    owner = open_keys("owner", ownership)
    owner.create(KeyPurpose)
    announced = owner.announce(KeyPurpose.PROOF)
    other = open_keys("other")
    assert other.signing(KeyPurpose.PROOF).kid != announced.kid

    owner.remove(owner.signing(KeyPurpose.PROOF).kid)
    other.follow()

    assert other.signing(KeyPurpose.PROOF).kid == announced.kid
    assert kids(other) == kids(owner)


def test_given_an_older_value_in_redis_then_a_removed_key_stays_removed(
    ownership: LogOwnership, open_keys: Opened, log_redis: redis.Redis
) -> None:
    owner = open_keys("owner", ownership)
    owner.create(KeyPurpose)
    older = log_redis.get(SIGNING_KEYS)
    assert isinstance(older, bytes)
    owner.remove(owner.signing(KeyPurpose.PROOF).kid)
    other = open_keys("other")
    log_redis.set(SIGNING_KEYS, older)

    other.follow()

    assert kids(other) == kids(owner)


def test_given_no_private_half_in_the_clear_and_another_master_key_then_the_value_does_not_open(
    ownership: LogOwnership, open_keys: Opened, log_redis: redis.Redis
) -> None:
    owner = open_keys("owner", ownership)
    owner.create(KeyPurpose)
    stored = log_redis.get(SIGNING_KEYS)
    assert isinstance(stored, bytes)
    assert not any(key.kid.encode() in stored or key.x.encode() in stored for key, _ in owner.states())

    with pytest.raises(StartupError, match="master key does not open"):
        open_keys("other", box=SecretBox(bytes(range(32))))


def test_given_another_owner_when_a_key_is_announced_then_it_is_refused_and_nothing_has_changed(
    ownership: LogOwnership, open_keys: Opened, log_redis: redis.Redis
) -> None:
    owner = open_keys("owner", ownership)
    owner.create(KeyPurpose)
    before, stored = kids(owner), log_redis.get(SIGNING_KEYS)
    log_redis.hset(OWNER, mapping={"epoch": ownership.epoch + 1, "node": "node_two", "address": "two"})
    log_redis.set(EPOCH, ownership.epoch + 1)

    with pytest.raises(UnavailableError):
        owner.announce(KeyPurpose.PROOF)

    assert kids(owner) == before
    assert log_redis.get(SIGNING_KEYS) == stored


def test_given_a_change_whose_confirmation_was_lost_when_repeated_then_there_is_one_new_key(
    ownership: LogOwnership, open_keys: Opened
) -> None:
    first = open_keys("owner", ownership)
    first.create(KeyPurpose)
    unaware = open_keys("unaware", ownership)
    first.announce(KeyPurpose.PROOF)

    with pytest.raises(ConflictError):
        unaware.announce(KeyPurpose.PROOF)

    assert kids(unaware) == kids(first)
