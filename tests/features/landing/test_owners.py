"""Accounts as actors, on events as the bank sends them: no transfer and no counterparty object names an entity."""

from typing import Any

import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.rows.parties import AccountRow, EntityRow, ScoreRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import PreflightAssessment, assess_proposed
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

FROZEN = "account.frozen"


def wire(story: ShardStory, number: int, at: int, **over: Any) -> TransferRow:
    data = bank.a_wire(
        id=f"wire_{number}",
        bank_account_id="bacc_1",
        amount=20_000,
        counterparty_id=f"cpty_{number % 2}",
        created_at=bank.rfc3339(at),
        updated_at=bank.rfc3339(at),
    )
    data.pop("entity_id", None)
    story.deliver("wire.outgoing_transfer.completed", data | over, at=at)
    return story.one(TransferRow)


def ask(story: ShardStory, entity_id: str | None, at: int) -> PreflightAssessment:
    proposed = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents="20000",
        entity_id=entity_id,
        counterparty_id="cpty_0",
    )
    return assess_proposed(story.program, proposed, at=at)


@pytest.fixture
def story() -> ShardStory:
    """Eight transfers on an account without an owner; its later owner was denied."""
    story = ShardStory()
    story.deliver("identity.verification.denied", {"id": "enti_1"}, at=T0)
    for number in range(8):
        wire(story, number, T0 + (number + 1) * DAY_US)
    return story


def test_given_a_history_when_the_owner_is_told_then_the_next_transfer_has_it_and_the_owners_identity(
    story: ShardStory,
) -> None:
    at = T0 + 9 * DAY_US
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1", "enti_2"]), at=at)

    row = wire(story, 8, at + HOUR_US)

    assert (row.entity_id, row.score_n) == ("enti_1", 8)
    assert story.vector.entity_prior_transfers == 8
    assert story.vector.entity_verification_status == "DENIED"
    assert not story.vector.pair_first_time


def test_given_the_owner_was_told_when_an_old_transfer_is_told_again_then_it_is_the_owners_and_not_scored(
    story: ShardStory,
) -> None:
    at = T0 + 9 * DAY_US
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1"]), at=at)
    before = len(story.all(TransferFeaturesRow))

    own = bank.rfc3339(T0 + DAY_US)
    row = wire(story, 0, at + HOUR_US, amount=20_000, created_at=own, updated_at=bank.rfc3339(at + HOUR_US))

    assert row.entity_id == "enti_1"
    assert len(story.all(TransferFeaturesRow)) == before


def test_given_a_history_when_the_owner_is_told_then_the_entity_is_scored_and_the_account_says_who_told_it(
    story: ShardStory,
) -> None:
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1"]), at=T0 + 9 * DAY_US)

    account, score = story.one(AccountRow), story.one(ScoreRow)

    assert (account.entity_id, account.owner_told_by) == ("enti_1", "bank")
    assert (score.subject_type, score.subject_id, score.n) == ("entity", "enti_1", 8)


def test_given_another_owner_later_when_transfers_land_then_only_these_are_the_new_owners(story: ShardStory) -> None:
    at = T0 + 9 * DAY_US
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1"], updated_at=bank.rfc3339(at)), at=at)
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_3"], updated_at=bank.rfc3339(at + 1_000)), at=at)

    row = wire(story, 8, at + HOUR_US)

    assert (row.entity_id, story.vector.entity_prior_transfers) == ("enti_3", 0)
    assert ask(story, "enti_1", at + 2 * HOUR_US).assessment.vector.entity_prior_transfers == 8


def test_given_an_older_word_on_the_owner_when_it_arrives_late_then_the_newer_one_stays(story: ShardStory) -> None:
    at = T0 + 9 * DAY_US
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1"], updated_at=bank.rfc3339(at)), at=at)
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_3"], updated_at=bank.rfc3339(T0)), at=at)

    assert wire(story, 8, at + HOUR_US).entity_id == "enti_1"


def test_given_an_account_without_owner_when_it_is_asked_about_then_the_answer_is_that_of_the_landing(
    story: ShardStory,
) -> None:
    at = T0 + 9 * DAY_US
    asked = ask(story, "bacc_1", at)
    nobody = ask(story, None, at)

    row = wire(story, 8, at)

    assert (asked.score.value, asked.score.n) == (row.score, row.score_n)
    assert row.score_n == 8
    assert asked.resolved.entity_id == "bacc_1"
    assert (asked.score.value, nobody.score.value) == (0, None)


def test_given_an_account_with_an_owner_when_it_is_asked_about_then_its_owner_is_meant(story: ShardStory) -> None:
    at = T0 + 9 * DAY_US
    story.deliver(FROZEN, bank.an_account(id="bacc_1", owners=["enti_1"]), at=at)

    asked = ask(story, "bacc_1", at)

    assert asked.resolved.entity_id == "enti_1"
    assert asked.assessment.vector == ask(story, "enti_1", at).assessment.vector
    assert asked.assessment.vector.entity_prior_transfers == 8


def test_given_a_history_when_the_platform_tells_the_owner_then_it_counts_like_a_word_of_the_bank(
    story: ShardStory,
) -> None:
    at = T0 + 9 * DAY_US
    said = {"id": "own_1", "accountId": "bacc_1", "entityId": "enti_7", "operator": "operator:ann", "at": at}
    story.append(EntryKind.OWNER, msgspec.json.encode(said), at=at)

    assert (story.one(AccountRow).entity_id, story.one(AccountRow).owner_told_by) == ("enti_7", "operator:ann")
    assert story.one(EntityRow).id == "enti_7"
    assert wire(story, 8, at + HOUR_US).entity_id == "enti_7"
    assert story.vector.entity_prior_transfers == 8
