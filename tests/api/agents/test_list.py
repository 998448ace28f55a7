"""The list of agents: an array in parts, narrowed by the bands of newest scores."""

from typing import Final

from clearhold.api.agents.routes import MOST_LISTED
from clearhold.features.core.instants import HOUR_US
from tests.api.agents.conftest import Agents
from tests.support.clock import T0
from tests.support.running_app import assert_refused
from tests.support.scan_items import a_profile, a_settlement, address, an_agent, entity_of

SETTLEMENTS: Final = 12
IN_REVIEW: Final = (2, 5, 7)
CLEAR: Final = (1, 6)
UNSCORED: Final = (3, 4, 8)


def imported(agents: Agents) -> None:
    """Eight agents: some with enough settlements for a score, some of those paid by a listed wallet."""
    listed_wallet = address(0xBAD)
    agents.index.put("agents", *(an_agent(number) for number in range(1, 9)))
    agents.index.put("profiles", a_profile(listed_wallet, "hit"))
    for number in (*IN_REVIEW, *CLEAR):
        for each in range(SETTLEMENTS):
            payer = listed_wallet if number in IN_REVIEW and each == 0 else address(1_000 * number + each)
            at = T0 - 20 * HOUR_US + each * HOUR_US
            agents.index.put("settlements", a_settlement(100 * number + each, at, agent=number, payer=payer))
    agents.run_import()


def parts(agents: Agents, **params: str) -> list[list[str]]:
    """The list from its beginning along its links."""
    answer = agents.get("/api/agents", **params)
    read = [answer]
    while "next" in answer.links:
        answer = agents.api.client.get(answer.links["next"]["url"], headers=agents.headers)
        read.append(answer)
    return [[agent["entityId"] for agent in each.json()] for each in read]


def ids(*numbers: int) -> list[str]:
    return [entity_of(number) for number in numbers]


def test_given_agents_of_all_bands_when_listed_by_band_then_exactly_those_come_in_whole_parts(agents: Agents) -> None:
    imported(agents)

    assert parts(agents, limit="3") == [ids(1, 2, 3), ids(4, 5, 6), ids(7, 8)]
    assert parts(agents, band="review", limit="2") == [ids(2, 5), ids(7)]
    assert parts(agents, band="unscored", limit="1") == [ids(3), ids(4), ids(8)]
    assert parts(agents, band="unscored,clear", limit="3") == [ids(1, 3, 4), ids(6, 8)]
    assert parts(agents, band="hold") == [[]]
    for agent in agents.get("/api/agents", band="review").json():
        assert agent["bandName"] == "review"


def test_given_an_agent_whose_band_changes_when_listed_then_its_newest_score_counts(agents: Agents) -> None:
    imported(agents)
    assert entity_of(1) in agents.listed(band="clear")

    paid = a_settlement(9_000, T0 - HOUR_US, agent=1, payer=address(0xBAD))
    agents.index.put("settlements", paid)
    agents.run_import()

    assert agents.listed(band="clear") == ids(6)
    assert agents.listed(band="review") == ids(1, *IN_REVIEW)


def test_given_a_cursor_of_other_bands_when_listed_then_it_is_refused(agents: Agents) -> None:
    imported(agents)
    link = agents.get("/api/agents", band="clear,unscored", limit="1").links["next"]["url"]
    cursor = link.rpartition("cursor=")[2]

    assert_refused(agents.get("/api/agents", cursor=cursor), 400, "same filters")
    assert_refused(agents.get("/api/agents", band="review", cursor=cursor), 400, "same filters")
    assert agents.listed(band="unscored,clear", limit="1", cursor=cursor) == ids(3)


def test_given_a_band_that_is_none_when_listed_then_it_is_refused(agents: Agents) -> None:
    assert_refused(agents.get("/api/agents", band="green"), 400, "band")


def test_given_more_agents_than_one_answer_has_when_listed_without_a_limit_then_a_link_leads_on(agents: Agents) -> None:
    agents.index.put("agents", *(an_agent(number) for number in range(MOST_LISTED + 1)))
    agents.run_import()

    first, rest = parts(agents)

    assert (len(first), len(rest)) == (MOST_LISTED, 1)
    assert len({*first, *rest}) == MOST_LISTED + 1


def test_given_keys_when_agents_are_read_then_it_takes_the_scope_of_reports(agents: Agents) -> None:
    imported(agents)
    for scope, status in (("reports", 200), ("alerts:read", 403)):
        made = agents.api.client.post(
            "/api/keys", json={"name": scope, "mode": "live", "scopes": [scope]}, headers=agents.headers
        ).json()
        key = {"Authorization": f"Bearer {made['secret']}"}
        for path in ("/api/agents", f"/api/agents/{entity_of(1)}", "/api/agents/import"):
            assert agents.api.client.get(path, headers=key).status_code == status, (scope, path)
