"""Verification compares the transfers quoted in a sealed alert with the versions at its opening."""

from typing import Any

import pytest

from tests.support.alerting import an_alert, deliver, outgoing
from tests.support.running_app import RunningApp


def verified(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = api.client.get("/api/record/verify", headers=api.operator(tenant)).json()
    return report


@pytest.mark.parametrize(
    ("edit", "columns"),
    [
        ("UPDATE transfers SET score = 0", "score"),
        ("UPDATE transfers SET score_band = 'clear'", "score_band"),
        ("UPDATE transfers SET amount_cents = 9999", "amount_cents"),
        ("UPDATE transfers SET currency = 'EUR'", "currency"),
        ("UPDATE transfers SET entity_id = 'enti_x'", "entity_id"),
        ("UPDATE transfers SET counterparty_id = 'cpty_x'", "counterparty_id"),
        ("UPDATE transfers SET counterparty_id = NULL", "counterparty_id"),
        ("UPDATE transfers SET account_id = 'bacc_x'", "account_id"),
        ("UPDATE transfers SET rail = 'wire', direction = 'incoming'", "rail direction"),
        ("UPDATE transfers SET type = 'DEBIT'", "type"),
        ("DELETE FROM transfers", "missing"),
    ],
)
def test_given_a_transfer_of_a_sealed_alert_that_was_edited_when_verified_then_its_columns_are_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], edit: str, columns: str
) -> None:
    an_alert(api, tenant, program, "acht_1")
    assert verified(api, tenant)["ok"] is True
    api.database.execute(f"{edit} WHERE id = 'acht_1'")

    report = verified(api, tenant)

    assert (report["ok"], report["firstBreakAt"], report["rows"]["ok"]) == (False, None, False)
    assert report["rows"]["differences"] == [{"table": "transfers", "id": "acht_1", "columns": columns.split()}]


def test_given_a_later_version_of_the_transfer_then_the_sealed_alert_is_held_against_the_earlier_one(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    an_alert(api, tenant, program, "acht_1")
    later = {"amount": 20_000, "updated_at": "2026-03-02T15:00:00Z", "id": "acht_1", "counterparty_id": "cpty_2"}
    deliver(api, program, outgoing("acht_1_later", at="2026-03-02T15:00:00Z", **later))

    versions = api.database.execute('SELECT amount_cents FROM transfers ORDER BY "offset"').fetchall()

    assert versions == [(10_000,), (20_000,)]
    assert verified(api, tenant)["ok"] is True
