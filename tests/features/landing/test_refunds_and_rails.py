"""One id, two transfers: a card refund under its purchase's id, and an event of another rail by mistake."""

from itertools import permutations
from typing import Any, Final

import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.events import EventRow, TransferRow
from clearhold.features.core.scorecards import points_from
from clearhold.features.landing.stored_transfer import StoredTransfer
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from clearhold.features.scorers.trs_v1.habits import OVER_OWN
from clearhold.features.shard.shard import ShardState
from clearhold.features.shard.ticks import totals_of_days
from tests.support import bank_events as bank
from tests.support.cards import changed
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

REFUNDED: Final = "card.transaction.refunded"
Told = tuple[str, bank.Data, int]


def purchase(status: str = "SETTLED", at: int = T0) -> Told:
    kind = "card.authorization.approved" if status == "PENDING" else "card.transaction.settled"
    return kind, bank.a_card_authorization(status=status, amount=120_00, updated_at=bank.rfc3339(at)), at


def refund(cents: int, created: int, updated: int | None = None, **over: Any) -> Told:
    at = created if updated is None else updated
    times = {"created_at": bank.rfc3339(created), "updated_at": bank.rfc3339(at)}
    return REFUNDED, bank.a_card_authorization(status="REFUNDED", amount=cents, **times | over), at


def applied(told: tuple[Told, ...]) -> ShardStory:
    story = ShardStory()
    for kind, data, at in told:
        story.deliver(kind, data, at=at, appended_at=T0 + 5 * DAY_US)
    return story


def newest(story: ShardStory) -> dict[str, tuple[str, int, str, int]]:
    """Direction, amount, status and own time of each transfer, by its id, as the newest rows say."""
    rows = [row for row in story.rows if isinstance(row, TransferRow)]
    return {row.id: (row.direction, row.amount_cents, row.status, row.bank_created_at) for row in rows}


FIRST, SECOND = T0 + DAY_US, T0 + 2 * DAY_US
FIRST_ID: Final = f"ctxn_1:refund:{bank.rfc3339(FIRST)[:-4]}Z"
SECOND_ID: Final = f"ctxn_1:refund:{bank.rfc3339(SECOND)[:-4]}Z"
BOUGHT: Final = ("outgoing", 120_00, "SETTLED", T0)


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_given_a_purchase_and_two_refunds_under_its_id_when_they_come_in_any_order_then_there_are_three_transfers(
    order: tuple[int, ...],
) -> None:
    told = (purchase("PENDING"), purchase(at=T0 + HOUR_US), refund(30_00, FIRST), refund(20_00, SECOND))

    story = applied(tuple(told[place] for place in order))

    assert newest(story) == {
        "ctxn_1": BOUGHT,
        FIRST_ID: ("incoming", 30_00, "REFUNDED", FIRST),
        SECOND_ID: ("incoming", 20_00, "REFUNDED", SECOND),
    }
    stored = {each: StoredTransfer.find(story.program, each) for each in ("ctxn_1", FIRST_ID, SECOND_ID)}
    assert len(story.program.transfers) == 3
    assert [each and each.record.amount for each in stored.values()] == [120_00, 30_00, 20_00]
    assert all(any(isinstance(r, TransferFeaturesRow) and r.transfer_id == each for r in story.rows) for each in stored)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_given_a_refund_that_is_corrected_when_the_snapshots_come_in_any_order_then_the_newest_one_counts(
    order: tuple[int, ...],
) -> None:
    told = (purchase(), refund(30_00, FIRST), refund(35_00, FIRST, FIRST + HOUR_US))

    story = applied(tuple(told[place] for place in order))

    assert newest(story) == {"ctxn_1": BOUGHT, FIRST_ID: ("incoming", 35_00, "REFUNDED", FIRST)}


def told_live(told: tuple[Told, ...], appended: tuple[int, ...]) -> ShardStory:
    """Each event arrives at an instant given for it, and the state is stored and loaded after each."""
    story = ShardStory()
    for (kind, data, at), appended_at in zip(told, appended, strict=True):
        story.deliver(kind, data, at=at, appended_at=appended_at)
        story.state = ShardState.loaded(iter(list(story.state.dump())))
    return story


@pytest.mark.parametrize("ahead", [1_000, HOUR_US])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_given_a_refund_that_the_banks_clock_puts_after_its_arrival_when_it_is_corrected_then_it_is_one_transfer(
    ahead: int, order: tuple[int, int]
) -> None:
    told = (refund(30_00, FIRST, FIRST - ahead), refund(35_00, FIRST, FIRST + HOUR_US))
    appended = (FIRST - ahead, FIRST + HOUR_US)

    live = told_live(told, appended)
    replayed = told_live(tuple(told[each] for each in order), tuple(appended[each] for each in order))

    assert newest(live) == {"ctxn_1": ("incoming", 35_00, "REFUNDED", FIRST - ahead)}
    assert {each: row[:3] for each, row in newest(replayed).items()} == {"ctxn_1": ("incoming", 35_00, "REFUNDED")}
    assert len(live.program.transfers) == len(replayed.program.transfers) == 1


@pytest.mark.parametrize("place", range(4))
def test_given_refunds_that_the_banks_clock_puts_after_their_arrival_when_the_purchase_comes_then_each_is_one_transfer(
    place: int,
) -> None:
    first, second, corrected = (
        (refund(30_00, FIRST, FIRST - 1_000), FIRST - 1_000),
        (refund(20_00, SECOND, SECOND - 1_000), SECOND - 1_000),
        (refund(35_00, FIRST, SECOND + HOUR_US), SECOND + HOUR_US),
    )
    events = [first, second, corrected]
    events.insert(place, (purchase(), events[place][1] if place < len(events) else SECOND + 2 * HOUR_US))
    told, appended = zip(*events, strict=True)

    story = told_live(told, appended)

    assert newest(story) == {
        "ctxn_1": BOUGHT,
        FIRST_ID: ("incoming", 35_00, "REFUNDED", FIRST - 1_000),
        SECOND_ID: ("incoming", 20_00, "REFUNDED", SECOND - 1_000),
    }
    assert len(story.program.transfers) == 3


def test_given_a_refund_under_a_purchase_when_it_is_reported_then_its_event_names_the_refund() -> None:
    story = applied((purchase(), refund(30_00, FIRST)))

    row = story.one(EventRow)
    assert (row.result, row.subject_id, row.path) == ("applied", FIRST_ID, None)
    again = story.deliver(*refund(30_00, FIRST)[:2], at=FIRST - HOUR_US).one(EventRow)
    assert (again.result, again.subject_id) == ("stale", FIRST_ID)


def test_given_a_refund_with_an_id_of_its_own_then_it_keeps_it() -> None:
    story = applied((purchase(), refund(30_00, FIRST, id="ctxn_9")))

    assert set(newest(story)) == {"ctxn_1", "ctxn_9"}


def test_given_the_purchases_own_time_and_flag_in_a_refund_then_it_is_incoming_all_the_same() -> None:
    story = applied((purchase(), refund(30_00, T0, FIRST, is_incoming=False)))

    assert newest(story) == {
        "ctxn_1": BOUGHT,
        f"ctxn_1:refund:{bank.rfc3339(T0)[:-4]}Z": ("incoming", 30_00, "REFUNDED", T0),
    }


def test_given_a_status_word_of_a_refund_under_another_type_then_it_is_a_refund() -> None:
    _, data, at = refund(30_00, FIRST)

    story = applied((purchase(), ("card.transaction.settled", data, at)))

    assert newest(story)["ctxn_1"] == BOUGHT
    assert FIRST_ID in newest(story)


def test_given_a_purchase_with_a_refund_then_its_sums_are_those_of_both_and_survive_a_reload() -> None:
    told = (refund(30_00, FIRST), purchase(), refund(20_00, SECOND))
    story = applied(told)
    story.state = ShardState.loaded(iter(list(story.state.dump())))

    story.deliver(*purchase()[:2], at=SECOND)
    kind, data, _ = purchase()
    later = data | {"id": "ctxn_2", "created_at": bank.rfc3339(SECOND + HOUR_US), "updated_at": None}
    story.deliver(kind, later, at=SECOND + HOUR_US, appended_at=T0 + 5 * DAY_US)

    actor = story.program.entity("enti_1")
    assert actor is not None
    assert actor.outgoing(0, SECOND + HOUR_US, now=True) == (2, 240_00)
    assert len(story.program.transfers) == 4


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("ach.outgoing_transfer.initiated", bank.an_ach_transfer(type="DEBIT")),
        ("book.transfer.completed", bank.a_book_transfer()),
        ("check.incoming_debit.issued", bank.a_check()),
        ("card.transaction.settled", bank.a_card_authorization()),
        ("card.transaction.refunded", bank.a_card_authorization(status="REFUNDED")),
        ("swift.outgoing_transfer.submitted", bank.an_international_wire()),
        ("wire.incoming_transfer.completed", bank.a_wire(is_incoming=True)),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_given_a_wire_when_an_event_of_another_rail_or_direction_has_its_id_then_it_cannot_be_used(
    kind: str, data: bank.Data
) -> None:
    story = ShardStory().deliver("wire.outgoing_transfer.initiated", bank.a_wire(amount=5_000, status="INITIATED"))
    before = story.program.transfers.read(0)

    later = data | {"id": "wire_1", "updated_at": bank.rfc3339(T0 + HOUR_US)}
    story.deliver(kind, later, at=T0 + HOUR_US)

    row = story.one(EventRow)
    assert (row.result, row.path, row.subject_id) == ("unusable", "data.id", "wire_1")
    assert story.last_rows == [row]
    assert (len(story.program.transfers), story.program.transfers.read(0)) == (1, before)


def test_given_an_event_of_another_rail_when_it_is_corrected_under_its_id_then_it_is_applied() -> None:
    story = ShardStory().deliver("wire.outgoing_transfer.initiated", bank.a_wire())
    wrong = bank.a_bank_entry("ach.outgoing_transfer.initiated", bank.an_ach_transfer(id="wire_1"), offset=2)
    right = bank.a_bank_entry(
        "ach.outgoing_transfer.initiated", bank.an_ach_transfer(id="acht_9"), offset=3, event_id="evnt_2"
    )

    results = [story.apply(each).one(EventRow).result for each in (wrong, right)]

    assert results == ["unusable", "applied"]
    assert story.one(EventRow).is_correction


@pytest.mark.parametrize("history", [14, 0])
def test_given_a_refund_that_its_purchase_has_scored_again_then_points_alert_and_figures_are_those_of_its_new_score(
    history: int,
) -> None:
    story = detector_story().introduce("enti_1")
    signals = [each for each in trs_v1.DEFAULT_CARD.signals if each.id != OVER_OWN.id]
    card = changed(trs_v1.DEFAULT_CARD, signals=(*signals, points_from(OVER_OWN.id, (1_000, 35))))
    story.program.scorecards.champion = compile_card(card, version="scorecard-v1")
    usual = [("card.transaction.settled", f"ctxn_u{day}", 20_00 + day, day) for day in range(1, 1 + history)]
    told = [(REFUNDED, "ctxn_1", 9_000_00, 20), *usual, ("card.transaction.settled", "ctxn_1", 20_00, 16)]
    for kind, transfer_id, cents, day in told:
        at, status = T0 + day * DAY_US, kind.rpartition(".")[2].upper()
        times = {"created_at": bank.rfc3339(at), "updated_at": bank.rfc3339(at)}
        data = bank.a_card_authorization(id=transfer_id, status=status, amount=cents, **times)
        story.deliver(kind, data, at=at, appended_at=T0 + 30 * DAY_US)

    stored, actor = StoredTransfer.read(story.program, 0), story.program.entity("enti_1")
    assert actor is not None
    score = max(stored.record.score, 0)
    assert (score >= 30) is bool(history)
    assert story.program.scores.transfers.best(actor.index)[0] == score
    refund_id = f"ctxn_1:refund:{bank.rfc3339(stored.record.at)[:-4]}Z"
    in_review = [refund_id] if history else []
    assert [alert.transfer_id for alert in story.alerts("band_review")] == in_review
    day = stored.record.at // DAY_US
    totals = totals_of_days(story.program, day, day + 1)
    assert (totals.transfers, totals.review, totals.unscored) == (1, len(in_review), 1 - len(in_review))
