"""A configuration from its export to the plan, the application, the approval, and the next export."""

from typing import Any

import pytest

from clearhold.api.config import service
from tests.support.alerting import deliver, outgoing
from tests.support.config_calls import CLOCK_PATH, RULE, RULE_PATH, ConfigCalls
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused
from tests.support.unconfirmed import unconfirmed

WEBHOOK = {"url": "https://hooks.bank.example/clearhold", "events": ["alert.opened"], "description": "Cases"}


def webhook_path(config: ConfigCalls, value: dict[str, Any]) -> str:
    """The path that the service says an endpoint's file has."""
    answer: str = config.plan({**config.files(), "webhooks/mine.yaml": value}).json()["error"]
    return "webhooks/" + answer.partition("file named ")[2].split()[0].rstrip(";.")


def wider(config: ConfigCalls, program: dict[str, Any]) -> dict[str, Any]:
    """The configuration in force, with a change of each kind."""
    files = config.files()
    slug = program["slug"]
    endpoint = {**WEBHOOK, "program": slug}
    return {
        **files,
        RULE_PATH: {**RULE, "program": slug},
        CLOCK_PATH: files[CLOCK_PATH] | {"standardHours": 8},
        f"programs/{slug}/ladder.yaml": files["policies/ladder.yaml"],
        f"programs/{slug}/limits.yaml": {
            "achDebitDailyCents": "10000000",
            "achDebitMonthlyCents": None,
            "perTransactionCents": "500000",
            "entityDailyCents": None,
            "entityVelocity24HCount": "20",
        },
        f"programs/{slug}/scorecard.yaml": {"card": None},
        webhook_path(config, endpoint): endpoint,
    }


def test_given_a_new_tenant_then_its_export_has_the_policies_in_force_and_nothing_else(config: ConfigCalls) -> None:
    files = config.files()
    kinds = ("clock", "kri", "ladder", "policy", "retention", "thresholds")
    assert list(files) == [f"policies/{kind}.yaml" for kind in kinds]
    assert files[CLOCK_PATH] == {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72}
    assert "version" not in files["policies/policy.yaml"]
    assert config.export() == config.export()


def test_given_changed_routing_policies_then_the_plan_has_their_dry_runs_and_the_application_has_none(
    config: ConfigCalls, api: RunningApp, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(api, program, *(outgoing(f"acht_{number}", amount=500_000 + number * 100_000) for number in range(6)))
    paths = ("policies/policy.yaml", f"programs/{program['slug']}/policy.yaml")
    policy = config.files()[paths[0]] | {"minProgramN": 0, "autoCloseBands": ["clear", "review"]}
    files = {**config.files(), CLOCK_PATH: config.files()[CLOCK_PATH] | {"standardHours": 8}} | dict.fromkeys(
        paths, policy
    )
    changes = {each["path"]: each["dryRun"] for each in config.planned(files)["changes"]}

    draft = {"version": "policy-v2", "body": policy | {"version": "policy-v2"}}
    for path, program_id in zip(paths, (None, program["id"]), strict=True):
        alone = config.send("POST", "/api/policies/dry-run", draft | {"programId": program_id}).json()
        assert alone["alerts"] >= 2
        assert changes.pop(path) == alone | {"version": None}
    assert changes == {CLOCK_PATH: None}

    monkeypatch.setattr(service, "MOST_DRY_RUNS", 1)
    runs = [each["dryRun"] for each in config.planned(files)["changes"]]
    assert len([each for each in runs if each is not None]) == 1
    applied = config.apply(files).json()
    assert [each["dryRun"] for each in applied["changes"]] == [None] * 3


def test_given_the_configuration_in_force_then_its_plan_has_no_changes_and_nothing_is_requested(
    config: ConfigCalls,
) -> None:
    plan, applied = config.plan(config.files()).json(), config.apply(config.files()).json()
    assert plan["changes"] == []
    assert plan["baseSha256"] == plan["configSha256"] == config.export()["sha256"]
    assert applied["action"] is None
    assert config.links() == []


def test_given_a_change_of_each_kind_when_another_person_approves_then_the_export_is_what_was_planned(
    config: ConfigCalls, program: dict[str, Any]
) -> None:
    files = wider(config, program)
    before = config.export()
    plan = config.planned(files)
    added = dict.fromkeys(files.keys() - config.files().keys(), "added")
    assert {change["path"]: change["change"] for change in plan["changes"]} == added | {CLOCK_PATH: "changed"}
    assert plan["needsSecondPerson"] is True
    answer = config.apply(files).json()
    assert answer["action"]["status"] == "requested"
    assert config.export() == before
    action = config.approve(answer["action"])
    assert action["status"] == "executed", action["error"]
    assert action["bankResponse"] == {"version": "config-v1"}
    after = config.export()
    assert after["sha256"] == plan["configSha256"]
    assert config.files() == files
    assert config.planned(config.files())["changes"] == []


def test_given_an_application_then_the_record_has_its_digests_and_each_change(
    config: ConfigCalls, program: dict[str, Any]
) -> None:
    base = config.export()["sha256"]
    config.in_force(wider(config, program))
    requested, *others = [link for link in config.links() if link["kind"] == "apply_config"]
    assert [link["transition"] for link in others] == ["approved", "executed"]
    assert requested["change"]["baseSha256"] == base
    assert requested["change"]["configSha256"] == config.export()["sha256"]
    changes = {each["path"]: each for each in requested["change"]["changes"]}
    assert changes[CLOCK_PATH]["change"] == "changed"
    assert changes[CLOCK_PATH]["fields"] == [{"field": "standardHours", "before": 24, "after": 8}]
    assert changes[RULE_PATH]["beforeSha256"] is None
    assert requested["actor"] == "ann"
    assert requested["transition"] == "requested"


def test_given_an_applied_configuration_then_each_setting_counts_where_its_own_route_shows_it(
    config: ConfigCalls, program: dict[str, Any], api: RunningApp
) -> None:
    config.in_force(wider(config, program))
    rules = RuleCalls(api, config.tenant)
    assert rules.status() == "active"
    assert [rule.id for rule in rules.of_program(program["id"])[1]] == [RULE_ID]
    limits = config.send("GET", f"/api/limits/program/{program['id']}").json()["limits"]
    caps = {each["kind"]: (each["capCents"], each["capCount"]) for each in limits}
    assert caps["ach_debit_daily"] == ("10000000", None)
    assert caps["entity_velocity_24h"] == (None, 20)
    assert {each["requestedBy"] for each in limits if each["version"]} == {"ann"}
    history = config.send("GET", f"/api/limits/program/{program['id']}/history").json()["data"]
    assert {each["approvedBy"] for each in history} == {"ben"}
    assert len(history) == 3
    clock = config.send("GET", "/api/clocks/overdue").json()["policy"]
    assert clock["standardHours"] == 8
    (endpoint,) = config.send("GET", "/api/webhooks").json()
    assert endpoint["enabled"]
    assert endpoint["programId"] == program["id"]
    assert config.send("POST", f"/api/webhooks/{endpoint['id']}/rotate", {}).json()["secret"].startswith("whsec_")


def test_given_removed_files_then_rules_pause_limits_end_cards_follow_and_endpoints_are_disabled(
    config: ConfigCalls, program: dict[str, Any], api: RunningApp
) -> None:
    files = wider(config, program)
    config.in_force(files)
    kept = ("policies/", f"programs/{program['slug']}/ladder.yaml")
    fewer = {path: value for path, value in files.items() if path.startswith(kept)}
    config.in_force(fewer)
    assert config.files() == fewer
    assert RuleCalls(api, config.tenant).status() == "paused"
    assert [each["enabled"] for each in config.send("GET", "/api/webhooks").json()] == [False]
    config.in_force(files)
    assert config.files() == files
    assert RuleCalls(api, config.tenant).status() == "active"


def test_given_only_narrowing_changes_then_one_person_is_enough(config: ConfigCalls, program: dict[str, Any]) -> None:
    files = wider(config, program)
    config.in_force(files)
    fewer = {path: value for path, value in files.items() if not path.startswith(("rules/", "webhooks/"))}
    answer = config.apply(fewer).json()
    assert answer["needsSecondPerson"] is False
    assert answer["action"]["status"] == "executed"
    assert config.files() == fewer


def test_given_the_requester_when_they_approve_then_nothing_is_applied(config: ConfigCalls) -> None:
    before = config.export()
    action = config.apply({**config.files(), RULE_PATH: RULE}).json()["action"]
    assert config.approve(action, "ann")["status"] == "refused"
    assert config.export() == before


def test_given_a_waiting_configuration_then_a_second_one_is_refused(config: ConfigCalls) -> None:
    files = {**config.files(), RULE_PATH: RULE}
    first = config.apply(files, Idempotency_Key="k1").json()
    assert config.apply(files, Idempotency_Key="k1").json() == first
    assert config.apply(files).json()["code"] == "change_pending"


def test_given_another_change_since_the_plan_then_the_application_is_refused(config: ConfigCalls) -> None:
    base, files = config.export()["sha256"], config.files()
    config.in_force({**files, CLOCK_PATH: files[CLOCK_PATH] | {"standardHours": 8}})
    answer = config.apply({**files, RULE_PATH: RULE}, base=base)
    assert_refused(answer, 409)
    assert answer.json()["code"] == "config_changed"


def test_given_another_change_before_the_approval_then_nothing_of_it_is_applied(
    config: ConfigCalls, program: dict[str, Any], api: RunningApp
) -> None:
    action = config.apply(wider(config, program)).json()["action"]
    rules = RuleCalls(api, config.tenant)
    rules.active("another-rule")
    before = config.export()
    failed = config.approve(action)
    assert failed["status"] == "failed"
    assert "planned against" in failed["error"]
    assert config.export() == before


@pytest.mark.parametrize("in_log", [True, False])
def test_given_a_log_that_does_not_confirm_when_it_is_carried_out_again_then_it_is_applied_once(
    config: ConfigCalls, program: dict[str, Any], api: RunningApp, *, in_log: bool
) -> None:
    files = wider(config, program)
    action = config.apply(files).json()["action"]
    before = config.export()
    with unconfirmed(api, in_log=in_log):
        answer = config.send("POST", f"/api/actions/{action['id']}/approve", {"approverId": "ben"})
        assert answer.status_code == 503
    assert config.export()["sha256"] in {before["sha256"], action["change"]["configSha256"]}
    api.on_loop(lambda: api.bank_work.executor.conclude(config.tenant["id"], action["id"], within_s=20))
    api.catch_up()
    assert config.send("GET", f"/api/actions/{action['id']}").json()["status"] == "executed"
    assert config.files() == files
    assert config.send("GET", "/api/rules/versions").json()[0]["version"] == "rules-v1"
    api.restart()
    assert config.files() == files


def test_given_a_restart_then_the_configuration_and_a_waiting_one_are_as_before(
    config: ConfigCalls, program: dict[str, Any], api: RunningApp
) -> None:
    files = wider(config, program)
    config.in_force(files)
    action = config.apply({**files, CLOCK_PATH: files[CLOCK_PATH] | {"standardHours": 4}}).json()["action"]
    before = config.export()
    api.restart()
    assert config.export() == before
    assert config.approve(action)["status"] == "executed"
    assert config.files()[CLOCK_PATH]["standardHours"] == 4
