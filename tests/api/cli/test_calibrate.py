"""``clearhold calibrate``: cards out of labels, reports on them, and what it refuses to make a card of."""

import json
import math
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

from api.cli import calibration
from api.cli.calibrate import register
from api.cli.calibration import fitting
from api.cli.calibration.samples import Samples
from features.catalogue.vector import FEATURE_VERSION, FeatureVector, TransferFeaturesRow
from features.core.bands import band_word
from features.core.instants import DAYS_60, parse_instant
from features.core.rows.alerts import LabelRow
from features.core.scorecards import scorecard_sha256
from features.scorers.card_check import MOST_WEIGHED, read_card
from features.scorers.cards import DEFAULTS, compile_card
from features.scorers.engine import CompiledCard
from store.duck.database import open_database
from store.duck.writer import BatchWriter
from store.tables.row_tables import row_tables
from tests.support.duck_rows import AT, PROGRAM, TENANT, a_label, some_features
from tests.support.labelled_vectors import DAYS, FROM, NOW, Labelled, relabelled, some_labelled, written

FILES = ("card.json", "report.json", "report.html")
LAST = FROM + DAYS * 86_400_000_000


NOTHING_FIRES: dict[str, Any] = {
    "amount_cents": 1,
    "entity_median_cents_90d": None,
    "counterparty_first_time": False,
    "repeated_amount_count_24h": 0,
    "entity_new_counterparties_24h": 0,
}


def calibrated(folder: Path, *options: str) -> Result:
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    now = () if "--now" in options else ("--now", NOW)
    return CliRunner().invoke(app, ["calibrate", "--out", str(folder / "out"), *options, *now])


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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of one calibration, for tests that only read them."""
    folder = tmp_path_factory.mktemp("calibrated")
    result = of_rows(folder, some_labelled())
    assert result.exit_code == 0, result.output
    return folder


def test_given_labels_when_calibrated_then_the_card_is_right_and_its_weights_add_up_to_every_score(
    folder: Path,
) -> None:
    card = card_of(folder)
    signals = DEFAULTS["trs"].scorer.signals

    assert sum(any(each.points for each in signal.bins) for signal in card.card.signals) <= MOST_WEIGHED
    assert {signal.id for signal in signals.values() if signal.hard} <= {signal.id for signal in card.card.signals}
    for row in some_labelled():
        score = card.score(row.vector)
        assert score.value == sum(reason.weight for reason in score.reasons)
        assert all(reason.sentence for reason in score.reasons)


def test_given_labels_when_calibrated_then_the_report_names_the_card_and_counts_what_the_engine_scores(
    folder: Path,
) -> None:
    card, report = card_of(folder), report_of(folder)
    cut = parse_instant(report["data"]["later"]["from"])
    assert cut is not None
    bands = Counter(band_word(card.weigh(row.vector)[0]) for row in some_labelled() if row.at >= cut)
    table = next(each for each in report["bands"] if (each["card"], each["window"]) == ("card", "later"))

    assert report["cardSha256"] == scorecard_sha256(card.card)
    assert report["generatedAt"] == "2026-09-01T00:00:00.000Z"
    assert {each["band"]: each["transfers"] for each in table["bands"] if each["transfers"]} == bands
    assert sum(move["transfers"] for move in report["migration"]) == sum(bands.values())
    assert {each["source"]: each["bad"] > 0 for each in report["data"]["labelsBySource"]} == {
        "person": False,
        "return": True,
    }


def test_given_bins_that_are_no_more_often_bad_than_all_then_they_have_no_points(folder: Path) -> None:
    cut = parse_instant(report_of(folder)["data"]["fit"]["to"])
    assert cut is not None
    rows = [row for row in some_labelled() if row.at < cut]
    bins = card_of(folder).bins_of("TRS-CPY-04")
    first = next(each for each in bins if each.points)
    counts = [(row.vector.entity_new_counterparties_24h, bool(row.is_bad)) for row in rows]
    within = [bad for count, bad in counts if count >= first.at_least and (first.below is None or count < first.below)]

    assert first.at_least > 1
    assert sum(within) / len(within) > sum(bad for _, bad in counts) / len(counts)


def test_given_labels_that_the_signals_tell_apart_when_calibrated_then_later_time_is_ranked_better_than_by_the_rest(
    folder: Path,
) -> None:
    report = report_of(folder)
    precision = {each["name"]: each["averagePrecision"] for each in report["rankings"]}
    table = next(each for each in report["bands"] if (each["card"], each["window"]) == ("card", "later"))

    assert precision["card"] == max(precision.values())
    assert precision["card"] > precision["champion"] + 0.1
    assert table["rises"] is True


def test_given_the_same_labels_in_another_order_when_calibrated_again_then_every_byte_is_the_same(
    folder: Path, tmp_path: Path
) -> None:
    result = of_rows(tmp_path, some_labelled()[::-1])

    assert result.exit_code == 0, result.output
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (folder / "out" / name).read_bytes()


def test_given_a_report_then_its_page_stands_alone_and_escapes_names(tmp_path: Path) -> None:
    result = of_rows(tmp_path, some_labelled(800), "--name", "Acme <script>alert(1)</script>")
    page = (tmp_path / "out" / "report.html").read_text()

    assert result.exit_code == 0, result.output
    assert "<script" not in page
    assert "Acme &lt;script&gt;" in page
    assert page.count("<svg") >= 4
    assert not any(mark in page for mark in ("http://", "https://", " src=", "@import", "url("))


def test_given_a_card_that_a_person_edited_when_reported_on_then_the_report_is_of_that_card_and_nothing_is_fitted(
    folder: Path, tmp_path: Path
) -> None:
    card = card_of(folder).card
    edited = msgspec.structs.replace(card, name="Edited", floor=card.floor + 5)
    (tmp_path / "edited.json").write_bytes(msgspec.json.encode(edited))
    result = of_rows(tmp_path, some_labelled(), "--card", str(tmp_path / "edited.json"))
    report, before = report_of(tmp_path), report_of(folder)

    assert result.exit_code == 0, result.output
    assert report["cardSha256"] == scorecard_sha256(edited) != before["cardSha256"]
    assert report["fit"] is None
    assert report["rankings"] == before["rankings"]
    assert {reason["origin"] for reason in report["reasons"]} == {"given"}
    assert card_of(tmp_path).card == edited


def test_given_a_card_with_a_fault_when_reported_on_then_its_path_is_told(folder: Path, tmp_path: Path) -> None:
    body = json.loads((folder / "out" / "card.json").read_bytes())
    body["signals"][0]["bins"][0]["points"] = 1_000_000
    (tmp_path / "edited.json").write_text(json.dumps(body))
    result = of_rows(tmp_path, some_labelled(50), "--card", str(tmp_path / "edited.json"))

    assert result.exit_code == 2
    assert "signals[0].bins[0].points" in result.output


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
        ([], "No scoring has a label that counts"),
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
    end = [FROM + (LAST - FROM) * share for share in (0.1, 0.6)]
    result = of_rows(tmp_path, [row for row in rows if row.is_bad or not end[0] < row.at < end[1]])

    assert result.exit_code == 0, result.output


def test_given_labels_that_hardly_tell_apart_when_calibrated_then_the_report_has_the_chance_that_points_were_scaled_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "FEWEST_HELD", 1_000_000)
    result = of_rows(tmp_path, relabelled(some_labelled(), lambda row: row.at % 8 == 0))
    fit = report_of(tmp_path)["fit"]

    assert result.exit_code == 0, result.output
    chance = fit["holdChance"]
    assert fit["pointsALogOdd"] > 0
    assert chance < 0.5
    assert fit["pointsALogOdd"] == pytest.approx(70 / (math.log(chance / (1 - chance)) - fit["baseLogOdds"]), rel=1e-4)


def test_given_more_rows_than_are_drawn_for_edges_when_fitted_twice_then_the_card_is_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "ROUNDS", (5, 5))
    rows = 210_000
    draws = np.random.default_rng(7)
    percents = np.floor(draws.lognormal(4, 1, (rows, 1)))
    label = (draws.random(rows) < np.minimum(0.9, percents[:, 0] / 4_000)).astype(np.int8)
    places = np.arange(rows)
    samples = Samples(
        key=places,
        at=places,
        label=label,
        source=places,
        score=places * 0,
        cents=places,
        is_first_pair=places > 0,
        measures=percents,
        signal_ids=("TRS-AMT-07",),
    )
    cards = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002 - what an unseeded fit would draw from
        cards.append(fitting.fit_card(samples, DEFAULTS["trs"], "Twice").card)

    assert cards[0] == cards[1]


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


def test_given_labels_of_young_transfers_when_calibrated_then_they_are_provisional_and_do_not_count_whether_bad_or_ok(
    tmp_path: Path,
) -> None:
    now = LAST + DAYS_60 // 2
    rows = some_labelled()
    young = sum(row.at > now - DAYS_60 for row in rows)
    result = of_rows(tmp_path, rows, "--now", "2026-05-11T00:00:00Z")
    data = report_of(tmp_path)["data"]
    matured = [row for row in rows if row.at <= now - DAYS_60]

    assert result.exit_code == 0, result.output
    assert young
    assert data["fit"]["bad"] + data["later"]["bad"] == sum(bool(row.is_bad) for row in matured)
    assert sum(each["provisional"] for each in data["labelsBySource"]) == young
    assert data["matured"]["n"] == len(rows)
    assert data["matured"]["value"] == round(1 - young / len(rows), 6)


def test_given_transfers_without_a_label_when_calibrated_then_alerts_are_counted_among_all_of_them(
    folder: Path, tmp_path: Path
) -> None:
    rows = some_labelled()
    unlabelled = [row._replace(transfer_id=f"other_{row.transfer_id}", is_bad=None) for row in rows]
    result = of_rows(tmp_path, [*rows, *unlabelled])
    (few, more) = (report_of(each)["rankings"][0]["at"][-1] for each in (folder, tmp_path))

    assert result.exit_code == 0, result.output
    assert more["alerts"] == round(0.035 * report_of(tmp_path)["data"]["later"]["transfers"]) > few["alerts"]
    assert more["precision"]["n"] < more["alerts"]
    assert more["recall"]["n"] == few["recall"]["n"]


def test_given_amounts_that_grow_after_the_fit_window_when_calibrated_then_the_drift_is_a_warning(
    tmp_path: Path,
) -> None:
    rows = [
        row._replace(vector=msgspec.structs.replace(row.vector, amount_cents=(row.vector.amount_cents or 0) * 20))
        if row.at > FROM + (LAST - FROM) * 0.6
        else row
        for row in some_labelled()
    ]
    result = of_rows(tmp_path, rows)

    assert result.exit_code == 0, result.output
    assert "warning: Scores drift: their PSI" in result.output
    assert report_of(tmp_path)["stability"]["verdict"] == "act"


def test_given_a_data_directory_when_calibrated_then_first_scorings_and_last_labels_up_to_now_count(
    tmp_path: Path,
) -> None:
    rows = some_labelled(800)
    now = parse_instant(NOW)
    assert now is not None
    scorings, labels = [], []
    for place, row in enumerate(rows):
        first = a_scoring(row, 2 * place)
        other = msgspec.structs.replace(row.vector, amount_cents=1)
        scorings += [first, msgspec.structs.replace(first, offset=2 * place + 1, rescored=True, vector=other)]
        label = "bad" if row.is_bad else "ok"
        labels.append(a_label_of(row, 1, "ok"))
        labels.append(a_label_of(row, 2, label))
        labels.append(msgspec.structs.replace(a_label_of(row, 3, "ok"), created_at=now + 1))
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: scorings, LabelRow: labels}), {}, AT)
    of_tables = calibrated(tmp_path, "--data", str(tmp_path), "--program", PROGRAM)
    report, card = report_of(tmp_path), (tmp_path / "out" / "card.json").read_bytes()
    of_file = of_rows(tmp_path, rows)

    assert of_tables.exit_code == 0, of_tables.output
    assert of_file.exit_code == 0
    assert (tmp_path / "out" / "card.json").read_bytes() == card
    assert report["data"]["source"] == "tables of a tenant"
    assert sum(each["bad"] for each in report["data"]["labelsBySource"]) == sum(bool(row.is_bad) for row in rows)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Name either --data or --vectors."),
        (("--vectors", "/nowhere.parquet"), "cannot be read as Parquet"),
        (("--data", "/nowhere"), "There is no database"),
        (("--vectors", "/nowhere.parquet", "--now", "tomorrow"), "--now must be a date-time"),
        (("--vectors", "/nowhere.parquet", "--name", " "), "--name must have 1 to 200 characters"),
        (("--vectors", "/nowhere.parquet", "--name", "n" * 201), "--name must have 1 to 200 characters"),
        (("--vectors", "/nowhere.parquet", "--name", "n", "--card", "c.json"), "goes with neither --name"),
        (("--vectors", "/nowhere.parquet", "--champion", "/nowhere.json"), "cannot be read"),
    ],
)
def test_given_options_that_name_nothing_to_read_when_calibrated_then_it_does_not_start(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    result = calibrated(tmp_path, *options)

    assert result.exit_code == 2
    assert sentence in result.output


def test_given_tables_of_another_version_when_calibrated_then_it_does_not_start(tmp_path: Path) -> None:
    with closing(duckdb.connect(tmp_path / "clearhold.duckdb")) as database:
        database.execute("CREATE TABLE transfer_features AS SELECT 'ten_1' AS tenant_id")
    result = calibrated(tmp_path, "--data", str(tmp_path))

    assert result.exit_code == 2
    assert "The scorings cannot be read" in result.output


def test_given_two_tenants_when_one_is_not_named_then_they_are_listed(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "clearhold.duckdb")) as database:
        rows = [some_features(tenant_id=tenant) for tenant in ("ten_1", "ten_2")]
        BatchWriter(database).commit(row_tables({TransferFeaturesRow: rows}), {}, AT)
    unnamed, unknown = (
        calibrated(tmp_path, "--data", str(tmp_path), *options) for options in ((), ("--tenant", "ten_3"))
    )

    assert unnamed.exit_code == unknown.exit_code == 2
    assert "Name the tenant with --tenant" in unnamed.output
    assert "ten_1, ten_2" in unknown.output


def test_given_signals_that_cannot_be_left_out_when_calibrated_then_it_does_not_start(tmp_path: Path) -> None:
    hard = next(signal.id for signal in DEFAULTS["trs"].scorer.signals.values() if signal.hard)

    assert of_rows(tmp_path, some_labelled(50), "--leave-out", "TRS-NO-01").exit_code == 2
    assert "is hard" in of_rows(tmp_path, some_labelled(50), "--leave-out", hard).output


def test_given_the_command_line_then_what_fits_is_not_loaded_and_its_absence_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = "import sys, api.cli.main; sys.exit(bool({'sklearn', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", loaded], check=False)
    monkeypatch.delattr(calibration, "run", raising=False)
    monkeypatch.setitem(sys.modules, "api.cli.calibration.run", None)
    result = of_rows(tmp_path, some_labelled(50))

    assert done.returncode == 0
    assert result.exit_code == 2
    assert "clearhold[calibrate]" in result.output


def a_scoring(row: Labelled, offset: int) -> TransferFeaturesRow:
    return some_features(
        transfer_id=row.transfer_id,
        offset=offset,
        taken_at=row.at,
        scored_at=row.at,
        feature_version=FEATURE_VERSION,
        vector=row.vector,
        rescored=False,
    )


def a_label_of(row: Labelled, offset: int, label: str) -> LabelRow:
    return a_label(
        id=f"lbl_{row.transfer_id}_{offset}",
        offset=offset,
        transfer_id=row.transfer_id,
        label=label,
        source="return" if label == "bad" else "person",
        created_at=row.at + offset,
        tenant_id=TENANT,
    )
