"""JSON numbers and names: a whole amount in any notation is exact, and an event with a repeated name is refused."""

import json
from typing import Final

import pytest

from clearhold.features.core.log_entry import EntryKind, LogEntry
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.rows.parties import EntityRow
from clearhold.features.landing.stored_transfer import StoredTransfer
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

WIRE: Final = "wire.outgoing_transfer.completed"
STYLES: Final = ((",", ":"), (", ", ": "), (" ,\n ", " : "))


def delivered(kind: str, data: bank.Data, *replaced: tuple[str, str], style: tuple[str, str] = STYLES[0]) -> ShardStory:
    """An event whose text is changed before it is delivered."""
    text = json.dumps({"id": "evnt_1", "created_at": bank.rfc3339(T0), "type": kind, "data": data}, separators=style)
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new, 1)
    return ShardStory().apply(LogEntry(0, 1 << 20, EntryKind.BANK, "prg_1", T0, text.encode()))


@pytest.mark.parametrize(
    ("number", "cents"),
    [
        *(("12.0", 12), ("100.00", 100), ("1E+2", 100), ("1e3", 1_000), ("120e-1", 12), ("0.0", 0), ("-0.0", 0)),
        *(("9007199254740993.0", 9_007_199_254_740_993), ("1e17", 10**17), ("999999999999999999.0", 10**18 - 1)),
    ],
)
def test_given_a_number_of_whole_value_in_another_form_then_the_amount_is_exact(number: str, cents: int) -> None:
    story = delivered(WIRE, bank.a_wire(amount=777), ('"amount":777', f'"amount":{number}'))

    assert story.one(TransferRow).amount_cents == cents
    assert (story.one(EventRow).result, story.one(EventRow).path) == ("applied", None)


@pytest.mark.parametrize(
    "number",
    ["12.5", "1e-2", "0.1", "1e18", "-1.0", "1e400", "1e99999999999999999999", "9007199254740993.5", f"1.{'0' * 99}1"],
)
def test_given_a_number_that_is_no_whole_amount_then_it_cannot_be_used_and_is_named(number: str) -> None:
    story = delivered(WIRE, bank.a_wire(amount=777), ('"amount":777', f'"amount":{number}'))

    assert (story.one(EventRow).result, story.one(EventRow).path) == ("unusable", "data.amount")


def test_given_a_balance_of_whole_value_in_another_form_then_it_is_read() -> None:
    data = bank.an_account(balances={"available_amount": -777, "locked_amount": 5})
    story = delivered("account.frozen", data, ("-777", "-7.77e2"))

    assert story.program.kri_facts.balances.cents("bacc_1") == -772
    assert story.one(EventRow).path is None


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ["amount", "status", "currency_code"])
def test_given_a_transfer_that_names_its_money_or_state_twice_then_it_cannot_be_used(
    name: str, style: tuple[str, str]
) -> None:
    field = f'"{name}"{style[1]}'
    story = delivered(WIRE, bank.a_wire(), (field, f'{field}"1"{style[0]}{field}'), style=style)

    row = story.one(EventRow)
    assert (row.result, row.path, row.subject_id) == ("unusable", f"data.{name}", None)
    assert StoredTransfer.find(story.program, "wire_1") is None


@pytest.mark.parametrize(
    ("name", "escaped"),
    [("amount", r"\u0061mount"), ("status", r"stat\u0075s"), ("currency_code", r"currency\u005fcode")],
)
def test_given_a_transfer_that_names_a_field_once_more_in_escapes_then_it_cannot_be_used(
    name: str, escaped: str
) -> None:
    row = delivered(WIRE, bank.a_wire(), (f'"{name}":', f'"{escaped}":"1","{name}":')).one(EventRow)

    assert (row.result, row.path) == ("unusable", f"data.{name}")


def test_given_a_transfer_with_escapes_in_its_texts_then_it_is_applied() -> None:
    story = delivered(WIRE, bank.a_wire(description='Caf\u00e9 "Orbit"'), ('"description":"', '"description":"\\/'))

    assert (story.one(EventRow).result, story.one(EventRow).path) == ("applied", None)


@pytest.mark.parametrize("name", ["deposited_amount", "positive_pay_amount"])
def test_given_a_check_that_names_an_amount_twice_then_it_cannot_be_used(name: str) -> None:
    data = bank.a_check(**{name: 5})

    row = delivered("check.outgoing_debit.settled", data, (f'"{name}":', f'"{name}":1,"{name}":')).one(EventRow)

    assert (row.result, row.path) == ("unusable", f"data.{name}")


def test_given_a_name_that_an_object_inside_has_too_then_it_is_not_named_twice() -> None:
    data = bank.an_international_wire(charges=[{"amount": 5, "currency_code": "EUR"}], extra={"status": "x"})

    assert delivered("swift.outgoing_transfer.submitted", data).one(EventRow).result == "applied"


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('"verification_status":', '"verification_status":"DENIED","verification_status":', "verification_status"),
        ('"pep_status":', '"pep_status":"yes","pep_status":', "person_details"),
        ('"id":"enti_1"', '"id":"enti_9","\\u0069d":"enti_1"', "id"),
    ],
)
def test_given_an_entity_that_names_a_field_twice_then_it_cannot_be_used(old: str, new: str, path: str) -> None:
    story = delivered("identity.verification.verified", bank.an_entity(), (old, new))

    assert (story.one(EventRow).result, story.one(EventRow).path) == ("unusable", f"data.{path}")
    assert not any(isinstance(row, EntityRow) for row in story.rows)


def test_given_an_event_with_a_name_twice_when_it_is_corrected_under_its_id_then_it_is_applied() -> None:
    story = delivered(WIRE, bank.a_wire(), ('"amount":', '"amount":1,"amount":'))

    story.apply(bank.a_bank_entry(WIRE, bank.a_wire(), offset=2 << 20, event_id="evnt_1"))

    assert story.one(EventRow).result == "applied"
    assert story.one(EventRow).is_correction
