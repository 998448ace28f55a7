"""Policies that change in the middle: alerts, decisions and scores have the version of their time, also in a replay."""

from typing import Final

import msgspec
from msgspec.structs import replace

from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.rows.alerts import DispositionRow, PolicyRow
from clearhold.features.policy.bodies import policy_sha256
from clearhold.features.policy.seeds import CLOCK_V1, LADDER_V1, POLICY_V1, THRESHOLDS_V1
from clearhold.features.shard.shard import ShardState
from tests.support import bank_events as bank
from tests.support.alert_rows import a_decision
from tests.support.clock import T0
from tests.support.policies import in_force_at
from tests.support.programs import NOON, warmed_program
from tests.support.stories import ShardStory, detector_story

DENIED: Final = "kyc_denied_moving"
POLICY_V2: Final = replace(POLICY_V1, version="policy-v2", min_program_n=1_000)
CLOCK_V2: Final = replace(CLOCK_V1, standard_hours=5)


def changed_in_the_middle() -> ShardStory:
    """An alert before policies and clocks change, and one after."""
    story = detector_story().introduce("enti_1", "enti_2", verification_status="DENIED")
    story.wire("enti_1", "cpty_1", 10_00, HOUR_US)
    in_force_at(story, "policy-v2", POLICY_V2, 2 * HOUR_US)
    in_force_at(story, "clock-v2", CLOCK_V2, 2 * HOUR_US)
    story.wire("enti_2", "cpty_1", 10_00, 2 * HOUR_US)
    story.submit(a_decision(story.alerts(DENIED)[0], "close", 3 * HOUR_US))
    return story


def test_given_a_policy_that_changes_then_each_alert_and_decision_has_the_version_of_its_time() -> None:
    story = changed_in_the_middle()

    before, after = story.alerts(DENIED)
    (decision,) = story.all(DispositionRow)
    assert (before.policy_version, before.due_at) == ("policy-v1", T0 + HOUR_US + 24 * HOUR_US)
    assert (after.policy_version, after.due_at) == ("policy-v2", T0 + 2 * HOUR_US + 5 * HOUR_US)
    assert (decision.policy_version, decision.policy_sha256) == ("policy-v2", policy_sha256(POLICY_V2))
    assert {row.sha256 for row in story.all(PolicyRow)} >= {policy_sha256(POLICY_V2)}


def test_given_policies_that_change_when_the_log_is_replayed_over_a_dump_then_rows_and_state_are_the_same() -> None:
    story = changed_in_the_middle()
    state, rows = ShardState(0), list[msgspec.Struct]()

    for entry in story.entries:
        state.apply(entry, rows.append)
        state = ShardState.loaded(iter(list(state.dump())))

    assert rows == story.rows
    assert list(state.dump()) == list(story.state.dump())


def test_given_a_higher_floor_of_history_when_in_force_then_the_policy_closes_nothing_more() -> None:
    story = warmed_program()
    in_force_at(story, "policy-v2", POLICY_V2, NOON)

    for place in range(6):
        story.wire("enti_1", "cpty_1", 250_00, NOON + place * HOUR_US)

    alert = story.alert("repeated_amount")
    assert (alert.status, alert.policy_version) == ("open", "policy-v2")


def test_given_a_ladder_that_changes_then_the_cadence_of_screening_changes_at_its_instant() -> None:
    story = detector_story().introduce("enti_1", requires_screening=True)
    days = replace(LADDER_V1.rescreen_days, unscored=10)
    in_force_at(story, "ladder-v2", replace(LADDER_V1, rescreen_days=days), DAY_US)

    told = [story.wire("enti_1", "cpty_1", 10_00, at) for at in (DAY_US, DAY_US + 1, DAY_US - 1)]

    assert [(v.entity_rescreen_days, v.ladder_version) for v in told] == [
        (10, "ladder-v2"),
        (10, "ladder-v2"),
        (180, "ladder-v1"),
    ]


def test_given_a_threshold_that_comes_into_force_then_the_seven_days_before_it_count() -> None:
    story = detector_story().introduce("enti_1")
    for day in (0, 1, 5, 6):
        story.wire("enti_1", "cpty_1", 450_00, day * DAY_US)
    in_force_at(story, "thresholds-v2", replace(THRESHOLDS_V1, structuring_thresholds_cents=("50000",)), 7 * DAY_US)

    at_once = story.wire("enti_1", "cpty_1", 450_00, 7 * DAY_US)
    late = story.wire("enti_1", "cpty_1", 450_00, 6 * DAY_US + 1)

    assert (at_once.structuring_window_count, at_once.thresholds_version) == (4, "thresholds-v2")
    assert (late.structuring_window_count, late.thresholds_version) == (0, "thresholds-v1")


def test_given_a_clock_set_back_when_a_threshold_comes_into_force_then_it_counts_from_the_one_before_on() -> None:
    story = detector_story()
    in_force_at(story, "thresholds-v2", replace(THRESHOLDS_V1, structuring_thresholds_cents=("60000",)), 2 * HOUR_US)
    in_force_at(story, "thresholds-v3", replace(THRESHOLDS_V1, structuring_thresholds_cents=("50000",)), HOUR_US)

    story.wire("enti_1", "cpty_1", 499_00, 3 * HOUR_US)
    second = story.wire("enti_1", "cpty_1", 499_00, 4 * HOUR_US)

    assert (second.structuring_window_count, second.thresholds_version) == (2, "thresholds-v3")


def test_given_a_country_that_a_list_gains_then_transfers_from_then_on_are_on_it() -> None:
    story = detector_story(declared_countries=("US", "PT")).introduce("enti_1")
    monitored = replace(THRESHOLDS_V1.increased_monitoring, countries=("PT",))
    party = bank.a_counterparty(id="cpty_pt", address={"country_code": "PT"})
    story.deliver("counterparty.created", party)
    before = story.wire("enti_1", "cpty_pt", 10_00, HOUR_US)
    in_force_at(story, "thresholds-v2", replace(THRESHOLDS_V1, increased_monitoring=monitored), 2 * HOUR_US)
    after = story.wire("enti_1", "cpty_pt", 10_00, 2 * HOUR_US)

    assert (before.counterparty_country_lists, after.counterparty_country_lists) == ("", "increased_monitoring")
    assert [row.subject_id for row in story.alerts("high_risk_geography")] == [story.scoring.transfer_id]
