"""One counterparty id with several accounts: the first payment to a new account is flagged, and all stay on file."""

import msgspec
import pytest

from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.parties import CounterpartyRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.rescored import a_rescoring_step
from tests.support.stories import ShardStory

OLD = ("021000021", "4444")
NEW = ("026009593", "9999")


def pay(story: ShardStory, day: int, account: tuple[str, str] | None, **over: object) -> bool:
    """Land a wire on this day; return whether its account counts as changed."""
    at = T0 + day * DAY_US
    routing, last4 = account or (None, None)
    usual: bank.Data = {
        "id": f"wire_{day}",
        "status": "COMPLETED",
        "counterparty_id": "cpty_s",
        "beneficiary_name": "Supp",
        "beneficiary_account_number": last4 and f"000{last4}",
        "creditor_agent_routing_number": routing,
        "created_at": bank.rfc3339(at),
        "updated_at": bank.rfc3339(at),
    }
    story.deliver("wire.outgoing_transfer.completed", bank.a_wire(**usual | over), at=at)
    return story.vector.counterparty_account_changed


def paid(*accounts: tuple[str, str] | None) -> tuple[ShardStory, list[bool]]:
    story = ShardStory()
    return story, [pay(story, day, account) for day, account in enumerate(accounts)]


def is_changed_if_asked(story: ShardStory, day: int, account: tuple[str, str] | None) -> bool:
    routing, last4 = account or (None, None)
    proposed = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents="985000",
        counterparty_id="cpty_s",
        counterparty=ProposedCounterparty(name="Supp", routing_number=routing, account_last4=last4),
    )
    asked = assess_proposed(story.program, proposed, at=T0 + day * DAY_US)
    return asked.assessment.vector.counterparty_account_changed


def test_given_an_id_with_another_account_then_its_first_payment_is_to_a_changed_account() -> None:
    story, changed = paid(OLD, OLD, OLD, NEW, NEW)

    assert changed == [False, False, False, True, False]
    row = story.all(CounterpartyRow)[-1]
    assert (row.routing_number, row.account_last4) == NEW
    assert msgspec.json.decode(row.earlier_accounts or "") == [{"routingNumber": "021000021", "accountLast4": "4444"}]


@pytest.mark.parametrize(
    ("accounts", "changed"),
    [
        ((OLD, NEW, OLD), [False, True, False]),
        ((OLD, NEW, OLD, NEW, ("111000025", "1")), [False, True, False, False, True]),
        ((OLD, ("021000021", "9999")), [False, True]),
        ((OLD, ("026009593", "4444")), [False, True]),
        ((None, OLD), [False, False]),
        ((OLD, None), [False, False]),
        ((OLD, NEW, None), [False, True, False]),
        ((OLD, ("021-000-021", "44-44")), [False, False]),
    ],
)
def test_given_accounts_one_after_the_other_then_only_an_account_that_was_never_paid_is_a_change(
    accounts: tuple[tuple[str, str] | None, ...], changed: list[bool]
) -> None:
    story = ShardStory()
    for day, (account, expected) in enumerate(zip(accounts, changed, strict=True)):
        digits = None if account is None else (account[0].replace("-", ""), account[1].replace("-", ""))
        assert is_changed_if_asked(story, day, digits) is expected  # as its landing
        assert pay(story, day, account) is expected


def test_given_new_details_from_the_bank_then_the_first_payment_under_them_is_to_a_changed_account() -> None:
    story, _ = paid(OLD, OLD)

    update = bank.a_counterparty(id="cpty_s", routing_number=NEW[0], account_number=f"000{NEW[1]}")
    story.deliver("counterparty.updated", update, at=T0 + 2 * DAY_US)

    assert is_changed_if_asked(story, 3, None) is True
    assert pay(story, 3, None) is True
    assert pay(story, 4, None) is False


def test_given_details_that_were_never_paid_then_the_next_ones_are_no_change() -> None:
    story = ShardStory()
    for place, (routing, last4) in enumerate((OLD, NEW)):
        created = bank.a_counterparty(id="cpty_s", routing_number=routing, account_number=last4)
        story.deliver("counterparty.updated", created, at=T0 + place * HOUR_US)

    assert pay(story, 1, None) is False


def test_given_a_payment_to_a_changed_account_that_was_rejected_then_the_next_one_is_to_a_changed_account() -> None:
    story, _ = paid(OLD, OLD)

    assert pay(story, 2, NEW, status="REJECTED") is True
    assert pay(story, 3, NEW) is True
    assert pay(story, 4, NEW) is False


def test_given_an_earlier_payment_that_comes_late_then_it_is_not_after_the_change() -> None:
    story, changed = paid(OLD, OLD, None, NEW)
    assert changed[-1] is True

    at = bank.rfc3339(T0 - DAY_US)
    assert pay(story, 4, NEW, id="wire_late", created_at=at, updated_at=at) is False


def test_given_a_correction_when_the_payment_is_scored_again_then_its_account_is_still_a_changed_one() -> None:
    story, _ = paid(OLD, OLD, NEW, NEW)

    later = T0 + 5 * DAY_US
    for day, expected in ((2, True), (3, False)):
        changed = bank.a_wire(
            id=f"wire_{day}",
            status="COMPLETED",
            amount=77_00,
            counterparty_id="cpty_s",
            beneficiary_name="Supp",
            created_at=bank.rfc3339(T0 + day * DAY_US),
            updated_at=bank.rfc3339(later),
        )
        story.deliver("wire.outgoing_transfer.completed", changed, at=later)
        assert story.vector.counterparty_account_changed is expected


def test_given_a_state_that_was_stored_between_then_the_accounts_are_the_same() -> None:
    story, _ = paid(OLD, NEW)

    loaded = ShardState.loaded(iter(list(story.state.dump())))

    (party,) = (each for program in loaded.programs.values() for each in program.counterparties.all)
    (before,) = story.program.counterparties.all
    assert (party.accounts, party.routing, party.last4) == (before.accounts, *NEW)


def test_given_a_payment_by_name_to_an_earlier_account_then_it_is_the_known_counterparty() -> None:
    story, _ = paid(OLD, NEW)

    assert pay(story, 2, OLD, counterparty_id=None) is False
    assert story.vector.counterparty_n == 2


def change_of(story: ShardStory) -> int | None:
    party = story.program.counterparties.get("cpty_s")
    assert party is not None
    return story.program.scores.account_changes.newest(party.index, story.program.clearings)


@pytest.mark.parametrize("other", [{"counterparty_id": "cpty_other"}, {"counterparty_id": "cpty_third", "amount": 5}])
def test_given_a_payment_to_a_changed_account_that_was_another_partys_then_the_counterparty_has_no_change(
    other: dict[str, object],
) -> None:
    story, changed = paid(OLD, OLD, NEW)
    assert changed[-1]
    assert change_of(story) == T0 + 2 * DAY_US

    pay(story, 2, NEW, updated_at=bank.rfc3339(T0 + 3 * DAY_US), beneficiary_name="Other", **other)

    assert change_of(story) is None
    pay(story, 4, ("031201360", "7777"))
    assert change_of(story) == T0 + 4 * DAY_US


@pytest.mark.parametrize("is_changed", [True, False])
def test_given_a_rescoring_that_finds_another_account_then_the_next_tick_records_the_score_of_the_counterparty(
    *, is_changed: bool
) -> None:
    story, _ = paid(*[OLD] * 12)
    vector = msgspec.structs.replace(story.vector, counterparty_account_changed=is_changed)

    step = a_rescoring_step("wire_11", vector, value=40, n=12)
    story.append(EntryKind.BACKFILL, step, at=T0 + 11 * DAY_US + 1)
    story.tick(11 * DAY_US + HOUR_US)

    found = [reason["id"] for row in story.scores("counterparty") for reason in msgspec.json.decode(row.reasons)]
    assert ("CRS-CPY-03" in found) is is_changed
