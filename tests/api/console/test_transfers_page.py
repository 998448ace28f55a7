"""The transfers of a party or account on the console: by a hundred, with a filter in the address, and as a file."""

import csv
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
import pytest

from clearhold.api.console.pages import transfers
from tests.support.alerting import deliver, outgoing
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

THINGS: Final = "/console/things"
NUMBER: Final = 7


@pytest.fixture
def moved(api: RunningApp, program: dict[str, Any]) -> dict[str, Any]:
    """Seven transfers of one account, on seven days, with seven amounts; and one of another account."""
    deliver(
        api,
        program,
        *(
            outgoing(
                f"acht_{number}",
                amount=100_00 + number,
                bank_account_id="bacc_1",
                created_at=f"2026-02-0{number + 1}T12:00:00Z",
            )
            for number in range(NUMBER)
        ),
        outgoing("acht_other", bank_account_id="bacc_2"),
    )
    return program


def path_of(program: dict[str, Any], **query: str) -> str:
    return f"{THINGS}/account/bacc_1/transfers?{urlencode({'programId': program['id'], **query})}"


def names_on(text: str) -> list[str]:
    links = [each.attributes.get("href") or "" for each in DomPage(text).all("a")]
    return [each.rpartition("/")[2].partition("?")[0] for each in links if each.startswith(f"{THINGS}/transfer/")]


def pages_from(browser: Browser, path: str) -> Iterator[str]:
    """The pages from this on, by the link to older ones."""
    while path:
        text = browser.get(path).text
        yield text
        older = [each for each in DomPage(text).all("a") if each.text == "Older"]
        path = path.partition("?")[0] + (older[0].attributes["href"] or "") if older else ""


def test_given_more_transfers_than_a_page_then_the_links_lead_to_each_of_them_once(
    browser: Browser, moved: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "PAGE", "3")
    every = list(pages_from(browser, path_of(moved)))
    assert [len(names_on(each)) for each in every] == [3, 3, 1]
    names = [name for each in every for name in names_on(each)]
    assert names == [f"acht_{number}" for number in reversed(range(NUMBER))]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"from": "2026-02-03", "to": "2026-02-05"}, [4, 3, 2]),
        ({"least": "100.02", "most": "100.03"}, [3, 2]),
        ({"status": "settled"}, []),
        ({"rail": "wire"}, []),
        ({"rail": "ach", "direction": "outgoing"}, [6, 5, 4, 3, 2, 1, 0]),
        ({"direction": "incoming"}, []),
    ],
)
def test_given_a_filter_then_page_and_file_have_the_same_transfers_and_the_form_keeps_it(
    browser: Browser, moved: dict[str, Any], query: dict[str, str], numbers: list[int]
) -> None:
    expected = [f"acht_{number}" for number in numbers]
    page = browser.get(path_of(moved, **query))
    assert page.status_code == 200, page.text
    assert names_on(page.text) == expected
    fields = DomPage(page.text)
    for name, value in query.items():
        typed = [each.attributes.get("value") for each in fields.all("input", name=name)]
        chosen = [each.attributes.get("value") for each in fields.all("option") if "selected" in each.attributes]
        assert value in typed + chosen
    if not expected:
        assert "No transfer fits this filter." in page.text
        return
    in_csv, lines = (
        browser.get(next(each.attributes["href"] or "" for each in fields.all("a") if each.text == kind))
        for kind in ("CSV", "NDJSON")
    )
    assert in_csv.headers["content-disposition"] == 'attachment; filename="transfers.csv"'
    assert sorted(row["id"] for row in csv.DictReader(in_csv.text.splitlines())) == sorted(expected)
    assert sorted(msgspec.json.decode(line)["id"] for line in lines.content.splitlines()) == sorted(expected)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"least": "much"}, "least"),
        ({"from": "2026-02-31"}, "from"),
        ({"least": "2", "most": "1"}, "amountFrom"),
        ({"rail": "pigeon"}, "rail"),
        ({"cursor": "none"}, "cursor"),
    ],
)
def test_given_a_filter_that_cannot_be_read_then_the_page_says_which_field_and_keeps_what_was_typed(
    browser: Browser, moved: dict[str, Any], query: dict[str, str], field: str
) -> None:
    for path in (path_of(moved, **query), path_of(moved, **query).replace("/transfers?", "/transfers/file?")):
        page = browser.get(path)
        if field == "cursor" and "/file" in path:
            assert page.status_code == 200
            continue
        assert page.status_code == 400
        assert field in DomPage(page.text).one("p", role="alert").text
        assert "least" not in query or f'value="{query["least"]}"' in page.text


def test_given_the_page_of_a_thing_then_it_leads_to_its_transfers_and_other_things_and_banks_have_none(
    api: RunningApp, console: ConsoleApp, browser: Browser, moved: dict[str, Any]
) -> None:
    thing = browser.get(f"{THINGS}/account/bacc_1?programId={moved['id']}").text
    every = next(each for each in DomPage(thing).all("a") if each.text == "All its transfers, with a filter")
    assert every.attributes["href"] == path_of(moved)
    assert browser.get(f"{THINGS}/transfer/acht_1/transfers").status_code == 404
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert stranger.get(path_of(moved)).status_code == 404
    assert names_on(stranger.get(f"{THINGS}/account/bacc_1/transfers").text) == []
