"""The page of detection: the tables of each world, and whether what has to hold does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.detection.benchmark import run as detection
from bench.detection.data import NORMAL, Case, Half, Label
from bench.detection.holds import holds_of, pointless_of
from bench.detection.page import keep_world, page_of
from bench.detection.report import findings_of
from bench.detection.worlds import AMLSIM, WORLDS
from bench.harness import Asked, Run
from clearhold.features.catalogue.vector import FEATURE_VERSION
from tests.bench.test_detection import BAD, LOOKALIKE, a_case, a_folder


def test_given_runs_of_each_world_when_the_page_is_made_then_it_has_their_tables_and_nothing_is_left_to_fill_in(
    tmp_path: Path,
) -> None:
    cases = [a_case(f"acht_{n}", score=90, label=BAD) for n in range(40)]
    cases += [a_case(f"acht_{n}", score=0, label=NORMAL) for n in range(40, 400)]
    for world in WORLDS.values():
        with pytest.raises(SystemExit, match=world.name):
            page_of(tmp_path)
        keep_world(tmp_path, world, findings_of(cases, cases, Half.LAST))

    page = page_of(tmp_path)

    assert "<!--" not in page
    tables = [page.count(f"| {world.title} | default card | 1.000 |") for world in WORLDS.values()]
    assert tables == [1] * len(WORLDS) == [1] * 6
    assert page.count("### Bad scenarios\n") == len(WORLDS)


def test_given_bands_when_held_against_each_other_then_they_rise_are_the_same_or_have_too_few() -> None:
    def words(held: int, reviewed: int) -> dict[str, str]:
        cases = [a_case(f"acht_h{n}", score=80, label=BAD) for n in range(held)]
        cases += [a_case(f"acht_r{n}", score=40, label=BAD if n < reviewed else NORMAL) for n in range(40)]
        cases += [a_case(f"acht_c{n}", score=0, label=LOOKALIKE) for n in range(40)]
        return {what: word for what, _, word in holds_of(findings_of(cases, cases, Half.BOTH), 0.5)}

    hold, review = (
        "hold more often bad than review, intervals apart",
        "review more often bad than clear, intervals apart",
    )
    assert [words(20, 20)[what] for what in (review, hold)] == ["yes", "yes"]
    assert [words(20, 40)[what] for what in (review, hold)] == ["yes", "no"]
    assert [words(9, 2)[what] for what in (review, hold)] == ["no", "too few"]
    assert words(20, 20)["a look-alike is alerted at most half as often"] == "yes"
    assert words(20, 20)["look-alikes among alerts: at most half as many as bad"] == "yes"


def test_given_a_signal_with_points_when_it_is_no_more_often_bad_then_it_is_named() -> None:
    def firing(signal: str, label: Label, count: int) -> list[Case]:
        some = [a_case(f"acht_{signal}{label.bad}{n}", label=label) for n in range(count)]
        return [
            msgspec.structs.replace(case, answer=msgspec.structs.replace(case.answer, signals=(signal,)))
            for case in some
        ]

    without_points = [*firing("fan_in", NORMAL, 60), *firing("amount_spike", NORMAL, 60)]
    cases = [*firing("round_amount", NORMAL, 60), *without_points, *firing("rapid_in_out", BAD, 40)]

    assert list(pointless_of(findings_of(cases, cases, Half.BOTH))) == ["round_amount"]


INNOCENT, VOLUME, HOLD, PRECISION = (
    "not bad, in review or hold: at most 20 per 1,000",
    "fitted card: at most 20 per 1,000 in review and hold",
    "fitted card: hold at least 60 % bad",
    "average precision: 1.5 times the better baseline's, or 0.9 of trees'",
)


def answered(cases: list[Case], **over: Any) -> list[Case]:
    return [msgspec.structs.replace(each, answer=msgspec.structs.replace(each.answer, **over)) for each in cases]


def scored(score: int, count: int, label: Label = NORMAL) -> list[Case]:
    return [a_case(f"acht_{score}{label.bad}{n}", score=score, label=label) for n in range(count)]


def words_of(cases: list[Case]) -> dict[str, str]:
    return {what: word for what, _, word in holds_of(findings_of(cases, cases, Half.LAST), 0.5)}


@pytest.mark.parametrize(("alerted", "word"), [(0, "yes"), (20, "yes"), (21, "no")])
def test_given_transfers_that_are_not_bad_then_at_most_20_of_1000_of_them_may_be_alerted(
    alerted: int, word: str
) -> None:
    cases = [*scored(40, alerted), *scored(0, 1_000 - alerted), *scored(40, 50, BAD)]

    assert words_of(cases)[INNOCENT] == word


@pytest.mark.parametrize(
    ("bad", "others", "volume", "hold"),
    [(12, 8, "yes", "yes"), (11, 8, "yes", "no"), (9, 0, "yes", "too few"), (20, 1, "no", "yes")],
)
def test_given_a_fitted_card_then_its_volume_is_bounded_and_its_hold_band_mostly_bad(
    bad: int, others: int, volume: str, hold: str
) -> None:
    held = [*scored(0, bad, BAD), *scored(0, others)]
    rest = scored(1, 1_000 - len(held))
    words = words_of([*answered(held, by_card=70), *answered(rest, by_card=29)])

    assert (words[VOLUME], words[HOLD]) == (volume, hold)


@pytest.mark.parametrize(
    ("trees", "word"),
    [
        (None, "no"),  # 1.5 times a baseline of 1 is out of reach
        (lambda case: 1.0 if case.label.bad else 0.0, "yes"),
        (lambda case: 0.0 if case.label.bad else 1.0, "yes"),
    ],
)
def test_given_a_baseline_that_ranks_all_then_nine_tenths_of_what_trees_reach_are_enough(
    trees: Callable[[Case], float] | None, word: str
) -> None:
    cases = [a_case(f"acht_{n}", score=50 if n < 20 else 0, label=BAD if n < 20 else NORMAL) for n in range(100)]
    cases = [each for case in cases for each in answered([case], cents=900 if case.label.bad else 100)]
    if trees is not None:
        cases = [each for case in cases for each in answered([case], by_trees=trees(case), by_signal_trees=0.0)]

    assert words_of(cases)[PRECISION] == word


def test_given_all_worlds_when_run_then_each_figure_is_named_after_its_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bench.detection.benchmark.WORLDS", {"one": AMLSIM._replace(name="one"), "amlsim": AMLSIM})
    folder = a_folder(tmp_path)

    figures = list(detection(Run(Asked(by_name=True, data=folder, half="both", world="all"))))
    alone = [figure.name for figure in detection(Run(Asked(by_name=True, data=folder, half="both")))]

    assert [figure.name for figure in figures] == [f"{world}: {name}" for world in ("one", "amlsim") for name in alone]


def test_given_vectors_of_other_features_when_read_then_the_refusal_names_both_versions(tmp_path: Path) -> None:
    path = tmp_path / "vectors.parquet"
    pq.write_table(pa.table({"feature_version": ["features-v1"]}), path)

    with pytest.raises(SystemExit, match=f"features-v1, and this is {FEATURE_VERSION}"):
        list(detection(Run(Asked(by_name=True, data=a_folder(tmp_path), vectors=path))))
