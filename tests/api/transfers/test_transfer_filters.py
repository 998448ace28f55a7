"""Transfers by amount, rail, status and account, as a plain list would be filtered."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.transfers.test_transfers import ids, land, page
from tests.support.alerting import alerts_of, deliver, outgoing
from tests.support.running_app import RunningApp, assert_refused


@pytest.fixture
def various(api: RunningApp, program: dict[str, Any]) -> None:
    for number in range(9):
        land(api, program, number, bank_account_id=f"bacc_{number % 3}")
    land(api, program, 3, status="SUBMITTED", bank_account_id="bacc_0", updated_at="2026-03-02T14:30:00Z")
    land(api, program, 4, amount=5, bank_account_id="bacc_1", updated_at="2026-03-02T14:31:00Z", status="SETTLED")
    api.catch_up()


@pytest.mark.usefixtures("various")
@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_given_filters_when_listed_then_those_that_match_all_of_them_are_found(
    api: RunningApp, tenant: dict[str, Any], data: st.DataObject
) -> None:
    every = page(api, tenant, limit=100).json()["data"]
    bound = st.none() | st.sampled_from([0, 5, 10_000, 10_003, 10_008, 10_009])
    least, most = data.draw(bound), data.draw(bound)
    if least is not None and most is not None and least > most:
        least, most = most, least
    statuses = data.draw(
        st.none() | st.lists(st.sampled_from(["INITIATED", "SUBMITTED", "SETTLED"]), min_size=1, unique=True)
    )
    accounts = data.draw(st.none() | st.lists(st.sampled_from(["bacc_0", "bacc_1", "bacc_9"]), min_size=1, unique=True))
    directions = data.draw(st.none() | st.sampled_from([["incoming"], ["outgoing"], ["incoming", "outgoing"]]))
    rails = data.draw(st.none() | st.sampled_from([["ach"], ["wire"], ["ach", "wire"]]))
    query = {
        "amountFrom": least,
        "amountTo": most,
        "status": statuses and ",".join(statuses),
        "accountId": accounts and ",".join(accounts),
        "rail": rails and ",".join(rails),
        "direction": directions and ",".join(directions),
    }

    found, cursor = list[str](), None
    while True:
        sent: dict[str, Any] = {name: value for name, value in query.items() if value is not None}
        answer = page(api, tenant, **sent, limit=3, **({"cursor": cursor} if cursor else {}))
        found += ids(answer)
        cursor = answer.json()["nextCursor"]
        if cursor is None:
            break

    expected = [
        each["id"]
        for each in every
        if (least is None or int(each["amountCents"]) >= least)
        and (most is None or int(each["amountCents"]) <= most)
        and (statuses is None or each["status"] in statuses)
        and (accounts is None or each["accountId"] in accounts)
        and (rails is None or each["rail"] in rails)
        and (directions is None or each["direction"] in directions)
    ]
    assert found == expected


@pytest.mark.usefixtures("various")
def test_given_a_status_in_small_letters_when_listed_then_it_is_the_same_word(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    assert ids(page(api, tenant, status="submitted")) == ["acht_3"]


def test_given_wrong_bounds_and_words_when_listed_then_each_is_named(api: RunningApp, tenant: dict[str, Any]) -> None:
    headers = api.operator(tenant)
    for query, field in (
        ("amountFrom=2&amountTo=1", "amountFrom"),
        ("amountFrom=-1", "amountFrom"),
        ("amountFrom=1.5", "amountFrom"),
        ("amountTo=1e3", "amountTo"),
        ("amountTo=%EF%BC%91", "amountTo"),
        ("amountTo=9999999999999999999", "amountTo"),
        ("rail=ACH", "rail[0]"),
        ("direction=in", "direction[0]"),
        ("amount=5", "amount"),
        ("accountID=bacc_1", "accountID"),
    ):
        for path in ("/api/transfers", "/api/transfers/export"):
            answer = api.client.get(f"{path}?{query}", headers=headers)
            assert_refused(answer, 400, field)
            assert [each["path"] for each in answer.json()["fields"]] == [field], query
    assert "accountId" in api.client.get("/api/transfers?accountID=x", headers=headers).json()["error"]


def test_given_alerts_when_a_transfer_is_named_then_waiting_ones_are_found_by_every_transfer_they_rest_on(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, *(outgoing(f"acht_{number}", amount=9_900_00 + number) for number in range(5)))
    waiting = alerts_of(api, tenant, status="open,held,escalated")
    pairs = {
        (transfer_id, alert["id"])
        for alert in waiting
        for transfer_id in {*alert["evidence"]["transferIds"], *alert["evidence"]["restsOn"]}
    }

    assert pairs
    for transfer_id in {transfer_id for transfer_id, _ in pairs}:
        expected = {alert_id for of_transfer, alert_id in pairs if of_transfer == transfer_id}
        for sort in ("worst", "dueAt", "score", "openedAt"):
            found = alerts_of(api, tenant, transferId=transfer_id, status="open,held,escalated", sort=sort)
            assert expected <= {alert["id"] for alert in found}
