"""What a snapshot leaves out stays as it was; a name without an id means the same party landed and asked about."""

from typing import Final

import pytest

from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

SETTLED: Final = "wire.outgoing_transfer.completed"


def test_given_a_newer_snapshot_that_leaves_out_date_and_currency_then_both_stay() -> None:
    first = bank.an_international_wire(currency_code="EUR", settlement_date="2026-03-06")
    later = {name: value for name, value in first.items() if name not in ("currency_code", "settlement_date")}

    story = ShardStory().deliver("swift.outgoing_transfer.submitted", first)
    reported = story.one(TransferRow)
    story.deliver("swift.outgoing_transfer.completed", later | {"status": "COMPLETED"}, at=T0 + 9)

    kept = story.one(TransferRow)
    assert reported.effective_at is not None
    assert (kept.currency, kept.effective_at) == ("EUR", reported.effective_at)


@pytest.mark.parametrize("currency", [None, "", "usd", " USD ", "840", 840])
def test_given_no_currency_or_the_dollar_in_another_form_then_the_amount_is_in_us_cents(currency: object) -> None:
    story = ShardStory().deliver(SETTLED, bank.a_wire(currency_code=currency, amount=5_000))

    assert story.one(TransferRow).currency == "USD"
    assert story.vector.amount_cents == 5_000
    assert story.one(EventRow).path is None


UNREADABLE: Final[tuple[object, ...]] = (
    *("5\n", "EURO", "€€€", "😀" * 3, "USDC", "$", "US$", "392", " ", "U\x00D", "x" * 300),
    *(392, 978, 0, 840.5, True, ["USD"], {}),
)


@pytest.mark.parametrize("currency", UNREADABLE, ids=repr)
def test_given_a_currency_that_cannot_be_read_then_it_is_not_usd_and_the_transfer_has_no_score(
    currency: object,
) -> None:
    story = ShardStory()
    for number in range(25):
        story.deliver(SETTLED, bank.a_wire(id=f"wire_{number}", amount=10_000), at=T0 + number)
    story.deliver(SETTLED, bank.a_wire(id="wire_yen", amount=150_000_000, currency_code=currency), at=T0 + 99)

    assert (story.one(TransferRow).currency, story.one(TransferRow).amount_cents) == ("XXX", 150_000_000)
    assert (story.vector.amount_cents, story.scoring.score) == (None, None)
    assert (story.one(EventRow).result, story.one(EventRow).path) == ("applied", "data.currency_code")


@pytest.mark.parametrize("currency", UNREADABLE, ids=repr)
def test_given_a_currency_that_cannot_be_read_when_the_bank_states_us_dollars_then_those_count(
    currency: object,
) -> None:
    wire = bank.an_international_wire(amount=150_000_000, currency_code=currency, settled_amount=970_000)

    story = ShardStory().deliver("swift.outgoing_transfer.submitted", wire)

    assert story.vector.amount_cents == 970_000
    assert story.one(EventRow).path == "data.currency_code"


@pytest.mark.parametrize("settled", ["USDC", 392, None])
def test_given_a_settled_amount_in_a_currency_that_is_not_the_dollar_then_it_is_not_counted(settled: object) -> None:
    wire = bank.an_international_wire(settled_currency_code=settled, instructed_currency_code=None)

    assert ShardStory().deliver("swift.outgoing_transfer.submitted", wire).vector.amount_cents is None


def test_given_an_older_snapshot_with_a_return_then_date_and_raw_stay_those_of_the_newer() -> None:
    newer = bank.an_ach_transfer(status="SETTLED", updated_at=bank.rfc3339(T0 + 5), effective_on="2026-03-06")
    older = bank.an_ach_transfer(
        status="RETURNED",
        updated_at=bank.rfc3339(T0 + 2),
        effective_on="2026-03-01",
        return_details=[bank.a_return("R01", T0 + 2)],
    )
    story = ShardStory().deliver("ach.outgoing_transfer.settled", newer, at=T0 + 5)
    first = story.one(TransferRow)

    story.deliver("ach.outgoing_transfer.returned", older, at=T0 + 2, appended_at=T0 + 9)

    row = story.one(TransferRow)
    assert (row.return_code, row.status) == ("R01", "SETTLED")
    assert (row.effective_at, row.raw_offset) == (first.effective_at, first.offset)
    assert row.offset > row.raw_offset


@pytest.mark.parametrize("kind", ["wire.incoming_return_request.initiated", "realtime.outgoing_return_request.pending"])
def test_given_a_request_about_a_transfer_then_it_is_no_transfer(kind: str) -> None:
    story = ShardStory().deliver(kind, bank.a_wire(id="wire_2zRequested"))

    assert story.last(TransferRow) == []
    assert story.one(EventRow).result == "stored"


def test_given_a_vendor_on_file_when_a_wire_lands_with_its_name_only_then_it_is_scored_as_it_was_asked_about() -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty(id="cpty_1", name="Vendor 1"), at=T0)
    for day in range(8):
        at = T0 + day * DAY_US
        wire = bank.a_wire(id=f"wire_{day}", counterparty_id="cpty_1", created_at=bank.rfc3339(at))
        wire |= {"beneficiary_name": "Vendor 1"}
        story.deliver(SETTLED, wire | {"updated_at": None, "entity_id": "enti_1"}, at=at)
    at = T0 + 9 * DAY_US
    proposed = ProposedTransfer(
        rail=Rail.WIRE,
        direction=Direction.OUTGOING,
        amount_cents="77700",
        entity_id="enti_1",
        counterparty=ProposedCounterparty(name="vendor  1"),
    )
    asked = assess_proposed(story.program, proposed, at=at)

    landed = bank.a_wire(id="wire_9", counterparty_id=None, amount=77_700, created_at=bank.rfc3339(at))
    landed |= {
        "beneficiary_name": "Vendor 1",
        "beneficiary_account_number": None,
        "creditor_agent_routing_number": None,
    }
    story.deliver(SETTLED, landed | {"updated_at": None, "entity_id": "enti_1"}, at=at)

    assert asked.resolved.counterparty_id == "cpty_1"
    assert story.one(TransferRow).counterparty_id == "cpty_1"
    assert story.one(TransferRow).score == asked.score.value
    assert story.scoring.vector.counterparty_n == asked.assessment.vector.counterparty_n == 8


@pytest.mark.parametrize("step", ["RETURN_DISHONORED", "RETURN_CONTESTED", "RETURN_DISHONORED_FUNDS_UNLOCKED"])
def test_given_a_return_when_a_later_step_about_it_states_another_time_then_the_return_keeps_its_own(step: str) -> None:
    story, back, later = detector_story(), T0 + DAY_US, T0 + 3 * DAY_US
    data = story.debit("enti_1", "cpty_1", 100_00, 0)
    details = [{"return_code": "R10"}]
    change = {"status": "RETURNED", "return_details": details, "returned_at": bank.rfc3339(back)}
    story.deliver("ach.outgoing_transfer.returned", data | change | {"updated_at": bank.rfc3339(back)}, at=back)
    further = [*details, {"return_code": "R61" if "DISHONORED" in step else "R73"}]
    change = {"status": step, "return_details": further, "returned_at": bank.rfc3339(later)}
    story.deliver(
        f"ach.outgoing_transfer.{step.lower()}", data | change | {"updated_at": bank.rfc3339(later)}, at=later
    )

    row = story.one(TransferRow)
    assert (row.status, row.return_code, row.returned_at) == (step, "R10", back)
