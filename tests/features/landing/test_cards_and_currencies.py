"""Attempts count by card, amounts in US dollars, and an answer says what it lacks; with events as the bank sends."""

import json
from typing import Any, Final

import msgspec
import pytest

from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.entries.preflight import ProposedTransfer
from clearhold.features.core.instants import DAY_US, HOUR_US, SECOND_US
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import AchType, Direction, Rail
from clearhold.features.limits.proposed import PreflightAssessment, assess_proposed
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.builders import a_program
from tests.support.clock import T0
from tests.support.few_transfers import let_few_suffice
from tests.support.stories import ShardStory

NOW: Final = 20 * DAY_US
YEN: Final = {"currency_code": "JPY", "amount": 950_000, "instructed_amount": None, "instructed_currency_code": None}


def a_story() -> ShardStory:
    """Eight clean wires of an account whose owner is known."""
    story = ShardStory(a_program())
    story.deliver("account.unfrozen", bank.an_account(id="bacc_c", owners=["enti_c"]))
    for day in range(8):
        story.wire("", "cpty_1", 40_00 + day, day * DAY_US, bank_account_id="bacc_c", entity_id=None)
    return story


def declines(story: ShardStory, cards: tuple[str | None, ...], account: str | None = "bacc_c") -> None:
    for place, card in enumerate(cards):
        at = NOW + (place - len(cards)) * 4 * 60 * SECOND_US
        story.card(account, 1_00, at, "DECLINED", "PIN_OR_CVV", card_id=card)


def question(rail: Rail = Rail.CARD, **over: Any) -> ProposedTransfer:
    usual: dict[str, Any] = {"amount_cents": "2100", "entity_id": "enti_c", "counterparty_id": "mrch_1"}
    return ProposedTransfer(**{"rail": rail, "direction": Direction.OUTGOING} | usual | over)


def asked(story: ShardStory, transfer: ProposedTransfer) -> PreflightAssessment:
    return assess_proposed(story.program, transfer, at=T0 + NOW)


@pytest.mark.parametrize("card", ["card_c", None])
def test_given_declines_on_the_only_card_when_a_purchase_is_asked_about_then_it_is_scored_as_it_lands(
    card: str | None,
) -> None:
    story = a_story()
    declines(story, (card,) * 4)

    answer = asked(story, question())
    landed = story.card("bacc_c", 21_00, NOW, card_id=card, merchant={"id": "mrch_1"})

    assert answer.assessment.vector.card_declines_1h == landed.card_declines_1h == 4
    assert "card_testing" in {reason.signal for reason in answer.score.reasons}
    row = story.scoring
    assert (answer.score.value, answer.score.n) == (row.score, row.n)


def test_given_several_cards_when_a_purchase_is_asked_about_then_attempts_are_not_measured_and_it_says_so() -> None:
    story = a_story()
    declines(story, ("card_1", "card_1", "card_2", "card_1"))

    answer = asked(story, question())

    vector = answer.assessment.vector
    assert (vector.card_declines_1h, vector.card_small_count_1h) == (None, None)
    assert vector.program_card_declines_1h == 4
    assert "card_unknown" in answer.degraded_reasons
    assert "card_testing" not in {reason.signal for reason in answer.score.reasons}


def test_given_a_voided_second_card_that_turns_out_to_be_the_first_then_it_is_the_only_card() -> None:
    story = a_story()
    second = bank.a_card_authorization(
        bank_account_id="bacc_c", entity_id=None, card_id="card_2", created_at=bank.rfc3339(T0 + NOW), updated_at=None
    )
    story.card("bacc_c", 21_00, NOW - HOUR_US, card_id="card_1")
    story.deliver("card.authorization.approved", second, at=T0 + NOW)
    several = asked(story, question())

    story.deliver("card.authorization.approved", second | {"card_id": "card_1"}, at=T0 + NOW + 1)

    assert several.assessment.vector.card_small_count_1h is None
    assert asked(story, question()).assessment.vector.card_small_count_1h == 0


def test_given_declines_on_cards_of_three_employees_then_no_card_is_tested() -> None:
    story = a_story()

    declines(story, ("card_0", "card_1", "card_2"))

    assert story.vector.card_declines_1h == 1
    assert not story.alerts("card_testing")


def test_given_declines_on_one_card_without_an_account_then_the_card_is_tested() -> None:
    story = a_story()

    declines(story, ("card_lone",) * 4, account=None)

    assert story.vector.card_declines_1h == 4
    assert story.alerts("card_testing")


def test_given_no_card_no_account_and_no_entity_then_attempts_are_not_measured_and_the_score_is_degraded() -> None:
    story = a_story()

    declines(story, (None,), account=None)

    row = story.scoring
    assert (row.vector.card_declines_1h, row.degraded) == (None, True)


def test_given_cards_when_a_snapshot_is_loaded_then_they_are_known_as_before() -> None:
    story = a_story()
    declines(story, ("card_1", "card_1"))
    loaded = ShardState.loaded(iter(list(story.state.dump())))

    answer = assess_proposed(loaded.program("prg_1"), question(), at=T0 + NOW)

    assert answer.assessment.vector.card_declines_1h == 2


def foreign(story: ShardStory, at: int, **money: Any) -> TransferFeaturesRow:
    data = bank.an_international_wire(
        bank_account_id="bacc_c", counterparty_id="cpty_jp", **YEN | money, updated_at=None
    )
    story.transfer("swift.outgoing_transfer.completed", data, at)
    return story.scoring


def test_given_yen_that_settled_in_dollars_then_the_dollars_count_and_the_row_keeps_the_yen() -> None:
    story = a_story()

    rows = [foreign(story, NOW + n, settled_amount=6_500, settled_currency_code="USD") for n in range(3)]

    vector = rows[-1].vector
    assert (vector.amount_cents, vector.velocity_24h_sum_cents) == (6_500, 19_500)
    assert (vector.structuring_count_24h, vector.typology_just_below_threshold) == (0, False)
    assert not story.alerts("structuring_pattern")
    (row,) = (row for row in story.last_rows if isinstance(row, TransferRow))
    assert (row.amount_cents, row.currency) == (950_000, "JPY")


def test_given_yen_without_an_amount_in_dollars_then_it_counts_without_amount_and_has_no_score() -> None:
    story = a_story()
    foreign(story, NOW, settled_amount=6_500, settled_currency_code="USD")

    row = foreign(story, NOW + 1, settled_amount=None, settled_currency_code=None)
    after = story.wire("", "cpty_1", 50_00, NOW + 2, bank_account_id="bacc_c", entity_id=None)

    vector = row.vector
    assert (row.score, row.band, row.degraded) == (None, "unscored", True)
    assert (vector.amount_cents, vector.typology_just_below_threshold, vector.typology_layering_hops) == (None,) * 3
    assert (vector.velocity_24h_count, vector.velocity_24h_sum_cents) == (2, 6_500)
    assert (after.velocity_24h_count, after.velocity_24h_sum_cents) == (3, 11_500)
    assert after.entity_median_cents_90d == 40_04  # of the 9 that have an amount
    assert (after.program_n_90d, after.program_transfers_90d) == (9, 10)


def test_given_an_amount_in_dollars_that_is_told_later_then_the_transfer_is_scored_with_it() -> None:
    story = a_story()
    foreign(story, NOW, id="swft_1", created_at=bank.rfc3339(T0 + NOW), settled_amount=None, settled_currency_code=None)

    row = foreign(
        story,
        NOW + HOUR_US,
        id="swft_1",
        created_at=bank.rfc3339(T0 + NOW),
        settled_amount=6_500,
        settled_currency_code="USD",
    )

    assert (row.transfer_id, row.vector.amount_cents, row.score is None) == ("swft_1", 6_500, False)


def test_given_an_alert_on_yen_then_summary_evidence_and_narrative_name_them() -> None:
    story = a_story()

    for n in range(3):
        foreign(story, NOW + n, settled_amount=950_000, settled_currency_code="USD")

    alert = next(row for row in story.rows if isinstance(row, AlertRow) and row.detector == "structuring_pattern")
    assert alert.summary.endswith("The transfer is of JPY 950,000.")
    evidence = json.loads(alert.evidence)
    assert (evidence["currency"], evidence["amountCents"]) == ("JPY", "950000")
    assert ", JPY 950,000 (USD 9,500.00) outgoing by intl_wire" in json.loads(alert.draft or "{}")["narrative"]


def test_given_another_currency_when_asked_about_then_there_is_no_score_and_the_answer_says_why() -> None:
    answer = asked(a_story(), question(Rail.WIRE, currency="EUR", counterparty_id="cpty_1"))

    assert (answer.score.value, answer.score.band.value) == (None, "unscored")
    assert answer.degraded_reasons == ("amount_not_in_usd", "entity_unverified", "program_usual_unknown")


def test_given_what_is_known_when_asked_then_the_degraded_reasons_name_what_is_not() -> None:
    story = a_story()
    wire: dict[str, Any] = {"rail": Rail.ACH, "type": AchType.CREDIT, "counterparty_id": "cpty_1"}

    def reasons(**over: Any) -> tuple[str, ...]:
        return asked(story, question(**wire | over)).degraded_reasons

    few = "program_usual_unknown"
    assert reasons(entity_id=None) == reasons(entity_id="enti_nobody") == ("entity_unknown", few)
    assert reasons() == ("entity_unverified", few)
    story.introduce("enti_c", requires_screening=True, last_screened_at=None)
    assert reasons() == ("screening_missing", few)
    assert asked(ShardStory(a_program()), question(**wire)).degraded_reasons == ("entity_unknown", "baseline_thin", few)


@pytest.mark.parametrize(("floor", "is_unknown"), [(8, False), (9, True)])
def test_given_transfers_of_earlier_days_when_asked_then_the_usual_of_the_program_is_unknown_below_the_floor(
    monkeypatch: pytest.MonkeyPatch,
    floor: int,
    is_unknown: bool,  # noqa: FBT001 - a case
) -> None:
    let_few_suffice(monkeypatch, floor)
    story = a_story()

    answer = asked(story, question(Rail.ACH, type=AchType.CREDIT, counterparty_id="cpty_1"))

    assert (answer.assessment.vector.common_signals is None) is is_unknown
    assert ("program_usual_unknown" in answer.degraded_reasons) is is_unknown
    assert "program_usual_unknown" in asked(story, question()).degraded_reasons  # no purchase was counted


def test_given_nothing_but_thin_facts_when_asked_then_the_confidence_is_that_of_the_landing() -> None:
    story = a_story()
    transfer = question(Rail.ACH, type=AchType.CREDIT, counterparty_id="cpty_1")

    answer = asked(story, transfer)
    landed = bank.an_ach_transfer(bank_account_id="bacc_c", amount=21_00, type="CREDIT", counterparty_id="cpty_1")
    story.transfer("ach.outgoing_transfer.submitted", landed, NOW)

    row = story.scoring
    assert answer.degraded_reasons == ("entity_unverified", "program_usual_unknown")
    assert (answer.score.value, answer.score.confidence) == (row.score, row.confidence)
    assert not row.degraded
    assert msgspec.json.encode(answer.score.reasons).decode() == row.reasons
