"""The way of a rule over HTTP: draft, testing, active, paused, archived, and everything that a state does not allow."""

from typing import Any

import pytest

from clearhold.api.rules.routes import NEW_RULE
from clearhold.features.core.instants import HOUR_US, format_instant
from clearhold.features.policy.bodies import RULES
from tests.support.rule_calls import NOTE, RULE_ID, RuleCalls
from tests.support.running_app import RunningApp, assert_refused
from tests.support.version_limits import limit_versions


def test_given_a_new_rule_then_it_is_a_draft_with_an_etag_and_in_force_nowhere(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    created = rules.create()

    assert (created.status_code, created.json()) == (201, NEW_RULE | {"status": "draft"})
    read = rules.read()
    assert read.json() == created.json()
    again = rules.send("GET", f"/{RULE_ID}", If_None_Match=read.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert rules.send("GET", "").json() == [created.json()]
    assert rules.versions() == []
    assert rules.of_program(program["id"]) == (None, [])
    assert_refused(rules.create(), 409, "never given to another rule")
    assert_refused(rules.read("unknown"), 404, "Unknown rule")


def test_given_a_draft_when_backtested_then_it_is_in_testing_and_every_program_has_it_in_shadow(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.create()

    backtest = rules.backtest()

    assert backtest.status_code == 201, backtest.text
    assert (backtest.json()["ruleId"], backtest.json()["days"]) == (RULE_ID, 90)
    assert rules.status() == "testing"
    version, shadowed = rules.of_program(program["id"], "shadow")
    assert (version, [rule.id for rule in shadowed]) == ("shadow-v1", [RULE_ID])
    assert rules.of_program(program["id"]) == (None, [])
    since = api.clock.now()
    api.clock.advance(HOUR_US)
    shorter = rules.backtest(days=7)
    assert rules.send("GET", f"/{RULE_ID}/backtests").json() == [shorter.json(), backtest.json()]
    rules.tested("another")
    shadow = rules.send("GET", f"/{RULE_ID}/shadow").json()
    assert (shadow["version"], shadow["since"]) == ("shadow-v2", format_instant(since))


def test_given_a_tested_rule_when_another_person_approves_then_it_is_in_force_in_every_program_and_on_the_chain(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested()
    requested = rules.activate()

    assert requested.status_code == 201, requested.text
    action = requested.json()
    assert (action["type"], action["status"], action["programId"]) == ("activate_rule", "requested", None)
    assert (action["targetType"], action["targetId"]) == ("rule", RULE_ID)
    assert action["change"]["backtest"] == {
        "key": rules.send("GET", f"/{RULE_ID}/backtests").json()[0]["key"],
        "at": format_instant(api.clock.now()),
        "days": 90,
        "scanned": 0,
        "sampled": False,
        "matched": 0,
        "wouldHold": 0,
        "wouldAlert": 0,
        "sampleTransferIds": [],
        "sampleTransfers": [],
    }
    assert rules.of_program(program["id"]) == (None, [])

    done = rules.approve(action["id"])

    assert (done["status"], done["approvedBy"], done["error"]) == ("executed", "ben", None)
    assert done["bankResponse"] == {"version": "rules-v1"}
    assert rules.status() == "active"
    (version,) = rules.versions()
    assert (version["version"], version["active"], version["note"]) == ("rules-v1", True, NOTE["note"])
    assert version["rules"] == [NEW_RULE | {"status": "active"}]
    for place in (program["id"], rules.tenant["id"]):
        in_force, (rule,) = rules.of_program(place)
        assert (in_force, rule.id, rule.status) == ("rules-v1", RULE_ID, "active")
        assert rules.of_program(place, "shadow") == ("shadow-v2", [])
    steps = [(link["kind"], link["transition"], link["actor"]) for link in rules.links()]
    assert steps == [
        ("activate_rule", "requested", "ann"),
        ("activate_rule", "approved", "ben"),
        ("activate_rule", "executed", "policy:platform"),
    ]
    verified = api.client.get("/api/record/verify", headers=api.operator(rules.tenant)).json()
    assert verified["ok"], verified


def test_given_programs_created_later_then_they_get_the_rules_in_force(api: RunningApp, rules: RuleCalls) -> None:
    rules.active()
    rules.tested("second")

    later = api.create_program(rules.tenant, slug="later")

    assert [rule.id for rule in rules.of_program(later["id"])[1]] == [RULE_ID]
    assert [rule.id for rule in rules.of_program(later["id"], "shadow")[1]] == ["second"]


def test_given_a_rule_in_force_when_written_again_then_it_is_a_draft_and_the_old_text_stays_in_force(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.active()

    written = rules.write(severity="high")

    assert (written.status_code, written.json()["status"]) == (200, "draft")
    _, (in_force,) = rules.of_program(program["id"])
    assert (in_force.severity, in_force.status) == ("medium", "active")
    assert_refused(rules.activate(), 409, "needs a backtest of the rule exactly as it is written")
    assert_refused(rules.archive(), 409, "in force")
    assert rules.backtest().status_code == 201
    assert rules.status() == "testing"
    rules.in_force()
    version, (in_force,) = rules.of_program(program["id"])
    assert (version, in_force.severity, rules.status()) == ("rules-v2", "high", "active")
    assert [each["active"] for each in rules.versions()] == [True, False]


def test_given_a_rule_in_testing_when_written_again_then_it_leaves_the_shadow(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.tested()

    assert rules.write(severity="high").json()["status"] == "draft"

    assert rules.of_program(program["id"], "shadow") == ("shadow-v2", [])
    assert rules.send("GET", f"/{RULE_ID}/shadow").json()["version"] is None


def test_given_a_text_that_was_tested_and_put_back_then_its_backtest_counts(rules: RuleCalls) -> None:
    rules.tested()
    rules.write(severity="high")
    assert_refused(rules.activate(), 409)

    rules.write(severity="medium")

    assert rules.activate().status_code == 201


def test_given_a_rule_in_force_when_paused_by_one_person_then_it_is_out_of_force_and_on_the_chain(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.active()
    rules.active("second")

    paused = rules.pause()

    assert (paused.status_code, paused.json()["status"]) == (200, "paused"), paused.text
    version, in_force = rules.of_program(program["id"])
    assert (version, [rule.id for rule in in_force]) == ("rules-v3", ["second"])
    steps = [(link["kind"], link["transition"], link["actor"]) for link in rules.links()]
    assert steps[-2:] == [("pause_rule", "requested", "ann"), ("pause_rule", "executed", "policy:platform")]
    assert_refused(rules.pause(), 409, "nothing to pause")
    assert rules.activate().status_code == 201, "its backtest is of this text, and fresh"


def test_given_a_rule_that_was_written_again_when_paused_then_both_texts_are_out_of_force(
    rules: RuleCalls, program: dict[str, Any]
) -> None:
    rules.active()
    rules.write(severity="high")
    rules.backtest()

    assert rules.pause().json()["status"] == "paused"

    assert rules.of_program(program["id"]) == ("rules-v2", [])
    assert rules.of_program(program["id"], "shadow")[1] == []


def test_given_a_rule_when_archived_then_that_is_final(rules: RuleCalls, program: dict[str, Any]) -> None:
    rules.tested()

    archived = rules.archive()

    assert (archived.status_code, archived.json()["status"]) == (200, "archived")
    assert rules.of_program(program["id"], "shadow")[1] == []
    for refused in (rules.archive(), rules.activate(), rules.write(severity="high")):
        assert_refused(refused, 409, "archived, which is final")
    assert rules.backtest().status_code == 201
    assert rules.status() == "archived"
    assert_refused(rules.create(), 409, "never given to another rule")
    assert [rule["status"] for rule in rules.send("GET", "?status=archived,draft").json()] == ["archived"]
    assert rules.send("GET", "?status=active").json() == []


def test_given_a_stale_or_missing_if_match_then_nothing_is_written(rules: RuleCalls) -> None:
    rules.create()
    etag = rules.read().headers["etag"]
    first = rules.send("PUT", f"/{RULE_ID}", NEW_RULE | {"severity": "high"}, If_Match=etag)
    assert first.status_code == 200
    assert first.headers["etag"] == rules.read().headers["etag"] != etag

    stale = rules.send("PUT", f"/{RULE_ID}", NEW_RULE | {"severity": "low"}, If_Match=etag)
    missing = rules.send("PUT", f"/{RULE_ID}", NEW_RULE | {"severity": "low"})
    weak = rules.send("PUT", f"/{RULE_ID}", NEW_RULE, If_Match=f"W/{first.headers['etag']}")

    assert_refused(stale, 412, "changed since it was read")
    assert_refused(weak, 412)
    assert_refused(missing, 400, "If-Match")
    assert missing.json()["fields"] == [{"path": "If-Match", "code": "required"}]
    assert rules.read().json()["severity"] == "high"
    bodies: tuple[Any, ...] = ({"more": 1}, [], "no rule")
    for unseen in bodies:
        before_all = rules.send("PUT", "/unknown?more=1", unseen, Content_Type="text/plain")
        assert before_all.json()["fields"] == [{"path": "If-Match", "code": "required"}]
    other = rules.send("PUT", f"/{RULE_ID}", NEW_RULE | {"id": "other"}, If_Match="*")
    assert_refused(other, 400, "as in the path")
    assert_refused(rules.send("PUT", "/unknown", NEW_RULE | {"id": "unknown"}, If_Match="*"), 404)


def test_given_a_rule_that_is_wrong_then_the_400_names_the_condition(rules: RuleCalls) -> None:
    when = [{"field": "rail", "op": "gt", "value": "ach"}, {"field": "amountCents", "op": "eq", "value": "ten"}]

    refused = rules.create(when=when)

    assert_refused(refused, 400)
    assert [field["path"] for field in refused.json()["fields"]] == ["when[0].op", "when[1].value"]
    many = {"field": "counterparty.n", "op": "in", "value": [10**15] * 100}
    long = rules.create(when=[many] * 10)
    assert_refused(long, 400, "at most 16384 bytes")
    assert long.json()["fields"] == [{"path": "when", "code": "too_long"}]
    wrongs: tuple[dict[str, Any], ...] = (
        {"status": "active"},
        {"id": "Upper"},
        {"id": "fields"},
        {"when": []},
        {"action": "close"},
    )
    for wrong in wrongs:
        assert_refused(rules.create(**wrong), 400)


def test_given_keys_of_idempotency_when_a_request_is_repeated_then_it_has_one_effect(
    rules: RuleCalls,
) -> None:
    rules.send("POST", "", NEW_RULE, Idempotency_Key="k1")
    assert rules.send("POST", "", NEW_RULE, Idempotency_Key="k1").status_code == 201
    first = rules.send("POST", f"/{RULE_ID}/backtest", {}, Idempotency_Key="k2").json()
    assert rules.send("POST", f"/{RULE_ID}/backtest", {}, Idempotency_Key="k2").json() == first
    assert len(rules.send("GET", f"/{RULE_ID}/backtests").json()) == 1
    action = rules.activate(Idempotency_Key="k3").json()
    rules.approve(action["id"])
    assert rules.activate(Idempotency_Key="k3").json()["id"] == action["id"]
    assert rules.pause(Idempotency_Key="k4").json()["status"] == "paused"
    assert rules.pause(Idempotency_Key="k4").json()["status"] == "paused"
    assert len(rules.versions()) == 2


@pytest.mark.parametrize("path", ["backtest", "activate", "pause", "archive"])
def test_given_an_unknown_rule_then_404(rules: RuleCalls, path: str) -> None:
    assert_refused(rules.send("POST", f"/unknown/{path}", {}), 404, "Unknown rule")


def test_given_as_many_rules_as_there_may_be_then_409_until_one_is_archived(
    rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhold.store.control.rule_registry.MOST_RULES", 2)
    rules.create("one")
    rules.create("two")
    assert_refused(rules.create("three"), 409, "Archive one first")
    rules.archive("one")
    assert rules.create("three").status_code == 201
    monkeypatch.setattr("clearhold.store.control.rule_registry.MOST_RULE_IDS", 3)
    rules.archive("two")
    assert_refused(rules.create("four"), 409, "kept for good")


def test_given_as_many_versions_as_there_may_be_then_rules_can_only_be_paused(
    rules: RuleCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.active()
    rules.tested("second")
    waiting = rules.activate("second").json()["id"]
    limit_versions(monkeypatch, RULES, most=1)
    rules.tested("third")
    assert_refused(rules.activate("third"), 409, "only be paused")
    ended = rules.approve(waiting)
    assert (ended["status"], "only be paused" in ended["error"]) == ("failed", True)
    assert rules.pause().status_code == 200


def test_given_a_change_that_is_larger_than_one_write_may_be_then_rules_can_only_be_narrowed(
    api: RunningApp, rules: RuleCalls, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules.active()
    rules.tested("second")
    rules.tested("third")
    rules.create("fourth")
    waiting = rules.activate("second").json()["id"]
    before = api.stored()
    monkeypatch.setattr("clearhold.store.control.rule_registry.MOST_WRITTEN_BYTES", 1_000)

    assert_refused(rules.backtest("fourth"), 409, "Shorten rules")
    assert api.stored() == before
    assert rules.status("fourth") == "draft"
    ended = rules.approve(waiting)
    assert (ended["status"], "Shorten rules" in ended["error"]) == ("failed", True)
    assert [rule.id for rule in rules.of_program(program["id"])[1]] == [RULE_ID]

    assert rules.write("third", severity="high").status_code == 200
    assert rules.archive("second").status_code == 200
    assert rules.pause().status_code == 200
    assert rules.of_program(program["id"], "shadow")[1] == []


def test_given_the_fields_then_each_says_its_type_operations_and_words(rules: RuleCalls) -> None:
    fields = rules.send("GET", "/fields").json()

    assert len(fields["fields"]) == 46
    assert fields["fields"][0]["field"] == "amountCents"
    assert {op for field in fields["fields"] for op in field["ops"]} == set(fields["ops"])
    words = {field["field"]: field["values"] for field in fields["fields"]}
    assert words["direction"] == ["incoming", "outgoing"]
    assert words["amountCents"] == []
    written = rules.create(when=[{"field": "rail", "op": "in", "value": words["rail"]}])
    assert written.json()["when"][0]["value"] == words["rail"]
