"""Fresh ids are fresh, derived ids are not."""

import string
import uuid

from hypothesis import assume, given
from hypothesis import strategies as st

from store.ids import TOKEN_CHARACTERS, derived_id, new_id, new_token

PARTS = st.lists(st.text(max_size=8), max_size=4)


def test_given_two_calls_then_fresh_ids_differ_and_are_random_uuids() -> None:
    one, other = new_id(), new_id()

    assert one != other
    assert uuid.UUID(one).version == 4
    assert str(uuid.UUID(one)) == one


def test_given_the_same_cause_then_the_id_is_the_same_in_every_release() -> None:
    assert derived_id("ten_1", "evt_1", "velocity") == derived_id("ten_1", "evt_1", "velocity")
    assert derived_id("ten_1", "evt_1") == "886b6a41-b765-5420-a9bd-c94952adfd09"


@given(PARTS, PARTS)
def test_given_different_parts_then_the_ids_differ_even_if_they_join_to_the_same_text(
    one: list[str], other: list[str]
) -> None:
    assume(one != other)

    assert derived_id(*one) != derived_id(*other)


def test_given_a_prefix_then_a_token_starts_with_it_and_is_43_base62_characters_long() -> None:
    tokens = {new_token("op_") for _ in range(50)}

    assert len(tokens) == 50
    for token in tokens:
        assert token.startswith("op_")
        assert len(token.removeprefix("op_")) == TOKEN_CHARACTERS == 43
        assert set(token.removeprefix("op_")) <= set(string.ascii_letters + string.digits)
