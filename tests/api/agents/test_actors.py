"""Imported agents where other actors are: entities, reports, proofs, rescoring."""

from typing import Final

from clearhold.features.core.instants import HOUR_US
from tests.api.agents.conftest import Agents
from tests.support.clock import T0
from tests.support.scan_items import a_profile, a_settlement, an_agent, entity_of, wallet_of

SETTLEMENTS: Final = 12


def imported(agents: Agents) -> None:
    agents.index.put("agents", an_agent(), an_agent(23, owner=an_agent()["owner"]))
    agents.index.put("profiles", a_profile(wallet_of(22)))
    first = T0 - 20 * HOUR_US
    payments = [a_settlement(each, first + each * HOUR_US, payer=wallet_of(23)) for each in range(SETTLEMENTS)]
    agents.index.put("settlements", *payments)
    agents.run_import()


def test_given_a_scored_agent_then_its_entity_report_and_proof_agree(agents: Agents) -> None:
    imported(agents)
    agent = agents.agent(entity_of(22))

    entity = agents.get(f"/api/entities/{entity_of(22)}").json()
    report = agents.get(f"/api/reports/actor/agent/{entity_of(22)}").json()
    proof = agents.api.client.post(
        "/api/proofs", json={"type": "agent", "id": entity_of(22)}, headers=agents.headers
    ).json()["claims"]

    assert (entity["type"], entity["verificationStatus"], entity["raw"]) == ("BUSINESS", "UNVERIFIED", an_agent())
    assert (report["type"], report["name"], report["transfers"]["count"]) == ("agent", agent["name"], SETTLEMENTS)
    assert report["current"]["score"] == proof["score"] == agent["score"]
    assert (agent["version"], agent["bandName"]) == ("ars-v1", report["current"]["band"])
    assert "ARS-FLO-02" in proof["reasons"]


def test_given_agents_when_actors_are_rescored_then_they_are_counted_and_their_scores_stay(agents: Agents) -> None:
    imported(agents)
    before = agents.agent(entity_of(22))
    token = {"Authorization": agents.headers["Authorization"]}

    counted = agents.api.client.post(f"/api/skoor/actors/backfill/{agents.program['id']}", headers=token).json()

    assert counted == {"entities": 2, "counterparties": 1, "agents": 2}
    assert agents.agent(entity_of(22)) == before


def test_given_settlements_after_the_last_change_of_a_score_then_the_agent_has_the_n_of_all(agents: Agents) -> None:
    imported(agents)
    agents.index.put("agents", an_agent(24))
    first = T0 - 40 * HOUR_US
    agents.index.put("settlements", *(a_settlement(100 + each, first + each * HOUR_US, agent=24) for each in range(30)))
    agents.run_import()

    screened, unscreened = agents.agent(entity_of(22)), agents.agent(entity_of(24))

    assert (screened["settlements"], screened["n"], screened["confidence"]) == (SETTLEMENTS, SETTLEMENTS, 0.38)
    assert (unscreened["settlements"], unscreened["n"], unscreened["confidence"]) == (30, 30, 0.3)
