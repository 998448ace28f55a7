"""A dry run of a policy: against an oracle written from the page on policies, and its words by hand."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhold.features.core.entries.actions import AutonomyBody
from clearhold.features.policy.bodies import PolicyBody
from clearhold.features.policy.dry_run import (
    MOST_EXAMPLES,
    WHY_NOT,
    KnownPolicy,
    NotConsidered,
    OpenedAlert,
    dry_run,
    placement,
    routed_again,
)
from tests.oracle import dry_runs as oracle

DETECTORS: Final = ("amount_spike", "funnel_mule", "round_amount", "rule:large")
PROGRAMS: Final = ("prg_1", "prg_2")
VERSIONS: Final = ("policy-v1", "policy-v2", "policy-v3")
BANDS: Final = ("clear", "review", "hold", "unscored")

some_detectors = st.lists(st.sampled_from(DETECTORS[:3]), unique=True, max_size=3)


@st.composite
def bodies(draw: st.DrawFn, version: str) -> dict[str, Any]:
    reviewed = draw(some_detectors)
    return {
        "version": version,
        "autoClosableDetectors": [name for name in draw(some_detectors) if name not in reviewed],
        "autoCloseBands": draw(st.lists(st.sampled_from(BANDS[:2]), unique=True)),
        "minProgramN": draw(st.sampled_from((0, 100, 200))),
        "alwaysReviewed": reviewed,
        "twoApproverActions": [],
        "holdBandAutoHold": draw(st.booleans()),
    }


def policies(version: str) -> st.SearchStrategy[dict[str, Any]]:
    """Of the tenant, or of the first program."""
    return st.fixed_dictionaries({"body": bodies(version), "programId": st.sampled_from((None, PROGRAMS[0]))})


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The versions of a program's autonomy by log offset, oldest first."""
    offsets = sorted(draw(st.sets(st.integers(1, 9), max_size=2)))
    return [
        {
            "offset": offset,
            "version": f"autonomy-v{number}",
            "tier": draw(st.sampled_from(("supervised", "standard", "trusted"))),
            "granted": draw(some_detectors),
            "withdrawn": draw(some_detectors),
        }
        for number, offset in enumerate(offsets, 1)
    ]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Any, ...]:
    """Alerts most of which are stored as their policy routed them, and a draft."""
    known = {version: draw(policies(version)) for version in VERSIONS[: draw(st.integers(1, 3))]}
    draft = draw(policies("policy-v9"))
    autonomies = {program: draw(histories()) for program in PROGRAMS}
    programs = PROGRAMS if draft["programId"] is None else PROGRAMS[:1]
    alerts = []
    for number in range(draw(st.integers(0, 12))):
        score = draw(st.one_of(st.none(), st.integers(0, 100)))
        alert: dict[str, Any] = {
            "id": f"alert_{number}",
            "program": draw(st.sampled_from(programs)),
            "offset": draw(st.integers(0, 10)),
            "appeal": draw(st.integers(0, 9)) == 0,
            "detector": draw(st.sampled_from(DETECTORS)),
            "severity": draw(st.sampled_from(("low", "medium", "high"))),
            "hard": draw(st.booleans()),
            "subject": draw(st.sampled_from(("transfer", "program", "entity"))),
            "score": score,
            "band": "unscored" if score is None else draw(st.sampled_from(BANDS[:3])),
            "programN": draw(st.sampled_from((None, 0, 99, 100, 200))),
            "degraded": draw(st.sampled_from((False, False, False, True, None))),
        }
        version = draw(st.sampled_from(VERSIONS))
        policy = known.get(version, draft)["body"]
        before = [each for each in autonomies[alert["program"]] if each["offset"] < alert["offset"]]
        named, detectors = oracle.closable(policy, before[-1] if before else None)
        alert["policyVersion"] = named if version in known else version
        alert["stored"] = oracle.routed(alert, policy, detectors)
        if draw(st.integers(0, 9)) == 0:
            alert["stored"] = ("automated", "auto", False, "policy_allows")
        alerts.append(alert)
    return alerts, draft, known, autonomies


def an_opened(alert: dict[str, Any]) -> OpenedAlert:
    route, tier, held, reason = alert["stored"]
    return OpenedAlert(
        id=alert["id"],
        program_id=alert["program"],
        offset=alert["offset"],
        opened_at=0,
        detector=alert["detector"],
        severity=alert["severity"],
        subject_type=alert["subject"],
        hard=alert["hard"],
        is_appeal=alert["appeal"],
        is_indicators=False,
        score=alert["score"],
        band=alert["band"],
        program_n=alert["programN"],
        degraded=alert["degraded"],
        policy_version=alert["policyVersion"],
        route=route,
        route_reason=reason,
        sla_tier=tier,
        auto_hold=held,
    )


def known_policy(policy: dict[str, Any]) -> KnownPolicy:
    return KnownPolicy(msgspec.convert(policy["body"], PolicyBody), policy["programId"] is not None)


def an_autonomy(version: dict[str, Any]) -> tuple[int, AutonomyBody]:
    fields = {name: value for name, value in version.items() if name != "offset"}
    return version["offset"], msgspec.convert(fields | {"note": ""}, AutonomyBody)


@given(scenes())
def test_given_any_alerts_and_draft_then_the_dry_run_says_what_the_page_on_policies_says(scene: Any) -> None:
    alerts, draft, known, autonomies = scene
    expected, otherwise = oracle.run(alerts, draft, known, autonomies)

    totals = dry_run(
        map(an_opened, alerts),
        known_policy(draft),
        {version: known_policy(policy) for version, policy in known.items()},
        {program: [*map(an_autonomy, versions)] for program, versions in autonomies.items()},
    )

    found: dict[Any, int] = {reason.value: number for reason, number in totals.not_considered.items()}
    found |= {tuple(map(tuple, change)): number for change, number in totals.changes.items()}
    if totals.same:
        found[oracle.SAME] = totals.same
    assert found == dict(expected)
    assert [each.alert.id for each in totals.examples] == otherwise[:MOST_EXAMPLES]
    for counts in (totals.by_detector, totals.by_program):
        assert sum(number for number, _ in counts.values()) == totals.same + totals.changes.total()
        assert sum(changed for _, changed in counts.values()) == len(otherwise)


BODY: Final[dict[str, Any]] = {
    "version": "policy-v1",
    "autoClosableDetectors": ["round_amount"],
    "autoCloseBands": ["clear"],
    "minProgramN": 100,
    "alwaysReviewed": [],
    "twoApproverActions": [],
    "holdBandAutoHold": True,
}
OF_TENANT: Final = {"body": BODY, "programId": None}
ALERT: Final[dict[str, Any]] = {
    "id": "alert_1",
    "program": "prg_1",
    "offset": 5,
    "appeal": False,
    "detector": "round_amount",
    "severity": "high",
    "hard": False,
    "subject": "transfer",
    "score": 10,
    "band": "clear",
    "programN": 150,
    "degraded": False,
    "policyVersion": "policy-v1",
    "stored": ("automated", "auto", False, "policy_allows"),
}


def a_draft(**over: Any) -> KnownPolicy:
    return known_policy({"body": BODY | {"version": "policy-v2"} | over, "programId": None})


def test_given_a_higher_floor_of_history_then_an_alert_that_was_closed_alone_goes_to_a_person() -> None:
    again = routed_again(an_opened(ALERT), a_draft(minProgramN=151), {"policy-v1": known_policy(OF_TENANT)}, {})

    assert not isinstance(again, NotConsidered)
    assert placement(again.before) == ("automated", "auto", False)
    assert (placement(again.after), again.after.reason) == (("reviewed", "complex", False), "thin_history")


@pytest.mark.parametrize(
    ("over", "policy", "reason"),
    [
        ({"appeal": True}, OF_TENANT, "appeal"),
        ({}, OF_TENANT | {"programId": "prg_1"}, "own_policy"),
        ({"policyVersion": "policy-v7"}, OF_TENANT, "unknown_policy"),
        ({"policyVersion": "policy-v1.autonomy-v4"}, OF_TENANT, "unknown_policy"),
        ({"degraded": None}, OF_TENANT, "incomplete_evidence"),
        ({"severity": "dire"}, OF_TENANT, "incomplete_evidence"),
        ({"stored": ("reviewed", "complex", False, "thin_history")}, OF_TENANT, "not_reproduced"),
        ({"stored": ("automated", "auto", False, "degraded_inputs")}, OF_TENANT, "not_reproduced"),
    ],
)
def test_given_an_alert_of_which_nothing_can_be_said_then_its_reason_is_named(
    over: dict[str, Any], policy: dict[str, Any], reason: str
) -> None:
    again = routed_again(an_opened(ALERT | over), a_draft(), {"policy-v1": known_policy(policy)}, {})

    assert again == reason
    assert WHY_NOT[NotConsidered(reason)].endswith(".")


def test_given_a_program_that_a_detector_was_withdrawn_from_then_the_draft_closes_it_there_neither() -> None:
    autonomy = an_autonomy(
        {"offset": 4, "version": "autonomy-v1", "tier": "standard", "granted": [], "withdrawn": ["round_amount"]}
    )
    stored: dict[str, Any] = {"policyVersion": "policy-v1.autonomy-v1"}
    stored |= {"stored": ("reviewed", "complex", False, "detector_not_auto_closable")}
    versions = {"policy-v1": known_policy(OF_TENANT)}

    again = routed_again(an_opened(ALERT | stored), a_draft(minProgramN=0), versions, {"prg_1": [autonomy]})
    sooner = routed_again(an_opened(ALERT | stored | {"offset": 4}), a_draft(), versions, {"prg_1": [autonomy]})

    assert not isinstance(again, NotConsidered)
    assert (again.after.reason, again.is_otherwise) == ("detector_not_auto_closable", False)
    assert sooner is NotConsidered.UNKNOWN_POLICY


def test_given_more_alerts_than_examples_then_the_first_ones_are_named() -> None:
    alerts = [an_opened(ALERT | {"id": f"alert_{number}"}) for number in range(MOST_EXAMPLES + 5)]

    totals = dry_run(alerts, a_draft(autoCloseBands=[]), {"policy-v1": known_policy(OF_TENANT)}, {})

    assert [each.alert.id for each in totals.examples] == [f"alert_{number}" for number in range(MOST_EXAMPLES)]
    assert totals.changes.total() == MOST_EXAMPLES + 5
