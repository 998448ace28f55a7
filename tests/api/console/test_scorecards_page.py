"""Scorecards on the console: proposed, compared in shadow, and put in force by two people through their service."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
import pytest
import yaml

from clearhold.api.console.components.scorecards import comparison_view
from clearhold.api.http.operation import examples_of
from clearhold.api.scorecards import routes
from clearhold.features.core.scorecards import ShadowComparison
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import LARGE_FIRST, a_card

PLACE: Final = "/console/settings/scorecards"
NOTE: Final = "Model risk agreed."
V1: Final = f"{PLACE}/scorecard-v1"


@pytest.fixture
def cards(api: RunningApp, tenant: dict[str, Any]) -> ScorecardCalls:
    return ScorecardCalls(api, tenant)


def sent(browser: Browser, place: str, action: str, **fields: str) -> Any:
    return browser.send_form(browser.get(place), f"{place}/{action}", **fields)


def test_given_a_card_from_the_default_one_then_its_difference_its_shadow_and_two_people_bring_it_into_force(
    cards: ScorecardCalls, api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    assert "trs-v1" in browser.get(PLACE).text
    typed = yaml.safe_dump(msgspec.to_builtins(a_card(25)), sort_keys=False)
    form = browser.get(f"{PLACE}/trs-v1")
    for _ in range(2):
        proposed = browser.send_form(form, f"{PLACE}/trs-v1/propose", card=typed)
        assert proposed.headers.get("location") == f"{V1}?done=proposed", proposed.text
    assert [each["version"] for each in cards.read()] == ["scorecard-v1", "trs-v1"]
    page = DomPage(browser.get(V1).text)
    difference = page.one("section", id="difference").text
    assert f"signals.{LARGE_FIRST}" in difference
    assert "from 1: 25" in difference
    assert "never ran in shadow" in page.one("section", id="comparison").text

    refused = sent(browser, V1, "activate", note=NOTE)
    assert refused.status_code == HTTPStatus.CONFLICT
    assert "report" in DomPage(refused.text).one("p", role="alert").text
    assert DomPage(refused.text).one("textarea", name="note").text == NOTE

    assert sent(browser, V1, "shadow").headers["location"] == f"{V1}?done=shadow"
    assert cards.read("scorecard-v1")["inShadow"]
    in_shadow = DomPage(browser.get(V1).text).one("section", id="comparison").text
    assert "0 transfers that both scored" in in_shadow
    assert "not measured" in in_shadow
    assert sent(browser, V1, "end-shadow").headers["location"] == f"{V1}?done=ended"
    assert not cards.read("scorecard-v1")["inShadow"]

    assert cards.report("scorecard-v1", a_card(25)).status_code == HTTPStatus.CREATED
    assert sent(browser, V1, "activate", note=NOTE).headers["location"] == f"{V1}?done=requested"
    (action,) = api.client.get("/api/actions?status=requested", headers=api.operator(tenant)).json()["data"]
    assert (action["type"], action["change"]["note"]) == ("activate_scorecard", NOTE)
    assert not cards.read("scorecard-v1")["active"]
    assert cards.approve(action["id"])["status"] == "executed"
    api.catch_up()
    assert "● scores" in browser.get(V1).text
    assert 'id="difference"' not in browser.get(V1).text
    back = DomPage(browser.get(f"{PLACE}/trs-v1").text)
    assert "Against scorecard-v1, which scores" in back.one("section", id="difference").text
    assert sent(browser, f"{PLACE}/trs-v1", "activate", note=NOTE).status_code == HTTPStatus.SEE_OTHER


def test_given_a_comparison_then_it_has_both_cards_with_intervals_and_the_transfers_in_another_band() -> None:
    compared = msgspec.convert(examples_of(routes.__file__)["comparison"], ShadowComparison)
    words = " ".join(DomPage(comparison_view(compared)).one("section", id="comparison").text.split())
    assert f"{compared.transfers:,} transfers that both scored" in words
    for figures in (compared.champion, compared.challenger):
        for share in (figures.precision, figures.recall):
            assert share.value is not None
            assert f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%}), n = {share.n:,}" in words
    moved = [each for each in compared.moves if each.champion_band != each.band]
    assert moved
    assert words.count(" from ") == len(moved)
    for each in moved:
        assert f"from {each.champion_band} to {each.band}" in words


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("name: [", "cannot be read"),
        ("scorer: trs", "card.name"),
        ("- 1", "card"),
        ("a: '</textarea><script>'", "card"),
    ],
)
def test_given_a_card_that_is_refused_then_the_page_says_why_and_keeps_the_text(
    cards: ScorecardCalls, browser: Browser, typed: str, words: str
) -> None:
    answer = sent(browser, f"{PLACE}/trs-v1", "propose", card=typed)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    page = DomPage(answer.text)
    assert words in page.one("p", role="alert").text
    assert page.one("textarea", name="card").text == typed
    assert [each["version"] for each in cards.read()] == ["trs-v1"]


def test_given_a_key_then_its_session_reads_cards_without_forms_and_another_bank_sees_none(
    cards: ScorecardCalls, console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    cards.propose()
    body = {"name": "k", "mode": "live", "scopes": ["policies"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    page = reader.get(V1)
    assert page.status_code == HTTPStatus.OK
    assert f'action="{V1}' not in page.text
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert stranger.get(V1).status_code == HTTPStatus.NOT_FOUND
