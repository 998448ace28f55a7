"""What each type of bank event says by its name alone: family, rail, the way the money goes, the status after it."""

from typing import Final

import pytest

from clearhold.features.core.rows.events import EventRow, TransferRow
from tests.features.bank.transfer_objects import BUILDERS, object_of, transfer_row
from tests.support import bank_events as bank
from tests.support.stories import ShardStory

RAILS: Final = {"swift": "intl_wire"}
OUT, IN = "outgoing", "incoming"

# Event type, the way the money goes, and the status that follows from the type when the object names none. The types
# after which the status stays as it was are held by a test of their own.
STATES: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("ach.outgoing_transfer", OUT): (
        *("initiated", "manual_review", "pending_submission", "submitted", "settled", "completed", "returned"),
        *("return_dishonored", "return_contested", "canceled"),
    ),
    ("ach.incoming_transfer", IN): (
        *("scheduled", "settled", "completed", "returned", "return_dishonored", "return_contested"),
    ),
    ("wire.outgoing_transfer", OUT): ("initiated", "manual_review", "submitted", "completed", "rejected"),
    ("wire.incoming_transfer", IN): ("completed",),
    ("swift.outgoing_transfer", OUT): (
        *("initiated", "manual_review", "submitted", "completed", "pending_return", "returned"),
    ),
    ("swift.incoming_transfer", IN): ("initiated", "completed", "pending_return", "returned"),
    ("realtime.outgoing_transfer", OUT): (
        *("initiated", "manual_review", "manual_review_approved", "manual_review_rejected", "completed", "rejected"),
    ),
    ("realtime.incoming_transfer", IN): ("completed",),
    ("book.transfer", OUT): ("initiated", "completed", "canceled"),
    ("check.incoming_debit", OUT): (
        *("initiated", "issued", "pending_deposit", "settled", "pending_first_return", "first_return"),
        *("pending_reclear", "pending_second_return", "second_return", "user_initiated_return_submitted"),
        *("user_initiated_returned", "user_initiated_return_dishonored", "pending_stop", "stopped"),
        *("manual_review", "rejected"),
    ),
    ("check.outgoing_debit", IN): (
        *("initiated", "manual_review", "rejected", "pending_debit", "deposited", "settled", "returned"),
        *("pending_reclear", "recleared"),
    ),
}
EVENTS: Final = (
    *((f"{stem}.{state}", way, state.upper()) for (stem, way), states in STATES.items() for state in states),
    ("book.transfer.hold_created", OUT, "HOLD"),
    ("book.transfer.updated", OUT, "HOLD"),
    ("card.authorization.approved", OUT, "PENDING"),
    ("card.authorization.declined", OUT, "DECLINED"),
    ("card.authorization.updated", OUT, "PENDING"),
    ("card.authorization.reversed", OUT, "VOIDED"),
    ("card.authorization.expired", OUT, "EXPIRED"),
    ("card.transaction.settled", OUT, "SETTLED"),
    ("card.transaction.refunded", IN, "REFUNDED"),
)
SILENT_EVENTS: Final = (
    "ach.outgoing_transfer.noc",
    "ach.incoming_transfer.nsf",
    "swift.outgoing_transfer.tracking_updated",
    "swift.outgoing_transfer.amendment_request_received",
    "check.incoming_debit.delivery.mailed",
    "check.incoming_debit.delivery.returned_to_sender",
)
NOT_TRANSFERS: Final = (
    ("wire.incoming_return_request.approved", {"id": "wrtr_1", "amount": 5}),
    ("wire.outgoing_return_request.sent", {"id": "wrtr_1", "amount": 5}),
    ("wire.incoming_drawdown_request.received", {"id": "wddr_1", "amount": 5}),
    ("realtime.incoming_return_request.pending", {"id": "rtrr_1", "status": "pending"}),
    ("card.dispute.opened", {"id": "disp_1", "amount": 5}),
    ("check.positive_pay.exception", bank.a_check(amount=5)),
    ("check.incoming_debit_exception.created", bank.a_check(amount=5)),
    ("check.review.opened", bank.a_check(amount=5)),
    ("ach.positive_pay.alert", bank.an_ach_transfer()),
    ("ach.positive_pay_alert.opened", bank.an_ach_transfer(is_incoming=True)),
    ("ach.incoming_alert.opened", bank.an_ach_transfer(is_incoming=True)),
    ("wire.settlement.posted", bank.a_wire(is_incoming=None)),
    ("card.paused", {"id": "card_1"}),
    ("card.account.suspended", {"id": "cacc_1", "status": "SUSPENDED"}),
    ("loan.created", {"id": "loan_1", "amount": 5}),
    ("reporting.bank_account_summary.completed", {"id": "rept_1"}),
)


def test_given_the_tables_of_events_then_they_name_every_rail() -> None:
    assert {kind.split(".")[0] for kind, *_ in EVENTS} == set(BUILDERS)


@pytest.mark.parametrize(("kind", "direction", "status"), EVENTS, ids=[kind for kind, *_ in EVENTS])
def test_given_a_type_when_the_object_is_silent_then_direction_and_status_follow(
    kind: str, direction: str, status: str
) -> None:
    row = transfer_row(kind, object_of(kind, status=None))

    family = kind.split(".", maxsplit=1)[0]
    assert (row.rail, row.direction, row.status) == (RAILS.get(family, family), direction, status)


@pytest.mark.parametrize("kind", SILENT_EVENTS)
def test_given_an_event_that_changes_no_status_when_it_names_none_then_the_status_stays(kind: str) -> None:
    first = f"{kind.rsplit('.', 1 + kind.count('delivery'))[0]}.completed"
    story = ShardStory().deliver(first, object_of(first, status="settled"))

    story.deliver(kind, object_of(kind, status=None))

    assert story.one(TransferRow).status == "SETTLED"


@pytest.mark.parametrize("family", BUILDERS)
def test_given_a_status_in_any_case_when_it_is_delivered_then_it_is_shown_in_upper_case(family: str) -> None:
    kind = next(kind for kind, *_ in EVENTS if kind.startswith(family))

    for status in ("manual_Review_approved", " MANUAL_REVIEW_APPROVED ", "manual_review_approved\n"):
        assert transfer_row(kind, object_of(kind, status=status)).status == "MANUAL_REVIEW_APPROVED"


def test_given_an_unlisted_status_when_it_is_delivered_then_it_is_kept() -> None:
    assert transfer_row("wire.outgoing_transfer.completed", bank.a_wire(status="Parked")).status == "PARKED"


@pytest.mark.parametrize(("kind", "data"), NOT_TRANSFERS, ids=[kind for kind, _ in NOT_TRANSFERS])
def test_given_an_object_that_is_no_transfer_when_it_is_delivered_then_the_event_is_kept_and_nothing_else(
    kind: str, data: bank.Data
) -> None:
    story = ShardStory().deliver(kind, data)

    assert story.one(EventRow).result == "stored"
    assert len(story.last_rows) == 1


def test_given_an_unknown_resource_of_a_rail_when_its_id_and_amount_say_transfer_then_it_is_one() -> None:
    row = transfer_row("ach.settlement_notice.posted", bank.an_ach_transfer(id="acht_77", status=None))

    assert (row.id, row.rail) == ("acht_77", "ach")


@pytest.mark.parametrize("kind", ["transfer.ach.settled", "interest.payout.completed", "entity.kyc.approved", "x", ""])
def test_given_an_unknown_family_when_it_is_delivered_then_it_is_counted_as_seen(kind: str) -> None:
    story = ShardStory().deliver(kind, bank.an_ach_transfer())

    assert story.one(EventRow).result == "unknown"
    assert len(story.last_rows) == 1
