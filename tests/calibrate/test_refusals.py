"""``clearhold calibrate``: labels that it makes no card of, and what it makes of others that are hard to fit."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from clearhold import calibrate
from clearhold.features.core.scorecards import points_when
from clearhold.features.scorers.cards import DEFAULTS
from tests.support.calibrated_files import application, calibrated, card_of, of_rows, report_of
from tests.support.labelled_vectors import DAYS, FROM, NOW, Labelled, relabelled, some_labelled, written

LAST = FROM + DAYS * 86_400_000_000


NOTHING_FIRES: dict[str, Any] = {
    "amount_cents": 1,
    "entity_median_cents_90d": None,
    "counterparty_first_time": False,
    "repeated_amount_count_24h": 0,
    "entity_new_counterparties_24h": 0,
}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (relabelled(some_labelled(400), lambda _: True), "bad labels alone"),
        (relabelled(some_labelled(400), lambda _: False), "ok labels alone"),
        (relabelled(some_labelled(400), lambda row: row.transfer_id < "trf_00020"), "at least 30 and 100 are needed"),
        (relabelled(some_labelled(900), lambda row: row.is_bad and row.at < FROM + (LAST - FROM) // 2), "to prove"),
        (relabelled(some_labelled(1_500), lambda row: row.at % 5 > 0), "no signal fires is bad with"),
        (some_labelled(800, **NOTHING_FIRES), "No signal fired on 30 labelled transfers"),
        (relabelled(some_labelled(50), lambda _: None), "No scoring has a label that counts"),
        ([], "There are no scorings up to 2026-09-01"),
    ],
)
def test_given_labels_that_allow_no_card_when_calibrated_then_it_says_why_and_writes_nothing(
    tmp_path: Path, rows: list[Labelled], sentence: str
) -> None:
    result = of_rows(tmp_path, rows)

    assert result.exit_code == 1
    assert sentence in result.output
    assert not (tmp_path / "out").exists()


def test_given_features_of_another_version_when_calibrated_then_they_are_counted_and_make_no_card(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, some_labelled(50), feature_version="features-v1")
    result = calibrated(tmp_path, "--vectors", str(file))

    assert result.exit_code == 1
    assert "All 50 scorings have features of another version" in result.output


def test_given_only_bad_labels_at_the_end_of_the_fit_window_when_calibrated_then_a_card_is_made(tmp_path: Path) -> None:
    rows = some_labelled()
    end = [FROM + (LAST - FROM) * share for share in (0.3, 0.6)]
    result = of_rows(tmp_path, [row for row in rows if row.is_bad or not end[0] < row.at < end[1]])

    assert result.exit_code == 0, result.output


def test_given_labels_when_calibrated_then_the_report_has_the_chance_that_points_were_scaled_to(tmp_path: Path) -> None:
    result = of_rows(tmp_path, some_labelled())
    fit = report_of(tmp_path)["fit"]

    assert result.exit_code == 0, result.output
    chance = fit["holdChance"]
    assert fit["pointsALogOdd"] > 0
    assert chance >= 0.6
    assert fit["pointsALogOdd"] == pytest.approx(70 / (math.log(chance / (1 - chance)) - fit["baseLogOdds"]), rel=1e-4)


def test_given_a_signal_that_is_the_label_when_calibrated_then_it_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, entity_pep_status="yes" if row.is_bad else "no"))
        for row in some_labelled()
    ]
    refused = of_rows(tmp_path, rows)
    allowed = of_rows(tmp_path, rows, "--leave-out", "TRS-SCR-01")

    assert refused.exit_code == 1
    assert "TRS-SCR-01 alone has an average precision of 1.000" in refused.output
    assert allowed.exit_code == 0, allowed.output
    assert "TRS-SCR-01" not in [signal.id for signal in card_of(tmp_path).card.signals]
    assert report_of(tmp_path)["fit"]["leftOut"] == ["TRS-SCR-01"]

    card = card_of(tmp_path).card
    edited = msgspec.structs.replace(card, signals=(*card.signals, points_when("TRS-SCR-01", 50)))
    (tmp_path / "edited.json").write_bytes(msgspec.json.encode(edited))
    given = of_rows(tmp_path, rows, "--card", str(tmp_path / "edited.json"))

    assert given.exit_code == 0, given.output
    assert "warning: TRS-SCR-01 alone has an average precision of 1.000" in given.output


def test_given_a_signal_that_fires_on_bad_transfers_alone_when_calibrated_then_it_is_a_warning(tmp_path: Path) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, entity_pep_status="yes"))
        if row.is_bad and place % 5
        else row
        for place, row in enumerate(some_labelled(2_400))
    ]
    result = of_rows(tmp_path, rows)

    assert result.exit_code == 0, result.output
    assert "warning: TRS-SCR-01 fired on" in result.output
    assert "nearly all are bad" in result.output


def test_given_a_hard_signal_that_fires_on_good_transfers_when_calibrated_then_it_stands_without_points(
    tmp_path: Path,
) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, entity_verification_status="DENIED"))
        if not row.is_bad and place % 5 == 0
        else row
        for place, row in enumerate(some_labelled())
    ]
    result = of_rows(tmp_path, rows)
    (reason,) = (each for each in report_of(tmp_path)["reasons"] if each["id"] == "TRS-KYC-01")

    assert result.exit_code == 0, result.output
    assert reason["origin"] == "hard, without points"
    assert {each["points"] for each in reason["bins"]} == {0}


def test_given_signals_that_cannot_be_left_out_when_calibrated_then_it_does_not_start(tmp_path: Path) -> None:
    hard = next(signal.id for signal in DEFAULTS["trs"].scorer.signals.values() if signal.hard)

    assert of_rows(tmp_path, some_labelled(50), "--leave-out", "TRS-NO-01").exit_code == 2
    assert "is hard" in of_rows(tmp_path, some_labelled(50), "--leave-out", hard).output


def test_given_the_command_line_then_what_fits_is_not_loaded_and_its_absence_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = "import sys, clearhold.api.cli.main; sys.exit(bool({'sklearn', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loaded], check=False)
    monkeypatch.delattr(calibrate, "run", raising=False)
    for name in ("run", "checks"):
        monkeypatch.delitem(sys.modules, f"clearhold.calibrate.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    result = of_rows(tmp_path, some_labelled(50))

    assert done.returncode == 0
    assert result.exit_code == 2
    assert "clearhold[calibrate]" in result.output


def test_given_a_check_that_fires_on_a_third_of_the_transfers_when_calibrated_then_it_is_refused_with_its_figure(
    tmp_path: Path,
) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, entity_pep_status="yes"))
        if place % 3 == 0 or row.is_bad
        else row
        for place, row in enumerate(some_labelled())
    ]
    cut = FROM + (LAST - FROM) * 0.6
    fires = [row.vector.entity_pep_status == "yes" for row in rows if row.at < cut]
    result = of_rows(tmp_path, rows)
    (refused,) = (each for each in report_of(tmp_path)["fit"]["refused"] if each["id"] == "TRS-SCR-01")

    assert result.exit_code == 0, result.output
    assert refused["firing"] == pytest.approx(sum(fires) / len(fires), abs=0.005)
    assert f"refused: TRS-SCR-01 would have points on {100 * refused['firing']:.1f} %" in result.output
    assert "TRS-SCR-01" not in [signal.id for signal in card_of(tmp_path).card.signals]


@pytest.mark.parametrize(("often_new", "is_refused"), [(0.1, False), (0.2, True), (0.5, True)])
def test_given_first_payments_that_are_usual_when_calibrated_then_their_reason_is_refused(
    tmp_path: Path, often_new: float, *, is_refused: bool
) -> None:
    """Of the bad ones, 12 of 100, 70 % are first payments: of all transfers 17 %, 26 % or 52 % are."""
    rows = some_labelled(often_new=often_new)
    result = of_rows(tmp_path, rows)
    refused = {each["id"]: each["firing"] for each in report_of(tmp_path)["fit"]["refused"]}
    cut = FROM + (LAST - FROM) * 0.6
    first = [bool(row.vector.counterparty_first_time) for row in rows if row.at < cut]

    assert result.exit_code == 0, result.output
    assert refused.get("TRS-CPY-01") == (pytest.approx(sum(first) / len(first), abs=0.01) if is_refused else None)
    assert ("TRS-CPY-01" in report_of(tmp_path)["fit"]["fitted"]) != is_refused


@pytest.mark.parametrize("often_new", [0.2, 0.5])
def test_given_a_card_with_points_for_what_is_usual_when_reported_on_then_it_is_refused_with_the_figure(
    tmp_path: Path, often_new: float
) -> None:
    rows = some_labelled(often_new=often_new)
    share = sum(bool(row.vector.counterparty_first_time) for row in rows) / len(rows)
    every = DEFAULTS["trs"].scorer.signals
    signals = tuple(each for each in DEFAULTS["trs"].card.signals if every[each.id].hard)
    bare = msgspec.structs.replace(DEFAULTS["trs"].card, name="First", signals=signals)
    for name, signals in (("usual", (*bare.signals, points_when("TRS-CPY-01", 5))), ("bare", bare.signals)):
        card = msgspec.structs.replace(bare, signals=signals)
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode(card))
    refused = of_rows(tmp_path, rows, "--card", str(tmp_path / "usual.json"))

    assert refused.exit_code == 1
    assert f"TRS-CPY-01 has points on {100 * share:.1f} % of the scored transfers" in refused.output
    assert not (tmp_path / "out").exists()
    allowed = of_rows(tmp_path, rows, "--card", str(tmp_path / "bare.json"))
    assert allowed.exit_code == 0, allowed.output


def test_given_no_volume_when_calibrated_then_it_is_20_of_1000(tmp_path: Path) -> None:
    file = written(tmp_path, some_labelled())
    command = ["calibrate", "--out", str(tmp_path / "out"), "--vectors", str(file), "--now", NOW]
    result = CliRunner().invoke(application(), command)
    fit = report_of(tmp_path)["fit"]

    assert result.exit_code == 0, result.output
    assert fit["volume"] == 20
    assert 0 < fit["reviewPerThousand"] + fit["holdPerThousand"] <= 20
    assert "at most 20 were asked for" in result.output


@pytest.mark.parametrize("volume", ["0.5", "1001", "many"])
def test_given_a_volume_that_is_none_when_calibrated_then_it_does_not_start(tmp_path: Path, volume: str) -> None:
    assert of_rows(tmp_path, some_labelled(50), "--volume", volume).exit_code == 2
