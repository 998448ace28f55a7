"""Signing keys are made once, sealed, named by their thumbprints, and replaced so that every signature is verified."""

import base64
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from clearhold.features.core.errors import ConflictError, NotFoundError
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US
from clearhold.store.errors import StartupError
from clearhold.store.keys import KeyPurpose, KeyState, SecretBox, SigningKeys, thumbprint
from tests.support.clock import FrozenClock

BOX = SecretBox(bytes(32))


def opened(path: Path, *purposes: KeyPurpose, box: SecretBox = BOX, clock: FrozenClock | None = None) -> SigningKeys:
    return SigningKeys.open(path, box=box, clock=clock or FrozenClock(), purposes=purposes)


def test_given_no_file_when_opened_then_a_key_is_made_once_for_each_purpose(tmp_path: Path, clock: FrozenClock) -> None:
    path = tmp_path / "signing-keys.json"

    created = opened(path, KeyPurpose.CHECKPOINT, clock=clock)
    clock.advance(1_000_000)
    again = opened(path, KeyPurpose.CHECKPOINT, KeyPurpose.PROOF, clock=clock)

    key = created.signing(KeyPurpose.CHECKPOINT)
    assert again.signing(KeyPurpose.CHECKPOINT).kid == key.kid
    assert again.public_keys(KeyPurpose.CHECKPOINT) == [key.public]
    assert [each.purpose for each in again.published()] == [KeyPurpose.PROOF, KeyPurpose.CHECKPOINT]
    assert again.signing(KeyPurpose.CHECKPOINT).private.sign(b"x") == key.private.sign(b"x")


def test_given_a_key_when_kept_then_its_private_half_is_sealed_and_its_kid_is_that_of_rfc_8037(tmp_path: Path) -> None:
    path = tmp_path / "signing-keys.json"
    key = opened(path, KeyPurpose.CHECKPOINT).signing(KeyPurpose.CHECKPOINT)
    raw = key.private.private_bytes_raw()

    text = path.read_bytes()

    assert raw not in text
    assert base64.b64encode(raw) not in text
    assert base64.urlsafe_b64encode(raw).rstrip(b"=") not in text
    assert {name for kept in json.decode(text) for name in kept} == {
        "kid",
        "purpose",
        "x",
        "sealedPrivateKey",
        "createdAt",
    }
    assert thumbprint(key.x) == key.kid
    assert thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo") == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_given_another_master_key_or_a_damaged_file_when_opened_then_the_start_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "signing-keys.json"
    opened(path, KeyPurpose.CHECKPOINT)

    with pytest.raises(StartupError, match="The master key does not open"):
        opened(path, box=SecretBox(bytes([1] * 32)))
    path.write_bytes(b"{")
    with pytest.raises(StartupError, match="is damaged"):
        opened(path)


def kids(keys: SigningKeys, purpose: KeyPurpose) -> set[str]:
    return {key.kid for key in keys.published() if key.purpose is purpose}


def state(keys: SigningKeys, kid: str) -> KeyState:
    return next(state for key, state in keys.states() if key.kid == kid)


def test_given_a_rotation_when_time_passes_then_the_new_key_is_published_first_and_the_old_one_long_enough(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    old = keys.signing(KeyPurpose.PROOF).kid

    new = keys.announce(KeyPurpose.PROOF).kid

    def after(microseconds: int) -> tuple[str, KeyState, KeyState]:
        clock.advance(microseconds)
        return keys.signing(KeyPurpose.PROOF).kid, state(keys, old), state(keys, new)

    assert after(0) == (old, KeyState.SIGNING, KeyState.ANNOUNCED)
    assert after(30 * MINUTE_US - 1) == (old, KeyState.SIGNING, KeyState.ANNOUNCED)
    assert kids(keys, KeyPurpose.PROOF) == {old, new}
    assert after(1) == (new, KeyState.RETIRED, KeyState.SIGNING)
    assert after(25 * HOUR_US - 1) == (new, KeyState.RETIRED, KeyState.SIGNING)
    assert keys.public_key(KeyPurpose.PROOF, old) is not None
    assert after(1) == (new, KeyState.EXPIRED, KeyState.SIGNING)
    assert kids(keys, KeyPurpose.PROOF) == {new}
    assert keys.public_key(KeyPurpose.PROOF, old) is None


def test_given_a_replaced_checkpoint_key_when_years_pass_then_it_stays_published(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    old, proof = keys.signing(KeyPurpose.CHECKPOINT), keys.signing(KeyPurpose.PROOF)

    new = keys.announce(KeyPurpose.CHECKPOINT)
    clock.advance(3_650 * DAY_US)

    assert keys.signing(KeyPurpose.CHECKPOINT).kid == new.kid
    assert kids(keys, KeyPurpose.CHECKPOINT) == {old.kid, new.kid}
    assert keys.signing(KeyPurpose.PROOF).kid == proof.kid
    assert keys.public_key(KeyPurpose.PROOF, old.kid) is None


def test_given_an_announced_key_when_another_is_wanted_then_it_is_refused_for_that_purpose_alone(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    keys.announce(KeyPurpose.PROOF)

    with pytest.raises(ConflictError):
        keys.announce(KeyPurpose.PROOF)
    keys.announce(KeyPurpose.CHECKPOINT)
    clock.advance(30 * MINUTE_US)
    keys.announce(KeyPurpose.PROOF)

    assert len(keys.states()) == 5


def test_given_a_compromised_key_when_removed_then_another_signs_at_once_and_it_is_not_published(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    first = keys.signing(KeyPurpose.PROOF).kid

    removed = keys.remove(first)
    second = keys.signing(KeyPurpose.PROOF).kid
    third = keys.announce(KeyPurpose.PROOF).kid
    keys.remove(second)

    assert removed.removed_at == clock.now()
    assert keys.signing(KeyPurpose.PROOF).kid == third
    assert [state(keys, each) for each in (first, second, third)] == ["removed", "removed", "signing"]
    assert kids(keys, KeyPurpose.PROOF) == {third}
    assert keys.remove(first) == removed
    with pytest.raises(NotFoundError):
        keys.remove("nobodys")


def test_given_an_announced_key_when_removed_then_the_one_that_signs_goes_on(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    first = keys.signing(KeyPurpose.PROOF).kid

    keys.remove(keys.announce(KeyPurpose.PROOF).kid)
    clock.advance(30 * DAY_US)

    assert (keys.signing(KeyPurpose.PROOF).kid, state(keys, first)) == (first, KeyState.SIGNING)


def test_given_a_disk_that_is_full_when_a_key_is_announced_then_file_and_memory_stay_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.json"
    keys = opened(path, *KeyPurpose)
    before, content = keys.states(), path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            keys.announce(KeyPurpose.PROOF)

    assert (keys.states(), path.read_bytes()) == (before, content)


def test_given_who_only_reads_when_opened_then_no_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"

    assert opened(path).states() == []
    assert not path.exists()


def test_given_an_announced_key_that_was_removed_when_the_next_one_signs_then_the_first_is_published_until_its_end(
    tmp_path: Path, clock: FrozenClock
) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)
    first = keys.signing(KeyPurpose.PROOF).kid
    keys.remove(keys.announce(KeyPurpose.PROOF).kid)
    clock.advance(2 * DAY_US)
    keys.announce(KeyPurpose.PROOF)

    clock.advance(30 * MINUTE_US + 24 * HOUR_US)

    assert state(keys, first) == KeyState.RETIRED


def plain(keys: SigningKeys) -> list[tuple[object, ...]]:
    return [(key.kid, key.created_at, key.signs_from, key.removed_at, state) for key, state in keys.states()]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("wait"), st.sampled_from([1, 29 * MINUTE_US, 30 * MINUTE_US, 23 * HOUR_US, DAY_US, 26 * HOUR_US])
        ),
        st.tuples(st.just("announce"), st.sampled_from([*KeyPurpose])),
        st.tuples(st.just("remove"), st.integers(0, 9)),
    ),
    min_size=5,
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(steps=STEPS)
def test_given_any_rotations_removals_and_restarts_when_signed_then_every_signature_is_verified_until_its_end(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]]
) -> None:
    path, clock = tmp_path_factory.mktemp("keys") / "keys.json", FrozenClock()
    keys = opened(path, *KeyPurpose, clock=clock)
    signatures: list[tuple[int, KeyPurpose, str]] = []
    announced_at: dict[str, int] = {}
    retired: set[str] = set()

    for name, value in steps:
        if name == "wait":
            clock.advance(value)
        elif name == "announce":
            with suppress(ConflictError):
                announced_at[keys.announce(value).kid] = clock.now()
        else:
            states = keys.states()
            keys.remove(states[value % len(states)][0].kid)
            announced_at.clear()  # One of them may begin at once.
        before, keys = keys, opened(path, *KeyPurpose, clock=clock)
        assert plain(keys) == plain(before)
        now = clock.now()
        states_now = {key.kid: state for key, state in keys.states()}
        for purpose in KeyPurpose:
            signing = keys.signing(purpose)
            of_purpose = [key.kid for key, _ in keys.states() if key.purpose is purpose]
            assert [kid for kid in of_purpose if states_now[kid] == KeyState.SIGNING] == [signing.kid]
            assert signing.kid not in announced_at or announced_at[signing.kid] + 30 * MINUTE_US <= now + 1_000
            assert signing.kid not in retired
            retired |= {kid for kid in of_purpose if states_now[kid] in {KeyState.RETIRED, KeyState.EXPIRED}}
            signatures.append((now, purpose, signing.kid))
        published = {key.kid for key in keys.published()}
        for at, purpose, kid in signatures:
            lasts = purpose is KeyPurpose.CHECKPOINT or now < at + DAY_US
            assert not lasts or kid in published or states_now[kid] == KeyState.REMOVED


def test_given_many_threads_when_each_announces_a_key_then_one_is_made(tmp_path: Path, clock: FrozenClock) -> None:
    keys = opened(tmp_path / "keys.json", *KeyPurpose, clock=clock)

    def announced(_: int) -> bool:
        try:
            keys.announce(KeyPurpose.PROOF)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(announced, range(40))) == 1
    assert plain(opened(tmp_path / "keys.json", clock=clock)) == plain(keys)
