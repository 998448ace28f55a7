"""Who sees and writes which rules: keys, programs, tenants, and the versions among the policies."""

from typing import Any

from clearhold.api.rules.routes import NEW_RULE
from tests.support.rule_calls import RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return sorted(rule["id"] for rule in answer.json())


def test_given_a_key_of_one_program_then_it_sees_its_rules_and_the_tenants_and_no_others_anywhere(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], other: dict[str, Any]
) -> None:
    rules.active("everywhere")
    rules.active("here", programId=program["id"])
    rules.active("elsewhere", programId=other["id"])
    headers = api.key(rules.tenant, programId=program["id"])

    def read(path: str) -> Any:
        return api.client.get(path, headers=headers)

    assert ids(read("/api/rules")) == ["everywhere", "here"]
    assert ids(read(f"/api/rules?programId={program['id']}")) == ["here"]
    assert_refused(read(f"/api/rules?programId={other['id']}"), 403)
    for path in ("", "/backtests", "/shadow"):
        assert_refused(read(f"/api/rules/elsewhere{path}"), 404, "Unknown rule on this tenant.")
        assert read(f"/api/rules/here{path}").status_code == 200
    for version in read("/api/rules/versions").json():
        assert {rule["id"] for rule in version["rules"]} <= {"everywhere", "here"}
        assert "note" not in version, "it may be about a program that is out of reach"
    policies = read("/api/policies?prefix=rules").json()
    assert [policy["version"] for policy in policies if policy["active"]] == ["rules-v3"]
    for policy in policies:
        read_alone = read(f"/api/policies/{policy['id']}").json()
        assert {rule["id"] for rule in read_alone["body"]["rules"]} <= {"everywhere", "here"}
        assert policy == read_alone | {"body": {}}, "two hundred rules each, a thousand times, are no list"
    assert ids(rules.send("GET", "")) == ["elsewhere", "everywhere", "here"]


def test_given_keys_when_they_write_then_403_and_without_the_scope_they_do_not_read(
    api: RunningApp, rules: RuleCalls
) -> None:
    rules.tested()
    headers = api.key(rules.tenant, scopes=["rules"]) | {"If-Match": "*"}
    person = api.key(rules.tenant) | {"X-Operator": "ben"}
    before = api.stored()

    assert_refused(api.client.post("/api/rules", json=NEW_RULE | {"id": "new"}, headers=headers), 403)
    assert_refused(api.client.put(f"/api/rules/{RULE_ID}", json=NEW_RULE, headers=headers), 403)
    for step in ("backtest", "activate", "pause", "archive"):
        assert_refused(api.client.post(f"/api/rules/{RULE_ID}/{step}", json={}, headers=headers), 403)
    waiting = rules.activate().json()["id"]
    assert_refused(api.client.post(f"/api/actions/{waiting}/approve", json={}, headers=person), 403)

    assert api.stored() == (before[0] + 1, before[1]), "the operator's own request alone"
    without = api.key(rules.tenant, scopes=["policies"])
    for path in ("", "/fields", "/versions", f"/{RULE_ID}", f"/{RULE_ID}/backtests", f"/{RULE_ID}/shadow"):
        assert_refused(api.client.get(f"/api/rules{path}", headers=without), 403)


def test_given_a_program_of_another_tenant_then_404_and_two_tenants_have_rules_of_one_id(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    theirs = RuleCalls(api, api.create_tenant("second-bank"))
    their_program = api.create_program(theirs.tenant, slug="theirs")
    assert_refused(rules.create(programId=their_program["id"]), 404, "Unknown program")
    rules.create()
    assert_refused(rules.write(programId=their_program["id"]), 404, "Unknown program")
    assert_refused(rules.create("x", programId="not-a-uuid"), 400)

    theirs.active(severity="high")

    assert (rules.status(), theirs.status()) == ("draft", "active")
    assert rules.of_program(program["id"]) == (None, [])
    assert [rule.severity for rule in theirs.of_program(their_program["id"])[1]] == ["high"]


def test_given_versions_of_the_rules_then_they_are_neither_written_nor_activated_as_policies(
    api: RunningApp, rules: RuleCalls
) -> None:
    rules.active()
    rules.pause()
    headers = api.operator(rules.tenant)

    policies = api.client.get("/api/policies", headers=headers).json()

    of_rules = [policy for policy in policies if policy["version"].startswith("rules")]
    assert {policy["version"]: policy["active"] for policy in of_rules} == {"rules-v1": False, "rules-v2": True}
    assert not [policy for policy in policies if policy["version"].startswith("shadow")]
    first = next(policy["id"] for policy in of_rules if not policy["active"])
    note = {"note": "bring it back without a backtest"}
    assert_refused(api.client.post(f"/api/policies/{first}/activate", json=note, headers=headers), 404)
    for version in ("rules-v3", "shadow-v3"):
        body: dict[str, Any] = {"version": version, "body": {"rules": []}}
        assert_refused(
            api.client.post("/api/policies", json=body, headers=headers), 400, "is written by POST /api/rules"
        )


def test_given_etags_then_lists_that_did_not_change_are_not_sent_again(rules: RuleCalls) -> None:
    rules.active()
    etags = {path: rules.send("GET", path).headers["etag"] for path in ("", "/fields", "/versions", f"/{RULE_ID}")}
    for path, etag in etags.items():
        assert rules.send("GET", path, If_None_Match=etag).status_code == 304
    rules.pause()
    for path in ("", "/versions", f"/{RULE_ID}"):
        assert rules.send("GET", path, If_None_Match=etags[path]).status_code == 200
