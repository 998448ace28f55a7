"""Imported agents where other actors are: entities, reports, proofs, rescoring."""

from typing import Final

from features.core.instants import HOUR_US
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
    after = agents.agent(entity_of(22))
    assert {**after, "n": 0, "confidence": 0} == {**before, "n": 0, "confidence": 0}
    assert after["n"] == SETTLEMENTS
