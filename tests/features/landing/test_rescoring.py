"""What a late or a corrected transfer is scored with: the facts of its own time, and never itself."""

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.shard.shard import ShardState
from tests.support.bank_events import (
    Data,
    a_counterparty,
    a_return,
    a_wire,
    an_account,
    an_ach_transfer,
    rfc3339,
)
from tests.support.clock import T0
from tests.support.stories import ShardStory

ACH = "ach.outgoing_transfer.initiated"
WIRE = "wire.outgoing_transfer.initiated"


def an_ach(number: int, at: int, **over: object) -> Data:
    usual: Data = {
        "id": f"acht_{number}",
        "type": "DEBIT",
        "entity_id": "enti_1",
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }
    return an_ach_transfer(**usual | over)


def test_given_a_transfer_when_its_amount_is_corrected_then_it_does_not_count_its_old_amount() -> None:
    story = ShardStory().deliver(ACH, an_ach(1, T0, amount=500), at=T0)

    later = T0 + HOUR_US
    story.deliver(ACH, an_ach(1, T0, amount=700, updated_at=rfc3339(later)), at=later)

    assert (story.vector.velocity_24h_count, story.vector.velocity_24h_sum_cents) == (1, 700)
    assert (story.vector.entity_count_30d, story.vector.entity_sum_cents_30d) == (0, 0)


def test_given_a_canceled_transfer_when_its_amount_is_corrected_then_it_counts_for_nothing() -> None:
    story = ShardStory().deliver(ACH, an_ach(1, T0), at=T0)
    for hours, over in ((1, {"status": "CANCELED"}), (2, {"status": "CANCELED", "amount": 700})):
        later = T0 + hours * HOUR_US
        story.deliver(ACH, an_ach(1, T0, updated_at=rfc3339(later), **over), at=later)

    assert (story.vector.moved, story.vector.amount_cents) == (False, 700)
    assert (story.vector.velocity_24h_count, story.vector.velocity_24h_sum_cents) == (0, 0)
    assert (story.vector.entity_prior_transfers, story.vector.counterparty_n) == (0, 0)


def test_given_a_transfer_when_its_counterparty_is_corrected_then_the_new_one_is_still_a_first_time() -> None:
    story = ShardStory().deliver(ACH, an_ach(1, T0), at=T0)

    later = T0 + HOUR_US
    story.deliver(ACH, an_ach(1, T0, counterparty_id="cpty_9", updated_at=rfc3339(later)), at=later)

    assert (story.vector.counterparty_first_time, story.vector.counterparty_n) == (True, 0)


def test_given_a_transfer_when_its_account_details_are_corrected_then_it_is_no_other_namesake_of_its_own() -> None:
    first: Data = {"counterparty_id": "cpty_1", "beneficiary_account_number": "000001111"}
    story = ShardStory().deliver(WIRE, a_wire(**first), at=T0)

    later = T0 + HOUR_US
    second: Data = {"counterparty_id": "cpty_2", "beneficiary_account_number": "000002222"}
    story.deliver(WIRE, a_wire(updated_at=rfc3339(later), **second), at=later)

    assert (story.vector.counterparty_first_time, story.vector.counterparty_account_changed) == (True, False)


def test_given_a_newer_snapshot_of_an_earlier_event_when_others_are_scored_then_it_follows_the_one_it_replaces() -> (
    None
):
    story = ShardStory().deliver(ACH, an_ach(1, T0, amount=100), at=T0)
    for amount, event_hours, version_hours in ((200, 10, 10), (300, 5, 11)):
        over: Data = {"amount": amount, "updated_at": rfc3339(T0 + version_hours * HOUR_US)}
        story.deliver(ACH, an_ach(1, T0, **over), at=T0 + event_hours * HOUR_US, appended_at=T0 + DAY_US)

    seen = [
        story.deliver(ACH, an_ach(number, at), at=at, appended_at=T0 + DAY_US).vector.velocity_24h_sum_cents - 12_500
        for number, at in ((2, T0 + 7 * HOUR_US), (3, T0 + 10 * HOUR_US))
    ]

    assert seen == [100, 300 + 12_500]


def test_given_a_corrected_transfer_when_the_state_is_loaded_again_then_it_still_knows_what_it_was() -> None:
    story = ShardStory().deliver(ACH, an_ach(1, T0, amount=100), at=T0)
    story.deliver(ACH, an_ach(1, T0, amount=200, updated_at=rfc3339(T0 + 1)), at=T0 + 1)
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    story.deliver(ACH, an_ach(1, T0, amount=300, updated_at=rfc3339(T0 + 2)), at=T0 + 2)

    assert (story.vector.velocity_24h_sum_cents, story.vector.entity_sum_cents_30d) == (300, 0)


def test_given_a_transfer_when_its_entity_is_corrected_then_neither_entity_counts_it() -> None:
    story = ShardStory().deliver(ACH, an_ach(1, T0), at=T0)

    later = T0 + HOUR_US
    story.deliver(ACH, an_ach(1, T0, entity_id="enti_2", updated_at=rfc3339(later)), at=later)
    corrected = story.vector
    story.deliver(ACH, an_ach(2, later, entity_id="enti_1"), at=later)

    assert (corrected.velocity_24h_count, corrected.entity_prior_transfers) == (1, 0)
    assert (story.vector.velocity_24h_count, story.vector.entity_prior_transfers) == (1, 0)


def test_given_a_canceled_predecessor_when_a_late_transfer_lands_then_dormancy_is_as_it_was_known() -> None:
    first = T0 + 2 * DAY_US
    canceled = first + 9 * DAY_US
    story = ShardStory().deliver(ACH, an_ach(1, T0), at=T0).deliver(ACH, an_ach(2, first), at=first)
    story.deliver(ACH, an_ach(2, first, status="CANCELED", updated_at=rfc3339(canceled)), at=canceled)

    late = first + 5 * DAY_US
    story.deliver(ACH, an_ach(3, late), at=late, appended_at=canceled)
    before = story.vector.typology_dormant_days
    story.deliver(ACH, an_ach(4, canceled + DAY_US), at=canceled + DAY_US)

    assert before == 5
    assert story.vector.typology_dormant_days == 12 - 7


def test_given_a_canceled_first_transfer_when_a_late_one_lands_then_the_programs_age_is_as_it_was_known() -> None:
    canceled = T0 + 20 * DAY_US
    story = ShardStory().deliver(ACH, an_ach(1, T0, amount=9_000), at=T0)
    story.deliver(ACH, an_ach(1, T0, amount=9_000, status="CANCELED", updated_at=rfc3339(canceled)), at=canceled)

    late = T0 + 10 * DAY_US
    story.deliver(ACH, an_ach(2, late), at=late, appended_at=canceled)
    before = story.vector.program_daily_avg_cents_30d
    story.deliver(ACH, an_ach(3, canceled), at=canceled)

    assert before == 900
    assert story.vector.program_daily_avg_cents_30d == 12_500 // 10


def test_given_a_returned_transfer_when_it_is_canceled_then_its_return_counts_no_more() -> None:
    returned, canceled = T0 + DAY_US, T0 + 2 * DAY_US
    details = [a_return("R10", returned)]
    story = ShardStory().deliver(ACH, an_ach(1, T0), at=T0).deliver(ACH, an_ach(2, T0), at=T0)
    over: Data = {"status": "RETURNED", "return_details": details, "updated_at": rfc3339(returned)}
    story.deliver("ach.outgoing_transfer.returned", an_ach(1, T0, **over), at=returned)
    over = {"status": "CANCELED", "return_details": details, "updated_at": rfc3339(canceled)}
    story.deliver("ach.outgoing_transfer.canceled", an_ach(1, T0, **over), at=canceled)

    before = story.deliver(ACH, an_ach(3, canceled - 1), at=canceled - 1, appended_at=canceled).vector
    after = story.deliver(ACH, an_ach(4, canceled), at=canceled).vector

    assert (before.entity_prior_returns, before.entity_unauthorized_returns_60d) == (1, 1)
    assert before.program_unauthorized_return_rate_60d == 1 / 2
    assert (after.entity_prior_returns, after.entity_unauthorized_returns_60d) == (0, 0)
    assert (after.counterparty_prior_returns, after.counterparty_prior_unauthorized_returns) == (0, 0)
    assert after.program_unauthorized_return_rate_60d == 0.0


def test_given_a_counterparty_known_by_name_when_another_name_is_delivered_then_it_is_another_counterparty() -> None:
    named: Data = {"counterparty_id": None, "receiver_name": "Sam Cole"}
    story = ShardStory().deliver(ACH, an_ach(1, T0, **named), at=T0).deliver(ACH, an_ach(2, T0, **named), at=T0)
    seen = story.vector.counterparty_n

    later = T0 + HOUR_US
    over: Data = {"counterparty_id": None, "receiver_name": "Alex Poe", "updated_at": rfc3339(later)}
    story.deliver(ACH, an_ach(2, T0, **over), at=later)

    assert seen == 1
    assert (story.vector.counterparty_first_time, story.vector.counterparty_n) == (True, 0)


def test_given_a_country_known_of_the_counterparty_when_it_is_corrected_then_the_country_is_the_new_ones() -> None:
    story = ShardStory()
    for number, country in ((1, "DE"), (2, "MX")):
        party = a_counterparty(id=f"cpty_{number}", address={"country_code": country})
        story.deliver("counterparty.created", party)
    before = story.deliver(ACH, an_ach(1, T0, counterparty_id="cpty_1"), at=T0).vector

    later = T0 + HOUR_US
    story.deliver(ACH, an_ach(1, T0, counterparty_id="cpty_2", updated_at=rfc3339(later)), at=later)

    assert (before.counterparty_country, story.vector.counterparty_country) == ("DE", "MX")


def test_given_an_accounts_owner_when_an_older_event_names_another_then_the_newer_one_stays() -> None:
    story = ShardStory().deliver("account.updated", an_account(owners=["enti_1"]), at=T0)

    story.deliver("account.updated", an_account(owners=["enti_2"]), at=T0 - DAY_US, appended_at=T0)
    stale = story.one(EventRow).result
    story.deliver(ACH, an_ach_transfer(), at=T0)

    assert stale == "stale"
    assert story.one(TransferRow).entity_id == "enti_1"


def test_given_an_account_event_without_owners_when_an_older_one_names_them_then_they_are_known() -> None:
    story = ShardStory().deliver("account.frozen", {"id": "bacc_1", "status": "frozen"}, at=T0)

    story.deliver("account.updated", an_account(owners=["enti_2"]), at=T0 - DAY_US, appended_at=T0)
    story.deliver(ACH, an_ach_transfer(), at=T0)

    assert story.one(TransferRow).entity_id == "enti_2"


def test_given_a_renamed_counterparty_when_its_former_name_comes_back_then_it_is_a_stranger_like_any_other() -> None:
    def a_named_wire(number: int, name: str, account: str, party: str | None) -> Data:
        return a_wire(
            id=f"wire_{number}", counterparty_id=party, beneficiary_name=name, beneficiary_account_number=account
        )

    story = ShardStory()
    story.deliver(WIRE, a_named_wire(1, "Borealis", "000001111", "cpty_1"))
    story.deliver(WIRE, a_named_wire(2, "Acme Supplies", "000002222", "cpty_1"))

    story.deliver(WIRE, a_named_wire(3, "Borealis", "000003333", None))

    assert story.vector.counterparty_first_time is True
    assert story.vector.counterparty_account_changed is False
