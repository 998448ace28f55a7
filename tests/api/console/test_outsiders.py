"""Texts of outsiders on pages: inert, and with a mark for each letter that shows nothing."""

import html
import re

import htpy as h
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.api.console.components.words import NAME_LETTERS, outsider, outsider_prose
from clearhold.api.console.frame import plain_page
from clearhold.api.html.outsiders import runs, shows_nothing

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' hx-on:click='alert(1)",
    "]]><!--",
    "</bdi></title><style>*{display:none}",
    "{{7*7}}${7*7}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_given_markup_of_an_outsider_then_the_page_has_it_as_text(text: str) -> None:
    page = str(outsider(text))
    inner = page.removeprefix("<bdi>").removesuffix("</bdi>")
    assert not set(inner) & set("<>\"'")
    assert html.unescape(inner) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pay\u202eee", "U+202E"),
        ("a\u200bb", "U+200B"),
        ("a\u2066b", "U+2066"),
        ("a\x00b", "U+0000"),
        ("a\x1b[31m", "U+001B"),
        ("a\u3164b", "U+3164"),
        ("a\U000e0041b", "U+E0041"),
        ("e" + "\u0301" * 5, "U+0301"),
    ],
)
def test_given_a_letter_that_shows_nothing_then_a_mark_stands_for_it(text: str, code: str) -> None:
    page = str(outsider(text))
    assert page.count(f">{code}</span>") == 1
    assert text not in page


@pytest.mark.parametrize("text", ["José García", "Łódź", "محمد", "李小龍", "two\nlines", ""])
def test_given_a_usual_name_then_it_is_as_written(text: str) -> None:
    assert html.unescape(str(outsider(text))) == f"<bdi>{text}</bdi>"


@given(st.text(max_size=60))
def test_given_any_text_then_its_runs_are_the_text_and_the_page_has_no_invisible_letter(text: str) -> None:
    parts = list(runs(text))
    assert "".join(part for part, _ in parts) == text
    assert all(code == f"U+{ord(part):04X}" for part, code in parts if code is not None)
    visible = html.unescape(re.sub(r"<[^>]*>", "", str(outsider(text))))
    assert not [each for each in visible if shows_nothing(each) and each not in "\n\r\t"]


def test_given_a_long_text_then_it_is_cut_and_the_whole_of_it_is_folded_below() -> None:
    text = "a" * 9_000
    assert html.unescape(str(outsider(text))) == f"<bdi>{'a' * (NAME_LETTERS - 1)}…</bdi>"
    begin, folded, whole = str(h.fragment[outsider_prose(text)]).partition("<details")
    assert len(begin) < 1_000
    assert folded
    assert "All 9,000 characters" in whole
    assert f"<bdi>{text}</bdi>" in whole


def test_given_a_short_text_then_nothing_is_folded() -> None:
    assert str(outsider_prose("Rent for March")) == "<bdi>Rent for March</bdi>"


def test_given_a_title_with_letters_that_show_nothing_then_the_tab_has_marks_and_at_most_sixty_letters() -> None:
    page = str(plain_page("nonce", "pay\u202eee" + "x" * 300, None))
    title = re.search("<title>(.*?)</title>", page)
    assert title is not None
    assert title[1] == f"{('payU+202Eee' + 'x' * 300)[:59]}… · Clearhold"
