"""The way of a scorecard over HTTP: proposed, reported on, in shadow, in force, and back; and what is refused."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.canonical import canonical, digest_of
from clearhold.features.core.instants import DAY_US
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.policy.bodies import SCORECARD
from clearhold.store.analysts.control_rows import ScorecardReportRow, control_rows
from tests.support.running_app import RunningApp, assert_refused
from tests.support.scorecard_calls import NOTE, ScorecardCalls
from tests.support.scorecards import a_card, a_report
from tests.support.version_limits import limit_versions


def test_given_a_new_card_then_it_is_a_version_that_scores_nowhere(
    cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    created = cards.propose(Idempotency_Key="once")

    assert created.status_code == 201, created.text
    shown = created.json()
    assert (shown["version"], shown["scoreVersion"]) == ("scorecard-v1", "trs-v1+scorecard-v1")
    assert (shown["active"], shown["wasActive"], shown["inShadow"]) == (False, False, False)
    assert shown["cardSha256"] == scorecard_sha256(a_card())
    assert cards.read("scorecard-v1") == shown
    assert [(each["version"], each["active"]) for each in cards.read()] == [("scorecard-v1", False), ("trs-v1", True)]
    assert cards.of_program(program["id"]) == ("trs-v1", None)
    assert cards.propose().json()["version"] == "scorecard-v2"
    assert_refused(cards.send("GET", "/scorecard-v9"), 404, "Unknown scorecard")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"signals": []}, "signals"),
        ({"floor": 5.0, "signals": [{"id": "TRS-NON-01", "bins": [{"atLeast": 1, "points": 5}]}]}, "signals[0].id"),
        ({"floor": 5.0, "scorer": "ers"}, "must be trs"),
        ({"floor": 5.0, "caps": [{"family": "no such family", "points": 9}]}, "caps[0].family"),
        ({"programFloor": 1e1, "name": " "}, "must not be blank"),
    ],
)
def test_given_a_card_with_a_fault_when_a_number_has_a_point_then_it_is_refused_as_without_one(
    cards: ScorecardCalls, change: dict[str, Any], sentence: str
) -> None:
    card = msgspec.to_builtins(a_card()) | change

    assert_refused(cards.send("POST", "", {"card": card}), 400, sentence)
    assert [each["version"] for each in cards.read()] == ["trs-v1"]


def test_given_a_reported_card_when_another_person_approves_then_it_scores_and_stands_on_the_record(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.propose()
    reported = cards.report("scorecard-v1", days_old=6)
    requested = cards.activate("scorecard-v1")

    assert requested.status_code == 201, requested.text
    action = requested.json()
    assert (action["type"], action["status"]) == ("activate_scorecard", "requested")
    change = action["change"]
    assert (change["version"], change["cardSha256"]) == ("scorecard-v1", scorecard_sha256(a_card()))
    assert (change["reportSha256"], change["note"]) == (reported.json()["reportSha256"], NOTE["note"])
    assert not change["followsTenant"]
    assert cards.send("GET", "/scorecard-v1/reports").json() == [reported.json()]
    assert reported.json()["report"] == a_report(a_card(), reported.json()["madeAt"])
    assert cards.of_program(program["id"]) == ("trs-v1", None)

    done = cards.approve(action["id"])

    assert (done["status"], done["bankResponse"]) == ("executed", {"version": "scorecard-v1"})
    assert cards.of_program(program["id"]) == ("trs-v1+scorecard-v1", None)
    assert cards.read("scorecard-v1")["active"]
    assert not cards.read("trs-v1")["active"]
    later = api.create_program(cards.tenant, slug="later")
    assert cards.of_program(later["id"])[0] == "trs-v1+scorecard-v1"
    listed = api.client.get("/api/policies?prefix=scorecard", headers=api.operator(cards.tenant)).json()
    assert [(each["version"], each["active"]) for each in listed] == [("scorecard-v1", True)]
    lines = api.client.get("/api/record/export?kinds=policy", headers=api.operator(cards.tenant)).text
    bodies = [msgspec.json.decode(line)["body"] for line in lines.splitlines()]
    assert change["bodySha256"] in {digest_of(canonical(body)) for body in bodies}


@pytest.mark.parametrize(
    ("finding", "listed"),
    [
        ({"kind": "drift", "share": 0.25}, {"kind": "drift", "share": 0.25}),
        ({"text": "Account 123456789 is in it"}, {"text": "Account ****6789 is in it"}),
        ({"kind": "empty", "of": []}, {"kind": "empty", "of": []}),
    ],
)
def test_given_a_report_then_analysts_read_it_as_an_object_without_whole_account_numbers(
    api: RunningApp, cards: ScorecardCalls, finding: dict[str, Any], listed: dict[str, Any]
) -> None:
    cards.propose()
    reported = cards.report("scorecard-v1", findings=[finding]).json()

    (row,) = control_rows(api.registry.tenancy)["scorecard_reports"]

    assert isinstance(row, ScorecardReportRow)
    assert (row.version, row.sha256) == ("scorecard-v1", reported["reportSha256"])
    body = msgspec.json.decode(row.body)
    assert (body["data"], body["findings"]) == (reported["report"]["data"], [listed])


@pytest.mark.parametrize("approver", ["ann", " ANN "])
def test_given_the_requester_when_approving_then_the_action_is_refused(
    cards: ScorecardCalls, program: dict[str, Any], approver: str
) -> None:
    cards.propose()
    cards.report("scorecard-v1")

    action = cards.approve(cards.activate("scorecard-v1").json()["id"], approver)

    assert action["status"] == "refused"
    assert cards.of_program(program["id"]) == ("trs-v1", None)


def test_given_an_edited_card_then_its_report_is_refused_and_so_is_its_activation(cards: ScorecardCalls) -> None:
    edited = a_card(points=29)
    cards.propose()
    assert cards.report("scorecard-v1").status_code == 201
    cards.propose(edited)

    assert_refused(cards.report("scorecard-v2", a_card()), 400, "digest of this exact card")
    assert_refused(cards.activate("scorecard-v2"), 409, "report of this exact card")


def test_given_a_stale_report_then_the_activation_is_refused_when_requested_and_when_approved(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.propose()
    cards.report("scorecard-v1", days_old=7)
    assert_refused(cards.activate("scorecard-v1"), 409, "less than seven days old")
    assert_refused(cards.report("scorecard-v1", days_old=-1), 400, "must not be in the future")
    cards.report("scorecard-v1", days_old=6)
    requested = cards.activate("scorecard-v1")

    api.clock.advance(DAY_US)
    action = cards.approve(requested.json()["id"])

    assert (action["status"], "less than seven days old" in action["error"]) == ("failed", True)
    assert cards.of_program(program["id"]) == ("trs-v1", None)


@pytest.mark.parametrize(
    ("over", "path"),
    [
        ({"data": {}}, "report.data.later"),
        ({"data": {"later": {"bad": 0, "ok": 340}}}, "report.data.later.bad"),
        ({"rankings": []}, "report.rankings"),
        ({"findings": None}, "report.findings"),
        ({"cardSha256": None}, "report.cardSha256"),
    ],
)
def test_given_a_report_that_says_nothing_of_the_card_then_it_is_refused_where_it_lacks_that(
    cards: ScorecardCalls, over: dict[str, Any], path: str
) -> None:
    cards.propose()

    refused = cards.report("scorecard-v1", **over)

    assert_refused(refused, 400)
    assert [field["path"] for field in refused.json()["fields"]] == [path]


def test_given_cards_that_scored_before_then_going_back_needs_an_approver_and_no_report(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    assert_refused(cards.activate("trs-v1"), 409, "in force already")
    first = cards.in_force()
    second = cards.in_force(a_card(points=25))
    api.clock.advance(30 * DAY_US)
    seen = []

    for version in ("trs-v1", first, second):
        action = cards.activate(version).json()
        assert action["change"]["reportSha256"] is None
        assert cards.approve(action["id"])["status"] == "executed"
        seen.append(cards.of_program(program["id"])[0])

    assert seen == ["trs-v1", "trs-v1+scorecard-v1", "trs-v1+scorecard-v2"]
    assert_refused(cards.activate(second), 409, "in force already")


def test_given_one_program_then_it_goes_back_to_the_default_card_and_to_the_tenants_alone(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    other, program_id = api.create_program(cards.tenant, slug="lending"), program["id"]

    def score() -> list[str]:
        return [cards.of_program(each["id"])[0] for each in (program, other)]

    cards.in_force(program_id=program_id)
    assert score() == ["trs-v1+scorecard-v1", "trs-v1"]
    assert_refused(cards.activate("scorecard-v1", programId=program_id), 400, "for trs-v1 and tenant alone")
    assert_refused(cards.activate("tenant"), 400, "programId is required")

    cards.activated("trs-v1", programId=program_id)
    tenants = cards.in_force(a_card(points=25))
    assert score() == ["trs-v1", f"trs-v1+{tenants}"]

    change = cards.activated("tenant", programId=program_id)["change"]

    assert (change["scoreVersion"], change["cardSha256"]) == (f"trs-v1+{tenants}", cards.read(tenants)["cardSha256"])
    assert change["followsTenant"]
    assert score() == [f"trs-v1+{tenants}"] * 2
    assert_refused(cards.activate("tenant", programId=program_id), 409, "in force already")
    assert_refused(cards.activate("tenant", programId=other["id"]), 409, "in force already")
    cards.activated("trs-v1", programId=other["id"])
    assert score() == [f"trs-v1+{tenants}", "trs-v1"]
    cards.activated("trs-v1")
    assert score() == ["trs-v1", "trs-v1"]
    assert cards.read("trs-v1")["active"]


def test_given_as_many_versions_as_a_tenant_may_have_then_it_goes_back_all_the_same(
    cards: ScorecardCalls, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_versions(monkeypatch, SCORECARD, most=1)
    cards.in_force()
    assert_refused(cards.propose(), 409, "versions of scorecards")

    cards.activated("trs-v1")

    assert cards.of_program(program["id"])[0] == "trs-v1"


def test_given_a_card_in_shadow_then_every_program_runs_it_until_another_one_starts(
    cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.propose()
    cards.propose(a_card(points=25))

    started = cards.send("POST", "/scorecard-v1/shadow")

    assert (started.status_code, started.json()["inShadow"]) == (200, True), started.text
    assert cards.of_program(program["id"]) == ("trs-v1", "trs-v1+scorecard-v1")
    cards.send("POST", "/scorecard-v2/shadow")
    assert cards.of_program(program["id"]) == ("trs-v1", "trs-v1+scorecard-v2")
    assert [each["inShadow"] for each in cards.read()] == [True, False, False]


def test_given_shadows_of_tenant_and_program_when_they_end_then_the_programs_gives_way_to_the_tenants(
    api: RunningApp, cards: ScorecardCalls, program: dict[str, Any]
) -> None:
    cards.propose()
    cards.propose(a_card(points=25), program_id=program["id"])
    for version in ("scorecard-v1", "scorecard-v2"):
        cards.send("POST", f"/{version}/shadow")
    seen = [cards.of_program(program["id"])[1]]

    for version in ("scorecard-v2", "scorecard-v1"):
        ended = cards.send("DELETE", f"/{version}/shadow")
        assert (ended.status_code, ended.json()["inShadow"]) == (200, False), ended.text
        seen.append(cards.of_program(program["id"])[1])

    assert seen == ["trs-v1+scorecard-v2", "trs-v1+scorecard-v1", None]
    entries = api.stored()
    assert cards.send("DELETE", "/scorecard-v1/shadow").status_code == 200
    assert api.stored() == entries
    assert api.reloaded_registry().tenancy.scorecards[cards.tenant["id"]].shadow(None) is None
    cards.send("POST", "/scorecard-v1/shadow")
    assert cards.of_program(program["id"])[1] == "trs-v1+scorecard-v1"


def test_given_a_report_that_was_sent_before_when_it_comes_again_or_older_ones_do_then_the_newest_ones_stay(
    cards: ScorecardCalls,
) -> None:
    cards.propose()
    first = cards.report("scorecard-v1", days_old=3)
    for days_old in (5, 6, 3):
        assert cards.report("scorecard-v1", days_old=days_old).status_code == 201

    kept = cards.read("scorecard-v1")["reports"]

    assert [each["madeAt"] for each in kept] == [
        first.json()["madeAt"],
        cards.report("scorecard-v1", days_old=5).json()["madeAt"],
    ]
    assert cards.report("scorecard-v1", days_old=6).status_code == 201


def test_given_all_that_was_written_when_the_log_is_read_again_then_it_is_the_same(
    api: RunningApp, cards: ScorecardCalls
) -> None:
    cards.in_force()
    cards.propose(a_card(points=25))
    cards.send("POST", "/scorecard-v2/shadow")
    before = api.registry.tenancy

    again = api.reloaded_registry().tenancy

    tenant_id = cards.tenant["id"]
    assert again.policies[tenant_id].all() == before.policies[tenant_id].all()
    assert vars(again.scorecards[tenant_id]) == vars(before.scorecards[tenant_id])
