"""``clearhold calibrate``: cards out of labels, and what is reported of them."""

import json
import shlex
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from clearhold.features.core.instants import DAYS_60, parse_instant
from clearhold.features.core.scorecards import CardSignal, scorecard_sha256
from clearhold.features.core.vocabulary import Rail, band_word
from clearhold.features.scorers.cards import DEFAULTS, MOST_WEIGHED
from tests.support.calibrated_files import FILES, application, card_of, of_rows, report_of
from tests.support.labelled_vectors import DAYS, FROM, some_labelled
from tests.support.scorecards import a_card

LAST = FROM + DAYS * 86_400_000_000


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
    assert {cap["family"]: cap["points"] for cap in report["caps"] if cap["points"] is not None} == {
        cap.family: cap.points for cap in card.card.caps
    }
    assert (report["floor"], report["programFloor"]) == (card.card.floor, card.card.program_floor)
    for reason in report["reasons"]:
        assert sum(each["later"]["n"] for each in reason["bins"]) == reason["later"]["n"]
        assert all(each["fit"]["n"] + each["later"]["n"] == each["transfers"] for each in reason["bins"])
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
    counts = [(row.vector.entity_new_counterparties_24h, bool(row.is_bad)) for row in rows]
    usual = sum(bad for _, bad in counts) / len(counts)

    assert next(each for each in bins if each.points).at_least > 1
    for each in bins:
        within = [bad for count, bad in counts if count >= each.at_least and (each.below is None or count < each.below)]
        assert not each.points or sum(within) / len(within) > usual


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


def test_given_the_command_of_a_report_when_it_is_run_again_then_every_byte_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "champion.json").write_bytes(msgspec.json.encode(a_card(points=20)))
    options = ("--name", "Spring 'n' fall", "--leave-out", "TRS-AMT-02", "--champion", str(tmp_path / "champion.json"))
    first = of_rows(tmp_path, some_labelled(800), *options)
    _, name, *words = shlex.split(report_of(tmp_path)["command"])
    monkeypatch.chdir(tmp_path)
    again = CliRunner().invoke(application(), [name, *("again" if word == "DIR" else word for word in words)])

    assert (first.exit_code, again.exit_code) == (0, 0), again.output
    for each in FILES:
        assert (tmp_path / "again" / each).read_bytes() == (tmp_path / "out" / each).read_bytes()


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
    assert report["data"]["sha256"] == before["data"]["sha256"]
    assert report["rankings"] == before["rankings"]
    assert {reason["origin"] for reason in report["reasons"]} == {"given"}
    assert card_of(tmp_path).card == edited


def test_given_a_card_that_alerts_on_many_good_transfers_when_reported_on_then_it_is_a_warning(
    folder: Path, tmp_path: Path
) -> None:
    card = card_of(folder).card
    every = msgspec.structs.replace(card, signals=tuple(alerting(signal) for signal in card.signals))
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(every))
    result = of_rows(tmp_path, some_labelled(800), "--card", str(tmp_path / "card.json"))

    assert result.exit_code == 0, result.output
    assert "warning: At the line of review the champion alone is right" in result.output
    assert "of 1,000 later transfers to review and hold; 150 were asked for" in result.output
    assert "At 30 points the card alerts on" in (tmp_path / "out" / "report.html").read_text()


def test_given_a_card_that_catches_fewer_than_the_champion_when_reported_on_then_the_volumes_are_named(
    folder: Path, tmp_path: Path
) -> None:
    default = DEFAULTS["trs"]
    few = [each for each in default.card.signals if default.scorer.signals[each.id].hard or each.id == "TRS-CPY-01"]
    card = msgspec.structs.replace(default.card, signals=tuple(few))
    (tmp_path / "card.json").write_bytes(msgspec.json.encode(card))
    files = ("--card", str(tmp_path / "card.json"), "--champion", str(folder / "out" / "card.json"))
    result = of_rows(tmp_path, some_labelled(), *files)
    own, champion = (each["at"] for each in report_of(tmp_path)["rankings"][:2])
    fewer = [str(a["perThousand"]) for a, b in zip(own, champion, strict=True) if a["recall"] != b["recall"]]

    assert fewer
    assert f"warning: At {' and '.join(fewer)} alerts per 1,000 the card catches fewer" in result.output


def alerting(signal: CardSignal) -> CardSignal:
    """The signal, worth a review wherever it is worth anything."""
    return msgspec.structs.replace(
        signal,
        bins=tuple(
            msgspec.structs.replace(each, points=30 if each.points > 0 else each.points) for each in signal.bins
        ),
    )


def test_given_a_card_with_a_fault_when_reported_on_then_its_path_is_told(folder: Path, tmp_path: Path) -> None:
    body = json.loads((folder / "out" / "card.json").read_bytes())
    body["signals"][0]["bins"][0]["points"] = 1_000_000
    (tmp_path / "edited.json").write_text(json.dumps(body))
    result = of_rows(tmp_path, some_labelled(50), "--card", str(tmp_path / "edited.json"))

    assert result.exit_code == 2
    assert "signals[0].bins[0].points" in result.output


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
    assert report_of(folder)["data"]["sha256"] != report_of(tmp_path)["data"]["sha256"]


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


@pytest.mark.parametrize("volume", [20, 60, 150])
def test_given_a_volume_when_calibrated_then_no_more_of_the_fit_window_is_in_review_and_hold_and_the_report_tells_it(
    tmp_path: Path, volume: int
) -> None:
    result = of_rows(tmp_path, some_labelled(), "--volume", str(volume))
    report, card = report_of(tmp_path), card_of(tmp_path)
    cut = parse_instant(report["data"]["fit"]["to"])
    assert cut is not None
    bands = Counter(band_word(card.weigh(row.vector)[0]) for row in some_labelled() if row.at < cut)
    review, hold = (1_000 * bands[band] / bands.total() for band in ("review", "hold"))
    table = next(each for each in report["bands"] if (each["card"], each["window"]) == ("card", "fit"))

    assert result.exit_code == 0, result.output
    assert 0 < review + hold <= volume
    assert report["fit"]["volume"] == volume
    assert (report["fit"]["reviewPerThousand"], report["fit"]["holdPerThousand"]) == pytest.approx((review, hold))
    assert {each["band"]: each["perThousand"] for each in table["bands"] if each["transfers"]} == {
        band: pytest.approx(1_000 * count / bands.total()) for band, count in bands.items()
    }
    assert f"{review:.1f} in review, {hold:.1f} in hold; at most {volume} were asked for" in result.output
    assert f"At most {volume} of 1,000 transfers" in (tmp_path / "out" / "report.html").read_text()
    assert f"--volume {volume}" in report["command"] or volume == 20


@pytest.mark.parametrize(("days", "rails"), [(5, 1), (30, 7), (119, 2), (400, 5)])
def test_given_a_history_of_days_over_rails_when_calibrated_then_there_is_a_card_whose_weights_add_up(
    tmp_path: Path, days: int, rails: int
) -> None:
    some = [rail.value for rail in Rail][:rails]
    rows = [
        row._replace(
            at=FROM + (row.at - FROM) * days // DAYS,
            vector=msgspec.structs.replace(row.vector, rail=some[place % rails]),
        )
        for place, row in enumerate(some_labelled(800))
    ]
    result = of_rows(tmp_path, rows, "--now", "2027-06-01T00:00:00Z")

    assert result.exit_code == 0, result.output
    card = card_of(tmp_path)
    for row in rows:
        score = card.score(row.vector)
        assert score.value == sum(reason.weight for reason in score.reasons)
