"""What one line of a search may mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.plain_text import name_key
from clearhold.features.core.search_terms import has_name, terms_of, words_of


@pytest.mark.parametrize(
    ("line", "cents"),
    [
        ("12,345.67", 1_234_567),
        ("12345.67", 1_234_567),
        ("$12,345.6", 1_234_560),
        ("usd 12345", 1_234_500),
        ("\uff11\uff12\uff0e\uff15", 1_250),
        ("0.07", 7),
        ("999999999999999.99", 99_999_999_999_999_999),
        ("1,23", None),
        ("1,2345", None),
        ("12.345", None),
        ("-12.00", None),
        ("1000000000000000.00", None),
        ("12.", None),
        ("acht_12", None),
        ("\u0661\u0662", None),
    ],
)
def test_given_a_line_when_it_is_an_amount_then_it_has_cents(line: str, cents: int | None) -> None:
    assert terms_of(line).cents == cents


@pytest.mark.parametrize(
    ("line", "last4"), [("7899", "7899"), ("**** 7899", "7899"), ("ab-12", "AB12"), ("78990", None), ("899", None)]
)
def test_given_a_line_when_it_has_four_letters_and_digits_then_they_are_the_last_of_a_number(
    line: str, last4: str | None
) -> None:
    assert terms_of(line).last4 == last4


@pytest.mark.parametrize(
    ("name", "line", "matches"),
    [
        ("Cedar Freight, L.L.C.", "cedar llc", True),
        ("Cedar Freight, L.L.C.", "LLC ced", True),
        ("Cedar Freight, L.L.C.", "reight", False),
        ("Cedar Freight, L.L.C.", "cedar oak", False),
        ("C\u0435dar Freight", "cedar", True),
        ("Cedar Freight", "c\u0435dar", True),
        ("Stra\u00dfe GmbH", "STRASSE", True),
        ("O'Brien", "o\u2019brien", True),
        ("100% Fresh", "100%", True),
        ("100 Fresh", "1_0%0", True),
    ],
)
def test_given_a_name_when_each_word_of_a_line_begins_one_of_its_words_then_it_matches(
    name: str, line: str, *, matches: bool
) -> None:
    assert has_name(terms_of(line), words_of(name)) is matches


@given(name=st.text(min_size=1, max_size=30), kept=st.integers(0, 30))
def test_given_any_name_when_the_beginnings_of_its_words_are_searched_then_it_matches(name: str, kept: int) -> None:
    line = " ".join(word[: max(1, kept)] for word in name_key(name).split())

    assert has_name(terms_of(name), words_of(name))
    assert name_key(line) != line or has_name(terms_of(line), words_of(name))
