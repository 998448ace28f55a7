"""How names, account and routing numbers, and country codes are read."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.plain_text import (
    COUNTRIES,
    country_of,
    last_four,
    letters_and_digits,
    look_key,
    name_key,
    routing_number,
)

PAYEE = "Cedar Freight LLC"
DISGUISES = {
    "case": "CEDAR freight llc",
    "double spaces": "Cedar  Freight   LLC",
    "no-break space": "Cedar\xa0Freight LLC",
    "tab and line break": "Cedar\tFreight\nLLC",
    "zero-width space at the end": "Cedar Freight LLC\u200b",
    "zero-width space inside": "Ce\u200bdar Freight LLC",
    "word joiner": "Cedar\u2060 Freight LLC",
    "embedding marks": "\u202aCedar Freight LLC\u202c",
    "soft hyphen": "Ce\xaddar Freight LLC",
    "byte order mark": "\ufeffCedar Freight LLC",
    "variation selector": "Cedar\ufe0f Freight LLC",
    "combining grapheme joiner": "Ceda\u034fr Freight LLC",
    "Hangul filler": "Cedar\u3164 Freight LLC",
    "blank of Braille for a space": "Cedar\u2800Freight LLC\u2800",
    "grave accent": "Cedar Freight `LLC`",
    "tag characters": "Cedar Freight LLC\U000e0041",
    "control character": "Cedar\x01 Freight LLC",
    "comma and full stop": "Cedar Freight, L.L.C.",
    "full-width letters": "Ｃｅｄａｒ Freight LLC",
    "mathematical letters": "𝐂𝐞𝐝𝐚𝐫 Freight LLC",
    "white space around": " \tCedar Freight LLC\u3000",
    "a dash between words": "Cedar Freight - LLC",
    "full-width comma": "Cedar Freight\uff0c LLC",
    "no-break hyphen inside": "Ce\u2011dar Freight LLC",
}
LOOK_ALIKES = {
    "Cyrillic e": "C\u0435dar Freight LLC",
    "Cyrillic capitals": "\u0421\u0415DAR FR\u0415IG\u041d\u0422 LL\u0421",
    "Greek capital eta": "CEDAR FREIG\u0397T LLC",
    "Greek lunate sigma": "\u03f9edar Freight LLC",
    "Armenian letter": "Cedar Frei\u0581ht LLC",
    "Cherokee letter": "\u13dfedar Freight LLC",
    "script g": "Cedar Frei\u0261ht LLC",
    "dotless i": "Cedar Fre\u0131ght LLC",
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_given_a_disguised_name_then_it_is_the_same_name(disguise: str) -> None:
    assert name_key(DISGUISES[disguise]) == name_key(PAYEE)
    assert look_key(DISGUISES[disguise]) == look_key(PAYEE)


@pytest.mark.parametrize("disguise", LOOK_ALIKES)
def test_given_letters_that_look_alike_then_the_name_is_another_that_looks_the_same(disguise: str) -> None:
    assert name_key(LOOK_ALIKES[disguise]) != name_key(PAYEE)
    assert look_key(LOOK_ALIKES[disguise]) == look_key(PAYEE)


@pytest.mark.parametrize(
    "name",
    [
        "Cedar Fright LLC",
        "Cedar Freight Ltd",
        "Cedar Freight LLC 2",
        "Cédar Freight LLC",
        "Sedar Freight LLC",
        "CedarFreight LLC",
        "Cedar Freight L L C",
        "Cedar Freight LLC+",
        "Cedar Freight LLC\u2122",
    ],
)
def test_given_other_letters_words_or_symbols_then_it_is_another_name(name: str) -> None:
    assert name_key(name) != name_key(PAYEE)
    assert look_key(name) != look_key(PAYEE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mary Ann Li", "Maryann Li"),
        ("Smith-Jones", "Smith Jones"),
        ("Smith\u2010Jones", "Smith\xa0Jones"),
        ("Birch + Sons", "Birch Sons"),
        ("Birch & Sons", "BirchSons"),
        ("A$AP", "AAP"),
        ("A\u20acAP", "AAP"),
        ("Olmo|Pine", "OlmoPine"),
        ("Olmo Caf\xe9", "OlmoCaf\xe9"),
    ],
)
def test_given_a_blank_or_a_symbol_more_then_it_is_another_name(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)
    assert look_key(one) != look_key(other)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Smith-Jones", "smithjones"),
        ("Birch & Sons", "birch sons"),
        ("  Cedar,\t Freight\u2003 (L.L.C.) ", "cedar freight llc"),
        ("O\u2019Brien\u200b / Li", "obrien li"),
        ("Birch+Sons", "birch+sons"),
    ],
)
def test_given_a_name_then_its_punctuation_is_dropped_and_what_is_left_has_single_blanks(name: str, key: str) -> None:
    assert name_key(name) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Olmo Café", normalize("NFD", "Olmo Café")),
        ("O'Brien & Sons", "O\u2019Brien & Sons"),
        ("Straße 7", "STRASSE 7"),
        ("ΑΘΗΝΑ ΝΙΚΗ", "Αθηνα Νικη"),
        ("НОВА МОВА", "Нова мова"),
        ("中国银行", "中国银行\u200b"),
    ],
)
def test_given_one_name_in_two_spellings_then_it_is_the_same_in_every_script(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("O'Brien & Sons", "O\u02bcBrien & Sons"),
        ("O'Brien & Sons", "O\u00b4Brien & Sons"),
        ("İstanbul Gıda", "ISTANBUL GIDA"),
        ("\u0421\u0415\u0422\u041e\u0420", "CETOP"),
        ("\u0441\u0435\u0442\u043e\u0440", "CETOP"),
    ],
)
def test_given_one_look_in_two_spellings_then_the_names_differ_and_look_the_same(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)
    assert look_key(one) == look_key(other)


@pytest.mark.parametrize(("one", "other"), [("***", "..."), ("\u200b", "\u200b\u200b"), ("中国银行", "中国人民")])
def test_given_names_without_a_latin_letter_then_they_stay_apart(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(st.text(min_size=1, max_size=40))
def test_given_any_name_then_it_has_a_key_and_blanks_and_invisible_characters_around_it_do_not_matter(
    name: str,
) -> None:
    assert name_key(name)
    assert look_key(name)
    assert name_key(f" {name}\u200b") == name_key(name) or not any(map(str.isalnum, name))


@given(st.text(st.characters(max_codepoint=0x7F), min_size=1, max_size=40))
def test_given_an_ascii_name_then_an_invisible_character_and_the_case_of_its_letters_do_not_matter(name: str) -> None:
    assert name_key(f"a{name}\u200b") == name_key(f"A{name.swapcase()}") == name_key(f"a{name}")


@pytest.mark.parametrize(
    ("number", "last4"),
    [
        ("744-5678-99", "7899"),
        ("DE89 3704 0044 0532 0130 00", "3000"),
        ("7899\t", "7899"),
        ("12.34.56.78", "5678"),
        ("７４４５６７８９９", "7899"),
        ("744\u2011567\u200b899", "7899"),
        ("gb29nwbk601331926819ab", "19AB"),
        ("99", "99"),
        ("--", None),
        ("", None),
    ],
)
def test_given_an_account_number_in_print_then_its_last_four_are_of_the_number(number: str, last4: str | None) -> None:
    assert last_four(number) == last4


@pytest.mark.parametrize(
    ("number", "routing"),
    [
        ("021000021", "021000021"),
        ("021000021 ", "021000021"),
        ("021-000-021", "021000021"),
        ("0210 0002 1", "021000021"),
        ("０２１０００021", "021000021"),
        ("\u0660\u0662\u0661\u0660\u0660\u0660\u0660\u0662\u0661", "021000021"),
        ("deutdeff", "DEUTDEFFXXX"),
        ("DEUTDEFFXXX", "DEUTDEFFXXX"),
        ("DEUT DE FF XXX", "DEUTDEFFXXX"),
        ("DEUTDEFF500", "DEUTDEFF500"),
        ("21000021", None),
        ("0210000210", None),
        ("02100002A", None),
        ("n/a", None),
        ("", None),
    ],
)
def test_given_a_routing_number_then_it_has_nine_digits_or_is_a_bic(number: str, routing: str | None) -> None:
    assert routing_number(number) == routing


@given(st.integers(0, 999_999_999), st.lists(st.sampled_from([" ", "-", ".", "\t", "\xa0", "\u2013"]), max_size=8))
def test_given_any_characters_between_the_digits_then_the_bank_is_the_same(number: int, between: list[str]) -> None:
    digits = f"{number:09}"
    written = "".join(f"{digit}{separator}" for digit, separator in zip(digits, [*between, *[""] * 9], strict=False))

    assert letters_and_digits(written) == routing_number(written) == digits


@pytest.mark.parametrize(
    ("code", "country"),
    [
        ("IRN", "IR"),
        ("PRK", "KP"),
        ("USA", "US"),
        ("gbr", "GB"),
        ("UK", "GB"),
        ("EL", "GR"),
        ("GB ", "GB"),
        ("\tde\n", "DE"),
        ("ＣＵ", "CU"),
        ("ZZ", None),
        ("XX", None),
        ("AN", None),
        ("YUG", None),
        ("Iran", None),
        ("", None),
        ("I R", None),
    ],
)
def test_given_a_code_then_it_is_the_country_that_it_means(code: str, country: str | None) -> None:
    assert country_of(code) == country


def test_given_the_table_then_it_has_all_249_countries_and_kosovo_once() -> None:
    assert len(COUNTRIES) == 250
    assert {country_of(code) for code in COUNTRIES} == COUNTRIES
