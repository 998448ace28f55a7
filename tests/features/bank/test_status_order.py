"""Of two snapshots with equal times, the one with the later state of its rail is kept, in any order of arrival."""

from itertools import product
from typing import Any, Final

import pytest

from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, EntityRow
from clearhold.features.landing.stored_transfer import StoredTransfer
from tests.oracle.status_order import STEPS, UNMOVED, place
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

TYPES: Final = {
    "ach": ("ach.outgoing_transfer.updated_status", bank.an_ach_transfer),
    "wire": ("wire.outgoing_transfer.updated_status", bank.a_wire),
    "intl_wire": ("swift.outgoing_transfer.updated_status", bank.an_international_wire),
    "realtime": ("realtime.incoming_transfer.updated_status", bank.a_realtime_transfer),
    "book": ("book.transfer.updated_status", bank.a_book_transfer),
    "issued check": ("check.incoming_debit.updated_status", bank.a_check),
    "deposited check": ("check.outgoing_debit.updated_status", bank.a_check),
    "card": ("card.transaction.updated_status", bank.a_card_authorization),
}
WORDS: Final = {life: [word for step in steps for word in step] for life, steps in STEPS.items()}
PAIRS: Final = [
    (life, *pair)
    for life in TYPES
    for pair in product(WORDS[life], repeat=2)
    if "REFUNDED" not in pair  # a refund is another transfer
]


def kept(life: str, first: str, second: str) -> str:
    """The state that counts after two snapshots of one instant."""
    return second if place(life, first) <= place(life, second) else first


REVIEW: Final = "MANUAL_REVIEW MANUAL_REVIEW_APPROVED"
REFERENCE: Final = {
    "ach": f"INITIATED {REVIEW} PENDING_SUBMISSION SUBMITTED SETTLED COMPLETED CANCELED SCHEDULED PENDING_RETURN"
    " RETURNED RETURN_DISHONORED RETURN_DISHONORED_FUNDS_UNLOCKED RETURN_CONTESTED",
    "wire": "INITIATED PENDING_SUBMISSION SUBMITTED MANUAL_REVIEW COMPLETED REJECTED",
    "intl_wire": "INITIATED PENDING_SUBMISSION SUBMITTED MANUAL_REVIEW COMPLETED PENDING_RETURN RETURNED"
    " CANCELLATION_REQUESTED CANCELLATION_ACCEPTED CANCELLATION_REJECTED",
    "realtime": f"INITIATED PENDING ACCEPTED COMPLETED BLOCKED REJECTED {REVIEW} MANUAL_REVIEW_REJECTED",
    "book": "HOLD COMPLETED REJECTED CANCELED",
    "issued check": "INITIATED ISSUED PENDING_DEPOSIT SETTLED PENDING_FIRST_RETURN FIRST_RETURN PENDING_RECLEAR"
    " RECLEARED PENDING_SECOND_RETURN SECOND_RETURN USER_INITIATED_RETURN_SUBMITTED PENDING_USER_INITIATED_RETURN"
    " USER_INITIATED_RETURNED USER_INITIATED_RETURN_DISHONORED PENDING_STOP STOPPED MANUAL_REVIEW REJECTED",
    "deposited check": "INITIATED MANUAL_REVIEW REJECTED PENDING_DEPOSIT DEPOSITED SETTLED RETURNED PENDING_RECLEAR"
    " RECLEARED",
    "card": "PENDING SETTLED DECLINED VOIDED EXPIRED REFUNDED",
    "entity": "UNVERIFIED PENDING MANUAL_REVIEW VERIFIED DENIED",
    "account": "OPEN FROZEN CLOSED",
}
"""The states that the bank's reference lists."""


@pytest.mark.parametrize("life", REFERENCE)
def test_given_the_states_of_the_bank_then_each_has_a_place_in_its_order(life: str) -> None:
    assert not [state for state in REFERENCE[life].split() if not place(life, state)]


@pytest.mark.parametrize(
    ("life", "later", "earlier"),
    [
        ("ach", "RETURNED", "SETTLED"),
        ("ach", "RETURNED", "COMPLETED"),
        ("ach", "RETURN_DISHONORED", "RETURNED"),
        ("ach", "RETURN_CONTESTED", "RETURN_DISHONORED"),
        ("wire", "REJECTED", "COMPLETED"),
        ("intl_wire", "RETURNED", "PENDING_RETURN"),
        ("realtime", "BLOCKED", "ACCEPTED"),
        ("book", "CANCELED", "HOLD"),
        ("issued check", "SECOND_RETURN", "RECLEARED"),
        ("deposited check", "RETURNED", "RECLEARED"),
        ("card", "DECLINED", "PENDING"),
        ("entity", "VERIFIED", "PENDING"),
        ("entity", "DENIED", "PENDING"),
    ],
)
def test_given_two_states_of_a_life_then_the_one_that_follows_is_later(life: str, later: str, earlier: str) -> None:
    assert place(life, later) > place(life, earlier)


@pytest.mark.parametrize("life", TYPES)
def test_given_any_two_states_of_one_instant_when_they_come_in_any_order_then_the_later_state_is_kept(
    life: str,
) -> None:
    kind, build = TYPES[life]
    for _, first, second in (pair for pair in PAIRS if pair[0] == life):
        story = ShardStory()
        for state in (first, second):
            story.deliver(kind, build(status=state.lower(), completed_at=state))

        rows = [row for row in story.rows if isinstance(row, TransferRow)]
        expected = kept(life, first, second)
        assert rows[-1].status == expected, (first, second)
        stored = StoredTransfer.find(story.program, rows[-1].id)
        assert stored is not None
        assert stored.record.moved == (expected not in UNMOVED)
        assert (stored.record.raw_offset == rows[-1].offset) == (len(rows) == 2 or expected == first)
        result = story.one(EventRow).result
        assert result == (EventResult.APPLIED if expected == second else EventResult.STALE), (first, second)


@pytest.mark.parametrize(("later_update", "later_event"), [(1, 0), (0, 1)])
@pytest.mark.parametrize("life", TYPES)
def test_given_two_instants_when_the_states_go_back_then_the_newer_snapshot_counts(
    life: str, later_update: int, later_event: int
) -> None:
    kind, build = TYPES[life]
    first, last = WORDS[life][0], WORDS[life][-2]

    story = ShardStory().deliver(kind, build(status=last))
    story.deliver(kind, build(status=first, updated_at=bank.rfc3339(T0 + later_update)), at=T0 + later_event)

    assert story.one(TransferRow).status == first


@pytest.mark.parametrize("word", [None, "", "SOMETHING_NEW"])
def test_given_a_word_that_is_not_known_when_it_comes_with_a_known_one_then_the_known_one_counts(
    word: str | None,
) -> None:
    _, build = TYPES["wire"]
    for order in (("INITIATED", word), (word, "INITIATED")):
        story = ShardStory()
        for status in order:
            story.deliver("wire.outgoing_transfer.tracking_updated", build(status=status))
        stored = StoredTransfer.find(story.program, "wire_1")
        assert stored is not None
        assert stored.status() == "INITIATED", order


def test_given_a_rejected_wire_when_its_first_state_of_that_instant_comes_last_then_its_money_is_not_counted() -> None:
    story = ShardStory()
    for status in ("REJECTED", "INITIATED"):
        story.deliver("wire.outgoing_transfer.updated", bank.a_wire(status=status, amount=900_000, entity_id="enti_1"))

    story.deliver("wire.outgoing_transfer.initiated", bank.a_wire(id="wire_2", amount=100, entity_id="enti_1"), at=T0)

    assert story.vector.velocity_24h_sum_cents == 100


def test_given_a_returned_debit_when_it_settles_in_the_same_instant_then_it_stays_returned_with_its_code() -> None:
    story = ShardStory()
    details = [bank.a_return("R10")]
    for status, returns in (("RETURNED", details), ("SETTLED", [])):
        data = bank.an_ach_transfer(type="DEBIT", status=status, return_details=returns)
        story.deliver(f"ach.outgoing_transfer.{status.lower()}", data)

    row = next(row for row in reversed(story.rows) if isinstance(row, TransferRow))
    assert (row.status, row.return_code, row.raw_offset) == ("RETURNED", "R10", row.offset)


def test_given_a_dishonour_without_details_when_its_return_comes_after_it_then_the_return_does_not_count() -> None:
    story = ShardStory()
    for status, returns in (("RETURN_DISHONORED", []), ("RETURNED", [bank.a_return("R10")])):
        data = bank.an_ach_transfer(type="DEBIT", status=status, return_details=returns)
        story.deliver(f"ach.outgoing_transfer.{status.lower()}", data)

    assert story.one(TransferRow).status == "RETURN_DISHONORED"
    (returned,) = story.program.returned.values()
    assert (returned.code, returned.undone) == ("R10", True)


def deliver_party(story: ShardStory, life: str, state: str, **over: Any) -> None:
    if life == "entity":
        story.deliver("identity.verification.updated", bank.an_entity(verification_status=state, **over))
    elif life == "account":
        story.deliver("account.updated", bank.an_account(status=state, updated_at=bank.rfc3339(T0), **over))
    else:
        story.deliver(f"counterparty.{state}", bank.a_counterparty(name=state, **over))


def state_of(story: ShardStory, life: str) -> str | None:
    kinds: dict[str, type[Any]] = {"entity": EntityRow, "account": AccountRow, "counterparty": CounterpartyRow}
    row: Any = next(row for row in reversed(story.rows) if isinstance(row, kinds[life]))
    return str(getattr(row, {"entity": "verification_status", "account": "status", "counterparty": "name"}[life]))


@pytest.mark.parametrize("life", ["entity", "account", "counterparty"])
def test_given_any_two_states_of_a_party_in_one_instant_when_they_come_then_the_later_state_is_kept(life: str) -> None:
    for first, second in product(WORDS[life], repeat=2):
        story = ShardStory()
        for state in (first, second):
            deliver_party(story, life, state)

        expected = kept(life, first, second)
        assert state_of(story, life) == expected, (first, second)
        assert story.one(EventRow).result == (EventResult.APPLIED if expected == second else EventResult.STALE)


def test_given_a_party_without_a_state_in_the_same_instant_then_its_fields_are_taken_over_and_the_state_stays() -> None:
    story = ShardStory()
    deliver_party(story, "entity", "DENIED", is_high_risk=False)
    story.deliver("identity.updated", bank.an_entity(verification_status=None, is_high_risk=True))
    deliver_party(story, "entity", "PENDING")

    assert story.one(EventRow).result == EventResult.STALE
    rows = [row for row in story.rows if isinstance(row, EntityRow)]
    assert (rows[-1].verification_status, rows[-1].is_high_risk) == ("DENIED", True)


@pytest.mark.parametrize("order", [("frozen", "open"), ("open", "frozen")])
def test_given_a_frozen_account_when_two_snapshots_have_one_instant_then_owner_and_balance_are_of_the_later_state(
    order: tuple[str, str],
) -> None:
    story = ShardStory()
    story.program.kri_facts.reserve_account_id = "bacc_1"
    for status in order:
        cents = 7 if status == "frozen" else 9
        balances = {"available_amount": cents, "locked_amount": 0}
        deliver_party(story, "account", status, owners=[f"enti_{status}"], balances=balances)

    assert story.program.accounts.owner_of("bacc_1") == "enti_frozen"
    assert story.program.kri_facts.reserve_cents() == 7


def test_given_an_older_event_about_a_counterparty_when_its_update_is_as_old_then_it_is_stale() -> None:
    story = ShardStory().deliver("counterparty.updated", bank.a_counterparty(name="New"), at=T0 + 5)

    story.deliver("counterparty.updated", bank.a_counterparty(name="Old"), at=T0 + 1)

    assert story.one(EventRow).result == EventResult.STALE
    assert state_of(story, "counterparty") == "New"
