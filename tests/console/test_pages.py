"""Every page in light and dark, on a desk, a small screen and a phone: accessible, without an error, and it fits.

A page is opened once at each width. A scheme changes colours alone, since no sheet asks for it elsewhere; so in the
second one the rules about colours are enough.

Each leaves a picture to be looked at in the folder that ``CLEARHOLD_PICTURES`` names, if it names one.
"""

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.console_demo import RULE, ConsoleDemo, Person

ROOT: Final = Path(__file__).parents[2]
PICTURES: Final = os.environ.get("CLEARHOLD_PICTURES")
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLOURS: Final = ["color-contrast", "link-in-text-block"]
LIGHT: Final = "light"
SCHEMES: Final = (LIGHT, "dark")
STATIC: Final = ROOT / "api" / "console" / "static"
WIDTHS: Final = (1440, 1024, 390)
HEIGHT: Final = 900
BOTH_SIDES: Final = 1280
HALF_AN_HOUR: Final = "31:00"
OVERFLOW: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module", params=WIDTHS, ids=str)
def reader(demo: ConsoleDemo, chromium: Browser, request: pytest.FixtureRequest) -> Iterator[Person]:
    with demo.person(chromium, viewport={"width": request.param, "height": HEIGHT}) as person:
        person.label = f"{request.param}"
        yield person


def link_on(reader: Person, path: str, selector: str) -> str:
    """The first link of a page that fits."""
    reader.page.goto(path)
    return reader.page.locator(selector).first.get_attribute("href") or ""


def paths(reader: Person) -> dict[str, str]:
    """The pages by name, of a stack and of an account that are there."""
    reader.page.goto("/console/queue")
    stack = reader.page.locator("#stacks .stack").first.get_attribute("href") or ""
    account = reader.page.locator("#stacks .stack code").first.inner_text()
    reader.page.goto("/console/programs")
    program = reader.page.locator(".programs tbody th a").first.get_attribute("href") or ""
    return {
        "today": "/console/today",
        "queue": "/console/queue",
        "queue-table": "/console/queue?view=table",
        "approvals": "/console/approvals",
        "programs": "/console/programs",
        "program": program,
        "week": f"{program}/week",
        "autonomy": f"{program}/autonomy",
        "workspace": stack,
        "stack-events": f"{stack.partition('?')[0]}/events",
        "thing": f"/console/things/account/{account}",
        "transfers": f"/console/things/account/{account}/transfers?rail=ach",
        "graph": f"/console/graph?around=account:{account}",
        "search": "/console/search?q=bacc",
        "search-empty": "/console/search?q=nothing-has-this",
        "preflight": "/console/preflight",
        "preflight-answer": link_on(reader, "/console/preflight", "#recent a"),
        "rules": "/console/rules",
        "rule": f"/console/rules/{RULE['id']}",
        "rule-new": "/console/rules-new",
        "quality": "/console/quality",
        "record": "/console/record",
        "record-verified": "/console/record/verified",
        "record-proof": "/console/record/proof?chain=dispositions&seq=0",
        **settings_paths(reader),
        "keys": "/console/keys",
        "commands": "/console/commands",
        "missing": "/console/stacks/00000000-0000-0000-0000-000000000000",
    }


def settings_paths(reader: Person) -> dict[str, str]:
    """The pages of people and settings."""
    policies = "/console/settings/policies"
    routing = link_on(reader, policies, "#policy .endpoints a")
    return {
        "people": "/console/people",
        "settings": "/console/settings",
        "api-keys": "/console/settings/keys",
        "webhooks": "/console/settings/webhooks",
        "webhook": link_on(reader, "/console/settings/webhooks", ".endpoints a"),
        "signing-keys": "/console/settings/signing-keys",
        "bank-keys": "/console/settings/bank-keys",
        "configuration": "/console/settings/configuration?change=policies/clock.yaml",
        "policies": policies,
        "policy": link_on(reader, policies, "#clock .endpoints a"),
        "policy-routing": routing,
        "policy-dry-run": f"{routing}/dry-run?days=90",
        "policy-ladder": link_on(reader, policies, "#ladder .endpoints a"),
        "scorecards": "/console/settings/scorecards",
        "scorecard": "/console/settings/scorecards/trs-v1",
        "retention": "/console/settings/retention",
        "bank-events": "/console/settings/events",
        "bank-event": link_on(reader, "/console/settings/events", ".endpoints a"),
    }


def settled(page: Page) -> None:
    """Once both sides of the desk are there: scripts read the list beside a stack, and the stack beside the list."""
    page.wait_for_load_state("load")
    is_wide = (page.viewport_size or {"width": 0})["width"] >= BOTH_SIDES
    if is_wide and page.locator(".desk").count():
        expect(page.locator("#stacks .stack").first).to_be_visible()
        expect(page.locator("#preview .workspace")).to_be_visible()
        expect(page.locator("#preview")).not_to_have_attribute("aria-busy", "true")


def axe_violations(page: Page, axe: str, rules: list[str] = RULES) -> list[dict[str, Any]]:
    """``rules`` are tags or single rules. No selector is made of an element, since its HTML says which it is."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    options = f"{{ runOnly: {rules}, resultTypes: ['violations'], selectors: false }}"
    answer = page.evaluate(
        f"""axe.run(document, {options}).then(({{ violations, passes }}) => ({{
            passed: passes.length,
            violations: violations.map(({{ id, impact, nodes }}) => ({{
                rule: id, impact, at: nodes.slice(0, 3).map((each) => each.html)
            }}))
        }}))"""
    )
    assert answer["passed"] > 10 or rules is not RULES
    violations: list[dict[str, Any]] = answer["violations"]
    return violations


def in_scheme(page: Page, axe: str, name: str, scheme: str, width: int | str) -> list[dict[str, Any]]:
    """Leave the picture; what axe finds."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    if PICTURES:
        path = Path(PICTURES) / f"{name}-{scheme}-{width}.jpg"
        page.screenshot(path=path, type="jpeg", quality=90)  # a third of PNG's time
    return axe_violations(page, axe, RULES if scheme == LIGHT else OF_COLOURS)


def test_given_the_sheets_and_scripts_then_none_asks_for_the_scheme_but_for_a_colour() -> None:
    """Only ``light-dark()`` does, whose values are colours."""
    asking = [each.name for each in STATIC.rglob("*.*s") if "prefers-color-scheme" in each.read_text("utf-8")]
    assert not asking
    assert any("light-dark(" in each.read_text("utf-8") for each in STATIC.rglob("*.css"))


def test_given_a_page_then_it_is_accessible_fits_and_has_no_error(reader: Person, axe: str) -> None:
    problems: dict[str, Any] = {}
    for name, path in paths(reader).items():
        reader.faults.clear()
        reader.page.goto(path)
        settled(reader.page)
        heads = reader.page.locator("h1").count()
        wrong = {
            **{scheme: in_scheme(reader.page, axe, name, scheme, reader.label) for scheme in SCHEMES},
            "sideways": reader.page.evaluate(OVERFLOW),
            "heads": heads - 1,
            "faults": [each for each in reader.faults if "404" not in each or name != "missing"],
        }
        if any(wrong.values()):
            problems[name] = wrong
    assert not problems


@pytest.mark.parametrize("rules", [["wcag2aa"], OF_COLOURS], ids=["a tag", "of colours"])
def test_given_a_text_that_is_too_pale_then_it_is_found(chromium: Browser, axe: str, rules: list[str]) -> None:
    page = chromium.new_page()
    paragraphs = "<p>Dark enough to be read.</p><p style='color: #ccc'>Too pale to be read.</p>"
    page.set_content(f"<!doctype html><html lang=en><title>Texts</title><main><h1>Two texts</h1>{paragraphs}</main>")
    (found,) = axe_violations(page, axe, rules)
    assert found["rule"] == "color-contrast"
    assert ["Too pale" in each for each in found["at"]] == [True]
    page.close()


INVITED: Final = "carol@bank.example"


def invitation(ann: Person) -> str:
    """A link that is not used."""
    ann.page.goto("/console/people")
    ann.page.get_by_label("Name for the record").fill(INVITED)
    ann.page.get_by_role("button", name="Make a link").click()
    return ann.page.get_by_label("The link for").input_value()


def without_session(page: Page, link: str) -> Iterator[tuple[str, int]]:
    """Each page that a person sees when the session has ended and before, with its name and the status of its answer.

    The page is that of a session.
    """
    page.clock.install()
    page.goto("/console/today")
    page.context.clear_cookies()
    page.clock.fast_forward(HALF_AN_HOUR)
    expect(page.get_by_role("dialog")).to_contain_text("Your session has ended")
    expect(page.get_by_role("button", name="Stay signed in")).to_be_hidden()
    expect(page.get_by_role("link", name="Sign in again")).to_be_visible()
    page.clock.resume()
    yield "session-ended", 401
    page.goto("/console/approvals")
    yield "session-ended-page", 200
    page.goto("/console/sign-in")
    yield "sign-in", 200
    page.get_by_label("Token").fill("op_wrong")
    page.get_by_label("Your name").fill("ann@bank.example")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "sign-in-refused", 401
    page.goto(link)
    expect(page.get_by_text(f"This link is for {INVITED}")).to_be_visible()
    yield "invitation", 200
    page.goto(f"{link[:-4]}0000")
    yield "invitation-used", 401
    page.goto("/console/start?code=used")
    expect(page.get_by_text("This link was used")).to_be_visible()
    yield "link-used", 404


def test_given_a_page_without_a_session_then_it_is_accessible_fits_and_has_no_error(
    demo: ConsoleDemo, chromium: Browser, axe: str
) -> None:
    """One page in each scheme and width, since an address has five tries to sign in within a minute."""
    problems: dict[str, Any] = {}
    with demo.person(chromium) as ann:
        page = ann.page
        for name, status in without_session(page, invitation(ann)):
            faults = [each for each in ann.faults if str(status) not in each]
            for width, scheme in product(WIDTHS, SCHEMES):
                page.set_viewport_size({"width": width, "height": HEIGHT})
                wrong = {
                    "axe": in_scheme(page, axe, name, scheme, width),
                    "sideways": page.evaluate(OVERFLOW),
                    "heads": page.locator("h1").count() - 1,
                    "faults": faults,
                }
                if any(wrong.values()):
                    problems[f"{name}-{scheme}-{width}"] = wrong
            ann.faults.clear()
    assert not problems
