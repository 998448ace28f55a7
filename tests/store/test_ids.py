"""Fresh ids are fresh, and tokens are unguessable."""

import string
import uuid

from clearhold.store.ids import TOKEN_CHARACTERS, new_id, new_token


def test_given_two_calls_then_fresh_ids_differ_and_are_random_uuids() -> None:
    one, other = new_id(), new_id()

    assert one != other
    assert uuid.UUID(one).version == 4
    assert str(uuid.UUID(one)) == one


def test_given_a_prefix_then_a_token_starts_with_it_and_is_43_base62_characters_long() -> None:
    tokens = {new_token("op_") for _ in range(50)}

    assert len(tokens) == 50
    for token in tokens:
        assert token.startswith("op_")
        assert len(token.removeprefix("op_")) == TOKEN_CHARACTERS == 43
        assert set(token.removeprefix("op_")) <= set(string.ascii_letters + string.digits)
