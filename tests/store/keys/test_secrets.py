"""Secrets open only with their own key, and only unchanged."""

import hashlib
import os
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.store.keys import MASTER_KEY_BYTES, SecretBox, UnsealError, token_digest

KEY = bytes(range(32))


@given(st.text())
def test_given_any_text_when_sealed_then_the_same_key_opens_it(secret: str) -> None:
    assert SecretBox(KEY).open(SecretBox(KEY).seal(secret)) == secret


def test_given_a_secret_when_sealed_twice_then_nothing_shows_that_it_is_the_same() -> None:
    box = SecretBox(KEY)

    one, other = box.seal("whsec_abc"), box.seal("whsec_abc")

    assert one != other
    assert "whsec_abc" not in one


def test_given_another_key_then_it_does_not_open() -> None:
    sealed = SecretBox(KEY).seal("whsec_abc")

    with pytest.raises(UnsealError):
        SecretBox(os.urandom(MASTER_KEY_BYTES)).open(sealed)


@pytest.mark.parametrize(
    "spoil", [lambda s: s[:-4] + "AAAA", lambda s: s[:8], lambda s: s[3:], lambda _: "v1.*", str.upper]
)
def test_given_a_sealed_text_that_was_changed_then_it_does_not_open(spoil: Callable[[str], str]) -> None:
    sealed = SecretBox(KEY).seal("whsec_abc")

    with pytest.raises(UnsealError):
        SecretBox(KEY).open(spoil(sealed))


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_given_a_key_of_the_wrong_length_then_it_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SecretBox(bytes(length))


def test_given_a_token_then_its_digest_is_sha_256_in_hex() -> None:
    assert token_digest("op_abc") == hashlib.sha256(b"op_abc").hexdigest()
