"""Signing keys are made once, sealed, and named by their thumbprints."""

import base64
from pathlib import Path

import pytest
from msgspec import json

from store.data_dir import StartupError
from store.keys.key_schedule import KeyPurpose
from store.keys.secrets import SecretBox
from store.keys.signing_keys import SigningKeys, thumbprint
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
