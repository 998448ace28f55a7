"""Routing: every condition alone is enough to bring a person in, and each has its word."""

from pathlib import Path
from typing import Any

import pytest

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.instants import HOUR_US
from clearhold.features.core.vocabulary import AlertStatus, Band, Route, Severity, SlaTier
from clearhold.features.policy.bodies import ClockPolicy, PolicyBody, policy_sha256
from clearhold.features.policy.in_force import policy_in_force
from clearhold.features.policy.routing import RoutingInput, hours_us, route, tier_of
from clearhold.features.policy.seeds import CLOCK_V1, POLICY_V1, SEEDS, seeded_policies
from clearhold.features.state.program import ProgramState
from docs.pages.policies import markdown


def a_policy(**over: Any) -> PolicyBody:
    usual: dict[str, Any] = {
        "version": "policy-v9",
        "auto_closable_detectors": ("amount_spike", "rule:large"),
        "auto_close_bands": (Band.CLEAR,),
        "min_program_n": 100,
        "always_reviewed": ("funnel_mule",),
        "two_approver_actions": (),
        "hold_band_auto_hold": True,
    }
    return PolicyBody(**usual | over)


def a_question(**over: Any) -> RoutingInput:
    usual: dict[str, Any] = {
        "detector": "amount_spike",
        "severity": Severity.MEDIUM,
        "hard": False,
        "score": 15,
        "band": Band.CLEAR,
        "program_n": 100,
        "degraded": False,
    }
    return RoutingInput(**usual | over)


def test_given_nothing_against_it_then_the_policy_closes_alone() -> None:
    routed = route(a_question(), a_policy())

    assert (routed.route, routed.status, routed.sla_tier) == (Route.AUTOMATED, AlertStatus.AUTO_CLOSED, SlaTier.AUTO)
    assert (routed.reason, routed.auto_hold) == ("policy_allows", False)


@pytest.mark.parametrize(
    ("asked", "policy", "reason"),
    [
        ({"detector": "rule:large"}, {}, "rule"),
        ({"hard": True}, {}, "hard_signal"),
        ({}, {"always_reviewed": ("amount_spike",)}, "always_reviewed"),
        ({"detector": "fan_in"}, {}, "detector_not_auto_closable"),
        ({"score": None, "band": Band.UNSCORED}, {}, "unscored"),
        ({"score": None, "band": None}, {}, "unscored"),
        ({"score": 30, "band": Band.REVIEW}, {}, "band_not_auto_closable"),
        ({"score": 70, "band": Band.HOLD}, {}, "band_not_auto_closable"),
        ({"program_n": 99}, {}, "thin_history"),
        ({"program_n": None}, {}, "thin_history"),
        ({"degraded": True}, {}, "degraded_inputs"),
    ],
)
def test_given_one_thing_against_it_then_a_person_decides(
    asked: dict[str, Any], policy: dict[str, Any], reason: str
) -> None:
    routed = route(a_question(**asked), a_policy(**policy))

    assert (routed.route, routed.reason) == (Route.REVIEWED, reason)


def test_given_a_band_that_the_policy_allows_then_it_closes_there_too() -> None:
    allowed = a_policy(auto_close_bands=(Band.CLEAR, Band.REVIEW))

    assert route(a_question(score=30, band=Band.REVIEW), allowed).route is Route.AUTOMATED


@pytest.mark.parametrize(
    ("band", "auto_hold", "status"),
    [
        (Band.HOLD, True, AlertStatus.HELD),
        (Band.HOLD, False, AlertStatus.OPEN),
        (Band.REVIEW, True, AlertStatus.OPEN),
        (Band.UNSCORED, True, AlertStatus.OPEN),
        (None, True, AlertStatus.OPEN),
    ],
)
def test_given_the_hold_band_when_the_policy_holds_then_it_is_held_before_anyone_decides(
    band: Band | None, *, auto_hold: bool, status: AlertStatus
) -> None:
    routed = route(a_question(detector="fan_in", band=band), a_policy(hold_band_auto_hold=auto_hold))

    assert routed.status is status
    assert routed.auto_hold is (status is AlertStatus.HELD)


@pytest.mark.parametrize(
    ("severity", "hard", "tier"),
    [
        (Severity.LOW, False, SlaTier.STANDARD),
        (Severity.MEDIUM, False, SlaTier.STANDARD),
        (Severity.HIGH, False, SlaTier.COMPLEX),
        (Severity.LOW, True, SlaTier.STANDARD),
        (Severity.MEDIUM, True, SlaTier.STANDARD),
        (Severity.HIGH, True, SlaTier.STANDARD),
    ],
)
def test_given_a_person_decides_then_high_severity_without_a_hard_signal_alone_is_complex(
    severity: Severity, *, hard: bool, tier: SlaTier
) -> None:
    assert tier_of(severity, hard=hard) is tier
    assert route(a_question(detector="fan_in", severity=severity, hard=hard), a_policy()).sla_tier is tier


def test_given_the_clocks_then_each_tier_has_its_hours_and_fractions_count() -> None:
    clock = ClockPolicy(auto_hours=0.5, standard_hours=24, complex_hours=72, appeal_hours=36)

    assert [hours_us(clock, tier) / HOUR_US for tier in SlaTier] == [0.5, 24, 72, 36]
    assert route(a_question(), a_policy()).due_at(clock, 1_000) == 1_000 + HOUR_US // 2


def test_given_a_new_tenant_then_its_policies_are_active_and_named_after_it() -> None:
    ours, theirs = seeded_policies("ten_1", 0), seeded_policies("ten_2", 0)

    assert [policy.version for policy in ours] == [
        *("policy-v1", "clock-v1", "ladder-v1", "thresholds-v1", "kri-v1"),
        "retention-v1",
    ]
    assert all(policy.active and policy.program_id is None for policy in ours)
    assert seeded_policies("ten_1", 5)[0].id == ours[0].id
    assert not {policy.id for policy in ours} & {policy.id for policy in theirs}


def test_given_the_policy_in_force_then_its_digest_is_of_its_canonical_body() -> None:
    policies = policy_in_force(ProgramState("prg_1"), 0)

    assert (policies.policy, policies.clock) == (POLICY_V1, CLOCK_V1)
    assert policies.sha256 == digest_of(canonical(POLICY_V1))
    assert len({policy_sha256(body) for _, body in SEEDS}) == len(SEEDS)


def test_given_what_the_policy_may_close_then_none_of_it_is_always_reviewed() -> None:
    assert not set(POLICY_V1.auto_closable_detectors) & set(POLICY_V1.always_reviewed)
    assert POLICY_V1.auto_close_bands == (Band.CLEAR,)


def test_given_the_page_then_it_is_the_seeds() -> None:
    assert (Path(__file__).parents[3] / "docs" / "policies.md").read_text() == markdown()
