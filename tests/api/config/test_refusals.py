"""Configurations with faults: every one of them is named, and nothing is changed."""

from typing import Any

import pytest

from clearhold.api.http.auth import OPERATORS_ONLY
from clearhold.features.configuration.files import endpoint_name
from clearhold.features.core.instants import HOUR_US
from tests.support.config_calls import CLOCK_PATH, RULE, RULE_PATH, ConfigCalls
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused


def refusal(config: ConfigCalls, wanted: dict[str, Any], **over: Any) -> str:
    """The sentence by which a plan and an application are refused; nothing is changed."""
    before, links = config.export(), config.links()
    planned = config.plan(wanted, **over)
    assert planned.status_code == 400, planned.text
    body = config.body_of(wanted) | {"baseSha256": before["sha256"]} | over
    applied = config.send("POST", "/api/config/apply", body)
    assert (applied.status_code, applied.json()["error"]) == (400, planned.json()["error"])
    assert (config.export(), config.links()) == (before, links)
    sentence: str = planned.json()["error"]
    return sentence


def test_given_faults_in_several_files_then_all_are_named_at_once(config: ConfigCalls) -> None:
    files = config.files() | {
        CLOCK_PATH: {"autoHours": 1, "standardHours": "soon", "complexHours": 1, "appealHours": 1},
        RULE_PATH: RULE | {"when": [{"field": "colour", "op": "eq", "value": "red"}]},
        "rules/other.yaml": RULE,
        "policies/colour.yaml": {},
    }
    sentence = refusal(config, files)
    place = {path: index for index, path in enumerate(files)}
    for expected in (
        f"files[{place[CLOCK_PATH]}].value.standardHours must be a number",
        f"files[{place[RULE_PATH]}].value.when[0].field",
        f"files[{place['rules/other.yaml']}].value.id must be the name of the file",
        f"files[{place['policies/colour.yaml']}].path is not a file of a configuration",
    ):
        assert expected in sentence


@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"tenant": "second-bank"}, "tenant is of another tenant than the token"),
        ({"schema": "clearhold-config-v9"}, "schema must be clearhold-config-v1"),
        ({"colour": "red"}, "colour is not a known property"),
    ],
)
def test_given_another_tenant_schema_or_field_then_it_is_refused(
    config: ConfigCalls, over: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(config, config.files(), **over)


def test_given_a_file_twice_then_it_is_refused(config: ConfigCalls) -> None:
    body = config.body_of(config.files())
    answer = config.send("POST", "/api/config/plan", body | {"files": [*body["files"], body["files"][0]]})
    assert_refused(answer, 400)
    assert "files[6].path is there twice" in answer.json()["error"]


def test_given_a_missing_policy_then_it_is_not_a_whole_configuration(config: ConfigCalls) -> None:
    files = config.files()
    del files[CLOCK_PATH]
    assert f"{CLOCK_PATH} is missing: every tenant has this policy" in refusal(config, files)


def test_given_a_programs_own_policy_in_force_then_its_removal_is_refused(
    config: ConfigCalls, program: dict[str, Any]
) -> None:
    files, path = config.files(), f"programs/{program['slug']}/clock.yaml"
    config.in_force({**files, path: files[CLOCK_PATH]})
    assert f"{path} cannot be removed" in refusal(config, files)


def test_given_unknown_programs_then_each_is_named(config: ConfigCalls) -> None:
    files = config.files() | {
        RULE_PATH: RULE | {"program": "nobodys"},
        "programs/unknown/clock.yaml": config.files()[CLOCK_PATH],
    }
    sentence = refusal(config, files)
    assert sentence.count("is no program of this tenant") == 2


def test_given_a_local_or_faulty_address_then_it_is_refused_as_on_its_own_route(config: ConfigCalls) -> None:
    for url in ("http://hooks.bank.example/a", "https://10.0.0.1/a", "https://Hooks.bank.example/a"):
        value: dict[str, Any] = {"url": url, "events": []}
        assert ".value.url" in refusal(config, {**config.files(), f"webhooks/{endpoint_name(url, None)}.yaml": value})


def test_given_an_archived_rule_then_its_id_is_not_given_again(config: ConfigCalls, api: RunningApp) -> None:
    rules = RuleCalls(api, config.tenant)
    rules.create()
    rules.archive()
    before = config.export()
    answer = config.apply({**config.files(), RULE_PATH: RULE})
    assert_refused(answer, 409)
    assert (answer.json()["code"], RULE_ID in answer.json()["error"]) == ("rule_archived", True)
    assert config.export() == before


def test_given_an_old_backtest_at_the_approval_then_nothing_is_applied(config: ConfigCalls, api: RunningApp) -> None:
    files = {**config.files(), RULE_PATH: RULE}
    action = config.apply(files).json()["action"]
    before = config.export()
    api.clock.advance(25 * HOUR_US)
    failed = config.approve(action)
    assert failed["status"] == "failed"
    assert "no backtest less than 24 hours old" in failed["error"]
    assert config.export() == before


def test_given_a_key_then_it_is_refused(config: ConfigCalls, api: RunningApp) -> None:
    key = api.key(config.tenant)
    for method, path in (("GET", "/api/config"), ("POST", "/api/config/plan"), ("POST", "/api/config/apply")):
        assert_refused(api.client.request(method, path, json={}, headers=key), 403, OPERATORS_ONLY)
