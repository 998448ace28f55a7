"""Each detector opens exactly one alert at its line and none before it; the page is the table."""

from pathlib import Path
from typing import Any, Final

import pytest

from clearhold.features.catalogue.vector import FeatureVector, TransferFeaturesRow
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.rows.events import QuarantineRow
from clearhold.features.core.vocabulary import SubjectType
from clearhold.features.detectors import finding
from clearhold.features.detectors.table import DETECTORS, SIGNALS_ONLY, TRIGGERS
from clearhold.features.scorers.signal import Family
from clearhold.features.scorers.trs_v1.scorer import SCORER
from clearhold.features.windows import prevalence
from docs.pages.detectors import markdown
from tests.checks.detector_case import ACCOUNT, COUNTERPARTY, ENTITY, DetectorCase
from tests.checks.detector_cases import CASES, a_usual
from tests.support.alert_rows import evidence_of, grade_of
from tests.support.stories import ShardStory, detector_story


def cases_about(*subjects: str) -> list[Any]:
    """The cases whose alerts are about these kinds of subject alone."""
    return [
        pytest.param(detector, case, id=f"{detector}-{name}")
        for detector, cases in CASES.items()
        for name, case in cases.items()
        if set(case.subjects) <= set(subjects)
    ]


ALL_CASES: Final = cases_about(*SubjectType)
CASES_OF_ACTORS: Final = cases_about(ENTITY, COUNTERPARTY, ACCOUNT)


@pytest.mark.parametrize(("detector", "case"), ALL_CASES)
def test_given_a_story_up_to_the_line_then_one_alert_opens_on_each_of_its_subjects(
    detector: str, case: DetectorCase
) -> None:
    story = detector_story(**case.declared)

    case.play(story, hit=True)

    opened = story.alerts(detector)
    assert tuple(alert.subject_type for alert in opened) == case.subjects
    assert {grade_of(alert) for alert in opened} == {case.gravity}
    assert not story.all(QuarantineRow)


@pytest.mark.parametrize(("detector", "case"), ALL_CASES)
def test_given_a_story_just_before_the_line_then_no_alert_opens(detector: str, case: DetectorCase) -> None:
    story = detector_story(**case.declared)

    case.play(story, hit=False)

    assert not story.alerts(detector)
    assert not story.all(QuarantineRow)


@pytest.mark.parametrize(("detector", "case"), CASES_OF_ACTORS)
def test_given_a_story_nobody_watched_when_actors_are_rescored_then_their_newest_transfers_open_its_alert_once(
    detector: str, case: DetectorCase
) -> None:
    story = detector_story(**case.declared)
    story.program.runs_detectors = False
    case.play(story, hit=True)
    story.program.runs_detectors = True
    assert not story.alerts(detector)

    story.rescore_actors()
    opened = story.alerts(detector)
    versions = len(story.all(AlertRow))
    story.rescore_actors()

    assert tuple(alert.subject_type for alert in opened) == case.subjects
    assert {grade_of(alert) for alert in opened} == {case.gravity}
    assert len(story.all(AlertRow)) == versions
    assert {alert.subject_type for alert in story.all(AlertRow)} <= {ENTITY, COUNTERPARTY, ACCOUNT}
    assert not story.all(QuarantineRow)


@pytest.mark.parametrize(("detector", "case"), ALL_CASES)
def test_given_a_story_that_was_watched_when_actors_are_rescored_then_it_opens_nothing_more(
    detector: str, case: DetectorCase
) -> None:
    story = detector_story(**case.declared)
    case.play(story, hit=True)
    versions = len(story.versions(detector))

    story.rescore_actors()

    assert len(story.versions(detector)) == versions


def test_given_the_table_then_every_detector_has_a_story_a_question_and_columns_of_the_vector() -> None:
    ids = [detector.id for detector in DETECTORS]

    assert len(set(ids)) == len(ids)
    assert set(CASES) == set(ids)
    assert all(detector.unexplained and detector.next_step for detector in DETECTORS)
    assert {column for detector in DETECTORS for column in detector.features} <= set(FeatureVector.__struct_fields__)


def test_given_the_reasons_of_the_scorer_then_each_feeds_a_detector_or_is_a_signal_only() -> None:
    silent = {signal.id for signal in SCORER.signals.values() if signal.family is Family.HISTORY}

    assert set(TRIGGERS) | set(SIGNALS_ONLY) | silent == set(SCORER.signals)
    assert not set(TRIGGERS) & set(SIGNALS_ONLY)


def test_given_the_lines_of_one_detector_on_one_kind_of_subject_then_they_share_a_window() -> None:
    for detector in DETECTORS:
        windows = {(line.subject, line.window_us) for line in detector.triggers}
        assert len({subject for subject, _ in windows}) == len(windows)


def test_given_the_page_then_it_is_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "detectors.md"

    assert page.read_text() == markdown()


def test_given_a_transfer_without_a_score_then_detectors_look_at_all_its_reasons() -> None:
    story = detector_story()
    a_usual(story)

    story.wire("enti_1", "cpty_1", 2_500_00, 0)

    alert = story.alert("first_time_counterparty_large")
    assert (alert.score_at_alert, alert.band_at_alert) == (None, "unscored")
    assert evidence_of(alert)["routeReason"] == "unscored"


def story_with_a_past() -> ShardStory:
    story = detector_story()
    for day in range(10):
        story.wire("enti_1", "cpty_90", 100_00, (day - 20) * 24 * HOUR)
    return story


@pytest.mark.parametrize(("over", "is_opened"), [(-1, False), (0, True)])
def test_given_the_programs_usual_when_a_shape_is_seen_then_an_alert_opens_from_a_score_on(
    monkeypatch: pytest.MonkeyPatch, over: int, *, is_opened: bool
) -> None:
    monkeypatch.setattr(prevalence, "FLOOR", 1)
    watched, again = (story_with_a_past() for _ in range(2))
    play = CASES["fan_in"]["entity"].play
    play(watched, hit=True)
    score = watched.all(TransferFeaturesRow)[-1].score
    assert score is not None
    monkeypatch.setattr(finding, "SHAPES_FROM", score - over)

    play(again, hit=True)

    assert bool(again.alerts("fan_in")) == is_opened


def test_given_the_third_round_trip_in_30_days_then_it_is_hard_and_a_fourth_after_them_is_not() -> None:
    story = detector_story().introduce("enti_1", "enti_2")

    gravities = []
    for day in (0, 8, 16, 60):
        story.wire("enti_1", "enti_2", 1_000_00, day * 24 * HOUR)
        story.wire("enti_2", "enti_1", 950_00, (day * 24 + 1) * HOUR)
        gravities.append([grade_of(alert) for alert in story.alerts("round_trip") if alert.subject_id == "enti_1"])

    assert gravities[-1] == [("high", False), ("high", False), ("high", True), ("high", False)]


def test_given_two_reasons_of_one_detector_on_one_entity_then_they_are_one_alert() -> None:
    story = detector_story().introduce("enti_1", person_details={"pep_status": "yes"}, review_reasons=["fraud_risk"])

    story.wire("enti_1", "cpty_1", 10_00, HOUR)

    alert = story.alert("screening_stale_or_hit")
    assert grade_of(alert) == ("medium", False)
    assert [reason["id"] for reason in evidence_of(alert)["reasons"]] == ["TRS-SCR-07", "TRS-SCR-01"]


def test_given_an_undeclared_rail_three_times_then_each_transfer_has_an_alert_and_the_program_one_a_day() -> None:
    story = detector_story(declared_rails=("ach",))

    for hours in (0, 1, 25):
        story.wire("enti_1", "cpty_1", 10_00, hours * HOUR)

    subjects = [alert.subject_type for alert in story.alerts("rail_outside_declared")]
    assert subjects == ["transfer", "program", "transfer", "transfer", "program"]
