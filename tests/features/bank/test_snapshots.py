"""Transfers told more than once: returns and the arguments about them, failures, and which snapshot wins."""

from typing import Final

import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.rows.events import EventRow, TransferRow
from tests.features.bank.transfer_objects import transfer_row
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

RETURNS: Final[dict[str, tuple[object, str | None]]] = {
    "none": ([], None),
    "one": ([bank.a_return("R10")], "R10"),
    "the last of two": ([bank.a_return("R01"), bank.a_return("R10")], "R10"),
    "dishonoured": ([bank.a_return("R10"), bank.a_return("R68")], "R10"),
    "contested": ([bank.a_return("R10"), bank.a_return("R61"), bank.a_return("R77")], "R10"),
    "an object": (bank.a_return("R03"), "R03"),
    "another name": ([{"code": "r29"}], "R29"),
    "a code that does not exist": ([bank.a_return("R99")], None),
    "a code without its zero": ([bank.a_return("R10"), bank.a_return("R1")], "R10"),
    "a code that is not in use": ([bank.a_return("R48")], "R48"),
    "a code with spaces": ([bank.a_return(" r10 ")], "R10"),
    "only a dishonour": ([bank.a_return("R68")], None),
    "no details": (None, None),
    "odd items": ([None, 7, "R01", {}, {"return_code": 3}, bank.a_return("R05")], "R05"),
    "odd details": ("R01", None),
}


@pytest.mark.parametrize("case", RETURNS)
def test_given_return_details_when_a_transfer_comes_back_then_its_code_is_the_last_that_returned_it(case: str) -> None:
    details, code = RETURNS[case]
    data = bank.an_ach_transfer(status="RETURNED", return_details=details)

    assert transfer_row("ach.outgoing_transfer.returned", data).return_code == code


@pytest.mark.parametrize(
    ("over", "at"),
    [
        ({"returned_at": bank.rfc3339(T0 - 2)}, T0 - 2),
        ({"return_details": [bank.a_return("R01", T0 - 3)]}, T0 - 3),
        ({}, T0),
    ],
)
def test_given_a_return_when_it_is_read_then_it_came_when_the_bank_says_else_with_the_event(
    over: bank.Data, at: int
) -> None:
    data = bank.an_ach_transfer(status="RETURNED", **{"return_details": [{"return_code": "R01"}], **over})

    assert transfer_row("ach.outgoing_transfer.returned", data).returned_at == at


STATUS_AFTER: Final = (
    ("RETURNED", ["R10"], 1),
    ("RETURN_DISHONORED", ["R10", "R68"], 0),
    ("RETURN_DISHONORED_FUNDS_UNLOCKED", ["R10", "R68"], 0),
    ("RETURN_DISHONORED", ["R10"], 0),
    ("RETURN_CONTESTED", ["R10", "R68", "R73"], 1),
    ("RETURN_CONTESTED", ["R10", "R68"], 1),
    ("SETTLED", ["R10", "R70"], 0),
)


@pytest.mark.parametrize(("status", "codes", "returns"), STATUS_AFTER)
def test_given_an_argued_return_when_the_next_transfer_is_scored_then_it_counts_unless_undone(
    status: str, codes: list[str], returns: int
) -> None:
    details = [bank.a_return(code) for code in codes]
    story = ShardStory()
    story.deliver(
        "ach.outgoing_transfer.returned",
        bank.an_ach_transfer(type="DEBIT", status=status, return_details=details, entity_id="enti_1"),
    )

    story.deliver("ach.outgoing_transfer.initiated", bank.an_ach_transfer(id="acht_2", entity_id="enti_1"))

    assert story.vector.entity_prior_returns == returns
    assert story.vector.entity_unauthorized_returns_60d == returns
    assert story.vector.counterparty_prior_unauthorized_returns == returns


@pytest.mark.parametrize("status", ["REJECTED", "FAILED", "DECLINED", "BLOCKED", "MANUAL_REVIEW_REJECTED"])
@pytest.mark.parametrize("later", ["CANCELED", "CANCELLED", "STOPPED", "VOIDED", "EXPIRED"])
def test_given_failed_or_canceled_transfers_when_the_next_is_scored_then_they_count_for_nothing(
    status: str, later: str
) -> None:
    story = ShardStory()
    for number, word in enumerate((status, later)):
        story.deliver(
            "wire.outgoing_transfer.rejected", bank.a_wire(id=f"wire_{number}", status=word, entity_id="enti_1")
        )

    story.deliver("wire.outgoing_transfer.completed", bank.a_wire(id="wire_9", entity_id="enti_1"))

    vector = story.vector
    assert (vector.velocity_24h_count, vector.entity_prior_transfers, vector.counterparty_first_time) == (1, 0, True)


def test_given_a_newer_snapshot_when_an_older_one_arrives_then_it_overwrites_nothing() -> None:
    newer = bank.a_wire(status="COMPLETED", amount=700, updated_at=bank.rfc3339(T0 + 10))
    story = ShardStory().deliver("wire.outgoing_transfer.completed", newer, at=T0 + 10)

    older = bank.a_wire(status="INITIATED", amount=900, updated_at=bank.rfc3339(T0 + 5))
    story.deliver("wire.outgoing_transfer.initiated", older, at=T0 + 5, appended_at=T0 + 20)

    assert story.one(EventRow).result == "stale"
    assert not story.last(TransferRow)
    assert not story.last(TransferFeaturesRow)


def test_given_no_update_times_when_events_come_out_of_order_then_the_event_times_decide() -> None:
    story = ShardStory().deliver(
        "wire.outgoing_transfer.completed", bank.a_wire(status="COMPLETED", updated_at=None), at=T0 + 10
    )

    story.deliver("wire.outgoing_transfer.submitted", bank.a_wire(status="SUBMITTED", updated_at=None), at=T0 + 5)
    stale = story.one(EventRow).result
    story.deliver("wire.outgoing_transfer.rejected", bank.a_wire(status="REJECTED", updated_at=None), at=T0 + 10)

    assert stale == "stale"
    assert story.one(TransferRow).status == "REJECTED"


def test_given_a_newer_snapshot_without_a_return_when_an_older_one_tells_of_it_then_it_is_carried_forward() -> None:
    newer = bank.an_ach_transfer(status="COMPLETED", updated_at=bank.rfc3339(T0 + 10))
    story = ShardStory().deliver("ach.outgoing_transfer.completed", newer, at=T0 + 10)

    older = bank.an_ach_transfer(
        status="RETURNED", return_details=[bank.a_return("R01", T0 + 5)], updated_at=bank.rfc3339(T0 + 5)
    )
    story.deliver("ach.outgoing_transfer.returned", older, at=T0 + 5, appended_at=T0 + 20)

    row = story.one(TransferRow)
    assert (row.status, row.return_code, row.returned_at) == ("COMPLETED", "R01", T0 + 5)
    assert story.last(TransferFeaturesRow)


def test_given_a_return_when_a_newer_snapshot_does_not_mention_it_then_it_stays() -> None:
    returned = bank.an_ach_transfer(status="RETURNED", return_details=[bank.a_return("R01")])
    story = ShardStory().deliver("ach.outgoing_transfer.returned", returned)

    newer = bank.an_ach_transfer(status="COMPLETED", updated_at=bank.rfc3339(T0 + 10))
    story.deliver("ach.outgoing_transfer.completed", newer, at=T0 + 10)

    assert story.one(TransferRow).return_code == "R01"
    assert not story.last(TransferFeaturesRow)


@pytest.mark.parametrize("number", range(1, 86))
def test_given_any_return_code_when_the_next_transfer_is_scored_then_six_of_them_are_unauthorized(number: int) -> None:
    code = f"R{number:02d}"
    returned = bank.an_ach_transfer(
        type="DEBIT", status="RETURNED", return_details=[bank.a_return(code)], entity_id="enti_1"
    )
    story = ShardStory().deliver("ach.outgoing_transfer.returned", returned)

    story.deliver("ach.outgoing_transfer.initiated", bank.an_ach_transfer(id="acht_2", entity_id="enti_1"))

    unauthorized = code in {"R05", "R07", "R10", "R11", "R29", "R51"}
    assert story.vector.entity_prior_returns == (not 61 <= number <= 77)
    assert story.vector.entity_unauthorized_returns_60d == unauthorized
    assert story.vector.program_unauthorized_return_rate_60d == float(unauthorized)
