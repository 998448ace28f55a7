"""Countries and account numbers in a pre-flight are read by the same rules as in the bank's events."""

from typing import Any

import pytest

from tests.api.preflight.test_preflight import ask, recorded
from tests.support.running_app import RunningApp, assert_refused


def wire_to(**counterparty: str) -> dict[str, Any]:
    named = {"name": "Cedar Freight LLC"} | counterparty
    return {"rail": "intl_wire", "direction": "outgoing", "amountCents": "12500", "counterparty": named}


@pytest.mark.parametrize(("code", "country"), [("IRN", "IR"), ("uk", "GB"), ("EL", "GR"), (" de ", "DE")])
def test_given_any_code_of_a_country_when_asked_then_the_answer_is_about_that_country(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], code: str, country: str
) -> None:
    answer = ask(api, tenant, programId=program["id"], transfer=wire_to(countryCode=code))

    assert answer.status_code == 201
    (record,) = recorded(api)
    assert record.transfer.counterparty is not None
    assert (record.transfer.counterparty.country_code, record.resolved.counterparty_country) == (country, country)
    assert record.request["transfer"]["counterparty"]["countryCode"] == code  # as sent


@pytest.mark.parametrize(
    ("routing", "last4", "read"),
    [
        ("021-000-021", "7899", ("021000021", "7899")),
        ("021000021 ", "78-99", ("021000021", "7899")),
        ("021000021", "744-5678-99", ("021000021", "7899")),
        ("deutdeffxxx", "3000\t", ("DEUTDEFFXXX", "3000")),
    ],
)
def test_given_numbers_in_print_form_when_asked_then_they_are_their_letters_and_digits(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], routing: str, last4: str, read: tuple[str, str]
) -> None:
    transfer = wire_to(routingNumber=routing, accountLast4=last4, countryCode="DE")

    assert ask(api, tenant, programId=program["id"], transfer=transfer).status_code == 201

    counterparty = recorded(api)[0].transfer.counterparty
    assert counterparty is not None
    assert (counterparty.routing_number, counterparty.account_last4) == read


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("countryCode", "ZZ", "must be an ISO 3166-1 country code, as in US"),
        ("countryCode", "AN", "must be an ISO 3166-1 country code, as in US"),
        ("countryCode", "Germany", "must be an ISO 3166-1 country code, as in US"),
        ("countryCode", "\u200b\u200b", "must be an ISO 3166-1 country code, as in US"),
        ("routingNumber", "21000021", "must be a routing number of nine digits, or a BIC"),
        ("routingNumber", "021-000-0213", "must be a routing number of nine digits, or a BIC"),
        ("routingNumber", "see invoice", "must be a routing number of nine digits, or a BIC"),
        ("accountLast4", "--", "must be letters and digits"),
    ],
)
def test_given_a_text_that_cannot_be_read_when_asked_then_400_names_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], field: str, value: str, rule: str
) -> None:
    answer = ask(api, tenant, programId=program["id"], transfer=wire_to(**{field: value}))

    assert_refused(answer, 400, f"Validation failed: transfer.counterparty.{field} {rule}")
    assert recorded(api) == []


def test_given_countries_of_any_code_when_declared_then_each_is_declared_once(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    program = api.create_program(tenant, declaredCountries=["UK", "gb", "USA", "EL"])

    assert program["declaredCountries"] == ["GB", "US", "GR"]
    changed = api.client.patch(
        f"/api/admin/programs/{program['id']}", json={"declaredCountries": ["DEU"]}, headers=api.admin
    )
    assert changed.json()["declaredCountries"] == ["DE"]


def test_given_a_list_of_countries_in_three_letters_when_a_policy_is_written_then_it_lists_the_countries(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    body = api.client.get("/api/policies?prefix=thresholds", headers=api.operator(tenant)).json()[0]["body"]
    body["callForAction"]["countries"] = ["IRN", "KP", "mmr"]

    written = api.client.post(
        "/api/policies", json={"version": "thresholds-v2", "body": body}, headers=api.operator(tenant)
    )

    assert program["id"]
    assert written.status_code == 201
    assert written.json()["body"]["callForAction"]["countries"] == ["IR", "KP", "MM"]


def purchase(**words: Any) -> dict[str, Any]:
    return {"rail": "card", "direction": "outgoing", "amountCents": "12500", "entityId": "enti_1"} | words


def test_given_the_words_of_a_purchase_when_asked_then_they_are_measured(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    words = {"cardPresent": False, "entryMode": "e-commerce", "merchantCategory": "5816", "merchantState": "tx"}

    assert ask(api, tenant, programId=program["id"], transfer=purchase(**words)).status_code == 201

    transfer = recorded(api)[0].transfer
    read = (transfer.card_present, transfer.entry_mode, transfer.merchant_category, transfer.merchant_state)
    assert read == (False, "e-commerce", "5816", "tx")


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ({"merchantCategory": "581"}, "merchantCategory must be a merchant category code of four digits, as in 5411"),
        ({"merchantState": "ON"}, "merchantState must be two letters of a state or territory of the US, as in TX"),
        ({"entryMode": "05"}, "entryMode must be a word of at most 64 letters, digits, - and _, as in ecommerce"),
        ({"rail": "wire", "cardPresent": True}, "cardPresent must be left out on other rails than card"),
    ],
)
def test_given_words_of_a_purchase_that_cannot_be_read_when_asked_then_400_names_them(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], words: dict[str, Any], rule: str
) -> None:
    answer = ask(api, tenant, programId=program["id"], transfer=purchase(**words))

    assert_refused(answer, 400, f"Validation failed: transfer.{rule}")
    assert recorded(api) == []
