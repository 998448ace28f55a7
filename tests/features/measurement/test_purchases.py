"""Card purchases against values worked out by hand; the oracle answers each story too."""

from typing import Any

import pytest

from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.core.entries.preflight import ProposedCounterparty, ProposedTransfer
from clearhold.features.core.instants import DAY_US, DAYS_90, HOUR_US, SECOND_US
from clearhold.features.core.vocabulary import Direction, Rail
from clearhold.features.limits.proposed import assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory, oracle_story

MINUTE_US = 60 * SECOND_US
GROCER, AIRLINE = "5411", "4511"


def buy(
    story: ShardStory,
    cents: int,
    at: int,
    *,
    category: str | None = GROCER,
    merchant: str = "mrch_1",
    country: str | None = "US",
    state: str | None = None,
    entity: str = "enti_1",
    **over: Any,
) -> FeatureVector:
    """A purchase on the only card of an entity, unless another is named."""
    words = {"id": merchant, "name": merchant, "category_code": category, "country_code": country, "state": state}
    usual: dict[str, Any] = {"entity_id": entity, "card_id": f"card_{entity}", "merchant": words}
    return story.card(None, cents, at, **usual | over)


def test_given_a_purchase_when_its_words_are_read_then_the_vector_has_them() -> None:
    story = oracle_story("enti_1")

    plain = buy(story, 1_00, 0, state="tx", card_present=True, entry_mode="Key-entered")
    odd = buy(story, 1_00, 1, category="54110", state="TX", country="MX", card_present="yes", entry_mode="5")
    wire = story.wire("enti_1", "cpty_1", 1_00, 2)

    facts = [(v.card_present, v.entry_mode, v.merchant_category, v.merchant_state) for v in (plain, odd, wire)]
    assert facts == [(True, "KEY_ENTERED", GROCER, "TX"), (None,) * 4, (None,) * 4]


def test_given_purchases_in_one_category_when_another_is_used_first_then_it_is_new_after_those_of_90_days() -> None:
    story = oracle_story("enti_1")
    usual = [buy(story, 10_00, n * DAY_US) for n in range(3)]
    buy(story, 10_00, 3 * DAY_US, status="DECLINED")
    buy(story, 10_00, 3 * DAY_US + 1, entity="enti_2", category=AIRLINE)

    new = buy(story, 900_00, 4 * DAY_US, category=AIRLINE)
    again = buy(story, 900_00, 4 * DAY_US + 1, category=AIRLINE)
    unstated = buy(story, 900_00, 4 * DAY_US + 2, category=None)
    long_after = buy(story, 900_00, 4 * DAY_US + DAYS_90, category=AIRLINE)

    counts = [(v.entity_category_count_90d, v.entity_new_category_after_90d) for v in (*usual, new, again, unstated)]
    assert counts == [(0, 0), (1, None), (2, None), (0, 3), (1, None), (None, None)]
    assert long_after.entity_category_count_90d == 1


def test_given_amounts_of_a_category_when_there_are_five_then_holder_and_program_have_a_median_of_it() -> None:
    story = oracle_story("enti_1", "enti_2")
    for n, cents in enumerate((5, 1, 4, 2, 3)):
        fifth = buy(story, cents, n * DAY_US)
    for n in range(5):
        buy(story, 9, n * DAY_US + 1, entity="enti_2")
        buy(story, 7_000, n * DAY_US + 2, category=AIRLINE)

    sixth = buy(story, 100_00, 5 * DAY_US)

    assert (fifth.entity_category_median_cents_90d, fifth.program_category_median_cents_90d) == (None, None)
    assert (sixth.entity_category_median_cents_90d, sixth.program_category_median_cents_90d) == (3, 5)


def test_given_the_card_in_two_countries_when_both_are_within_a_day_then_the_minutes_between_are_told() -> None:
    story = oracle_story("enti_1")
    there: dict[str, Any] = {"card_present": True}
    buy(story, 1_00, 0, **there)
    buy(story, 1_00, 10 * MINUTE_US, country="MX", card_present=False)

    abroad = buy(story, 1_00, 59 * MINUTE_US + 1, country="MX", status="DECLINED", **there)
    home = buy(story, 1_00, 70 * MINUTE_US, **there)
    online = buy(story, 1_00, 71 * MINUTE_US, card_present=False)
    other_card = buy(story, 1_00, 72 * MINUTE_US, country="CA", card_id="card_2", **there)
    next_day = buy(story, 1_00, 2 * DAY_US, country="CA", **there)

    vectors = (abroad, home, online, other_card, next_day)
    assert [v.card_other_country_minutes_24h for v in vectors] == [59, 10, None, None, None]
    assert {v.card_other_state_minutes_24h for v in vectors} == {None}


def test_given_the_card_in_two_states_when_both_are_of_the_us_then_the_minutes_between_are_told() -> None:
    story = oracle_story("enti_1")
    there: dict[str, Any] = {"card_present": True}
    buy(story, 1_00, 0, state="TX", **there)
    buy(story, 1_00, MINUTE_US, state="OR", country="MX", **there)

    same = buy(story, 1_00, 2 * MINUTE_US, state="TX", **there)
    other = buy(story, 1_00, 20 * MINUTE_US, state="OR", **there)
    unstated = buy(story, 1_00, 21 * MINUTE_US, **there)

    assert [v.card_other_state_minutes_24h for v in (same, other, unstated)] == [None, 18, None]
    assert [v.card_other_country_minutes_24h for v in (same, other, unstated)] == [1, 19, 20]


def test_given_payments_without_the_card_when_they_are_at_several_merchants_then_each_counts_once_in_a_day() -> None:
    story = oracle_story("enti_1")
    away: dict[str, Any] = {"card_present": False}
    runs = [
        buy(story, 1_00, n * MINUTE_US, merchant=f"mrch_{merchant}", **away) for n, merchant in enumerate((1, 2, 2, 3))
    ]
    buy(story, 1_00, HOUR_US, merchant="mrch_4", card_present=True)
    buy(story, 1_00, HOUR_US, merchant="mrch_5", status="REFUNDED", **away)
    declined = buy(story, 1_00, 2 * HOUR_US, merchant="mrch_6", status="DECLINED", **away)
    after = buy(story, 1_00, DAY_US + MINUTE_US, merchant="mrch_6", **away)

    counts = [v.card_not_present_merchants_24h for v in (*runs, declined, after)]
    assert counts == [1, 2, 2, 3, 4, 3]


@pytest.mark.parametrize("late", [False, True])
def test_given_words_that_come_later_when_a_purchase_is_scored_again_then_it_does_not_count_itself(
    *, late: bool
) -> None:
    story = oracle_story("enti_1")
    for n in range(6):
        buy(story, 10 + n, n * DAY_US, category=AIRLINE if n else GROCER)
    buy(story, 500, 6 * DAY_US, id="ctxn_9", category=None, created_at=bank.rfc3339(T0 + 6 * DAY_US))
    if late:
        buy(story, 700, 7 * DAY_US, category=AIRLINE)
    data = bank.a_card_authorization(
        id="ctxn_9",
        card_id="card_enti_1",
        bank_account_id=None,
        amount=500,
        merchant={"id": "mrch_1", "name": "mrch_1", "category_code": AIRLINE, "country_code": "US"},
        created_at=bank.rfc3339(T0 + 6 * DAY_US),
        updated_at=bank.rfc3339(T0 + 8 * DAY_US),
    )

    again = story.deliver("card.transaction.settled", data, at=T0 + 8 * DAY_US).vector
    nothing_new = story.deliver("card.transaction.settled", data, at=T0 + 8 * DAY_US).last_rows
    next_one = buy(story, 1, 9 * DAY_US, category=AIRLINE)

    assert (again.entity_category_count_90d, again.entity_category_median_cents_90d) == (5, 13)
    assert not [row for row in nothing_new if type(row).__name__ == "TransferFeaturesRow"]
    assert next_one.entity_category_count_90d == 6 + late


def test_given_a_state_that_is_dumped_and_loaded_when_the_next_purchase_lands_then_it_is_measured_alike() -> None:
    story = oracle_story("enti_1")
    for n in range(6):
        buy(story, 10 + n, n * DAY_US, state="TX", card_present=True, entry_mode="chip")
    story.state = ShardState.loaded(iter([*story.state.dump()]))

    vector = buy(story, 1, 5 * DAY_US + HOUR_US, state="OR", card_present=True)

    assert (vector.entity_category_count_90d, vector.entity_category_median_cents_90d) == (6, 12)
    assert (vector.program_category_median_cents_90d, vector.card_other_state_minutes_24h) == (12, 60)


def test_given_the_words_of_a_purchase_when_it_is_asked_about_then_it_is_measured_as_it_lands() -> None:
    story = ShardStory().introduce("enti_1")
    for n in range(6):
        buy(story, 10 + n, n * HOUR_US, state="TX", card_present=True)
    merchant = ProposedCounterparty(name="mrch_9", country_code="MX")
    transfer = ProposedTransfer(
        rail=Rail.CARD,
        direction=Direction.OUTGOING,
        amount_cents="100",
        entity_id="enti_1",
        counterparty_id="mrch_9",
        counterparty=merchant,
        card_present=True,
        entry_mode="chip",
        merchant_category=AIRLINE,
    )

    asked = assess_proposed(story.program, transfer, at=T0 + DAY_US // 4).assessment.vector
    landed = buy(
        story,
        100,
        DAY_US // 4,
        category=AIRLINE,
        merchant="mrch_9",
        country="MX",
        card_present=True,
        entry_mode="chip",
    )

    differing = {name for name in asked.__struct_fields__ if getattr(asked, name) != getattr(landed, name)}
    assert differing == {"status", "card_decision_reason"}
    assert (landed.card_other_country_minutes_24h, landed.entity_new_category_after_90d) == (60, 6)
