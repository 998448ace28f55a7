"""A denied entity whose account is paid by a book transfer has an alert, though it moves no money itself."""

from typing import Any

import pytest

from clearhold.features.core.instants import DAY_US as DAY
from tests.support.alert_rows import grade_of
from tests.support.bank_events import a_book_transfer, an_account, an_entity, rfc3339
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.stories import ShardStory

DENIED = "kyc_denied_moving"


def story_of(status: str) -> ShardStory:
    """Two verified entities with an account each; a day later the bank states the second one's verification."""
    story = ShardStory(a_program()).introduce("enti_1", "enti_2")
    for account_id, owner in (("bacc_1", "enti_1"), ("bacc_2", "enti_2")):
        story.deliver("account.created", an_account(id=account_id, owners=[owner]))
    return state(story, 1, status)


def state(story: ShardStory, day: int, status: str) -> ShardStory:
    at = T0 + day * DAY
    data = an_entity(id="enti_2", created_at=None, verification_status=status, updated_at=rfc3339(at))
    return story.deliver("identity.updated", data, at=at)


def book(story: ShardStory, day: int, **over: Any) -> ShardStory:
    at = rfc3339(T0 + day * DAY)
    data = a_book_transfer(**{"id": f"book_{day}", "created_at": at, "updated_at": at} | over)
    return story.deliver("book.transfer.completed", data, at=T0 + day * DAY)


def denied(story: ShardStory) -> list[tuple[str, str, str | None]]:
    return [(each.subject_type, each.subject_id, each.transfer_id) for each in story.alerts(DENIED)]


@pytest.mark.parametrize("amount", [1, 9_000_00])
def test_given_a_denied_entity_when_a_book_transfer_pays_it_then_its_alert_goes_to_a_person(amount: int) -> None:
    story = book(story_of("DENIED"), 2, amount=amount)

    assert denied(story) == [("entity", "enti_2", "book_2")]
    assert grade_of(story.alert(DENIED)) == ("high", True)
    book(story, 3)
    assert len(denied(story)) == 1  # it joins


def test_given_an_entity_that_was_only_paid_when_it_is_denied_then_its_alert_opens_at_once() -> None:
    story = book(story_of("VERIFIED"), 2)
    assert denied(story) == []

    state(story, 3, "DENIED")

    assert [each[:2] for each in denied(story)] == [("entity", "enti_2")]
    state(story, 4, "DENIED")
    assert len(denied(story)) == 1


@pytest.mark.parametrize("status", ["VERIFIED", "PENDING", "MANUAL_REVIEW"])
def test_given_an_owner_that_is_not_denied_when_it_is_paid_then_no_alert_of_a_denied_one_opens(status: str) -> None:
    assert denied(book(story_of(status), 2)) == []


@pytest.mark.parametrize("status", ["REJECTED", "CANCELED"])
def test_given_a_book_transfer_that_never_moved_when_it_names_a_denied_owner_then_no_alert_opens(status: str) -> None:
    assert denied(book(story_of("DENIED"), 2, status=status)) == []


@pytest.mark.parametrize(("day", "opened"), [(100, 0), (50, 1)])
def test_given_a_denial_when_an_earlier_payment_comes_late_then_its_alert_opens_if_it_was_within_90_days(
    day: int, opened: int
) -> None:
    story = book(state(story_of("VERIFIED"), day, "DENIED"), 2)

    assert [each[:2] for each in denied(story)] == [("entity", "enti_2")] * opened
    assert [each[:2] for each in denied(book(story, 3))] == [("entity", "enti_2")] * opened


def test_given_one_owner_of_both_accounts_when_money_moves_between_them_then_it_has_one_alert() -> None:
    story = story_of("DENIED")
    story.deliver("account.created", an_account(id="bacc_3", owners=["enti_2"]), at=T0 + DAY)

    book(story, 2, sender_bank_account_id="bacc_3")

    assert denied(story) == [("entity", "enti_2", "book_2")]
