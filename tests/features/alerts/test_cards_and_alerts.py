"""A card says what signals are worth, and opens or keeps closed no alert."""

from typing import Final

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.core.scorecards import CardSignal, Scorecard, points_from, points_when
from clearhold.features.scorers.cards import compile_card
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.bank_events import a_wire
from tests.support.cards import changed
from tests.support.clock import T0
from tests.support.daily_payments import WIRE, pay_daily
from tests.support.stories import ShardStory, detector_story

OTHER_COUNTRY: Final = "TRS-DEC-01"
REPEATED: Final = "TRS-AMT-04"
DETECTOR: Final = "country_outside_declared"


def with_points(signal: CardSignal) -> Scorecard:
    others = (each for each in trs_v1.DEFAULT_CARD.signals if each.id != signal.id)
    return changed(trs_v1.DEFAULT_CARD, signals=(*others, signal))


def story_under(card: Scorecard) -> ShardStory:
    """An entity pays somebody in a country that the program did not declare, scored with a card of the tenant's."""
    story = detector_story()
    story.program.scorecards.champion = compile_card(card, version="scorecard-v1")
    pay_daily(story, 6, at=T0 - 6 * DAY_US)
    data = a_wire(entity_id="enti_1", beneficiary_address={"country_code": "DE"})
    return story.deliver(WIRE, data, at=T0)


def weight_in_alert(story: ShardStory) -> list[int]:
    (alert,) = story.alerts(DETECTOR)[:1]
    signals = msgspec.json.decode(alert.evidence)["reasons"]
    return [each["weight"] for each in signals if each["id"] == OTHER_COUNTRY]


def test_given_a_card_without_a_signal_then_its_detector_opens_an_alert_all_the_same_and_no_points_are_added() -> None:
    signals = tuple(each for each in trs_v1.DEFAULT_CARD.signals if each.id != OTHER_COUNTRY)

    story = story_under(changed(trs_v1.DEFAULT_CARD, signals=signals))

    assert story.scoring.score_version == "trs-v1+scorecard-v1"
    assert OTHER_COUNTRY not in story.scoring.reasons
    assert weight_in_alert(story) == [0]


def test_given_a_card_with_other_points_then_the_alert_has_those_of_the_score() -> None:
    story = story_under(with_points(points_when(OTHER_COUNTRY, 3)))

    assert weight_in_alert(story) == [3]


def test_given_a_card_that_gives_points_below_a_detectors_line_then_no_alert_is_opened_there() -> None:
    story = story_under(with_points(points_from(REPEATED, (1, 12))))

    assert REPEATED in story.scoring.reasons
    assert story.alerts("repeated_amount") == []
