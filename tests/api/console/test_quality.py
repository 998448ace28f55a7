"""The figures of the model: those of the interface, with their intervals, as chart, table and file; or not measured."""

import csv
from typing import Any, Final

import pytest

from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import decide_many, story

QUALITY: Final = "/console/quality"
TABLES: Final = ("calibration", "hold-band", "labels", "decisions", "time-to-decision", "history")


@pytest.fixture
def labelled(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """Metrics after decisions and labels on four transfers, of which one is bad."""
    alerts = story(api, tenant, program, "bacc_1", 4)
    headers = api.operator(tenant)
    decide_many(api, headers, [each["id"] for each in alerts])
    for number in range(4):
        label = "bad" if number == 1 else "ok"
        body = {"transferId": f"acht_bacc_1_{number}", "label": label, "reason": "For a test."}
        answer = api.client.post("/api/labels", json=body, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
    api.catch_up()
    metrics: dict[str, Any] = api.client.get("/api/metrics", headers=headers).json()
    return metrics


def rows_of(browser: Browser, table: str, query: str = "") -> list[list[str]]:
    answer = browser.get(f"{QUALITY}/{table}.csv{query}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="{table}.csv"'
    return list(csv.reader(answer.text.splitlines()))


def test_given_labels_then_calibration_is_that_of_the_interface_as_table_and_file(
    browser: Browser, labelled: dict[str, Any]
) -> None:
    _, *rows = rows_of(browser, "calibration")
    measured = {band: figures for band, figures in labelled["calibration"].items() if figures["n"]}
    assert measured
    for band, value, low, high, n in rows:
        figures = labelled["calibration"][band]
        told = [figures[each] for each in ("value", "low", "high")]
        assert [value, low, high] == ["" if each is None else str(each) for each in told]
        assert int(n) == figures["n"]
    section = DomPage(browser.get(QUALITY).text).one("section", id="calibration").text
    for figures in measured.values():
        assert f"{figures['value']:.1%}" in section
        assert f"{figures['low']:.1%}" in section
    hold = labelled["holdBand"]
    whole = DomPage(browser.get(QUALITY).text).one("section", id="hold-band").text
    assert f"{hold['tp']} held and bad, {hold['fp']} held and ok" in whole


def test_given_a_bank_without_a_transfer_then_every_figure_is_not_measured_and_none_is_zero(browser: Browser) -> None:
    page = browser.get(QUALITY).text
    assert "not measured" in DomPage(page).one("section", id="calibration").text
    assert "0.0%" not in page
    for table in TABLES:
        head, *rows = rows_of(browser, table)
        assert len(head) > 3
        assert all(cell in {"", "0"} for row in rows for cell in row[1:] if table != "history")


@pytest.mark.usefixtures("labelled")
def test_given_a_program_and_days_then_the_figures_are_theirs_and_so_are_the_files(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    other = api.create_program(tenant, slug="other", name="Other")
    of_other = rows_of(browser, "calibration", f"?days=7&program={other['id']}")
    assert all(row[1:] == ["", "", "", "0"] for row in of_other[1:])
    of_mine = rows_of(browser, "calibration", f"?days=7&program={program['id']}")
    assert any(row[4] != "0" for row in of_mine[1:])
    page = browser.get(f"{QUALITY}?days=7&program={other['id']}").text
    assert f"calibration.csv?days=7&amp;program={other['id']}" in page


@pytest.mark.parametrize(("query", "status"), [("?days=0", 400), ("?days=many", 400), ("?program=nothing", 400)])
def test_given_a_filter_that_is_none_then_it_is_refused(browser: Browser, query: str, status: int) -> None:
    assert browser.get(f"{QUALITY}{query}").status_code == status
    assert browser.get(f"{QUALITY}/calibration.csv{query}").status_code == status


def test_given_a_table_that_is_none_then_404_and_a_key_without_reports_is_refused(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    assert browser.get(f"{QUALITY}/calibration").status_code == 404
    assert browser.get(f"{QUALITY}/nothing.csv").status_code == 404
    body = {"name": "k", "mode": "live", "scopes": ["record"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    assert reader.get(QUALITY).status_code == 403
    assert reader.get(f"{QUALITY}/calibration.csv").status_code == 403
