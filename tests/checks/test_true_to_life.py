"""Weeks as a real feed tells them: accounts and counterparties, no entity on any transfer, habits that repeat.

Score and alert must say the same of each.
"""

import msgspec
import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import DAYS_7 as WEEK
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.vocabulary import Reason
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory, detector_story

MINUTE = HOUR // 60
START = 5 * DAY


def account_story() -> ShardStory:
    """Enough of other accounts' transfers for the program to be scored."""
    story = detector_story()
    for place in range(40):
        pays(story, f"bacc_other{place % 8}", f"cpty_other{place % 8}", 100_00 + place, place * HOUR)
    return story


def pays(story: ShardStory, account: str, party: str, cents: int, at: int) -> list[str]:
    """An outgoing wire of an account; the signals of its score."""
    story.wire(account, party, cents, at, entity_id=None, bank_account_id=account)
    return [reason.signal for reason in msgspec.json.decode(story.scoring.reasons, type=list[Reason])]


def receives(story: ShardStory, account: str, party: str, cents: int, at: int) -> None:
    story.wire(party, account, cents, at, entity_id=None, bank_account_id=account)


def own(story: ShardStory, account: str, owner: str) -> None:
    story.deliver("account.frozen", {"id": account, "owners": [owner]}, at=T0)


def test_given_a_shop_that_pays_two_suppliers_all_week_when_it_pays_70_strangers_then_it_fans_out() -> None:
    story = account_story()
    for day in range(56):
        for place in range(4):
            signals = pays(story, "bacc_shop", f"cpty_{place % 2}", 50_00 + place, START + day * DAY + place * HOUR)
            assert "fan_out" not in signals

    for place in range(70):
        signals = pays(story, "bacc_shop", f"cpty_stranger{place}", 30_00, START + 57 * DAY + place * 4 * MINUTE)

    assert (story.vector.fan_out_count_8h, story.vector.fan_out_usual_week) == (70, 2)
    assert "fan_out" in signals
    assert story.alert("fan_out").subject_id == "bacc_shop"


def test_given_a_tenant_who_pays_one_landlord_when_eight_strangers_are_paid_at_once_then_it_fans_out() -> None:
    story = account_story()
    for week in range(8):
        for place in range(3):
            pays(story, "bacc_tenant", "cpty_landlord", 200_00, START + week * WEEK + place * DAY)

    signals = [pays(story, "bacc_tenant", f"cpty_{place}", 20_00, 62 * DAY + place * 5 * MINUTE) for place in range(8)]

    assert story.vector.fan_out_usual_week == 1
    assert ["fan_out" in each for each in signals] == [False] * 4 + [True] * 4


def test_given_a_mule_who_keeps_on_when_weeks_pass_then_every_week_says_so_in_score_and_alert() -> None:
    story = account_story()
    told = []
    for week in range(8):
        at = START + week * WEEK
        receives(story, "bacc_mule", f"cpty_victim{week}", 5_000_00, at)
        told.append("rapid_in_out" in pays(story, "bacc_mule", "cpty_handler", 4_900_00, at + DAY))

    alerts = story.alerts("rapid_in_out")
    assert told == [True] * 8
    assert [alert.subject_id for alert in alerts] == ["bacc_mule"] * 8


def test_given_a_customer_of_long_standing_when_its_money_pays_known_staff_then_nothing_is_passed_on() -> None:
    story = account_story()
    told = []
    for week in range(14):
        at = START + week * WEEK
        receives(story, "bacc_employer", "cpty_customer", 9_000_00, at)
        for place in range(3):
            signals = pays(story, "bacc_employer", f"cpty_staff{place}", 2_900_00, at + HOUR + place)
        told.append("rapid_in_out" in signals)

    assert told == [True] * 9 + [False] * 5  # known from the 60th day on


def test_given_pay_days_when_the_next_is_like_them_then_neither_score_nor_alert_calls_it_a_spike() -> None:
    story = account_story()
    told = []
    for month in range(4):
        for place in range(8):
            at = START + month * 30 * DAY + place * MINUTE
            told.append("velocity_spike" in pays(story, "bacc_payroll", f"cpty_staff{place}", 1_500_00, at))
    alerts = len(story.alerts("velocity_spike"))

    for place in range(12):
        signals = pays(story, "bacc_payroll", f"cpty_staff{place % 8}", 1_500_00, 125 * DAY + place * MINUTE)

    assert any(told[:8])
    assert not any(told[8:])
    assert "velocity_spike" in signals
    assert len(story.alerts("velocity_spike")) == alerts + 1


@pytest.mark.parametrize(("days", "is_stale"), [(180, False), (181, True)])
def test_given_an_owner_without_a_score_when_it_was_screened_long_ago_then_half_a_year_is_too_long(
    days: int, *, is_stale: bool
) -> None:
    story = account_story()
    screened = bank.rfc3339(T0 + START - days * DAY)
    story.introduce("enti_1", requires_screening=True, last_screened_at=screened)
    own(story, "bacc_1", "enti_1")

    signals = pays(story, "bacc_1", "cpty_1", 10_00, START)

    assert story.vector.entity_rescreen_days == 180
    assert ("screening_stale" in signals) is is_stale


def test_given_an_owner_when_its_band_changes_then_so_does_its_cadence() -> None:
    story = account_story()
    story.introduce("enti_1", requires_screening=True, last_screened_at=bank.rfc3339(T0))
    own(story, "bacc_1", "enti_1")
    cadences = []
    for day in range(7):
        pays(story, "bacc_1", "cpty_1", 10_00, START + day * DAY)
        cadences.append(story.vector.entity_rescreen_days)
    story.introduce("enti_1", verification_status="DENIED", updated_at=bank.rfc3339(T0 + 13 * DAY))
    pays(story, "bacc_1", "cpty_1", 10_00, 14 * DAY)
    cadences.append(story.vector.entity_rescreen_days)

    assert cadences == [180, 180, 180, 180, 180, 365, 365, 180]


def test_given_the_banks_own_word_when_an_owner_pays_then_it_is_a_soft_signal() -> None:
    story = account_story()
    story.introduce("enti_1", review_reasons=["name_mismatch", "fraud_risk"])
    own(story, "bacc_1", "enti_1")

    signals = pays(story, "bacc_1", "cpty_1", 10_00, START)

    alert = story.alert("screening_stale_or_hit")
    assert "fraud_risk_flagged" in signals
    assert not story.scoring.hard
    assert (alert.subject_id, alert.severity) == ("enti_1", "medium")
