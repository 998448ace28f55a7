"""What a card's object states of the merchant and the card, read; and what cannot be read, named in the event's row."""

from typing import Any

import pytest

from clearhold.features.bank.purchases import Purchase, category_code, entry_mode, us_state
from clearhold.features.core.rows.events import EventRow
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

MERCHANT = {"id": "mrch_1", "name": "ORBIT GAMES", "country_code": "US"}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("5816", "5816"),
        (" 0742 ", "0742"),
        ("742", None),
        ("58167", None),
        (5816, None),
        ("\uff15816", None),
        (None, None),
    ],
)
def test_given_a_merchant_category_then_it_is_four_digits_or_none(value: object, read: str | None) -> None:
    assert category_code(value) == read


@pytest.mark.parametrize(
    ("value", "read"), [("TX", "TX"), (" pr ", "PR"), ("ON", None), ("Texas", None), ("", None), (["TX"], None)]
)
def test_given_a_state_then_it_is_one_of_the_us_or_none(value: object, read: str | None) -> None:
    assert us_state(value) == read


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("ecommerce", "ECOMMERCE"),
        ("CREDENTIAL_ON_FILE", "CREDENTIAL_ON_FILE"),
        ("key-entered", "KEY_ENTERED"),
        ("magnetic stripe", "MAGNETIC_STRIPE"),
        ("05", None),
        ("e" * 65, None),
        (5, None),
    ],
)
def test_given_an_entry_mode_then_it_is_a_word_in_capitals_or_none(value: object, read: str | None) -> None:
    assert entry_mode(value) == read


def test_given_a_newer_statement_when_it_leaves_some_out_then_the_former_ones_stay() -> None:
    former = Purchase("5816", "TX", "CHIP", present=True)

    assert Purchase("5411", present=False).over(former) == Purchase("5411", "TX", "CHIP", present=False)
    assert Purchase("5411").over(former) == Purchase("5411", "TX", "CHIP", present=former.present)


def fault_of(**over: Any) -> str | None:
    story = ShardStory()
    merchant = MERCHANT | {name.removeprefix("merchant_"): over.pop(name) for name in [*over] if "merchant_" in name}
    story.deliver("card.authorization.approved", bank.a_card_authorization(merchant=merchant, **over), at=T0)
    (row,) = (row for row in story.rows if isinstance(row, EventRow))
    return row.reason


@pytest.mark.parametrize(
    ("over", "fault"),
    [
        ({"merchant_category_code": "5816", "merchant_state": "TX", "entry_mode": "chip", "card_present": True}, None),
        ({"merchant_state": "ON"}, None),
        (
            {"merchant_category_code": 5816},
            "data.merchant.category_code must be a merchant category code of four digits; it was read as absent.",
        ),
        (
            {"merchant_state": 5},
            "data.merchant.state must be a text of at most 255 characters; it was read as absent.",
        ),
        (
            {"entry_mode": "05"},
            "data.entry_mode must be a word of at most 64 letters, digits, - and _; it was read as absent.",
        ),
        ({"card_present": "no"}, "data.card_present must be true or false; it was read as absent."),
    ],
)
def test_given_a_statement_that_cannot_be_read_when_the_event_is_applied_then_its_row_names_it(
    over: dict[str, Any], fault: str | None
) -> None:
    assert fault_of(**over) == fault
