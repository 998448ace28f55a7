"""The benchmark of alerts: what is tallied of the rows that a shard emits, and the figures of it."""

from pathlib import Path

import msgspec
import pytest

from bench.alerts import HeardAlerts, Tally, figures_of
from bench.alerts import run as alerts
from bench.harness import Asked, Run
from clearhold.features.core.instants import DAY_US as DAY
from clearhold.features.core.instants import HOUR_US as HOUR
from clearhold.features.detectors.table import DETECTORS
from tests.support.alert_rows import a_decision
from tests.support.stories import detector_story


def test_given_alerts_and_their_later_versions_then_each_alert_is_told_once_by_its_detector() -> None:
    story, tally = detector_story().introduce("enti_1", verification_status="DENIED"), Tally()
    for hours in (1, 2, 3):
        story.wire("enti_1", "cpty_1", 10_00, hours * HOUR)
    story.submit(a_decision(story.alert("kyc_denied_moving"), "hold", DAY))
    heard = HeardAlerts(tally)
    for row in story.rows:
        heard(row)

    figures = {figure.name: figure for figure in figures_of(tally, 1_000)}

    assert len(heard.scored()) == 3
    assert set(figures) == {*(detector.id for detector in DETECTORS), "all detectors", "for a person"}
    assert figures["kyc_denied_moving"].value == 1.0
    assert figures["kyc_denied_moving"].note == "1 open; 3 later versions"
    assert (figures["fan_in"].value, figures["fan_in"].note) == (0.0, "none")
    assert all(figure.kept is not False for figure in figures.values())


def test_given_no_data_when_asked_for_then_it_says_so_and_is_left_out_of_a_run_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.alerts.BESIDE_THE_PROJECT", tmp_path)

    assert list(alerts(Run(Asked()))) == []
    with pytest.raises(SystemExit, match="No AMLSim transfers"):
        list(alerts(Run(msgspec.structs.replace(Asked(), by_name=True))))
