"""What is cut out of the bank's object whatever way its keys are spelt."""

import json
from typing import Any

import msgspec
import pytest

from clearhold.features.bank.masking import masked_raw, masked_text
from clearhold.features.policy.seeds import SEEDS
from clearhold.features.scorers.cards import DEFAULTS

NUMBER = "000111222333"
UUID = "0b1c2d3e-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    "data",
    [
        {"accountNumber": NUMBER},
        {"Account_Number": NUMBER},
        {"BENEFICIARY-ACCOUNT-NUMBER": NUMBER},
        {"account_numbers": [NUMBER, NUMBER]},
        {"account_number": {"value": NUMBER}},
        {"card_number": NUMBER},
        {"pan": NUMBER},
        {"nationalId": {"number": NUMBER}},
        {"raw_message": f":59:/{NUMBER}"},
        {"check_images": {"front": NUMBER}},
        {"image_front_base64": NUMBER},
        {"account_no": NUMBER},
        {"acct_no": NUMBER},
        {"acctNum": NUMBER},
        {"debit_account": NUMBER},
        {"creditAccount": f"DE{NUMBER}"},
        {"account": {"number": NUMBER}},
        {"cards": [{"number": NUMBER}]},
        {"bban": NUMBER},
        {"clabe": NUMBER},
        {"card_pan": NUMBER},
        {"cardPAN": NUMBER},
        {"ssn_number": NUMBER},
        {"SSN": NUMBER},
        {"social_security_number": NUMBER},
        {"tax_id": NUMBER},
        {"taxIdentificationNumber": NUMBER},
        {"ein": NUMBER},
        {"itin_number": NUMBER},
        {"beneficiary_legal_id": NUMBER},
        {"passport_number": NUMBER},
        {"national_id_number": NUMBER},
        {"drivers_license_number": NUMBER},
        {"description": f"to account {NUMBER}, thanks"},
        {"return_details": [f"sent to {NUMBER}"]},
        {"description": 9000111222333},
        {"legal_name": f"Acme {NUMBER}"},
        {"review_reasons": [f"account {NUMBER}"]},
        {"webhook_secret": NUMBER},
        {"cardToken": NUMBER},
        {"PIN_number": NUMBER},
        {"cvv2": NUMBER},
        {"x-api-key": NUMBER},
        {"password": {"value": NUMBER}},
    ],
    ids=lambda data: next(iter(data)),
)
def test_given_a_sensitive_key_in_any_spelling_when_shown_or_kept_then_its_value_is_not(data: dict[str, Any]) -> None:
    delivered = json.dumps({"id": "x", "nested": [data], **data}).encode()

    assert NUMBER not in json.dumps(masked_raw(delivered))
    assert NUMBER not in masked_text(delivered)
    assert masked_raw(delivered)["id"] == "x"


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"account_number": f" {NUMBER} "}, {"account_number": "2333"}),
        ({"micr": f"t021000021t {NUMBER}"}, {"micr": "2333"}),
        ({"memo": "12345678 and 123456789"}, {"memo": "12345678 and ****6789"}),
        ({"memo": [99_999_999, 123_456_789]}, {"memo": [99_999_999, "****6789"]}),
        ({"memo": -123_456_789}, {"memo": "-****6789"}),
        ({"raw_message": "from Ada to Bob"}, {}),
    ],
)
def test_given_a_number_or_message_when_kept_then_no_more_of_it_than_the_last_four_of_nine_digits_and_more_is_there(
    data: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert masked_raw(json.dumps(data).encode()) == kept


@pytest.mark.parametrize(("depth", "is_kept"), [(32, True), (33, False)])
def test_given_objects_in_objects_when_kept_then_what_lies_deeper_than_the_limit_is_left_out(
    depth: int, *, is_kept: bool
) -> None:
    data: Any = "here"
    for _ in range(depth):
        data = {"a": data}

    assert ("here" in masked_text(json.dumps({"a": data}).encode())) is is_kept


@pytest.mark.parametrize(
    "key",
    [
        "account_number_id",
        "check_number",
        "trace_number",
        "company_id",
        "imad",
        "end_to_end_id",
        "id",
        "phone",
        "card_id",
    ],
)
def test_given_a_key_that_identifies_nobody_when_shown_then_its_value_stays(key: str) -> None:
    assert masked_raw(json.dumps({key: NUMBER}).encode()) == {key: NUMBER}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("invoice 20260001 of 2026-03-02 15:04", "invoice 20260001 of 2026-03-02 15:04"),
        ("to 000111222333.", "to ****2333."),
        ("DE89370400440532013000", "****3000"),
        ("FR1420041010050500013M02606", "****2606"),
        ("NL91 ABNA 0417 1643 00", "****00"),
        ("ein 12-3456789, itin 912 70 1234", "ein ****6789, itin ****1234"),
        ("amex 3782 822463 10005", "amex ****0005"),
        ("use whsec_aBcDeFgHiJkLmNo1 or op_ZyXwVuTsRqPoNm", "use **** or ****"),
        ("Bearer eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln", "Bearer ****"),
        ("ssn 123-45-6789", "ssn ****6789"),
        ("4111 1111 1111 1111 and 378282246310005", "****1111 and ****0005"),
        ("", ""),
    ],
)
def test_given_free_text_when_shown_then_long_numbers_alone_are_masked(text: str, masked: str) -> None:
    assert masked_raw(json.dumps({"payment_memo": text}).encode()) == {"payment_memo": masked}


@pytest.mark.parametrize("key", ["sales_tax", "japan", "protein", "merchant_license_class", "line_1", "occupation"])
def test_given_a_key_of_no_number_when_shown_then_its_text_stays_but_for_numbers_in_it(key: str) -> None:
    data = {key: f"Flat 12345678 of {NUMBER}", "owners": ["enti_000111222333"], key + "_uuid": UUID}

    assert masked_raw(json.dumps(data).encode()) == data | {key: "Flat 12345678 of ****2333"}


@pytest.mark.parametrize("key", ["phone", "routing_number", "trace_number", "api_version"])
def test_given_prose_where_a_number_belongs_when_shown_then_the_numbers_in_it_are_masked(key: str) -> None:
    assert masked_raw(json.dumps({key: f"sent to {NUMBER}"}).encode()) == {key: "sent to ****2333"}


def test_given_a_card_and_the_seeded_policies_when_masked_then_they_stay_as_they_are() -> None:
    for body in (*(body for _, body in SEEDS), *(each.card for each in DEFAULTS.values())):
        assert masked_text(msgspec.json.encode(body)) == msgspec.json.encode(body).decode()


@pytest.mark.parametrize(
    ("value", "kept"),
    [("021000021", "021000021"), ("EXAMDEFFXXX", "EXAMDEFFXXX"), ("EXAMDEFF", "EXAMDEFF"), (NUMBER, "****2333")],
)
@pytest.mark.parametrize("key", ["routing_number", "creditor_agent_routing_number"])
def test_given_a_routing_number_when_shown_then_it_stays_unless_it_is_none(key: str, value: str, kept: str) -> None:
    assert masked_raw(json.dumps({key: value}).encode()) == {key: kept}


@pytest.mark.parametrize("value", ["bacc_2zOps01", None, True, {"id": "bacc_2zOps01"}])
def test_given_an_account_that_is_named_by_its_id_when_shown_then_it_stays(value: object) -> None:
    assert masked_raw(json.dumps({"debit_account": value}).encode()) == {"debit_account": value}


@pytest.mark.parametrize("digits", [40, 64])
def test_given_an_address_or_a_hash_of_a_chain_when_shown_then_it_stays(digits: int) -> None:
    data = {"payer": f"0x{NUMBER:0>{digits}}", "payTo": {"wallet": f"0xA{NUMBER:0>{digits - 1}}"}}

    assert masked_raw(json.dumps(data).encode()) == data


def test_given_what_was_masked_when_masked_again_then_it_stays() -> None:
    data = {"account_no": NUMBER, "description": f"to {NUMBER}", "debit_account": NUMBER}

    once = masked_text(json.dumps(data).encode())

    assert masked_text(once.encode()) == once
