"""A console whose persons sign in by the bank's OpenID provider, and a browser's way there and back."""

from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx

from clearhold.api.console.entry import LOGIN
from clearhold.api.console.openid import CALLBACK, OpenIdSignIn
from clearhold.api.console.pages.sign_in import OPENID
from clearhold.api.console.way_back import SIGN_IN
from clearhold.api.http.openid import OpenIdConfig
from clearhold.api.http.proxy_identity import TOKENS_ALONE, ConsoleIdentity
from clearhold.flows.openid.provider import OpenIdClient, OpenIdProvider
from clearhold.store.openid_logins import OpenIdLogins
from tests.support.console import Browser, ConsoleApp
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, OPERATE, READ, FakeOpenIdProvider
from tests.support.running_app import BASE_URL, RunningApp


class Wiring(NamedTuple):
    """The consoles of this service with the provider, each of one tenant."""

    api: RunningApp
    provider: FakeOpenIdProvider
    http: httpx.AsyncClient

    def console(self, tenant: str, identity: ConsoleIdentity = TOKENS_ALONE) -> ConsoleApp:
        return console_of(self, tenant, identity)


def console_of(wiring: Wiring, tenant: str, identity: ConsoleIdentity) -> ConsoleApp:
    api, provider, http = wiring
    config = OpenIdConfig(
        issuer=provider.issuer,
        client_id=CLIENT_ID,
        secret_file=Path("unread"),
        tenant=tenant,
        operate_group=OPERATE,
        read_group=READ,
    )
    client = OpenIdClient(
        issuer=provider.issuer,
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        scopes=config.scopes,
        redirect_uri=BASE_URL + CALLBACK,
        signed_out_uri=BASE_URL + SIGN_IN,
        allow_local=True,
    )
    stores = api.stores
    at_provider = OpenIdProvider(client, http, stores.clock)
    openid = OpenIdSignIn(config, at_provider, OpenIdLogins(stores.hot, stores.box, stores.clock), stores.clock)
    return ConsoleApp(api, openid=openid, identity=identity)


def refreshed_to(answer: Any) -> str:
    """The address to which a page leads on by itself."""
    return str(answer.headers["refresh"].partition("url=")[2])


def way_there(browser: Browser, **fields: str) -> str:
    """The address of the provider's page."""
    return refreshed_to(browser.post(OPENID, fields))


def came_back(browser: Browser, provider: FakeOpenIdProvider, at_provider: str, **over: str) -> Any:
    """The answer after the provider's redirect with these values in place of its own."""
    back = urlsplit(provider.sign_in_at(at_provider))
    sent = dict(parse_qsl(back.query)) | over
    strict = {name: browser.cookies.pop(name) for name in list(browser.cookies) if name != LOGIN}
    page = browser.get(f"{CALLBACK}?{urlencode(sent)}")  # a browser keeps its strict cookies back here
    browser.cookies |= strict
    return browser.get(refreshed_to(page))


def signed_in(console: ConsoleApp, provider: FakeOpenIdProvider, **fields: str) -> Browser:
    browser = console.browser()
    answer = came_back(browser, provider, way_there(browser, **fields))
    assert answer.status_code == HTTPStatus.SEE_OTHER, answer.text
    return browser
