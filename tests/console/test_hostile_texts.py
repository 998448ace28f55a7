"""Texts of outsiders that attack the page, in each field of the bank's events and of people: inert on every page."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest
from playwright.sync_api import Browser, Page

from tests.support.alerting import ALERTING, outgoing, party
from tests.support.bank_events import a_wire, an_event
from tests.support.console_demo import Person
from tests.support.console_service import ConsoleService
from tests.support.waiting import eventually

WIDTHS: Final = (1440, 1024, 390)
ATTACK: Final = "window.attacked = true"
TEXTS: Final = {
    "script": f"<script>{ATTACK}</script>",
    "handler": f'"><img src=x onerror="{ATTACK}"><svg onload="{ATTACK}">',
    "htmx": f"' hx-on:click='{ATTACK}' hx-get=/console/sign-out hx-trigger=load x='",
    "markup": f"]]></bdi></p></textarea></title><style>*{{display:none}}</style><a href=javascript:{ATTACK}>x</a>",
    "bidi": "pay\u202eee\u2066 rotcod\u200b\ufeff",
    "zalgo": "Z" + "\u0301\u0327\u0334" * 40 + "algo",
    "address": f"javascript:{ATTACK}//https://bank.example/",
    "formula": '=HYPERLINK("https://evil.example";"x")+cmd|\' /C calc\'!A0',
    "template": "{{7*7}}${7*7}<%= 7*7 %>",
    "unbroken": "W" * 900,
    "control": "".join(map(chr, (*range(32), *range(127, 160), 0x2028, 0x2029, 0xFFF9, 0xFFFE, 0x1F))) + "end",
    "long": "A long story. " * 700,
}
INJECTED: Final = (
    "main :is(img, iframe, object, embed, script, style, link, base, meta), main a[href^='javascript:' i], "
    "main :is([onerror], [onload], [onclick], [style], [hx-trigger], [hx-on\\:click])"
)
SIDEWAYS: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
WIDEST: Final = """() => [...document.querySelectorAll('body *')]
  .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .filter((each) => each.closest('.wide, svg, .hidden') === null)
  .map((each) => `${each.tagName}.${each.className}#${each.id}`).slice(0, 4).join(' < ')"""
TURNING: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff\x00\x01\x07\x08\x1b\x7f\x9b"


class Attacked:
    """A bank with a stack for each text: the names of its parties and the texts of its transfer are that text."""

    def __init__(self, bank: ConsoleService) -> None:
        self.bank = bank
        self.stacks = {name: self._stack(name, text) for name, text in TEXTS.items()}
        for name, text in TEXTS.items():
            self._by_people(self.stacks[name], text[:2_000].replace("\x00", ""))  # which no route of people takes
            self._in_settings(name, text.replace("\x00", ""))

    def _stack(self, name: str, text: str) -> dict[str, Any]:
        account = f"bacc_{name}"
        person = {"first_name": text, "last_name": text, "email": text, "address": {"line_1": text, "city": text}}
        texts = dict.fromkeys(
            ("description", "company_name", "company_entry_description", "receiver_name", "addenda", "memo"), text
        )
        returned = [{"return_code": "R10", "description": text, "addenda": text}]
        self.bank.deliver(
            party("identity", f"enti_{name}", type="PERSON", person_details=person, review_reasons=[text]),
            party("counterparty", f"cpty_{name}", description=text, name=text, nickname=text),
            party("account", account, description=text, name=text, nickname=text, entity_id=f"enti_{name}"),
            outgoing(
                f"acht_{name}",
                bank_account_id=account,
                counterparty_id=f"cpty_{name}",
                entity_id=f"enti_{name}",
                return_details=returned,
                **texts,
                **ALERTING,
            ),
        )
        eventually(lambda: self._alerts(name))
        stack: dict[str, Any] = self.bank.read(f"/api/stacks/{self._alerts(name)[0]['stackId']}")["stack"]
        return stack

    def _alerts(self, name: str) -> list[dict[str, Any]]:
        listed = self.bank.read("/api/alerts", transferId=f"acht_{name}", limit="100")["data"]
        return [each for each in listed if each["stackId"] is not None]

    def _by_people(self, stack: dict[str, Any], text: str) -> None:
        words = f"{text} {'It was looked at. ' * 8}"
        for each in stack["alertIds"]:
            self.bank.sent("POST", f"/api/alerts/{each}/notes", json={"note": text})
        escalated = {"decision": "escalate", "narrative": words, "alertIds": stack["alertIds"]}
        self.bank.sent("POST", "/api/alerts/decide", json=escalated)
        action = {"programId": self.bank.program["id"], "type": "freeze_account", "targetType": "account"}
        target = f"bacc_{next(name for name, each in self.stacks.items() if each is stack)}"
        asked = self.bank.sent("POST", "/api/actions", json=action | {"targetId": target})
        if len(text) % 2:
            self.bank.sent("POST", f"/api/actions/{asked['id']}/withdraw", json={"note": text})

    def _in_settings(self, name: str, text: str) -> None:
        """A key, an endpoint and an event without effect."""
        self.bank.sent("POST", "/api/keys", json={"name": text[:200], "mode": "live"})
        endpoint: dict[str, Any] = {"url": f"https://hooks.bank.example/{name}", "description": text[:1_000]}
        endpoint |= {"events": ["kri.snapshot"]}
        self.endpoint = self.bank.sent("POST", "/api/webhooks", json=endpoint)["id"]
        wrong = {"amount": text, "description": text, f"field_{text[:40]}": text}
        self.bank.deliver(an_event("wire.outgoing_transfer.initiated", a_wire(**wrong), event_id=f"evnt_bad_{name}"))

    def paths(self, name: str) -> list[str]:
        """The pages that show one of the texts."""
        program = f"?programId={self.bank.program['id']}"
        things = (("transfer", "acht"), ("account", "bacc"), ("entity", "enti"), ("counterparty", "cpty"))
        return [
            f"/console/stacks/{self.stacks[name]['id']}",
            *(f"/console/things/{kind}/{prefix}_{name}{program}" for kind, prefix in things),
            f"/console/settings/events/evnt_bad_{name}",
        ]


SHARED: Final = (
    "/console/today",
    "/console/queue",
    "/console/queue?view=table",
    "/console/approvals",
    "/console/people",
    "/console/settings/keys",
    "/console/settings/webhooks",
    "/console/settings/events",
    "/console/search?q=" + "%3Cscript%3Ewindow.attacked%3Dtrue%3C%2Fscript%3E",
    "/console/search?q=long",
    "/console/search?q=acht_handler",
)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with ConsoleService(tmp_path_factory.mktemp("bank")) as bank:
        yield Attacked(bank)


def wrong_on(page: Page, person: Person) -> dict[str, Any]:
    """What an attack has done to the page that is open; nothing, where it is inert."""
    page.evaluate("() => { for (const each of document.querySelectorAll('main details')) each.open = true; }")
    text = page.locator("main").inner_text()
    sideways = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate(SIDEWAYS) > 0:
            sideways.append(f"{width}: {page.evaluate(WIDEST)}")
    return {
        "attacked": page.evaluate("window.attacked === true"),
        "injected": page.locator(INJECTED).count(),
        "sideways": sideways,
        "turning": [f"U+{ord(each):04X}" for each in TURNING if each in text],
        "title": [f"U+{ord(each):04X}" for each in TURNING if each in page.title()],
        "faults": list(person.faults),
    }


def test_given_hostile_texts_in_each_field_then_they_are_inert_and_every_page_fits(
    attacked: Attacked, chromium: Browser
) -> None:
    problems: dict[str, Any] = {}
    with attacked.bank.person(chromium) as ann:
        for path in (
            *SHARED,
            f"/console/settings/webhooks/{attacked.endpoint}",
            *(path for name in TEXTS for path in attacked.paths(name)),
        ):
            ann.faults.clear()
            answer = ann.page.goto(path)
            assert answer is not None
            wrong = wrong_on(ann.page, ann) | {"status": answer.status if answer.status != 200 else 0}
            if any(wrong.values()):
                problems[path] = {name: value for name, value in wrong.items() if value}
    assert not problems, msgspec.json.format(msgspec.json.encode(problems)).decode()


def test_given_hostile_texts_then_a_person_reads_them_as_they_were_sent(attacked: Attacked, chromium: Browser) -> None:
    with attacked.bank.person(chromium) as ann:
        ann.page.goto(attacked.paths("long")[0])
        whole = ann.page.locator("#notes details.whole")
        assert len(ann.page.locator("#notes li > bdi").first.text_content() or "") < 1_000
        whole.locator("summary").click()
        assert whole.locator(".prose").inner_text().strip() == TEXTS["long"][:2_000].strip()
        for name in ("script", "handler", "markup", "formula", "address"):
            ann.page.goto(attacked.paths(name)[0])
            notes = ann.page.locator("#notes bdi").all_text_contents()
            assert TEXTS[name] in notes
            assert TEXTS[name] in (ann.page.locator(".raw").first.text_content() or "").replace('\\"', '"')
