"""Which transfers come back, and as what."""

from typing import Any

import msgspec
import pytest

from clearhold.features.bank.event_types import LISTED_TYPES
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.sandbox.order import ReturnableTransfer, compose_return, is_returnable_as, never_returned
from tests.support.clock import T0

OUTGOING, INCOMING = Direction.OUTGOING, Direction.INCOMING


def a_transfer(rail: Rail, direction: Direction, status: str, **over: Any) -> ReturnableTransfer:
    ach_type = AchType.DEBIT if rail is Rail.ACH else None
    usual = {"id": "trf_1", "type": ach_type, "data": {"id": "trf_1", "amount": 100}}
    return ReturnableTransfer(**{"rail": rail, "direction": direction, "status": status} | usual | over)


@pytest.mark.parametrize(
    ("rail", "direction", "status", "sentence"),
    [
        (Rail.ACH, OUTGOING, "INITIATED", "not sent yet"),
        (Rail.ACH, OUTGOING, "PENDING_SUBMISSION", "not sent yet"),
        (Rail.ACH, OUTGOING, "SUBMITTED", None),
        (Rail.ACH, OUTGOING, "SETTLED", None),
        (Rail.ACH, OUTGOING, "COMPLETED", None),
        (Rail.ACH, OUTGOING, "RETURN_DISHONORED", None),
        (Rail.ACH, OUTGOING, "RETURNED", "already"),
        (Rail.ACH, OUTGOING, "RETURN_CONTESTED", "already"),
        (Rail.ACH, OUTGOING, "CANCELED", "no money"),
        (Rail.ACH, INCOMING, "SCHEDULED", None),
        (Rail.INTL_WIRE, OUTGOING, "SUBMITTED", None),
        (Rail.INTL_WIRE, OUTGOING, "INITIATED", "not sent yet"),
        (Rail.INTL_WIRE, INCOMING, "INITIATED", None),
        (Rail.CHECK, OUTGOING, "ISSUED", "not sent yet"),
        (Rail.CHECK, OUTGOING, "FIRST_RETURN", "already"),
        (Rail.CHECK, INCOMING, "DEPOSITED", None),
        (Rail.WIRE, OUTGOING, "COMPLETED", "final"),
        (Rail.REALTIME, INCOMING, "COMPLETED", "final"),
        (Rail.BOOK, OUTGOING, "COMPLETED", "final"),
        (Rail.CARD, OUTGOING, "SETTLED", "refunds"),
    ],
)
def test_given_a_transfer_as_it_stands_then_it_comes_back_or_the_sentence_says_why_not(
    rail: Rail, direction: Direction, status: str, sentence: str | None
) -> None:
    reason = never_returned(a_transfer(rail, direction, status))

    assert (reason is None) is (sentence is None)
    assert sentence is None or sentence in str(reason)


@pytest.mark.parametrize(
    ("code", "ach_type", "fits"),
    [
        ("R01", AchType.DEBIT, True),
        ("R01", AchType.CREDIT, False),
        ("R10", AchType.CREDIT, False),
        ("R10", None, False),
        ("R03", AchType.CREDIT, True),
        ("R23", AchType.CREDIT, True),
        ("R23", AchType.DEBIT, False),
    ],
)
def test_given_a_code_and_a_type_then_only_those_that_belong_together_fit(
    code: str, ach_type: AchType | None, *, fits: bool
) -> None:
    assert is_returnable_as(code, Rail.ACH, ach_type) is fits
    assert not is_returnable_as(code, Rail.CHECK, ach_type)


@pytest.mark.parametrize("rail", [Rail.ACH, Rail.INTL_WIRE, Rail.CHECK])
@pytest.mark.parametrize("direction", list(Direction))
def test_given_a_return_when_composed_then_it_is_an_event_of_the_bank_with_the_rest_of_the_object(
    rail: Rail, direction: Direction
) -> None:
    events = compose_return("prg_1", a_transfer(rail, direction, "SETTLED"), "R03", run="run_1", at=T0)
    (event,) = [msgspec.json.decode(body) for body in events.bodies]

    assert event["type"] in LISTED_TYPES
    assert event["data"]["amount"] == 100
    assert "RETURN" in event["data"]["status"].upper()
    assert events.transfer_id == "trf_1"


def test_given_a_return_that_was_dishonoured_when_returned_again_then_the_new_code_is_the_last() -> None:
    earlier = [{"return_code": "R03"}, {"return_code": "R61"}]
    transfer = a_transfer(Rail.ACH, OUTGOING, "RETURN_DISHONORED", data={"return_details": earlier})

    (body,) = compose_return("prg_1", transfer, "R10", run="run_1", at=T0).bodies

    codes = [each["return_code"] for each in msgspec.json.decode(body)["data"]["return_details"]]
    assert codes == ["R03", "R61", "R10"]
