"""Alerts on a card refund that came under its purchase's id before the purchase did."""

from typing import Final

import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow, AlertTransferRow, DispositionRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.rules import RuleCondition
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision, evidence_of, results_of
from tests.support.clock import T0
from tests.support.rules import a_condition
from tests.support.rules_in_force import an_active_rule, rules_in_force
from tests.support.stories import ShardStory, detector_story

CARDS: Final = a_condition("rail", "eq", "card")
REFUNDS: Final = a_condition("direction", "eq", "incoming")
REFUND_ID: Final = f"ctxn_1:refund:{bank.rfc3339(T0 + DAY)[:-4]}Z"
REFUND, PURCHASE = 0, 1  # rows, in the order of arrival


def refunded_first(*when: RuleCondition) -> ShardStory:
    """A refund that meets a rule of the bank, under the id of a purchase that has yet to come."""
    story = detector_story().introduce("enti_1")
    rules_in_force(story, an_active_rule("cards", *when))
    times = {"created_at": bank.rfc3339(T0 + DAY), "updated_at": bank.rfc3339(T0 + DAY)}
    data = bank.a_card_authorization(status="REFUNDED", amount=30_00, **times)
    return story.deliver("card.transaction.refunded", data, at=T0 + DAY)


def purchase(story: ShardStory) -> ShardStory:
    data = bank.a_card_authorization(status="SETTLED", amount=120_00, updated_at=bank.rfc3339(T0))
    return story.deliver("card.transaction.settled", data, at=T0, appended_at=T0 + 2 * DAY)


def alert_of(story: ShardStory) -> AlertRow:
    """The alert on the refund."""
    return story.alerts("rule:cards")[0]


def cleared(story: ShardStory) -> list[bool]:
    return [story.program.clearings.is_cleared(row) for row in (REFUND, PURCHASE)]


@pytest.mark.parametrize("reloads", [False, True])
@pytest.mark.parametrize("when", [(CARDS,), (CARDS, REFUNDS)])
@pytest.mark.parametrize("decisions", [("close",), ("hold", "release"), ("escalate", "no_action")])
def test_given_an_alert_on_the_refund_when_it_is_decided_after_the_purchase_came_then_it_clears_the_refund_alone(
    decisions: tuple[str, ...], when: tuple[RuleCondition, ...], *, reloads: bool
) -> None:
    story = purchase(refunded_first(*when))
    if reloads:
        story.state = ShardState.loaded(iter(list(story.state.dump())))

    results = [
        results_of(story.submit(a_decision(alert_of(story), decision, 3 * DAY + number * HOUR)))
        for number, decision in enumerate(decisions)
    ]

    assert results == [["made"]] * len(decisions)
    assert not story.all(QuarantineRow)
    assert len(story.all(DispositionRow)) == len(decisions)
    assert cleared(story) == [True, False]
    assert evidence_of(alert_of(story))["transferIds"] == [REFUND_ID]


@pytest.mark.parametrize("decision", ["close", "hold", None])
def test_given_an_alert_on_the_refund_when_the_purchase_meets_the_rule_too_then_it_has_an_alert_for_a_person(
    decision: str | None,
) -> None:
    story = refunded_first(CARDS)
    if decision is not None:
        story.submit(a_decision(alert_of(story), decision, DAY + HOUR))

    purchase(story)

    first, second = story.alerts("rule:cards")
    assert (second.status, second.transfer_id, evidence_of(second)["amountCents"]) == ("open", "ctxn_1", "12000")
    assert [row.transfer_number for row in story.last(AlertTransferRow)] == [PURCHASE]
    before = cleared(story)
    assert results_of(story.submit(a_decision(second, "close", 3 * DAY))) == ["made"]
    assert (before, cleared(story)) == ([decision == "close", False], [decision == "close", True])
    assert evidence_of(first)["hits"] == 1
