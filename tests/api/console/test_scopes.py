"""Sessions of API keys: what their scopes allow, on every page and in the navigation, and nothing else."""

from http import HTTPStatus
from typing import Any

import pytest

from clearhold.api.console.guard import OPERATOR, PUBLIC, SCOPES
from clearhold.api.console.routes import CONSOLE_ROUTES
from tests.support.alerting import an_alert
from tests.support.console import Browser, ConsoleApp
from tests.support.running_app import RunningApp

WITHOUT_SCOPES = {
    "/console",
    "/console/session",
    "/console/people",
    "/console/today",
    "/console/keys",
    "/console/commands",
    "/console/settings",
}
"""Pages that show no data of the tenant, or only what the scopes allow."""

PAGES = {
    "reports": "/console/today",
    "alerts:read": "/console/queue",
    "actions": "/console/approvals",
}


def key_session(console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], *scopes: str) -> Browser:
    body = {"name": "examiner", "mode": "live", "scopes": list(scopes)}
    made = api.client.post("/api/keys", json=body, headers=api.operator(tenant))
    assert made.status_code == HTTPStatus.CREATED, made.text
    visitor = console.browser()
    assert visitor.sign_in(made.json()["secret"], "").status_code == HTTPStatus.SEE_OTHER
    return visitor


def test_given_a_page_with_data_then_it_names_the_scopes_that_it_needs() -> None:
    pages = [route for route in CONSOLE_ROUTES if "GET" in route.http_methods and not route.opt.get(PUBLIC)]
    unnamed = {
        path for route in pages for path in route.paths if not (route.opt.get(SCOPES) or route.opt.get(OPERATOR))
    }
    assert unnamed == WITHOUT_SCOPES


@pytest.mark.parametrize("scope", ["reports", "alerts:read", "actions", "record", "webhooks"])
def test_given_a_key_of_one_scope_then_it_reads_the_pages_of_that_scope_alone(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], scope: str
) -> None:
    alert = an_alert(api, tenant, program)
    visitor = key_session(console, api, tenant, scope)
    answers = {
        path: visitor.get(path).status_code
        for path in (
            "/console/queue",
            f"/console/stacks/{alert['stackId']}",
            f"/console/alerts/{alert['id']}",
            f"/console/things/transfer/{alert['transferId']}",
            "/console/search?q=acht",
            "/console/live",
        )
        if path != "/console/live" or scope != "alerts:read"
    }
    may_read = scope == "alerts:read"
    expected = dict.fromkeys(answers, HTTPStatus.OK if may_read else HTTPStatus.FORBIDDEN)
    if may_read:
        expected[f"/console/alerts/{alert['id']}"] = HTTPStatus.SEE_OTHER
        stack = visitor.get(f"/console/alerts/{alert['id']}").headers["location"]
        assert stack == f"/console/stacks/{alert['stackId']}"
    assert answers == expected
    assert (visitor.get("/console/approvals").status_code == HTTPStatus.OK) == (scope == "actions")
    assert (visitor.get("/console/verify").status_code == HTTPStatus.OK) == (scope == "record")


@pytest.mark.parametrize(("scope", "page"), PAGES.items())
def test_given_a_key_then_it_begins_at_its_first_place_and_the_navigation_has_no_other(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], scope: str, page: str
) -> None:
    visitor = key_session(console, api, tenant, scope)
    begin = visitor.get("/console/today")
    if page != "/console/today":
        assert begin.headers["location"] == page
        begin = visitor.get(page)
    links = [each for each in PAGES.values() if f'<a href="{each}"' in begin.text]
    assert links == [page]
    assert ("/console/search" in begin.text) == (scope == "alerts:read")


def test_given_a_key_of_another_scope_then_it_begins_at_the_settings_with_the_sections_that_it_may_read(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    visitor = key_session(console, api, tenant, "webhooks")
    assert visitor.get("/console/today").headers["location"] == "/console/settings"
    page = visitor.get("/console/settings").text
    assert 'href="/console/settings/webhooks"' in page
    assert 'href="/console/settings/keys"' not in page


def test_given_a_session_of_a_key_then_pages_of_operators_are_refused_as_by_the_interface(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any]
) -> None:
    visitor = key_session(console, api, tenant)
    operators = [path for route in CONSOLE_ROUTES if route.opt.get(OPERATOR) for path in route.paths]
    assert "/console/settings/keys" in operators
    for path in operators:
        answer = visitor.get(path)
        assert answer.status_code == HTTPStatus.FORBIDDEN, path
        assert "needs the tenant&#39;s operator token" in answer.text


def test_given_a_key_for_reports_then_today_has_programs_and_no_numbers_of_alerts(
    console: ConsoleApp, api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    an_alert(api, tenant, program)
    page = key_session(console, api, tenant, "reports").get("/console/today").text
    assert program["name"] in page
    assert "to decide" not in page
