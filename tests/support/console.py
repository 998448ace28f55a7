"""The console beside the API over the stores of a ``RunningApp``, and browsers that visit it.

A request runs on the loop of the API's test client, because a connection to Redis belongs to one loop.
"""

import html
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast

import httpx

from clearhold.api.areas import Checks, wired_checks
from clearhold.api.console.app import beside, wired_console
from clearhold.api.console.entry import COOKIE
from clearhold.api.console.way_back import SIGN_IN
from clearhold.api.http.head import Origins
from tests.support.app_shells import lent_console
from tests.support.running_app import ADMIN_TOKEN, BASE_URL, RunningApp

SAME_ORIGIN: Final[Mapping[str, str]] = {"Sec-Fetch-Site": "same-origin"}
PART: Final[Mapping[str, str]] = {"HX-Request": "true", "HX-Target": "main"}
ADDRESS: Final = "127.0.0.1"


class ConsoleApp:
    """Both applications, as the process serves them."""

    def __init__(self, api: RunningApp, **wiring: Any) -> None:
        self.api = api
        self.checks: Checks = wired_checks(
            api.stores, Origins(BASE_URL), admin_token=ADMIN_TOKEN, limits=wiring.pop("limits", api.limits)
        )
        usual: dict[str, Any] = {"base_url": BASE_URL, "guarded": partial(lent_console, api.opened)}
        self.console = wired_console(api.stores, api.services, self.checks, **(usual | wiring))
        self.app = beside(api.app, self.console)

    def browser(self, address: str = ADDRESS, *, at: str = BASE_URL) -> "Browser":
        return Browser(self, address, at)


class Browser:
    """Keeps cookies as a browser does, by name, and sends what a page of the console would send."""

    def __init__(self, console: ConsoleApp, address: str, at: str) -> None:
        self._console, self._address, self._at = console, address, at
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self._send("GET", path, headers)

    def part(self, path: str, **headers: str) -> httpx.Response:
        return self._send("GET", path, {**PART, **headers})

    def post(
        self, path: str, form: Mapping[str, str] | bytes, headers: Mapping[str, str] = SAME_ORIGIN
    ) -> httpx.Response:
        """As a form of the console sends it, unless ``headers`` say otherwise."""
        return self._send("POST", path, headers, form)

    def send_form(self, page: httpx.Response, action: str, **fields: str) -> httpx.Response:
        """Send the form of a page that leads to ``action``, with these fields in place of its own."""
        return self.post(action, form_fields(page.text, action) | fields)

    def sign_in(self, token: str, name: str = "ann@bank.example", **fields: str) -> httpx.Response:
        return self.post(SIGN_IN, {"token": token, "name": name} | fields)

    @property
    def csrf(self) -> str:
        """The session's token, as each page has it."""
        return form_fields(self.get("/console/queue").text, "/console/sign-out")["csrf"]

    @property
    def secret(self) -> str:
        return self.cookies[COOKIE]

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], form: Mapping[str, str] | bytes | None = None
    ) -> httpx.Response:
        sent = dict(headers)
        if self.cookies:
            sent.setdefault("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        body: dict[str, Any] = {"content": form} if isinstance(form, bytes) else {"data": form}

        async def call() -> httpx.Response:
            transport = httpx.ASGITransport(cast(Any, self._console.app), client=(self._address, 50_000))
            async with httpx.AsyncClient(transport=transport, base_url=self._at) as client:
                return await client.request(method, path, headers=sent, **body)

        answer: httpx.Response = self._console.api.on_loop(call)
        for each in answer.headers.get_list("set-cookie"):
            name, _, value = each.partition(";")[0].partition("=")
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return answer


def use_console(port: int, token: str) -> None:
    """In a running service: make a link that signs in and use it, read who is signed in, and sign out."""
    address = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=address, headers=SAME_ORIGIN, timeout=30) as browser:
        made = browser.post("/console/start", data={"token": token, "name": "ann@bank.example"})
        entered = browser.get(made.headers["Location"])
        cookies = (each.partition(";")[0] for each in entered.headers.get_list("set-cookie"))
        browser.headers["Cookie"] = "; ".join(cookies)  # which are for TLS, where a browser does not know this machine
        people = browser.get("/console/people")
        assert people.status_code == httpx.codes.OK, people.text
        assert "ann@bank.example" in people.text
        browser.post("/console/sign-out", data=form_fields(people.text, "/console/sign-out"))
        assert browser.get("/console/people").status_code == httpx.codes.SEE_OTHER


def form_fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the page's form that leads to ``action``."""
    forms: list[str] = re.findall(r"<form.*?</form>", page, re.DOTALL)
    form = next(each for each in forms if f'action="{action}"' in each)
    inputs: list[str] = re.findall(r"<input[^>]*>", form)
    hidden = [each for each in inputs if 'type="hidden"' in each]
    return {_attribute(each, "name"): _attribute(each, "value") for each in hidden}


def _attribute(element: str, name: str) -> str:
    match = re.search(rf'\b{name}="([^"]*)"', element)
    return html.unescape(match[1]) if match else ""


def person_token(api: RunningApp, tenant: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A token that was issued to a person of the tenant."""
    path = f"/api/admin/tenants/{tenant['id']}/operator-tokens"
    body = {"name": name, "expiresAt": "2026-06-01"}
    token: dict[str, Any] = api.client.post(path, json=body, headers=api.admin).json()
    return token
