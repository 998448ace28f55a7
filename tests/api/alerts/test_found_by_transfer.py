"""An alert is found by every transfer that it is about or rests on, and the transfer names the alert."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.alerting import alerts_of, appeal, decide, deliver, outgoing
from tests.support.running_app import RunningApp

BEGIN = datetime(2026, 1, 5, 14, tzinfo=UTC)


def at(**since: int) -> str:
    return (BEGIN + timedelta(**since)).strftime("%Y-%m-%dT%H:%M:%SZ")


def a_busy_hour(api: RunningApp, program: dict[str, Any]) -> None:
    """A small payment a day for forty days, then eight large ones to strangers within an hour."""
    usual = [outgoing(f"acht_{day}", at=at(days=day), amount=10_000 + day) for day in range(40)]
    busy = [
        outgoing(f"acht_f{n}", at=at(days=40, minutes=7 * n), amount=100_000 + n, counterparty_id=f"cpty_f{n}")
        for n in range(8)
    ]
    deliver(api, program, *usual, *busy)


def a_transfer(api: RunningApp, tenant: dict[str, Any], transfer_id: str) -> dict[str, Any]:
    answer = api.client.get(f"/api/transfers/{transfer_id}", headers=api.operator(tenant))
    transfer: dict[str, Any] = answer.json()
    return transfer


def named_by(alert: dict[str, Any]) -> set[str]:
    evidence = alert["evidence"]
    path = evidence.get("path") or {}
    return {*evidence["transferIds"], *evidence["restsOn"], *path.get("layeringHops", ()), *path.get("roundTrip", ())}


def test_given_alerts_of_several_transfers_then_each_transfer_finds_them_and_names_them(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    a_busy_hour(api, program)

    alerts = alerts_of(api, tenant)
    assert any(len(named_by(alert)) > 1 and alert["subjectType"] != "transfer" for alert in alerts)
    pairs = {(transfer_id, alert["id"]) for alert in alerts for transfer_id in named_by(alert)}
    for transfer_id in {transfer_id for transfer_id, _ in pairs}:
        expected = {alert_id for of_transfer, alert_id in pairs if of_transfer == transfer_id}
        found = {alert["id"] for alert in alerts_of(api, tenant, transferId=transfer_id)}
        named = a_transfer(api, tenant, transfer_id)["alertIds"]
        assert expected <= found
        assert (set(named), len(named)) == (found, len(found))


def test_given_a_page_of_transfers_then_each_names_the_alerts_that_it_names_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    a_busy_hour(api, program)

    page = api.client.get("/api/transfers?limit=100", headers=api.operator(tenant)).json()["data"]

    assert len(page) == 48
    assert any(each["alertIds"] for each in page)
    assert [each["alertIds"] for each in page] == [a_transfer(api, tenant, each["id"])["alertIds"] for each in page]
    assert a_transfer(api, tenant, "acht_0")["alertIds"] == []


def test_given_a_cap_of_the_program_that_a_transfer_broke_then_its_alert_is_found_by_the_transfer(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    headers = api.operator(tenant)
    body = {"kind": "per_transaction", "capCents": "9999", "note": "A cap."}
    change = api.client.post(f"/api/limits/program/{program['id']}", json=body, headers=headers).json()
    approved = api.client.post(f"/api/actions/{change['id']}/approve", headers=api.operator(tenant, "bob"))
    assert approved.status_code == 200, approved.text
    deliver(api, program, outgoing("acht_1"))

    (alert,) = alerts_of(api, tenant, detector="program_limit_breach", transferId="acht_1")

    assert (alert["subjectType"], alert["id"] in a_transfer(api, tenant, "acht_1")["alertIds"]) == ("program", True)


def test_given_a_return_rate_over_its_line_then_the_alert_on_the_program_is_found_by_the_returned_debit(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    back = [{"code": "R10", "returned_at": at(hours=1)}]
    deliver(
        api,
        program,
        *(outgoing(f"acht_{number}", type="DEBIT") for number in range(20)),
        outgoing("acht_back", type="DEBIT", status="RETURNED", return_details=back),
    )
    api.client.post(
        f"/api/kri/snapshot/{program['id']}", headers={"Authorization": f"Bearer {tenant['operatorToken']}"}
    )

    (alert,) = alerts_of(api, tenant, detector="unauthorized_return_rate", transferId="acht_back")

    assert alerts_of(api, tenant, detector="unauthorized_return_rate", transferId="acht_1") == []
    assert alert["id"] in a_transfer(api, tenant, "acht_back")["alertIds"]


def test_given_an_appeal_then_it_is_found_by_the_transfer_of_the_alert_that_it_is_against(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", beneficiary_address={"country_code": "IR"}))
    (alert,) = alerts_of(api, tenant, transferId="acht_1", detector="high_risk_geography")
    headers = api.operator(tenant)
    assert decide(api, headers, alert["id"]).status_code == 201
    opened = appeal(api, headers, alert["id"]).json()

    found = {each["id"] for each in alerts_of(api, tenant, transferId="acht_1")}

    assert {alert["id"], opened["id"]} <= found
