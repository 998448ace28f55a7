"""Pay days as a real feed tells them, and what must still be caught of those who look like an employer.

Wages go to the same people again and again: what is new is what tells.
"""

import pytest

from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import AlertStatus
from tests.checks.test_true_to_life import MINUTE, account_story, pays, receives
from tests.support.alert_rows import a_decision
from tests.support.stories import ShardStory

START = 5 * DAY
RUN = 15 * DAY


def pay_run(story: ShardStory, staff: int, at: int, cents: int = 1_900_00, *, first: int = 0) -> set[str]:
    """The signals of the wages of one day; the amounts differ a little from run to run."""
    run = at // DAY % 3
    return {
        signal
        for place in range(first, first + staff)
        for signal in pays(story, "bacc_employer", f"cpty_staff{place}", cents + 17_00 * run, at + place * MINUTE)
    }


def close(story: ShardStory, detector: str, at: int) -> None:
    for alert in story.alerts(detector):
        if alert.status != AlertStatus.CLOSED:
            story.submit(a_decision(alert, "close", at))
            assert story.last(AlertRow)[-1].status == AlertStatus.CLOSED


def test_given_an_employer_when_the_same_staff_is_paid_again_then_only_the_first_run_is_a_fan() -> None:
    story = account_story()

    told = ["fan_out" in pay_run(story, 9, START + run * RUN) for run in range(5)]

    assert told == [True, False, False, False, False]
    assert len(story.alerts("fan_out")) == 1


@pytest.mark.parametrize(("hired", "is_fan"), [(2, False), (3, True)])
def test_given_an_employer_when_it_hires_then_three_new_people_on_one_day_make_a_fan(
    hired: int, *, is_fan: bool
) -> None:
    story = account_story()
    for run in range(3):
        pay_run(story, 6, START + run * RUN)

    told = pay_run(story, 6 + hired, START + 3 * RUN)

    assert ("fan_out" in told) is is_fan


def test_given_payees_who_are_known_for_less_than_two_weeks_when_they_are_paid_again_then_it_is_still_a_fan() -> None:
    story = account_story()
    for week in range(8):
        pays(story, "bacc_employer", "cpty_landlord", 100_00, START + week * 7 * DAY)
    pay_run(story, 9, START + 60 * DAY)

    assert "fan_out" in pay_run(story, 9, START + 73 * DAY)
    assert "fan_out" not in pay_run(story, 9, START + 87 * DAY)


def test_given_wages_under_a_threshold_when_they_are_paid_again_then_they_are_not_split_nor_repeated() -> None:
    story = account_story()

    told = [pay_run(story, 6, START + run * RUN, 2_750_00) for run in range(3)]

    assert [{"structuring_pattern", "repeated_amount"} & each for each in told] == [
        {"structuring_pattern", "repeated_amount"},
        set(),
        set(),
    ]


def test_given_known_staff_when_one_of_them_gets_several_shares_under_a_threshold_then_they_are_split() -> None:
    story = account_story()
    for run in range(2):
        pay_run(story, 6, START + run * RUN, 2_750_00)

    at = START + 2 * RUN
    told = [
        "structuring_pattern" in pays(story, "bacc_employer", "cpty_staff0", 2_750_00, at + n * HOUR) for n in range(4)
    ]

    assert told == [False, False, True, True]


def test_given_known_staff_when_another_amount_is_paid_under_a_threshold_then_it_is_no_wage() -> None:
    story = account_story()
    for run in range(2):
        pay_run(story, 6, START + run * RUN, 1_500_00)

    assert "structuring_pattern" in pay_run(story, 6, START + 2 * RUN, 2_750_00)


def funded_run(story: ShardStory, at: int, *, payer: str = "cpty_customer") -> set[str]:
    receives(story, "bacc_employer", payer, 9_000_00, at)
    return pay_run(story, 3, at + HOUR, 2_950_00)


@pytest.mark.parametrize("is_closed", [False, True])
def test_given_one_customer_and_one_staff_when_runs_go_on_then_they_are_one_alert_until_the_customer_is_known(
    *, is_closed: bool
) -> None:
    story = account_story()
    told = []
    for run in range(6):
        told.append("rapid_in_out" in funded_run(story, START + run * RUN))
        if is_closed:
            close(story, "rapid_in_out", START + run * RUN + DAY)

    assert told == [True] * 4 + [False] * 2  # known from the 60th day on
    assert len(story.alerts("rapid_in_out")) == 1


def test_given_a_closed_alert_when_a_new_payers_money_is_passed_on_to_the_same_people_then_another_one_opens() -> None:
    story = account_story()
    funded_run(story, START)
    close(story, "rapid_in_out", START + DAY)

    funded_run(story, START + RUN, payer="cpty_victim")

    assert [alert.status for alert in story.alerts("rapid_in_out")] == [AlertStatus.CLOSED, AlertStatus.OPEN]


def test_given_a_closed_alert_when_the_same_payers_money_goes_to_a_stranger_then_another_one_opens() -> None:
    story = account_story()
    funded_run(story, START)
    close(story, "rapid_in_out", START + DAY)

    receives(story, "bacc_employer", "cpty_customer", 9_000_00, START + RUN)
    pays(story, "bacc_employer", "cpty_stranger", 8_900_00, START + RUN + HOUR)

    assert len(story.alerts("rapid_in_out")) == 2


def test_given_a_mule_that_rested_when_new_victims_pay_and_the_old_handlers_are_paid_then_it_is_caught_again() -> None:
    story = account_story()

    def burst(at: int, names: str) -> set[str]:
        told: set[str] = set()
        for place in range(8):
            receives(story, "bacc_mule", f"cpty_{names}{place}", 1_000_00, at + place * MINUTE)
        for place in range(8):
            told |= set(pays(story, "bacc_mule", f"cpty_handler{place}", 990_00, at + 2 * HOUR + place * MINUTE))
        return told

    first, second = burst(START, "victim"), burst(START + 30 * DAY, "prey")

    assert {"fan_out", "rapid_in_out", "gather_scatter", "funnel_mule"} <= first
    assert {"rapid_in_out", "gather_scatter", "funnel_mule"} <= second
    detectors = ("rapid_in_out", "gather_scatter", "funnel_mule")
    assert [len(story.alerts(detector)) for detector in detectors] == [2, 2, 2]
