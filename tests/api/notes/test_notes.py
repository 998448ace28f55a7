"""Notes on alerts over HTTP: on the record, once for each request, and read back unchanged."""

from hashlib import sha256
from typing import Any, Final

import httpx
import pytest

from clearhold.api.log import commands as committed
from clearhold.api.notes.schemas import NEWEST_NOTES
from clearhold.features.core.canonical import ALERT_NOTE, canonical
from clearhold.features.core.log_entry import EntryKind
from clearhold.store.errors import StartupError
from clearhold.store.joining.joining import check_decisions
from tests.support.alerting import NOTE, an_alert, decide, note, read
from tests.support.running_app import SHARDS, RunningApp, assert_refused, content_of_201

UNKNOWN: Final = "00000000-0000-4000-8000-000000000000"
SECOND_US: Final = 1_000_000


def verified(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = api.client.get("/api/record/verify", headers=api.operator(tenant)).json()
    return report


def entries(api: RunningApp) -> int:
    return sum(entry.kind == EntryKind.NOTE for entry in api.entries())


def test_given_a_note_then_it_is_shown_with_the_alert_and_is_a_link_of_the_record(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    links = verified(api, tenant)["chains"]["actions"]["checked"]

    written = content_of_201(note(api, api.operator(tenant, " Ann  Lee "), alert["id"].upper()))

    expected = {"alertId": alert["id"], "programId": program["id"], "tenantId": tenant["id"], "note": NOTE}
    assert {name: written[name] for name in expected} == expected
    assert (written["writtenBy"], written["identity"], written["seq"]) == ("Ann Lee", "claimed", links)
    detail = read(api, tenant, alert["id"])
    assert (detail["notes"], detail["noteCount"]) == ([written], 1)
    assert detail["alert"] == alert
    report = verified(api, tenant)
    assert (report["ok"], report["chains"]["actions"]["checked"]) == (True, links + 1)
    exported = api.client.get("/api/record/export?kinds=action", headers=api.operator(tenant)).text
    (link,) = [line for line in map(_json, exported.splitlines()) if line["body"]["kind"] == ALERT_NOTE]
    assert (link["hash"], link["prevHash"], link["seq"]) == (written["hash"], written["prevHash"], written["seq"])
    assert (link["body"]["note"], link["body"]["actor"], link["body"]["id"]) == (NOTE, "Ann Lee", written["id"])
    proof = api.client.get(f"/api/record/proof?chain=actions&seq={written['seq']}", headers=api.operator(tenant))
    assert proof.status_code == 200
    assert link["body"]["alertSha256"] in {
        _digest(line) for line in api.client.get("/api/record/export", headers=api.operator(tenant)).text.splitlines()
    }


def _json(line: str) -> Any:
    return httpx.Response(200, text=line).json()


def _digest(line: str) -> str | None:
    """Of the body of a cited alert."""
    content = _json(line)
    return sha256(canonical(content["body"])).hexdigest() if content["kind"] == "alert" else None


def test_given_a_closed_alert_then_notes_go_on(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    content_of_201(decide(api, api.operator(tenant), alert["id"]))

    written = content_of_201(note(api, api.operator(tenant, "bob"), alert["id"]))

    detail = read(api, tenant, alert["id"])
    assert (detail["alert"]["status"], detail["notes"]) == ("closed", [written])
    assert verified(api, tenant)["ok"]


def test_given_many_notes_then_the_alert_has_the_newest_and_pages_have_them_all(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert, other = an_alert(api, tenant, program), an_alert(api, tenant, program, "acht_2")
    content_of_201(note(api, api.operator(tenant), other["id"]))
    written = []
    for number in range(NEWEST_NOTES + 3):
        api.clock.advance(SECOND_US)
        written.append(content_of_201(note(api, api.operator(tenant), alert["id"], f"note {number}")))

    detail = read(api, tenant, alert["id"])
    path, found = f"/api/alerts/{alert['id']}/notes?limit=10", list[dict[str, Any]]()
    while path:
        answer = api.client.get(path, headers=api.operator(tenant))
        found += answer.json()["data"]
        path = answer.links.get("next", {}).get("url", "")

    assert (detail["notes"], detail["noteCount"]) == (written[3:], len(written))
    assert found == written[::-1]


@pytest.mark.parametrize(
    "text",
    [
        "x" * 8_000,
        "tabs\tand\r\nlines",
        "escape \x1b[31m red \x07 \x7f",
        "\u202eright to left",
        "🧾 日本語",
        "'; DROP TABLE x; --",
    ],
)
def test_given_any_text_up_to_the_limit_then_it_is_kept_to_the_byte(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], text: str
) -> None:
    alert = an_alert(api, tenant, program)

    written = content_of_201(note(api, api.operator(tenant), alert["id"], text))

    assert written["note"] == text
    assert read(api, tenant, alert["id"])["notes"][0]["note"] == text
    assert verified(api, tenant)["ok"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"note": None},
        {"note": ""},
        {"note": " \n\t "},
        {"note": "x" * 8_001},
        {"note": "x" * 10_000},
        {"note": "a\x00b"},
        {"note": 7},
        {"note": "x", "author": "bob"},
    ],
)
def test_given_no_text_or_too_much_then_it_is_refused_and_nothing_is_written(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], body: Any
) -> None:
    alert = an_alert(api, tenant, program)

    answer = api.client.post(f"/api/alerts/{alert['id']}/notes", json=body, headers=api.operator(tenant))

    assert_refused(answer, 400)
    assert entries(api) == 0


def test_given_half_a_character_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Content-Type": "application/json"}

    answer = api.client.post(f"/api/alerts/{alert['id']}/notes", content=rb'{"note":"\ud800"}', headers=headers)

    assert_refused(answer, 400)


def test_given_an_alert_that_is_not_there_or_of_another_tenant_then_404(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert, other = an_alert(api, tenant, program), api.create_tenant("second-bank")

    for headers, alert_id in ((api.operator(tenant), UNKNOWN), (api.operator(other), alert["id"])):
        assert_refused(note(api, headers, alert_id), 404, "Unknown alert on this tenant.")
        assert_refused(api.client.get(f"/api/alerts/{alert_id}/notes", headers=headers), 404)
    assert entries(api) == 0


def test_given_a_key_then_its_scope_decides_and_it_signs_as_itself_or_for_the_person_it_names(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    reading, deciding = (api.key(tenant, scopes=[f"alerts:{may}"]) for may in ("read", "decide"))
    elsewhere = api.key(tenant, programId=api.create_program(tenant, slug="other")["id"])

    assert_refused(note(api, reading, alert["id"]), 403, "alerts:decide")
    assert_refused(note(api, elsewhere, alert["id"]), 404)
    own = content_of_201(note(api, deciding, alert["id"]))
    api.clock.advance(SECOND_US)
    named = content_of_201(note(api, deciding | {"X-Operator": "ann"}, alert["id"]))
    assert own["writtenBy"].startswith("key:")
    assert own["identity"] is None
    assert (named["writtenBy"], named["identity"]) == ("ann", "claimed")
    assert_refused(api.client.get(f"/api/alerts/{alert['id']}/notes", headers=deciding), 403)
    assert api.client.get(f"/api/alerts/{alert['id']}/notes", headers=reading).json()["data"] == [named, own]


def test_given_a_repeat_under_its_key_then_there_is_one_note_and_another_text_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "once"}

    first, again = (note(api, headers, alert["id"]) for _ in range(2))
    other = note(api, headers, alert["id"], "Another text.")

    assert content_of_201(first) == content_of_201(again)
    assert again.headers["idempotent-replayed"] == "true"
    assert_refused(other, 409)
    assert read(api, tenant, alert["id"])["noteCount"] == entries(api) == 1


def test_given_a_flow_that_stands_still_then_503_and_the_repeat_finds_the_one_note(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alert = an_alert(api, tenant, program)
    headers = api.operator(tenant) | {"Idempotency-Key": "late"}
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)

    api.appender.stands_still = True
    refused = [note(api, headers, alert["id"]) for _ in range(2)]
    api.appender.stands_still = False
    api.catch_up()
    written = content_of_201(note(api, headers, alert["id"]))

    for answer in refused:
        assert_refused(answer, 503, "Idempotency-Key")
        assert answer.json()["code"] == "not_confirmed"
    assert read(api, tenant, alert["id"])["notes"] == [written]


@pytest.mark.parametrize(
    ("change", "columns"),
    [
        ("UPDATE alert_notes SET note = 'It was fine.'", ["note"]),
        ("UPDATE alert_notes SET written_by = 'bob', alert_id = 'x'", ["alert_id", "written_by"]),
        ("DELETE FROM alert_notes", ["missing"]),
        ("INSERT INTO alert_notes SELECT * REPLACE ('n_2' AS id) FROM alert_notes", ["unrecorded"]),
    ],
)
def test_given_a_note_that_somebody_changed_in_the_database_then_the_record_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], change: str, columns: list[str]
) -> None:
    alert = an_alert(api, tenant, program)
    content_of_201(note(api, api.operator(tenant), alert["id"]))
    before = verified(api, tenant)["rows"]["checked"]

    api.database.execute(change)

    report = verified(api, tenant)
    (difference,) = report["rows"]["differences"]
    assert (report["ok"], difference["table"], sorted(difference["columns"])) == (False, "alert_notes", columns)
    of_chain = {
        chain: api.client.get(f"/api/record/verify?chain={chain}", headers=api.operator(tenant)).json()["ok"]
        for chain in ("dispositions", "actions")
    }
    assert of_chain == {"dispositions": True, "actions": False}
    assert before >= 2


@pytest.mark.parametrize("table", ["alert_notes", "record_chain"])
def test_given_a_note_that_was_erased_when_the_log_still_has_it_then_the_start_is_refused(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], table: str
) -> None:
    alert = an_alert(api, tenant, program)
    content_of_201(note(api, api.operator(tenant), alert["id"]))
    committed_upto = {shard: api.reader.tail(shard) for shard in range(SHARDS)}
    check_decisions(api.reader, api.database, committed_upto)

    api.database.execute(f"DELETE FROM {table}")  # noqa: S608 - our own tables

    with pytest.raises(StartupError, match="a note"):
        check_decisions(api.reader, api.database, committed_upto)


def test_given_simulated_money_then_its_notes_say_so(api: RunningApp, tenant: dict[str, Any]) -> None:
    simulated = api.create_program(tenant, slug="simulated", source="simulated")
    alert = an_alert(api, tenant, simulated)

    assert content_of_201(note(api, api.operator(tenant), alert["id"]))["simulated"] is True
