"""The files of ``clearhold calibrate`` as a bank uses them: the card is proposed, and its report lets it into force."""

import json
from pathlib import Path
from typing import Any

import msgspec
import typer
from typer.testing import CliRunner

from api.cli.calibrate import register
from features.core.instants import DAYS_90, format_instant
from features.core.scorecards import Scorecard
from tests.support.labelled_vectors import some_labelled, written
from tests.support.running_app import RunningApp, assert_refused
from tests.support.scorecard_calls import ScorecardCalls


def calibrated(folder: Path, now: int) -> tuple[Scorecard, dict[str, Any]]:
    """The card and its report, of labels that are matured by now."""
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    rows = some_labelled(800)
    later = now - DAYS_90 - rows[-1].at
    file = written(folder, [row._replace(at=row.at + later) for row in rows])
    options = ["--out", str(folder), "--vectors", str(file), "--now", format_instant(now)]
    result = CliRunner().invoke(app, ["calibrate", *options])
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads((folder / "report.json").read_bytes())
    return msgspec.json.decode((folder / "card.json").read_bytes(), type=Scorecard), report


def test_given_a_calibrated_card_when_it_is_sent_with_its_report_then_another_person_brings_it_into_force(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any], tmp_path: Path
) -> None:
    card, report = calibrated(tmp_path, api.clock.now())
    edited = msgspec.structs.replace(card, name="Edited")
    version, other = (cards.propose(each).json()["version"] for each in (card, edited))

    kept = cards.send("POST", f"/{version}/reports", {"report": report})
    refused = cards.send("POST", f"/{other}/reports", {"report": report})
    action = cards.approve(cards.activate(version).json()["id"])

    assert kept.status_code == 201, kept.text
    assert_refused(refused, 400)
    assert action["status"] == "executed", action
    assert cards.of_program(program["id"])[0] == f"trs-v1+{version}"
