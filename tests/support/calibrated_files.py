"""``clearhold calibrate`` in a test, and the files that it writes."""

import json
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner, Result

from clearhold.calibrate.command import calibrate
from clearhold.features.catalogue.vector import FeatureVector
from clearhold.features.scorers.cards import compile_card, read_card
from clearhold.features.scorers.engine import CompiledCard
from tests.support.labelled_vectors import NOW, Labelled, written

OFTEN_BAD = "150"
"""The volume: of the transfers that are made up, 120 of 1,000 are bad."""

FILES = ("card.json", "report.json", "report.html")


def application() -> typer.Typer:
    app = typer.Typer()
    app.command("calibrate")(calibrate)
    app.command("other")(lambda: None)
    return app


def calibrated(folder: Path, *options: str) -> Result:
    now = () if "--now" in options else ("--now", NOW)
    volume = () if "--volume" in options else ("--volume", OFTEN_BAD)
    return CliRunner().invoke(application(), ["calibrate", "--out", str(folder / "out"), *options, *now, *volume])


def of_rows(folder: Path, rows: list[Labelled], *options: str) -> Result:
    return calibrated(folder, "--vectors", str(written(folder, rows)), *options)


def card_of(folder: Path) -> CompiledCard[FeatureVector]:
    card, faults = read_card((folder / "out" / "card.json").read_bytes())
    assert card is not None
    assert not faults
    return compile_card(card, version="scorecard-v1")


def report_of(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "out" / "report.json").read_bytes())
    return report
