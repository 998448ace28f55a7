"""Accounts: with and without an owner, their figures, their list, and their reports."""

from typing import Any

from tests.support.alerting import alerts_of, deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused

IRAN: dict[str, Any] = {"beneficiary_address": {"country_code": "IR"}}


def read(api: RunningApp, tenant: dict[str, Any], path: str, **query: Any) -> Any:
    answer = api.client.get(path, params=query or None, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_given_an_account_that_only_transfers_name_when_read_then_it_acts_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", bank_account_id="bacc_1", **IRAN))
    deliver(api, program, outgoing("acht_2", bank_account_id="bacc_1", at="2026-03-02T14:05:00Z"))
    deliver(api, program, outgoing("acht_3", bank_account_id="bacc_2"))

    account = read(api, tenant, "/api/accounts/bacc_1")

    expected = {alert["id"] for alert in alerts_of(api, tenant, accountId="bacc_1")}
    assert (set(account["alertIds"]), len(account["alertIds"])) == (expected, len(expected))
    assert expected
    assert (account["transferCount"], account["lastTransferAt"]) == (2, "2026-03-02T14:05:00.000Z")
    nothing = dict.fromkeys(("entityId", "ownerToldBy", "ownerName", "score", "band", "type", "status", "accountLast4"))
    assert {name: account[name] for name in nothing} == nothing
    assert account["programId"] == program["id"]


def test_given_an_owner_when_the_account_is_read_then_it_has_the_owners_name_and_score(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(
        api,
        program,
        party("identity", "enti_1", name="Ada Example", type="PERSON", status="VERIFIED"),
        party("account", "bacc_1", entity_id="enti_1", account_number="744-5678-99", type="checking", status="open"),
        *(outgoing(f"acht_{number}", bank_account_id="bacc_1", **IRAN) for number in range(8)),
    )

    account = read(api, tenant, "/api/accounts/bacc_1", programId=program["id"])

    report = read(api, tenant, "/api/reports/actor/entity/enti_1")
    assert (account["entityId"], account["ownerName"], account["accountLast4"]) == ("enti_1", "Ada Example", "7899")
    assert account["score"] is not None
    assert (account["score"], account["band"]) == (report["current"]["score"], report["current"]["band"])
    assert "56789" not in str(account)
    listed = read(api, tenant, "/api/accounts")["data"]
    assert listed == [{name: account[name] for name in listed[0]}]
    assert [each["id"] for each in read(api, tenant, "/api/accounts", entityId="enti_1")["data"]] == ["bacc_1"]
    assert read(api, tenant, "/api/accounts", entityId="enti_2")["data"] == []


def test_given_accounts_when_paged_then_each_comes_once_those_known_last_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    for number in range(5):
        deliver(api, program if number % 2 else lending, outgoing(f"acht_{number}", bank_account_id=f"bacc_{number}"))
        api.clock.advance(1_000_000)

    pages, path = list[Any](), "/api/accounts?limit=2"
    while path:
        answer = api.client.get(path, headers=api.operator(tenant))
        pages.append([each["id"] for each in answer.json()["data"]])
        path = answer.links.get("next", {}).get("url", "")

    assert pages == [["bacc_4", "bacc_3"], ["bacc_2", "bacc_1"], ["bacc_0"]]
    of_one = read(api, tenant, "/api/accounts", programId=program["id"])["data"]
    assert [each["id"] for each in of_one] == ["bacc_3", "bacc_1"]


def test_given_other_programs_and_tenants_when_read_then_the_account_is_theirs_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    other = api.create_tenant("second-bank")
    for each in (program, lending):
        deliver(api, each, outgoing("acht_1", bank_account_id="bacc_1"))
    deliver(api, program, outgoing("acht_2", bank_account_id="bacc_2"))

    both = api.client.get("/api/accounts/bacc_1", headers=api.operator(tenant))
    assert_refused(both, 400, "programId")
    assert read(api, tenant, "/api/accounts/bacc_1", programId=lending["id"])["programId"] == lending["id"]
    narrow = api.key(tenant, programId=lending["id"])
    assert api.client.get("/api/accounts/bacc_1", headers=narrow).json()["programId"] == lending["id"]
    assert [each["id"] for each in api.client.get("/api/accounts", headers=narrow).json()["data"]] == ["bacc_1"]
    assert_refused(api.client.get("/api/accounts/bacc_2", headers=narrow), 404, "Unknown account")
    assert_refused(api.client.get("/api/accounts/bacc_2", headers=api.operator(other)), 404, "Unknown account")
    assert api.client.get("/api/accounts", headers=api.operator(other)).json()["data"] == []
    assert_refused(api.client.get("/api/accounts?accountId=x", headers=api.operator(tenant)), 400, "accountId")


def test_given_an_account_when_its_report_is_read_then_it_has_its_transfers_and_alerts_and_no_score(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", bank_account_id="bacc_1", **IRAN), outgoing("acht_2", bank_account_id="b"))

    report = read(api, tenant, "/api/reports/actor/account/bacc_1")

    assert (report["type"], report["id"], report["name"], report["current"]) == ("account", "bacc_1", None, None)
    assert (report["transfers"]["count"], report["transfers"]["volumeCents"]) == (1, "10000")
    expected = {
        alert["id"]
        for alert in alerts_of(api, tenant)
        if (alert["subjectType"], alert["subjectId"]) in {("transfer", "acht_1"), ("account", "bacc_1")}
    }
    assert {alert["id"] for alert in report["alerts"]} == expected
    assert expected
    unknown = api.client.get("/api/reports/actor/account/bacc_9", headers=api.operator(tenant))
    assert_refused(unknown, 404, "Unknown account")
    wrong = api.client.get("/api/reports/actor/accounts/bacc_1", headers=api.operator(tenant))
    assert_refused(wrong, 400, "actorType")
