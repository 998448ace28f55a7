"""Money on the wire: canonical digits, and nothing else that a number parser would take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.money import MAX_CENTS, parse_cents


@given(cents=st.integers(0, MAX_CENTS))
def test_given_an_amount_when_it_is_written_and_read_then_it_is_the_same(cents: int) -> None:
    assert parse_cents(str(cents)) == cents


@given(text=st.text() | st.from_regex(r"[-+ 0-9_.e]{1,22}"))
def test_given_any_text_when_it_is_read_then_only_its_own_spelling_is_an_amount(text: str) -> None:
    cents = parse_cents(text)

    assert cents is None or (str(cents) == text and 0 <= cents <= MAX_CENTS)


@pytest.mark.parametrize(
    "text",
    ["", "00", "01", "-1", "+5", " 12", "12 ", "12\n", "1_000", "1.0", "1e3", "0x1", "\uff11\uff12", "1" + "0" * 18],
)
def test_given_another_spelling_of_a_number_when_it_is_read_then_it_is_refused(text: str) -> None:
    assert parse_cents(text) is None
