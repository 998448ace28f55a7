"""Signing in by the bank's OpenID provider in a real browser, over TLS with the bank's own authority; and out again."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from clearhold.features.openid.logout_token import EVENT
from tests.support.authority import OwnAuthority
from tests.support.console_demo import ANN, Person
from tests.support.openid_provider import ANN as ACCOUNT
from tests.support.openid_provider import CLIENT_ID, CLIENT_SECRET, OPERATE, FakeOpenIdProvider
from tests.support.running_service import RunningService


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("openid")


@pytest.fixture(scope="module")
def authority(folder: Path) -> OwnAuthority:
    return OwnAuthority(folder)


@pytest.fixture
def provider(authority: OwnAuthority) -> Iterator[FakeOpenIdProvider]:
    with FakeOpenIdProvider(lambda: int(time.time()), authority.server) as running:
        running.configuration = {"end_session_endpoint": f"{running.issuer}/logout"}
        yield running


@pytest.fixture
def service(folder: Path, authority: OwnAuthority, provider: FakeOpenIdProvider) -> Iterator[RunningService]:
    secret_file = folder / "secret"
    secret_file.write_text(CLIENT_SECRET)
    environment = {
        "CLEARHOLD_CONSOLE_OIDC_ISSUER": provider.issuer,
        "CLEARHOLD_CONSOLE_OIDC_CLIENT_ID": CLIENT_ID,
        "CLEARHOLD_CONSOLE_OIDC_CLIENT_SECRET_FILE": str(secret_file),
        "CLEARHOLD_CONSOLE_OIDC_TENANT": "first-bank",
        "CLEARHOLD_CONSOLE_OIDC_OPERATE_GROUP": OPERATE,
        "CLEARHOLD_CONSOLE_OIDC_CA_FILE": str(authority.ca_file),
        "CLEARHOLD_CONSOLE_TOKEN_SIGN_IN": "off",
    }
    with RunningService(folder / "data", environment=environment) as running:
        yield running


def told_of_logout(service: RunningService, provider: FakeOpenIdProvider) -> dict[str, Any]:
    """The answer to the provider's word that ann has signed out there."""
    now_s = provider.now_s()
    claims = {"iss": provider.issuer, "aud": CLIENT_ID, "iat": now_s, "exp": now_s + 60, "jti": "1"}
    token = provider.signed(claims | {"sub": ACCOUNT["sub"], "events": {EVENT: {}}})
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return service.ask("POST", "/console/openid/ended", form, urlencode({"logout_token": token}).encode())


def test_given_the_banks_provider_then_its_person_signs_in_out_at_both_and_is_out_when_it_says_so(
    service: RunningService, provider: FakeOpenIdProvider, chromium: Browser
) -> None:
    service.admin("/api/admin/tenants", {"slug": "first-bank", "name": "First Bank"})
    context = chromium.new_context(base_url=f"http://127.0.0.1:{service.port}", ignore_https_errors=True)
    with Person(context, ANN) as ann:
        page = ann.page

        def sign_in() -> None:
            page.goto("/console/sign-in?next=/console/people")
            page.get_by_role("button", name="Sign in with your bank's account").click()
            page.wait_for_url(f"{provider.issuer}/authorize?**")
            page.get_by_role("link", name="In").click()
            page.wait_for_url("**/console/people")

        sign_in()
        expect(page.locator("header .name")).to_have_text(ANN)
        expect(page.get_by_text("the bank's account").first).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/console/sign-in")
        assert not [each for each in context.cookies() if each["name"] == "__Host-clearhold"]

        sign_in()
        assert told_of_logout(service, provider) == {"ended": 1}
        page.goto("/console/people")
        page.wait_for_url("**/console/sign-in?**")
        assert not ann.faults
