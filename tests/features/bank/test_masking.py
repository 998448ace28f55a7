"""What is cut out of the bank's object whatever way its keys are spelt."""

import json
from typing import Any

import pytest

from features.bank.masking import masked_raw, masked_text

NUMBER = "000111222333"


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
    ],
    ids=lambda data: next(iter(data)),
)
def test_given_a_sensitive_key_in_any_spelling_when_shown_or_kept_then_its_value_is_not(data: dict[str, Any]) -> None:
    delivered = json.dumps({"id": "x", "nested": [data], **data}).encode()

    assert NUMBER not in json.dumps(masked_raw(delivered))
    assert NUMBER not in masked_text(delivered)
    assert masked_raw(delivered)["id"] == "x"


@pytest.mark.parametrize("key", ["account_number_id", "check_number", "routing_number", "trace_number", "description"])
def test_given_a_key_that_identifies_nobody_when_shown_then_its_value_stays(key: str) -> None:
    assert masked_raw(json.dumps({key: NUMBER}).encode()) == {key: NUMBER}
