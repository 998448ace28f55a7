"""Programs on the console: the table, one program, its limits and its weeks."""

import re
from http import HTTPStatus
from typing import Any

import httpx
import pytest

from clearhold.api.console.pages.bank_events import CURES
from clearhold.features.core.log_entry import EventResult
from tests.api.console.test_bank_events import a_wire
from tests.api.console.test_scopes import key_session
from tests.support.alerting import deliver, outgoing
from tests.support.console import Browser, ConsoleApp
from tests.support.dom import DomPage
from tests.support.running_app import RunningApp

PROGRAMS = "/console/programs"


def content_of_200(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == HTTPStatus.OK, answer.text
    content: dict[str, Any] = answer.json()
    return content


def words_of(page: httpx.Response) -> str:
    return words_of_text(page.text)


def words_of_text(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text.partition("<main")[2]).split())


def limits_of(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, Any]:
    read: dict[str, Any] = content_of_200(
        api.client.get(f"/api/limits/program/{program['id']}", headers=api.operator(tenant))
    )
    return read


def requested(browser: Browser, program: dict[str, Any], **fields: str) -> httpx.Response:
    path = f"{PROGRAMS}/{program['id']}"
    return browser.send_form(browser.get(path), f"{path}/limits", **fields)


def test_given_programs_then_each_name_leads_to_its_page(browser: Browser, program: dict[str, Any]) -> None:
    page = browser.get(PROGRAMS)
    assert f'href="{PROGRAMS}/{program["id"]}"' in page.text
    assert "1 program. " in words_of(page)


def test_given_no_snapshot_then_nothing_is_shown_as_zero(browser: Browser, program: dict[str, Any]) -> None:
    words = words_of(browser.get(f"{PROGRAMS}/{program['id']}"))
    assert "No score yet." in words
    assert "No snapshot of the indicators was taken yet." in words


def test_given_a_snapshot_then_the_page_has_every_indicator_with_its_state_and_its_number(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    content_of_200(api.client.post(f"/api/kri/snapshot/{program['id']}", headers=api.operator(tenant)))
    report = content_of_200(api.client.get(f"/api/reports/program/{program['id']}", headers=api.operator(tenant)))
    words = words_of(browser.get(f"{PROGRAMS}/{program['id']}")).partition("Key risk indicators")[2]
    assert len(report["kris"]) == 18
    assert words.count("not measured") >= sum(each["status"] == "unmeasured" for each in report["kris"].values())
    for name in report["kris"]:
        assert name.replace("_", " ").removeprefix("ach ").split(" ", 1)[-1] in words


def test_given_days_with_and_without_a_snapshot_then_lines_and_tables_have_those_of_the_interface(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    deliver(api, program, *(outgoing(f"acht_{day}", at=f"2026-02-{day:02d}T14:00:00Z") for day in (20, 21, 25)))
    content_of_200(api.client.post(f"/api/kri/snapshot/{program['id']}", headers=api.operator(tenant)))
    query = {"programId": program["id"], "every": "day", "from": "2026-02-01"}
    stored = content_of_200(api.client.get("/api/kri/snapshots", params=query, headers=api.operator(tenant)))["data"]
    days = {each["asOf"][:10]: each for each in stored}
    assert len(days) > 3
    for period in (30, 90):
        text = browser.get(f"{PROGRAMS}/{program['id']}?days={period}").text
        table = text.partition('id="indicator-days"')[2].partition("</table>")[0]
        rows = {row[:10]: row for row in table.split('<tr><th scope="row">')[1:]}
        assert len(rows) == period
        for day, row in rows.items():
            kris = days[day]["kris"].values() if day in days else ()
            known = sum(each["status"] != "unmeasured" for each in kris)
            assert (row.count("<td"), row.count('title="not measured"')) == (18, 18 - known)
        assert f" of {period} days: " in DomPage(text).one("table", class_="kris").text
        scored = sum(each["programScore"] is not None for each in stored)
        assert f"Scored on {scored} of {period} days" in words_of_text(text)


def test_given_the_evidence_then_the_steps_have_the_one_in_force_and_the_ways_up_and_down(
    browser: Browser, program: dict[str, Any]
) -> None:
    text = browser.get(f"{PROGRAMS}/{program['id']}").text
    page = DomPage(text)
    assert page.one("li", aria_current="step").text.startswith("standard, in force")
    ladder = page.one("section", id="ladder").text
    places = [ladder.index(each) for each in ("supervised", "standard", "trusted")]
    assert places == sorted(places)
    assert "Up to trusted: one more detector needs the evidence" in ladder
    assert "fewer than 50 were decided by persons" in page.one("section", id="autonomy").text


def test_given_a_narrower_step_then_it_is_in_force_and_a_wider_one_waits_for_a_second_person(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    path = f"{PROGRAMS}/{program['id']}"
    assert "Nothing was changed on this program" in browser.get(path).text
    form = browser.get(f"{path}/autonomy")
    assert "at once, by one person" in form.text
    refused = browser.send_form(form, f"{path}/autonomy", tier="trusted", note="<b>Now.</b>")
    assert refused.status_code == HTTPStatus.CONFLICT
    assert "&lt;b&gt;Now." in refused.text
    assert DomPage(refused.text).one("p", class_="refusal").text

    narrowed = browser.send_form(form, f"{path}/autonomy", tier="supervised", note="<b>Until the audit ends.</b>")
    assert narrowed.status_code == HTTPStatus.SEE_OTHER, narrowed.text
    text = browser.get(narrowed.headers["location"]).text
    assert "Narrowed. It is in force." in text
    assert "supervised, in force. <b>Until the audit ends.</b>" in DomPage(text).one("ul", id="autonomy-versions").text
    assert "<b>Until" not in text

    wider = browser.send_form(browser.get(f"{path}/autonomy"), f"{path}/autonomy", tier="standard", note="It ended.")
    assert "Requested. Another person has to approve it" in browser.get(wider.headers["location"]).text
    (action,) = api.client.get("/api/actions?status=requested", headers=api.operator(tenant)).json()["data"]
    assert (action["type"], action["requestedBy"]) == ("set_autonomy", "ann@bank.example")


@pytest.mark.parametrize(
    ("kind", "cap", "field", "stored", "shown_as"),
    [
        ("ach_debit_daily", "250,000", "capCents", "25000000", "250,000.00 USD"),
        ("per_transaction", "1234.50", "capCents", "123450", "1,234.50 USD"),
        ("entity_velocity_24h", "25", "capCount", 25, "25"),
    ],
)
def test_given_a_limit_that_is_requested_then_it_waits_for_another_person_and_then_is_in_force(
    api: RunningApp,
    tenant: dict[str, Any],
    program: dict[str, Any],
    browser: Browser,
    kind: str,
    cap: str,
    field: str,
    stored: str | int,
    shown_as: str,
) -> None:
    answer = requested(browser, program, kind=kind, cap=cap, note="The pilot is over.")
    (pending,) = limits_of(api, tenant, program)["pending"]
    assert answer.status_code == HTTPStatus.SEE_OTHER
    assert (pending["kind"], pending[field], pending["requestedBy"]) == (kind, stored, "ann@bank.example")
    assert "Waits for a second person" in words_of(browser.get(f"{PROGRAMS}/{program['id']}"))
    change = f"from no limit kind {kind.replace('_', ' ')} note The pilot is over. to {shown_as} "
    assert change in words_of(browser.get("/console/approvals"))
    path = f"/api/actions/{pending['actionId']}/approve"
    content_of_200(api.client.post(path, json={}, headers=api.operator(tenant, "bob@bank.example")))
    limits = limits_of(api, tenant, program)
    assert not limits["pending"]
    assert next(each for each in limits["limits"] if each["kind"] == kind)[field] == stored
    assert "approved by bob@bank.example" in words_of(browser.get(f"{PROGRAMS}/{program['id']}"))


@pytest.mark.parametrize(
    ("kind", "cap"),
    [
        ("ach_debit_daily", "1.5"),
        ("ach_debit_daily", "12,34"),
        ("ach_debit_daily", "-1"),
        ("ach_debit_daily", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("ach_debit_daily", "9" * 30),
        ("entity_velocity_24h", "2.00"),
        ("entity_velocity_24h", ""),
        ("no_such_kind", "1"),
    ],
)
def test_given_a_limit_that_is_refused_then_the_page_says_why_and_keeps_the_typed_words(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser, kind: str, cap: str
) -> None:
    note = "<b>why</b>"
    page = requested(browser, program, kind=kind, cap=cap, note=note)
    assert page.status_code in {HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT}
    assert 'class="refusal"' in page.text
    assert "<b>why</b>" not in page.text
    assert "&lt;b&gt;why&lt;/b&gt;" in page.text
    assert limits_of(api, tenant, program)["pending"] == []


def test_given_the_weekly_report_then_it_is_the_page_of_the_interface(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    link = re.search(
        rf'href="({PROGRAMS}/{program["id"]}/week\?week=([^"]+))"', browser.get(f"{PROGRAMS}/{program['id']}").text
    )
    assert link is not None
    query = {"week": link[2], "format": "html"}
    wanted = api.client.get(f"/api/reports/weekly/{program['id']}", params=query, headers=api.operator(tenant))
    in_frame = browser.get(link[1])
    assert (
        wanted.text.partition("<main>")[2].partition("<section>")[2].partition("<footer>")[0].removesuffix("</div>")
        in in_frame.text
    )
    to_print = next(each for each in DomPage(in_frame.text).all("a") if each.text == "To print")
    before = next(each for each in DomPage(in_frame.text).all("a") if each.text == "Week before")
    assert browser.get(before.attributes["href"] or "").status_code == HTTPStatus.OK
    page = browser.get(to_print.attributes["href"] or "")
    assert page.text == wanted.text
    assert page.headers["content-security-policy"] == wanted.headers["content-security-policy"]
    for path in ("week", "week/print"):
        assert browser.get(f"{PROGRAMS}/{program['id']}/{path}?week=2026-W99").status_code == HTTPStatus.BAD_REQUEST


def test_given_a_program_of_another_bank_then_it_is_not_known(
    api: RunningApp, console: ConsoleApp, program: dict[str, Any]
) -> None:
    other = console.browser()
    stranger = api.create_tenant("other-bank")
    assert other.sign_in(stranger["operatorToken"]).status_code == HTTPStatus.SEE_OTHER
    for path in ("", "/week", "/week/print", "/autonomy"):
        assert other.get(f"{PROGRAMS}/{program['id']}{path}").status_code == HTTPStatus.NOT_FOUND


def test_given_an_event_that_cannot_be_used_then_the_page_of_its_program_has_the_fault_and_how_to_correct_it(
    api: RunningApp, console: ConsoleApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    path = f"{PROGRAMS}/{program['id']}"
    assert "Events without effect None:" in words_of(browser.get(path))
    deliver(api, program, a_wire(amount=9850.5))
    other = api.create_program(tenant, slug="lending", name="Lending")
    words = words_of(browser.get(path))
    assert f"{EventResult.UNUSABLE.value} : " in words.partition("Events without effect")[2]
    assert " ".join(CURES[EventResult.UNUSABLE].split()) in words
    assert "Events without effect None:" in words_of(browser.get(f"{PROGRAMS}/{other['id']}"))
    reports_only = key_session(console, api, tenant, "reports")
    assert "Events without effect" not in words_of(reports_only.get(path))
