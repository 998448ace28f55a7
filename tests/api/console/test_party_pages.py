"""The page of a party or account: the bank's statements with their age, the score over time, transfers, and ways on."""

from typing import Any, Final

import pytest

from clearhold.api.console.components.words import count
from tests.support.alerting import deliver, outgoing, party
from tests.support.bank_events import an_entity
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp
from tests.support.stacking import story

THINGS: Final = "/console/things"
OWNER: Final = "enti_1"
HOSTILE: Final = "</b><script>alert(1)</script>"
NAMED: Final = {"first_name": HOSTILE, "last_name": "Rivers", "pep_status": "no"}


@pytest.fixture
def known(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    """An entity with an account, a counterparty, and three transfers between them."""
    deliver(
        api,
        program,
        party("identity", OWNER, **(an_entity() | {"person_details": NAMED})),
        party("account", "bacc_1", entity_id=OWNER, entity_ids=[OWNER], status="OPEN"),
        party("counterparty", "cpty_1", name="New Vendor LLC"),
    )
    story(api, tenant, program, "bacc_1", 3)
    return program


@pytest.mark.parametrize(
    ("kind", "id_", "words"),
    [
        ("counterparty", "cpty_1", ("New Vendor LLC", "First seen", "ago")),
        ("account", "bacc_1", ("Transfers", "3", "Last transfer")),
    ],
)
def test_given_a_party_then_its_page_has_the_banks_statements_its_transfers_and_ways_on(
    browser: Browser, known: dict[str, Any], kind: str, id_: str, words: tuple[str, ...]
) -> None:
    answer = browser.get(f"{THINGS}/{kind}/{id_}?programId={known['id']}")
    assert answer.status_code == 200, answer.text
    page = DomPage(answer.text)
    told = page.one("section", id="facts").text
    assert all(each in told or each in page.one("h1").text for each in words)
    assert "100.00 USD outgoing by ach" in page.one("section", id="transfers").text
    links = [each.attributes.get("href") or "" for each in page.all("a")]
    graph = next(each for each in links if each.startswith("/console/graph"))
    assert browser.get(graph).status_code == 200
    transfer = next(each for each in links if each.startswith(f"{THINGS}/transfer/acht_bacc_1"))
    assert browser.get(transfer).status_code == 200
    files = [each for each in links if each.startswith("/console/record/subject")]
    assert len(files) == (kind == "counterparty")
    for each in files:
        assert browser.get(each).headers["content-disposition"].startswith("attachment")


def test_given_an_entity_then_its_facts_have_their_age_and_a_hostile_name_is_text(
    api: RunningApp, tenant: dict[str, Any], browser: Browser, known: dict[str, Any]
) -> None:
    deliver(api, known, *(outgoing(f"acht_{number}", entity_id=OWNER) for number in range(8)))
    entity = api.client.get(f"/api/entities/{OWNER}", headers=api.operator(tenant))
    assert entity.status_code == 200, entity.text
    answer = browser.get(f"{THINGS}/entity/{OWNER}?programId={known['id']}")
    assert "<script>alert" not in answer.text
    page = DomPage(answer.text)
    assert HOSTILE in page.one("h1").text
    told = page.one("section", id="facts").text
    assert entity.json()["verificationStatus"].replace("_", " ").lower() in told
    assert "ago" in told
    caps = page.one("section", id="caps").text
    assert "Outgoing transfers of one entity in a day (UTC): 1,100.00 USD used now, no cap is in force (n = 11)" in caps
    assert "Transfers of one entity in 24 hours: 11 used now" in caps
    report = api.client.get(f"/api/reports/actor/entity/{OWNER}", headers=api.operator(tenant))
    scores = [each["score"] for each in report.json()["history"]]
    assert scores
    assert f"{count(len(scores), 'score')} in the period" in page.one("section", id="scores").text


def test_given_a_thing_that_the_bank_never_stated_then_the_page_has_its_timeline_alone(
    browser: Browser, known: dict[str, Any]
) -> None:
    answer = browser.get(f"{THINGS}/transfer/acht_bacc_1_0?programId={known['id']}")
    assert answer.status_code == 200
    assert 'id="facts"' not in answer.text
    assert "What happened" in answer.text


def test_given_keys_of_less_than_all_then_their_sessions_see_what_their_scopes_are_for(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], known: dict[str, Any]
) -> None:
    body = {"name": "k", "mode": "live", "scopes": ["alerts:read"]}
    key = api.client.post("/api/keys", json=body, headers=api.operator(tenant)).json()
    reader = console.browser()
    reader.sign_in(key["secret"], "")
    page = reader.get(f"{THINGS}/counterparty/cpty_1?programId={known['id']}").text
    assert "New Vendor LLC" in page
    assert 'id="scores"' not in page
    assert "/console/record/subject" not in page
    stranger = console.browser()
    stranger.sign_in(api.create_tenant("second-bank")["operatorToken"])
    assert stranger.get(f"{THINGS}/counterparty/cpty_1?programId={known['id']}").status_code == 404
