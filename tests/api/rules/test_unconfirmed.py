"""Changes of rules that the log did not confirm: they may be in it, and the next change has to know."""

from typing import Any
from unittest.mock import AsyncMock

import pytest

from clearhold.features.core.instants import SECOND_US
from clearhold.store.control.registry import Registry
from clearhold.store.control.rules import rules_in
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused
from tests.support.unconfirmed import unconfirmed


def approve_in_vain(rules: RuleCalls, *, in_log: bool = True) -> str:
    """Approve the activation of a tested rule, whose entry is not confirmed; the action's id."""
    action_id: str = rules.activate().json()["id"]
    path, approval = f"/api/actions/{action_id}/approve", {"approverId": "ben"}
    with unconfirmed(rules.api, in_log=in_log):
        answer = rules.api.client.post(path, json=approval, headers=rules.api.operator(rules.tenant))
    assert answer.status_code == 503
    return action_id


def swept(rules: RuleCalls, action_id: str) -> dict[str, Any]:
    """An approved action that the executor takes up once more."""
    api = rules.api
    api.on_loop(lambda: api.bank_work.executor.conclude(rules.tenant["id"], action_id, within_s=20))
    api.catch_up()
    action: dict[str, Any] = api.client.get(f"/api/actions/{action_id}", headers=api.operator(rules.tenant)).json()
    return action


def assert_as_reloaded(rules: RuleCalls) -> None:
    """What is in memory is what the next process would find in the log."""
    tenant_id, after = rules.tenant["id"], rules.api.reloaded_registry().tenancy
    before = rules.api.registry.tenancy
    assert before.policies[tenant_id].all() == after.policies[tenant_id].all()
    assert before.rules.of_tenant(tenant_id).all() == after.rules.of_tenant(tenant_id).all()


@pytest.mark.parametrize("in_log", [False, True], ids=["lost", "confirmation lost"])
@pytest.mark.parametrize("restarted", [False, True])
def test_given_an_approved_activation_when_the_log_fails_it_then_the_next_sweep_brings_it_into_force_once(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], *, in_log: bool, restarted: bool
) -> None:
    rules.tested()
    action_id = approve_in_vain(rules, in_log=in_log)
    if restarted:
        api.restart()
    assert rules.approve(action_id)["status"] == "approved"

    assert swept(rules, action_id)["status"] == "executed"

    assert_as_reloaded(rules)
    assert [version["active"] for version in rules.versions()] == [True]
    assert [version["version"] for version in rules.versions()] == ["rules-v1"]
    assert [rule.id for rule in rules.of_program(program["id"])[1]] == [RULE_ID]
    rows = api.database.execute("SELECT program_id FROM policies WHERE version = 'rules-v1' ORDER BY ALL").fetchall()
    assert rows == [(rules.tenant["id"],), (program["id"],)]


def test_given_an_activation_whose_confirmation_was_lost_when_the_rule_is_written_again_then_it_was_carried_out(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested()
    action_id = approve_in_vain(rules)
    assert_refused(rules.write(severity="high"), 412)  # it is active, which nobody could know
    assert rules.write(severity="high").status_code == 200

    done = swept(rules, action_id)

    assert (done["status"], done["bankResponse"]) == ("executed", {"version": "rules-v1"})
    assert [rule.severity for rule in rules.of_program(program["id"])[1]] == ["medium"]
    assert_as_reloaded(rules)


def test_given_an_activation_that_stands_in_the_log_twice_then_its_version_is_in_force_after_a_start_too(
    api: RunningApp, rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Registry, "_settle", AsyncMock())  # the log has the first one only after the second looked
    rules.tested()
    action_id = approve_in_vain(rules)
    api.clock.advance(SECOND_US)

    assert swept(rules, action_id)["status"] == "executed"

    for registry in (api.registry, api.reloaded_registry()):
        version = registry.tenancy.policies[rules.tenant["id"]].in_force("rules")
        assert version is not None
        assert (version.version, version.active) == ("rules-v1", True)


def test_given_writes_of_one_version_that_nobody_heard_of_when_the_first_is_tried_again_then_it_is_in_force(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Registry, "_settle", AsyncMock())  # the log has them only after each of them looked
    rules.tested()
    rules.create("second")
    with unconfirmed(api):
        assert rules.write(note="first").status_code == 503  # takes the rule out of testing
        api.clock.advance(SECOND_US)
        assert rules.backtest("second").status_code == 503  # puts another into testing, beside it
    api.clock.advance(SECOND_US)

    assert rules.write(note="first").status_code == 200

    assert rules.of_program(program["id"], "shadow") == ("shadow-v2", [])
    for registry in (api.registry, api.reloaded_registry()):
        version = registry.tenancy.policies[rules.tenant["id"]].in_force("shadow")
        assert version is not None
        assert (version.version, version.active, rules_in(version)) == ("shadow-v2", True, ())
