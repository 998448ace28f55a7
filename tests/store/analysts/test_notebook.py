"""The notebook on a small lake: every cell runs, and each plot draws the rows of its question and nothing else."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import marimo
import msgspec
import pytest

from clearhold.features.core.instants import DAY_US, HOUR_US, datetime_of
from clearhold.features.core.rows.parties import ProgramRow
from clearhold.features.core.vocabulary import band_word
from tests.support.clock import T0, FrozenClock
from tests.support.duck_rows import PROGRAM, TENANT, a_disposition, a_label, a_scoring, a_transfer, an_alert, an_event
from tests.support.small_lake import Row, SmallLake

NOTEBOOK: Final = Path(__file__).parents[3] / "docs" / "notebooks" / "lake.py"
SINCE: Final = T0 - 80 * DAY_US
TRANSFERS: Final = 480
STEP_US: Final = 2 * HOUR_US
FIRST, LAST = (datetime_of(at).date() for at in (SINCE, SINCE + (TRANSFERS - 1) * STEP_US))
WITHIN: Final = f"since := '{FIRST}', until := '{LAST + timedelta(days=1)}'"
NOW: Final = f"as_of := make_timestamp({T0})"
OF_LABELS: Final = f"{WITHIN}, {NOW}"


@pytest.fixture
def lake(tmp_path: Path, database: duckdb.DuckDBPyConnection, clock: FrozenClock) -> SmallLake:
    return SmallLake(tmp_path, database, clock)


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> marimo.App:
    """On the data directory of the small lake, as its environment says."""
    monkeypatch.setenv("CLEARHOLD_DATA", str(tmp_path))
    spec = importlib.util.spec_from_file_location("notebook_of_the_lake", NOTEBOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    app: marimo.App = module.app
    return app


def a_month(*, labelled: bool = True) -> Iterator[msgspec.Struct]:
    """Transfers of forty days, the worse the higher their score; alerts open and closed; what was delivered."""
    yield ProgramRow(TENANT, PROGRAM, 3, 1, "payroll", "{}", T0)
    for number in range(TRANSFERS):
        at, name = SINCE + number * STEP_US, f"trf_{number}"
        score = None if number % 20 == 0 else number * 7 % 101
        fired = ["TRS-VEL-01"] * (number % 3 == 0) + ["TRS-AMT-01"] * ((score or 0) > 60)
        reasons = [{"id": each, "signal": f"signal_{each[4:7]}", "weight": 9, "hard": False} for each in fired]
        body = msgspec.json.encode([each | {"sentence": "", "detail": None} for each in reasons]).decode()
        scoring = a_scoring(name, at, 0, score=score, band=band_word(score), reasons=body)
        yield msgspec.structs.replace(scoring, scored_at=at)
        yield a_transfer(id=name, bank_created_at=at, direction=("incoming", "outgoing")[number % 4 > 1])
        yield an_event(event_id=f"evt_{number}", appended_at=at, result="applied" if number % 9 else "duplicate")
        if labelled and number % 2:
            yield a_label(transfer_id=name, label="bad" if (score or 0) > 30 + number % 50 else "ok")
    for number in range(12):
        opened_at = T0 - number * 60 * HOUR_US
        closed_at = opened_at + number * HOUR_US if number % 3 else None
        alert = an_alert(id=f"alr_{number}", opened_at=opened_at, dedupe_key=f"key_{number}", due_at=opened_at + DAY_US)
        yield msgspec.structs.replace(alert, closed_at=closed_at, sla_tier=("standard", "complex")[number % 2])
        if closed_at is not None:
            yield a_disposition(id=f"dsp_{number}", alert_id=f"alr_{number}")


def drawn(chart: Any) -> tuple[list[Row], list[tuple[str, list[Row]]]]:
    """All rows that a plot has, and each field that it draws with the rows it is drawn of."""
    spec: dict[str, Any] = chart.to_dict()
    datasets: dict[str, list[Row]] = spec["datasets"]
    return [row for rows in datasets.values() for row in rows], list(_fields(spec, datasets, None))


def _fields(spec: Any, datasets: Mapping[str, list[Row]], name: str | None) -> Iterator[tuple[str, list[Row]]]:
    if isinstance(spec, list):
        for each in spec:
            yield from _fields(each, datasets, name)
    if isinstance(spec, dict):
        name = spec.get("data", {}).get("name", name)
        if "field" in spec and name is not None:
            yield spec["field"], datasets[name]
        for key, each in spec.items():
            if key not in {"data", "datasets"}:
                yield from _fields(each, datasets, name)


def holds(plotted: Row, row: Row) -> bool:
    """Whether a plot's row has all values of another; ``what`` names a measure under any name."""
    rest = {name: value for name, value in row.items() if name != "what"}
    if not rest.keys() <= plotted.keys() or ("what" in row and row["what"] not in plotted.values()):
        return False
    return all(same_value(plotted[name], value) for name, value in rest.items())


def same_value(one: object, other: object) -> bool:
    if isinstance(other, date):
        return one == f"{other}T00:00:00"
    return one == (pytest.approx(other) if isinstance(other, float) else other)


def assert_drawn(chart: Any, rows: list[Row]) -> None:
    """Every row stands in the plot with all its values, and each field that is drawn is there in some row."""
    plotted, fields = drawn(chart)
    assert rows
    for row in rows:
        assert any(holds(each, row) for each in plotted), row
    assert fields
    assert not [name for name, of in fields if not any(name in each for each in of)]


def as_drawn(rows: list[Row], of: Mapping[str, str], **same: str) -> list[Row]:
    """A row for each measure of a row, as a plot has several on one axis: named by ``of``, its columns by ``same``."""
    return [
        {"what": word} | {name: row[column.format(measure)] for name, column in same.items()}
        for row in rows
        for measure, word in of.items()
    ]


def outcomes(lake: SmallLake) -> dict[str, list[Row]]:
    """What the plots on labels have to draw."""
    lifts = [row for row in lake.rows(f"reason_lift({OF_LABELS})") if row["n"] >= 30]
    tenths = lake.rows(f"reliability({OF_LABELS})")
    cutoffs = lake.rows(f"precision_recall({OF_LABELS})")
    curve = {"score_from": "score_from", "share": "{}", "low": "{}_low", "high": "{}_high"}
    return {
        "bands": lake.rows(f"band_outcomes({OF_LABELS})"),
        "reliability": [row for row in tenths if None not in (row["p"], row["observed"])],
        "precision_recall": [*cutoffs, *as_drawn(cutoffs, {"precision": "precision", "recall": "recall"}, **curve)],
        "lift": [row | {"lift_high": row["high"] / row["base_share"]} for row in lifts],
        "own": lake.rows(
            "(SELECT direction, count(*) AS n, count(*) FILTER (is_bad) AS bad FROM labelled() AS known "
            "JOIN transfers ON id = transfer_id GROUP BY direction)"
        ),
    }


def processes(lake: SmallLake, split: date) -> dict[str, list[Row]]:
    """What the plots without labels have to draw."""
    weeks = lake.rows(f"weekly_drift({WITHIN})")
    ages = lake.rows(f"alert_ageing({NOW})")
    until = LAST + timedelta(days=1)
    classes = lake.rows(f"score_stability('{FIRST}', '{split}', '{split}', '{until}')")
    bands = {band: band for band in ("review", "hold", "unscored")}
    periods = {period: period for period in ("before", "after")}
    open_for = {"under_7_days": "under 7 days", "older": "older"}
    return {
        "drift": [*weeks, *as_drawn(weeks, bands, week="week", share="{}_share")],
        "reasons": lake.rows(f"weekly_reasons({WITHIN})"),
        "stability": as_drawn(classes, periods, n="n_{}", share="share_{}", contribution="contribution"),
        "ageing": [*ages, *as_drawn(ages, open_for, sla_tier="sla_tier", alerts="{}")],
        "funnel": lake.rows(f"funnel({WITHIN})"),
    }


def test_given_a_lake_with_labels_when_the_notebook_runs_then_each_plot_has_the_rows_of_its_question(
    lake: SmallLake, notebook: marimo.App
) -> None:
    lake.write([*a_month()])

    _, names = notebook.run()

    expected = outcomes(lake) | processes(lake, names["split_choice"].value)
    assert {name for name in names if name.endswith("_chart")} == {f"{name}_chart" for name in expected}
    for name, rows in expected.items():
        assert_drawn(names[f"{name}_chart"], rows)


def test_given_a_lake_without_labels_when_the_notebook_runs_then_it_says_so_and_draws_the_rest(
    lake: SmallLake, notebook: marimo.App
) -> None:
    lake.write([*a_month(labelled=False)])

    outputs, names = notebook.run()

    assert {name for name in names if name.endswith("_chart")} == {
        f"{name}_chart" for name in processes(lake, names["split_choice"].value)
    }
    assert sum("has a label, so nothing can be measured" in text for text in texts(outputs)) == 5


def test_given_no_lake_or_an_empty_one_when_the_notebook_runs_then_it_says_what_to_do(
    lake: SmallLake, notebook: marimo.App
) -> None:
    without, _ = notebook.run()
    lake.write([a_label()])
    empty, names = notebook.run()

    assert any("There is no lake in" in text and "--data DIR" in text for text in texts(without))
    assert any("has no scored transfer yet" in text for text in texts(empty))
    assert "answer" not in names


def texts(outputs: Sequence[object]) -> list[str]:
    return [output.text for output in outputs if isinstance(output, marimo.Html)]
