"""Changes of scorecards that the log did not confirm, and shards that lost theirs: what scores is what is shown."""

from typing import Any

from clearhold.features.shard.shard import ShardState
from clearhold.flows.engine import restore_lost_policies
from clearhold.store.control.scorecard_registry import ScorecardRegistry
from tests.support.running_app import SHARDS, RunningApp
from tests.support.scorecard_calls import ScorecardCalls
from tests.support.scorecards import a_card
from tests.support.unconfirmed import unconfirmed


def approve_in_vain(cards: ScorecardCalls, version: str) -> str:
    """Approve the activation of a reported card, whose entry is not confirmed; the action's id."""
    action_id: str = cards.activate(version).json()["id"]
    path, approval = f"/api/actions/{action_id}/approve", {"approverId": "ben"}
    with unconfirmed(cards.api):
        answer = cards.api.client.post(path, json=approval, headers=cards.api.operator(cards.tenant))
    assert answer.status_code == 503
    return action_id


def in_force(cards: ScorecardCalls, program: dict[str, Any]) -> tuple[str, list[list[str]]]:
    """What scores in the program, and what is shown to: by this process and by the next one."""
    tenant_id = cards.tenant["id"]
    shown = [
        [each.version for each in registry.tenancy.policies[tenant_id].all() if each.active]
        for registry in (cards.api.registry, cards.api.reloaded_registry())
    ]
    return cards.of_program(program["id"])[0], [
        [version for version in versions if version.startswith("scorecard")] for versions in shown
    ]


def test_given_an_activation_that_nobody_heard_of_then_the_next_one_follows_it_and_its_retry_changes_nothing(
    cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    for points in (30, 25):
        version = cards.propose(a_card(points=points)).json()["version"]
        cards.report(version, a_card(points=points))
    lost = approve_in_vain(cards, "scorecard-v1")
    assert in_force(cards, program)[0] == "trs-v1+scorecard-v1"

    assert cards.approve(cards.activate("scorecard-v2").json()["id"])["status"] == "executed"
    cards.api.on_loop(lambda: cards.api.bank_work.executor.conclude(cards.tenant["id"], lost, within_s=20))
    cards.api.catch_up()

    path = f"/api/actions/{lost}"
    assert cards.api.client.get(path, headers=cards.api.operator(cards.tenant)).json()["status"] == "executed"
    assert in_force(cards, program) == ("trs-v1+scorecard-v2", [["scorecard-v2"], ["scorecard-v2"]])


def test_given_a_card_that_nobody_heard_of_when_the_service_starts_again_then_its_retry_is_not_anothers(
    api: RunningApp, cards: ScorecardCalls
) -> None:
    with unconfirmed(api):
        assert cards.propose(Idempotency_Key="once").status_code == 503
    other = cards.propose(a_card(points=25)).json()

    policies = api.reloaded_registry().tenancy.policies[cards.tenant["id"]]
    again = cards.propose(Idempotency_Key="once").json()

    assert (again["version"], again["name"]) == ("scorecard-v1", a_card().name)
    assert other["version"] == "scorecard-v2"
    assert sorted(vars(policies)["_created_by"].values()) == ["scorecard-v1"]


def test_given_a_shadow_that_nobody_heard_of_when_started_again_then_it_runs_once(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.propose()
    with unconfirmed(api):
        assert cards.send("POST", "/scorecard-v1/shadow").status_code == 503
    entries = api.stored()

    assert cards.send("POST", "/scorecard-v1/shadow").json()["inShadow"]

    assert api.stored() == entries
    assert cards.of_program(program["id"]) == ("trs-v1", "trs-v1+scorecard-v1")


def test_given_an_activation_that_was_carried_out_when_its_outcome_was_lost_then_it_is_not_done_again(
    api: RunningApp, cards: ScorecardCalls
) -> None:
    version = cards.in_force()
    (action,) = api.client.get("/api/actions?type=activate_scorecard", headers=api.operator(cards.tenant)).json()[
        "data"
    ]
    entries = api.stored()

    for registry in (api.registry, api.reloaded_registry()):
        scorecards = ScorecardRegistry(registry, clock=api.clock)

        async def again(scorecards: ScorecardRegistry = scorecards) -> str:
            tenant_id, at = cards.tenant["id"], api.clock.now()
            return await scorecards.activate(tenant_id, version, action_id=action["id"], approved_at=at)

        assert api.on_loop(again) == version
    assert api.stored() == entries


def test_given_a_shard_that_lost_its_entries_when_the_service_starts_then_its_cards_come_back(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.in_force()
    cards.propose(a_card(points=25))
    cards.send("POST", "/scorecard-v2/shadow")
    cards.of_program(program["id"])
    for shard in range(SHARDS):
        lost = ShardState(shard)
        lost.applied_offset = api.reader.tail(shard)
        api.shards.restore(lost)
    assert cards.of_program(program["id"]) == ("trs-v1", None)

    api.on_loop(lambda: restore_lost_policies(api.registry, api.stores.owner))

    assert cards.of_program(program["id"]) == ("trs-v1+scorecard-v1", "trs-v1+scorecard-v2")
