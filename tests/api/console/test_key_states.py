"""Signing keys and bank keys on the console: states in words, and no value of a shared key."""

from http import HTTPStatus
from typing import Any

from tests.support.console import Browser
from tests.support.running_app import RunningApp

SIGNING, BANK = "/console/settings/signing-keys", "/console/settings/bank-keys"
KEY = "test_of_the_first_bank"


def test_given_signing_keys_then_the_page_has_each_public_key_and_its_state(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    api.client.post("/api/admin/signing-keys", json={"purpose": "proof"}, headers=api.admin)
    page = browser.get(SIGNING).text
    keys = api.client.get("/api/signing-keys", headers=api.operator(tenant)).json()
    assert len(keys) == 3
    for key in keys:
        assert key["kid"] in page
        assert key["x"] in page
    assert page.count("published, signs later") == 1
    assert page.count("signs now") == 2
    assert "<form" not in page.partition("<main")[2].partition("</main")[0]


def test_given_a_key_to_the_banks_api_then_its_state_is_in_words_and_its_value_nowhere(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], browser: Browser
) -> None:
    path = f"/api/admin/tenants/{tenant['id']}/bank-key"
    before = browser.get(BANK).text
    api.client.put(path, json={"key": KEY}, headers=api.admin)
    api.client.post(f"/api/admin/programs/{program['id']}/ingest-secret", json={"overlapHours": 2}, headers=api.admin)
    during = browser.get(BANK).text
    api.client.delete(path, headers=api.admin)
    after = browser.get(BANK).text
    assert "Not set. Nothing is asked of the bank" in before
    assert "Accounts and parties are read from the bank" in during
    assert "the replaced one counts until" in during
    assert "Removed. Nothing is asked of the bank" in after
    assert program["name"] in before
    for page in (before, during, after):
        assert KEY not in page
        assert program["ingestSecret"] not in page


def test_given_the_settings_then_each_section_has_its_state(
    api: RunningApp, tenant: dict[str, Any], browser: Browser
) -> None:
    page = browser.get("/console/settings")
    assert page.status_code == HTTPStatus.OK
    for words in ("1 session now", "0 valid keys", "0 endpoints", "2 keys sign now", "never set", "None came yet"):
        assert words in page.text, words
    api.client.put(f"/api/admin/tenants/{tenant['id']}/bank-key", json={"key": KEY}, headers=api.admin)
    assert "API: set" in browser.get("/console/settings").text
