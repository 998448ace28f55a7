"""The drawing of the money around a subject: as the interface has it, bounded, with the path marked."""

from typing import Any, Final

import htpy as h
import msgspec

from clearhold.api.console.components.money_graph import money_graph, places_of
from clearhold.api.console.pages.graph import MOST_PAIRS
from clearhold.api.graph.schemas import GRAPH, SubjectGraph
from tests.support.alerting import ALERTING, deliver, outgoing, party
from tests.support.console import Browser
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

PART: Final = {"HX-Target": "around"}
HOSTILE: Final = "<b>\"'&\u202e"


def graph_of(api: RunningApp, tenant: dict[str, Any], around: str) -> dict[str, Any]:
    query = {"around": around, "limit": str(MOST_PAIRS)}
    answer = api.client.get("/api/graph", params=query, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_given_an_alert_then_its_workspace_leads_to_the_pairs_of_the_interface_as_a_drawing_and_a_table(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, party("counterparty", "cpty_2", name=HOSTILE))
    for number, payee in enumerate(("cpty_1", "cpty_2", "cpty_2")):
        deliver(api, program, outgoing(f"acht_{number}", counterparty_id=payee, **ALERTING))
    stack = next(
        each
        for each in api.client.get("/api/stacks", headers=api.operator(tenant)).json()["data"]
        if each["kind"] == "account"
    )
    page = DomPage(browser.get(f"/console/stacks/{stack['id']}").text)
    (link,) = (each for each in page.all("a") if (each.attributes.get("href") or "").startswith("/console/graph"))
    address = link.attributes["href"] or ""

    graph = graph_of(api, tenant, address.partition("around=")[2].partition("&")[0].replace("%3A", ":"))
    part = browser.part(address, **PART).text
    drawn = DomPage(part)

    assert len(graph["edges"]) == 2
    assert len([each for each in drawn.all("g") if "edge" in (each.attributes["class"] or "").split()]) == 2
    assert len(drawn.all("tr")) == 3
    assert "<h1" not in part
    assert "autofocus" in drawn.one("h3").attributes, "a screen reader reads the heading, and not the whole part"
    assert "200.00 USD from" in part
    assert HOSTILE[:3] not in part
    assert DomPage(browser.get(address).text).one("h1").text == "The money around it"


def test_given_a_hub_then_the_heaviest_pairs_are_drawn_and_the_rest_is_said_in_words(
    api: RunningApp, program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, *(outgoing(f"acht_{n}", counterparty_id=f"cpty_{n}", amount=100 + n) for n in range(40)))
    text = browser.get("/console/graph?around=account:bacc_1").text
    page = DomPage(text)
    assert len([each for each in page.all("g") if "edge" in (each.attributes["class"] or "").split()]) == MOST_PAIRS
    rest = sum(100 + n for n in range(40 - MOST_PAIRS))
    assert f"16 further pairs with {rest // 100}.{rest % 100:02d} USD in 16 transfers left out." in text


def test_given_an_unknown_subject_then_it_is_refused(browser: Browser) -> None:
    assert browser.get("/console/graph?around=account:none").status_code == 404
    assert browser.get("/console/graph?around=nothing").status_code == 400
    assert browser.get("/console/graph").status_code == 400


def test_given_a_round_trip_then_its_edges_are_in_the_accent_and_its_parties_in_the_middle() -> None:
    node, edge = GRAPH["nodes"][0], GRAPH["edges"][0]
    names = ["a", "b", "c", "payer"]
    nodes = [node | {"key": f"entity:{each}", "id": each, "name": each, "hop": int(each == "payer")} for each in names]
    ends = [("a", "b", True), ("b", "c", True), ("c", "a", True), ("payer", "a", False)]
    edges = [edge | {"from": f"entity:{x}", "to": f"entity:{y}", "path": path} for x, y, path in ends]
    graph = msgspec.convert(GRAPH | {"nodes": nodes, "edges": edges}, SubjectGraph)

    places, text = places_of(graph), str(h.fragment[money_graph(graph)])

    assert {key[7:]: place.side for key, place in places.items()} == {"a": 0, "b": 0, "c": 0, "payer": -1}
    assert len({place.y for key, place in places.items() if place.side == 0}) == 3
    assert text.count('class="edge path"') == 3
    assert text.count('class="edge"') == 1
    assert text.count("on the path") == 3 + 3 + 3


def test_given_an_id_with_signs_of_an_address_then_the_link_to_its_page_has_them_escaped() -> None:
    node = GRAPH["nodes"][0] | {"id": "cpty/1?x=#2", "type": "counterparty"}
    graph = msgspec.convert(GRAPH | {"nodes": [node, *GRAPH["nodes"][1:]]}, SubjectGraph)
    assert 'href="/console/things/counterparty/cpty%2F1%3Fx%3D%232?programId=' in str(h.fragment[money_graph(graph)])
