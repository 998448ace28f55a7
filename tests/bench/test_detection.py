"""The pure parts of the benchmark of detection: halves, shares, what is touched, rankings and volumes."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from bench.convert.bank_rows import COLUMNS
from bench.detection.benchmark import run as detection
from bench.detection.data import (
    LABEL_COLUMNS,
    NORMAL,
    Answer,
    Case,
    Half,
    Known,
    Label,
    halves_of,
    hash_of,
    labels_in,
    row_of,
)
from bench.detection.measures import (
    Kind,
    Share,
    Touched,
    at_volume,
    average_precision,
    by_amount,
    by_cents,
    by_first_and_cents,
    by_first_of_pair,
    by_lot,
    by_score,
    days_word,
    densest,
    in_hold,
    in_review_or_hold,
    span_days,
    times,
    touched,
)
from bench.detection.report import findings_of, markdown
from bench.detection.stream import from_states
from bench.detection.worlds import AMLSIM, WORLDS, World
from bench.harness import Asked, Run
from clearhold.features.catalogue.vector import FEATURES
from clearhold.features.core.instants import DAY_US
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD

BAD = Label(bad=True, typology="fan_in", scenario="s1")
LOOKALIKE = Label(bad=False, typology="fan_in", scenario="l1")


def a_case(
    transfer_id: str,
    *,
    score: int | None = 0,
    label: Label = NORMAL,
    cents: int = 100,
    rail: str = "ach",
    first: bool = False,
    day: int = 0,
) -> Case:
    answer = Answer(transfer_id, "p", rail, cents, score, ("fan_in",) if score else (), hard=False)
    return Case(answer, row_of(transfer_id), label, first, day * DAY_US, hash_of(transfer_id))


def ids(cases: list[Case]) -> list[str]:
    return [case.answer.id for case in cases]


def a_folder(folder: Path) -> Path:
    """80 rows of which the first 20 are bad."""
    rows = [f"t{n},2020-01-{1 + n // 4:02}T00:00:00Z,A4,A{8 + 4 * (n % 3)},{100 + n},USD,ach,,," for n in range(80)]
    return a_folder_of(folder, rows, lambda n: n < 20)


def a_larger_folder(folder: Path) -> Path:
    """600 rows of which every twelfth is bad, and large for its payer."""
    rows = [
        f"t{n},2020-01-{1 + n // 24:02}T00:00:00Z,A4,A{8 + 4 * (n % 3)},{100 + n if n % 12 else 90_000 + n},USD,ach,,,"
        for n in range(600)
    ]
    return a_folder_of(folder, rows, lambda n: n % 12 == 0)


def a_folder_of(folder: Path, rows: list[str], is_bad: Callable[[int], bool]) -> Path:
    labels = [
        f"t{n},true,fan_out,s{n // 10},false" if is_bad(n) else f"t{n},false,normal,,false" for n in range(len(rows))
    ]
    for name, columns, lines in (
        (AMLSIM.transfers, COLUMNS, rows),
        (AMLSIM.labels, LABEL_COLUMNS, labels),
    ):
        (folder / name).write_bytes(gzip.compress("\n".join([",".join(columns), *lines, ""]).encode()))
    return folder


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 2, 0.0945, 0.9055), (8, 40, 0.105, 0.3476)],
)
def test_given_a_share_then_its_interval_is_wilsons(hits: int, n: int, low: float, high: float) -> None:
    assert Share(hits, n).interval == pytest.approx((low, high), abs=5e-5)
    assert Share(hits, n).value == hits / n


def test_given_a_share_of_nothing_then_it_is_not_measured_and_not_zero() -> None:
    assert Share(0, 0).value is None
    assert Share(0, 0).interval is None
    assert str(Share(0, 0)) == "not measured (n = 0)"


def test_given_scenarios_when_halved_then_each_typology_is_split_evenly_and_always_in_the_same_way() -> None:
    kinds = [("fan_in", True, 8), ("fan_in", False, 4), ("cycle", True, 5)]
    labels = [
        Label(bad=bad, typology=kind, scenario=f"{kind}-{bad}-{n}") for kind, bad, count in kinds for n in range(count)
    ]

    halves = halves_of([*labels, NORMAL])

    for kind, bad, count in kinds:
        of_kind = [halves[each.scenario] for each in labels if (each.typology, each.bad) == (kind, bad)]
        assert of_kind.count(Half.TUNE) == count // 2
    assert set(halves.values()) == {Half.TUNE, Half.REPORT}
    assert halves_of(reversed(labels)) == halves


def test_given_both_sides_of_a_row_then_they_are_in_one_half_under_one_label(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    known = Known(folder / AMLSIM.transfers, labels_in(folder / AMLSIM.labels))
    sides = [Answer(f"acht_t{n}{side}", "p", "ach", 1, 0, (), hard=False) for n in range(80) for side in ("", "-in")]

    halves = [list(known.cases(sides, half)) for half in (Half.TUNE, Half.REPORT, Half.BOTH)]

    tune, report, both = ({case.row for case in half} for half in halves)
    assert not tune & report
    assert tune | report == both == {f"t{n}" for n in range(80)}
    assert all(len(half) == 2 * len({case.row for case in half}) for half in halves)
    assert {case.row for case in halves[2] if case.first_of_pair} == {"t0", "t1", "t2"}
    assert {case.label.scenario for case in halves[0]} | {case.label.scenario for case in halves[1]} == {"s0", "s1", ""}
    assert {case.label.scenario for case in halves[0]} & {case.label.scenario for case in halves[1]} == {""}


@pytest.mark.parametrize(
    ("score", "alerted", "held"), [(None, False, False), (29, False, False), (30, True, False), (70, True, True)]
)
def test_given_a_score_then_its_band_decides_and_null_is_no_alert(
    score: int | None, *, alerted: bool, held: bool
) -> None:
    case = a_case("acht_1", score=score)

    assert (in_review_or_hold(case), in_hold(case)) == (alerted, held)


def test_given_one_side_of_a_row_when_it_is_alerted_then_its_row_and_scenario_are_touched_once() -> None:
    cases = [a_case("acht_1", label=BAD), a_case("acht_1-in", label=BAD), a_case("wire_9-in", label=LOOKALIKE)]

    found = touched([*cases, a_case("book_5")])

    assert found[Kind("fan_in", bad=True)] == Touched(frozenset({"s1"}), frozenset({"1"}))
    assert found[Kind("fan_in", bad=False)] == Touched(frozenset({"l1"}), frozenset({"9"}))
    assert len(found) == 2


def test_given_scores_when_ranked_then_unscored_are_last_and_ties_follow_the_hash_whatever_the_order() -> None:
    cases = [a_case(f"acht_{n}", score=score) for n, score in enumerate([0, None, 50, 0, 30, 0])]

    ranked = ids(by_score(cases))

    assert ranked[:2] == ["acht_2", "acht_4"]
    assert ranked[-1] == "acht_1"
    assert ranked[2:5] == sorted(("acht_0", "acht_3", "acht_5"), key=hash_of)
    assert ids(by_score(cases[::-1])) == ranked


def test_given_two_rails_when_ranked_by_amount_then_each_amount_is_measured_within_its_own() -> None:
    small = [a_case(f"acht_{n}", cents=100 + n) for n in range(10)]
    large = [a_case(f"wire_{n}", cents=90_000, rail="wire") for n in range(10)]

    ranked = ids(by_amount([*small, *large]))

    assert ranked[:5] == ["acht_9", "acht_8", "acht_7", "acht_6", "acht_5"]
    assert ranked[5:15] == sorted((case.answer.id for case in large), key=hash_of)


def test_given_first_pairs_when_ranked_then_they_come_first_in_the_order_of_their_hashes() -> None:
    cases = [a_case(f"acht_{n}", first=n % 2 == 0) for n in range(8)]

    ranked = ids(by_first_of_pair(cases))

    assert ranked[:4] == sorted((f"acht_{n}" for n in (0, 2, 4, 6)), key=hash_of)
    assert ids(by_lot(cases)) == sorted(ids(cases), key=hash_of)


def test_given_a_volume_then_precision_counts_transfers_and_recall_counts_rows() -> None:
    other = Label(bad=True, typology="cycle", scenario="s2")
    cases = [
        a_case("acht_1", score=90, label=BAD),
        a_case("acht_1-in", score=80, label=BAD),
        a_case("acht_2", score=70, label=LOOKALIKE),
        a_case("acht_3", score=60),
        a_case("acht_4", score=50, label=BAD),
        a_case("acht_5", score=None, label=other),
    ]

    found = at_volume(by_score(cases), 4)

    assert found.volume == 4
    assert found.precision == Share(2, 4)
    assert found.recall == Share(1, 3)
    assert found.scenarios == Share(1, 2)
    assert at_volume(by_score(cases), 99).recall == Share(3, 3)
    assert at_volume(by_score(cases), 0).precision.value is None


def test_given_a_row_seen_by_two_banks_then_its_scenario_has_it_once_and_spans_whole_days() -> None:
    cases = [
        a_case("acht_1", label=BAD, day=44),
        a_case("acht_2", label=BAD, day=3),
        a_case("acht_2-in", label=BAD, day=3),
        a_case("acht_3", day=99),
    ]

    found = times(cases)

    assert found == {Kind("fan_in", bad=True): {"s1": [3 * DAY_US, 44 * DAY_US]}}
    assert span_days(found[Kind("fan_in", bad=True)]["s1"]) == 41


def test_given_times_then_the_densest_window_leaves_out_what_is_as_old_as_itself() -> None:
    ordered = [0, 1, 6, 7, 8, 30]

    assert densest(ordered, 7) == 3
    assert densest(ordered, 1) == 1
    assert densest([5, 5, 5], 1) == 3


@pytest.mark.parametrize(
    ("days", "word"), [(0, "0-7 days"), (7, "0-7 days"), (8, "8-90 days"), (90, "8-90 days"), (91, "91 days and more")]
)
def test_given_a_number_of_days_then_its_class_includes_its_upper_end(days: int, word: str) -> None:
    assert days_word(days, (7, 90)) == word


def test_given_cases_when_reported_then_every_share_has_its_n_and_signals_have_their_volume() -> None:
    cases = [a_case("acht_1", score=40, label=BAD), a_case("acht_2", label=LOOKALIKE), a_case("acht_3", score=None)]

    text = markdown(findings_of(cases, cases, Half.REPORT))

    assert "| fan_in | 100.0 % (1 of 1; 20.7-100.0) | 0.0 % (0 of 1; 0.0-79.3) |" in text
    assert "| in review or hold | 1 | 333.33 |" in text
    assert "| unscored | 1 | 333.33 |" in text
    assert "| 0-29 days | 3 | 333.33 | 333.33 | 100.0 % (1 of 1; 20.7-100.0) |" in text
    fired, bad = "333.33 | 1000.00 | 0.00 | 333.33", "100.0 % (1 of 1; 20.7-100.0)"
    assert f"| fan_in | {fired} | {bad} | 0 | 3.0 | {bad} |" in text


def test_given_no_reasons_when_reported_then_signals_are_not_measured() -> None:
    case = a_case("acht_1", score=40)
    without = msgspec.structs.replace(case, answer=msgspec.structs.replace(case.answer, signals=None, hard=None))

    text = markdown(findings_of([without], [without], Half.REPORT))

    assert "### Signals\n\nNot measured" in text
    assert "| with a hard signal, not in hold |  | not measured |" in text


def test_given_data_when_run_twice_then_the_figures_are_the_same_and_cover_both_scenarios(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = Asked(by_name=True, data=a_folder(tmp_path), half="both")

    once, again = (list(detection(Run(asked))) for _ in range(2))

    assert once == again
    by_name = {figure.name: figure for figure in once}
    assert by_name["fan_out, bad touched"].note.count("of 2;") == 2
    assert "of 80 transfers" in by_name["in review or hold"].note
    assert (tmp_path / ".bench" / "detection-amlsim-both.md").read_text().startswith("### Half: both")


def test_given_no_data_when_asked_for_by_name_then_the_refusal_names_the_file_and_else_it_is_left_out(
    tmp_path: Path,
) -> None:
    with pytest.raises(SystemExit, match=AMLSIM.transfers):
        list(detection(Run(Asked(by_name=True, data=tmp_path))))
    with pytest.raises(SystemExit, match="--data"):
        list(detection(Run(Asked(data=tmp_path))))


def test_given_labels_then_a_lookalike_without_a_scenario_is_one_of_its_own_and_typologies_of_no_kind_are_normal(
    tmp_path: Path,
) -> None:
    lines = ["a,true,chain,s1,false", "b,false,anomaly:income_spike,,true", "c,false,normal,,false"]
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress("\n".join([",".join(LABEL_COLUMNS), *lines, ""]).encode()))

    labels = labels_in(path)

    assert labels["a"] == Label(bad=True, typology="chain", scenario="s1")
    assert labels["b"] == Label(bad=False, typology="anomaly:income_spike", scenario="b")
    assert [labels[row].lookalike for row in "abc"] == [False, True, False]
    assert labels["c"] is NORMAL


def test_given_a_dump_when_run_then_each_transfer_has_a_row_with_its_label_and_all_of_its_vector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "dumps" / "vectors.parquet"

    list(detection(Run(Asked(by_name=True, data=a_folder(tmp_path), half="both", dump=path))))

    rows = {row["row_id"]: row for row in pq.read_table(path).to_pylist()}
    assert len(rows) == 80
    assert (rows["t7"]["is_bad"], rows["t7"]["scenario_id"], rows["t7"]["typology"]) == (True, "s0", "fan_out")
    assert (rows["t70"]["is_bad"], rows["t70"]["scenario_id"], rows["t70"]["is_lookalike"]) == (False, None, False)
    assert (rows["t7"]["amount_cents"], rows["t7"]["entity_id"], rows["t7"]["pair_first_time"]) == (
        107,
        "enti_A4",
        False,
    )
    assert {feature.column for feature in FEATURES} <= set(rows["t7"])


@pytest.mark.parametrize("world", WORLDS.values(), ids=list(WORLDS))
def test_given_a_world_when_its_files_are_missing_then_the_refusal_names_them(world: World, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=world.transfers):
        list(detection(Run(Asked(by_name=True, data=tmp_path, world=world.name))))


def test_given_a_card_when_run_on_the_last_of_the_time_then_it_is_ranked_beside_the_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "card.json"
    path.write_bytes(msgspec.json.encode(DEFAULT_CARD))

    figures = list(detection(Run(Asked(by_name=True, data=a_folder(tmp_path), half="last", card=path))))

    text = (tmp_path / ".bench" / "detection-amlsim-last.md").read_text()
    rows = dict.fromkeys(line.split(" | ")[0] for line in text.splitlines() if line.startswith("| "))
    assert "| fitted card" in rows
    assert "of 32 transfers, last half" in figures[0].note
    (told,) = {
        line.replace("fitted card", "default card") for line in text.splitlines() if line.startswith("| fitted card |")
    }
    assert told in text.splitlines()


def test_given_a_ranking_then_its_average_precision_is_the_mean_at_each_bad_one() -> None:
    cases = [a_case("acht_1", label=BAD), a_case("acht_2"), a_case("acht_3", label=BAD)]

    assert average_precision(cases) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([a_case("acht_2")]) is None


def test_given_amounts_when_the_largest_are_first_then_first_payments_may_come_before_them() -> None:
    cases = [a_case("acht_1", cents=5), a_case("acht_2", cents=9), a_case("acht_3", cents=1, first=True)]

    assert ids(by_cents(cases)) == ["acht_2", "acht_1", "acht_3"]
    assert ids(by_first_and_cents(cases)) == ["acht_3", "acht_2", "acht_1"]


def test_given_a_card_that_is_none_when_run_then_the_refusal_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(msgspec.json.encode(DEFAULT_CARD).replace(b'"floor":5', b'"floor":0'))

    with pytest.raises(SystemExit, match="floor"):
        list(detection(Run(Asked(by_name=True, data=a_folder(tmp_path), card=path))))


def test_given_no_data_beside_the_project_when_everything_runs_then_detection_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.detection.benchmark.BESIDE_THE_PROJECT", tmp_path)

    figures = list(detection(Run(Asked())))

    assert figures == []
    assert "left out" in capsys.readouterr().err


def test_given_an_entry_that_cannot_be_applied_when_scored_then_the_run_ends(tmp_path: Path) -> None:
    path = tmp_path / "p.ndjson"
    path.write_text('{"created_at":"2020-01-01T00:00:00Z","type":5}\n')

    with pytest.raises(SystemExit, match="offset 1"):
        list(from_states([path], lambda _: None))
