"""What an activation cannot be had by: another text, an old backtest, the same person, many calls, a lost entry."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final
from unittest.mock import AsyncMock

import msgspec
import pytest
from msgspec.structs import replace

from clearhold.api.rules.schemas import RuleChange
from clearhold.features.core.instants import HOUR_US, SECOND_US
from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import Backtest, Rule
from clearhold.features.policy.seeds import POLICY_V1
from clearhold.features.shard.shard import ShardState
from clearhold.flows.backtests import BacktestRunner
from clearhold.flows.engine import restore_lost_policies
from clearhold.store.control.rule_registry import RuleRegistry, valid_backtest
from clearhold.store.control.rules import StoredRule
from tests.support.principals import an_operator
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import SHARDS, RunningApp, assert_refused

PARALLEL: Final = 50


def many(call: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(PARALLEL) as pool:
        return [each.result() for each in [pool.submit(call) for _ in range(PARALLEL)]]


def stored(rules: RuleCalls) -> StoredRule:
    known = rules.api.registry.tenancy.rules.of_tenant(rules.tenant["id"]).find(RULE_ID)
    assert known is not None
    return known


@pytest.mark.parametrize("days", [None, 89, 90])
def test_given_backtests_of_some_days_when_activated_then_90_are_needed(rules: RuleCalls, days: int | None) -> None:
    rules.create()
    if days is not None:
        rules.backtest(days=days)

    answer = rules.activate()

    if days == 90:
        assert answer.status_code == 201
    else:
        assert_refused(answer, 409, "needs a backtest of the rule exactly as it is written")


def test_given_a_backtest_when_24_hours_have_passed_then_it_counts_no_more(api: RunningApp, rules: RuleCalls) -> None:
    rules.tested()
    api.clock.advance(24 * HOUR_US - SECOND_US)
    assert valid_backtest(stored(rules), api.clock.now()) is not None
    api.clock.advance(SECOND_US)

    assert_refused(rules.activate(), 409, "less than 24 hours old")

    rules.backtest(days=1)
    assert_refused(rules.activate(), 409)
    rules.backtest()
    assert rules.activate().status_code == 201


def test_given_a_rule_that_is_written_again_while_its_backtest_runs_then_it_stays_a_draft(
    api: RunningApp, rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.create()
    run = BacktestRunner.run

    async def run_while_written(
        self: BacktestRunner, principal: Principal, rule: Rule, program_ids: Any, **sent: Any
    ) -> Backtest:
        other = replace(rule, name="Other")
        registry = RuleRegistry(api.registry, clock=api.clock)
        await registry.replace(principal, other, is_current=lambda _: True, effect_id=None)
        return await run(self, principal, rule, program_ids, **sent)

    monkeypatch.setattr(BacktestRunner, "run", run_while_written)
    assert rules.backtest().status_code == 201

    assert rules.status() == "draft"
    assert_refused(rules.activate(), 409, "exactly as it is written")


@pytest.mark.parametrize("approver", ["ann", " ANN ", "Ann"])
def test_given_the_requester_in_any_spelling_when_approving_then_it_is_refused(
    rules: RuleCalls, program: dict[str, Any], approver: str
) -> None:
    rules.tested()
    action = rules.activate().json()

    assert rules.approve(action["id"], approver)["status"] == "refused"

    assert rules.of_program(program["id"]) == (None, [])
    assert (rules.status(), rules.versions()) == ("testing", [])


def test_given_fifty_activations_at_once_then_one_waits(rules: RuleCalls) -> None:
    rules.tested()

    answers = many(rules.activate)

    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), set(statuses) <= {201, 409, 429}) == (1, True)  # reports are read a few at a time
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"change_pending"}
    (waiting,) = [answer.json() for answer in answers if answer.status_code == 201]
    assert rules.approve(waiting["id"])["status"] == "executed"
    assert_refused(rules.activate(), 409, "in force as it is written")


def test_given_an_activation_that_waits_when_it_is_requested_again_then_no_transfer_is_read_for_the_refusal(
    rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.tested()
    assert rules.activate(Idempotency_Key="k1").status_code == 201
    monkeypatch.setattr(BacktestRunner, "run", AsyncMock(side_effect=AssertionError("transfers are read")))

    refused = rules.activate()

    assert_refused(refused, 409, "waits for its approver")
    assert refused.json()["code"] == "change_pending"


def test_given_fifty_approvals_at_once_then_one_version_is_written(rules: RuleCalls, program: dict[str, Any]) -> None:
    rules.tested()
    action = rules.activate().json()

    statuses = {each["status"] for each in many(lambda: rules.approve(action["id"]))}

    assert statuses <= {"approved", "executed"}
    assert [version["version"] for version in rules.versions()] == ["rules-v1"]
    assert rules.of_program(program["id"])[0] == "rules-v1"
    assert [link["transition"] for link in rules.links()] == ["requested", "approved", "executed"]


def test_given_fifty_pauses_at_once_then_one_version_is_written(rules: RuleCalls) -> None:
    rules.active()

    answers = many(rules.pause)

    assert [answer.status_code for answer in answers].count(200) == 1
    assert {answer.json()["code"] for answer in answers if answer.status_code != 200} <= {
        "change_pending",
        "rule_not_active",
    }
    assert [version["version"] for version in rules.versions()] == ["rules-v2", "rules-v1"]


def test_given_a_policy_of_two_people_for_a_pause_then_one_is_enough_to_narrow(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    headers = api.operator(rules.tenant)
    body = msgspec.to_builtins(POLICY_V1) | {"version": "policy-v2", "twoApproverActions": ["pause_rule"]}
    policy = api.client.post("/api/policies", json={"version": "policy-v2", "body": body}, headers=headers).json()
    request = api.client.post(f"/api/policies/{policy['id']}/activate", json={"note": "two"}, headers=headers).json()
    assert rules.approve(request["id"])["status"] == "executed"
    rules.active()

    assert rules.pause().json()["status"] == "paused"

    assert rules.of_program(program["id"])[1] == []


def written_again(rules: RuleCalls) -> None:
    assert rules.write(note="another").status_code == 200


def written_and_tested_again(rules: RuleCalls) -> None:
    written_again(rules)
    assert rules.backtest().status_code == 201


def archived(rules: RuleCalls) -> None:
    assert rules.archive().status_code == 200


def a_day_later(rules: RuleCalls) -> None:
    rules.api.clock.advance(24 * HOUR_US)


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (written_again, "was changed after its activation was requested"),
        (written_and_tested_again, "was changed after its activation was requested"),
        (archived, "archived, which is final"),
        (a_day_later, "no backtest over 90 days that was less than 24 hours old"),
    ],
)
def test_given_an_activation_that_waits_when_the_rule_is_no_longer_that_then_its_approval_has_no_effect_and_says_why(
    rules: RuleCalls, program: dict[str, Any], meanwhile: Callable[[RuleCalls], None], why: str
) -> None:
    rules.tested()
    action = rules.activate().json()
    meanwhile(rules)
    status = rules.status()

    ended = rules.approve(action["id"])

    assert (ended["status"], ended["bankResponse"]) == ("failed", None)
    assert why in ended["error"]
    assert rules.of_program(program["id"]) == (None, [])
    assert (rules.status(), rules.versions()) == (status, [])
    assert [link["transition"] for link in rules.links()] == ["requested", "approved", "failed"]


def test_given_two_texts_that_wait_then_only_the_one_that_is_written_comes_into_force(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested()
    first = rules.activate().json()
    written_and_tested_again(rules)
    second = rules.activate()
    assert second.status_code == 201, second.text

    assert rules.approve(first["id"])["status"] == "failed"
    assert rules.approve(second.json()["id"])["status"] == "executed"
    assert [rule.note for rule in rules.of_program(program["id"])[1]] == ["another"]


@pytest.mark.parametrize("change", ["activate", "pause"])
def test_given_an_action_that_was_carried_out_when_its_outcome_was_lost_then_it_is_not_done_again(
    api: RunningApp, rules: RuleCalls, change: str
) -> None:
    action_id = rules.active()["id"]
    if change == "pause":
        rules.pause()
        path = "/api/actions?type=pause_rule"
        (paused,) = api.client.get(path, headers=api.operator(rules.tenant)).json()["data"]
        action_id = paused["id"]
    versions, entries = rules.versions(), api.stored()

    async def again(registry: RuleRegistry) -> str:
        tenant_id, sha256 = rules.tenant["id"], stored(rules).sha256
        if change == "pause":
            return await registry.pause(tenant_id, RULE_ID, action_id=action_id, by="ann", note=None)
        at = api.clock.now()
        return await registry.activate(
            tenant_id, RULE_ID, sha256, action_id=action_id, approved_at=at, by="ben", note=None
        )

    for registry in (api.registry, api.reloaded_registry()):
        rule_registry = RuleRegistry(registry, clock=api.clock)
        assert api.on_loop(partial(again, rule_registry)) == versions[0]["version"]
    assert (rules.versions(), api.stored()) == (versions, entries)


def test_given_requests_whose_answer_was_lost_when_repeated_then_they_are_answered_as_the_first(
    api: RunningApp, rules: RuleCalls
) -> None:
    rules.tested()
    service, ann = api.services["rules"], an_operator(rules.tenant["id"])
    activate, pause = (f"00000000-0000-4000-9000-00000000000{number}" for number in (1, 2))

    first = api.on_loop(partial(service.activate, ann, RULE_ID, RuleChange(), activate))
    rules.approve(first.id)
    assert api.on_loop(partial(service.activate, ann, RULE_ID, RuleChange(), activate)).id == first.id == activate
    for _ in range(2):
        assert api.on_loop(partial(service.pause, ann, RULE_ID, RuleChange(), pause)).status == "paused"
    assert [version["version"] for version in rules.versions()] == ["rules-v2", "rules-v1"]


def test_given_rules_when_the_control_streams_are_read_back_then_rules_backtests_and_versions_are_the_same(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.active()
    rules.tested("second", programId=program["id"])
    rules.backtest("second", days=3)
    rules.active("third")
    rules.pause()
    rules.create("fourth")
    rules.archive("fourth")
    before = api.registry.tenancy

    after = api.reloaded_registry().tenancy

    tenant_id = rules.tenant["id"]
    assert after.rules.of_tenant(tenant_id).all() == before.rules.of_tenant(tenant_id).all()
    for policies in (before.policies, after.policies):
        of_rules = [each for each in policies[tenant_id].all() if each.version.startswith(("rules", "shadow"))]
        assert {each.version for each in of_rules if each.active} == {"rules-v3", "shadow-v5"}
        assert len(of_rules) == 3 + 1
    assert after.policies[tenant_id].all() == before.policies[tenant_id].all()
    lake = api.segments.control(tenant_id).read(0)
    in_lake = [(tenant_id, each.offset, each.kind, each.appended_at, each.body) for each in lake]
    assert in_lake == [entry for entry in api.reader.control() if entry[0] == tenant_id]


def test_given_a_shard_that_lost_its_entries_when_the_service_starts_then_its_rules_come_back(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.active()
    rules.tested("second")
    rules.of_program(program["id"])
    for shard in range(SHARDS):
        api.shards.restore(ShardState(shard))
    api.on_loop(lambda: restore_lost_policies(api.registry, api.stores.owner))

    assert [rule.id for rule in rules.of_program(program["id"])[1]] == [RULE_ID]
    assert [rule.id for rule in rules.of_program(program["id"], "shadow")[1]] == ["second"]


def test_given_more_backtests_than_are_kept_then_the_newest_are_there_after_a_start_too(
    api: RunningApp, rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.store.control.rules.KEPT_BACKTESTS", 2)
    rules.create()
    backtests = [rules.backtest(days=days).json() for days in (1, 2, 3)]

    assert rules.send("GET", f"/{RULE_ID}/backtests").json() == backtests[:0:-1]
    assert api.reloaded_registry().tenancy.rules.of_tenant(rules.tenant["id"]).all() == (stored(rules),)
