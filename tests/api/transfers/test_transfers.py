"""Reading transfers back: pages, filters, cursors, tenants, and the bank's own object."""

from typing import Any

import pytest
from msgspec import json

from clearhold.features.scorers.trs_v1.scorer import DEFAULT
from tests.support.running_app import RunningApp, assert_refused

RAW = {"routing_number": "121145307", "account_number": "000123456789", "images": ["front"]}


def land(api: RunningApp, program: dict[str, Any], number: int, **over: Any) -> None:
    """One outgoing ACH transfer, ``number`` minutes after two o'clock."""
    at = f"2026-03-02T14:{number:02d}:00Z"
    data = {
        "id": f"acht_{number}",
        "type": "CREDIT",
        "amount": 10_000 + number,
        "currency_code": "USD",
        "status": "INITIATED",
        "is_incoming": False,
        "bank_account_id": "bacc_1",
        "counterparty_id": f"cpty_{number % 2}",
        "entry_class_code": "PPD",
        "created_at": at,
        "updated_at": at,
    }
    event = {
        "id": f"evnt_{number}_{over.get('status', '')}",
        "created_at": at,
        "type": "ach.outgoing_transfer.initiated",
        "data": data | over,
    }
    assert api.deliver(program, json.encode(event)).status_code == 200


@pytest.fixture
def seven(api: RunningApp, program: dict[str, Any]) -> None:
    for number in range(7):
        land(api, program, number)
    api.catch_up()


def page(api: RunningApp, tenant: dict[str, Any], path: str = "/api/transfers", **query: Any) -> Any:
    return api.client.get(path, params=query or None, headers=api.operator(tenant))


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [transfer["id"] for transfer in answer.json()["data"]]


@pytest.mark.usefixtures("seven")
def test_given_transfers_when_paged_then_each_comes_once_newest_first(api: RunningApp, tenant: dict[str, Any]) -> None:
    by_cursor, by_link = [], []
    answer = page(api, tenant, limit=3)
    while True:
        by_cursor += ids(answer)
        cursor = answer.json()["nextCursor"]
        assert answer.json()["hasMore"] is (cursor is not None)
        if cursor is None:
            break
        answer = page(api, tenant, limit=3, cursor=cursor)
    answer = page(api, tenant, limit=3)
    while True:
        by_link += ids(answer)
        if "next" not in answer.links:
            break
        answer = page(api, tenant, answer.links["next"]["url"])

    assert by_cursor == by_link == [f"acht_{number}" for number in reversed(range(7))]


@pytest.mark.usefixtures("seven")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"counterpartyId": "cpty_1"}, [5, 3, 1]),
        ({"from": "2026-03-02T14:05:00Z"}, [6, 5]),
        ({"to": "2026-03-02T09:01:00-05:00"}, [0]),
        ({"from": "2026-03-02", "to": "2026-03-03"}, [6, 5, 4, 3, 2, 1, 0]),
        ({"from": "2026-03-03"}, []),
        ({"band": "hold"}, []),
        ({"band": "unscored,clear"}, [6, 5, 4, 3, 2, 1, 0]),
        ({"entityId": "enti_9"}, []),
    ],
)
def test_given_a_filter_when_listed_then_only_those_are_found(
    api: RunningApp, tenant: dict[str, Any], query: dict[str, str], found: list[int]
) -> None:
    assert ids(page(api, tenant, **query)) == [f"acht_{number}" for number in found]


@pytest.mark.usefixtures("seven")
def test_given_a_cursor_when_used_with_other_filters_then_400(api: RunningApp, tenant: dict[str, Any]) -> None:
    cursor = page(api, tenant, limit=3).json()["nextCursor"]

    assert_refused(page(api, tenant, limit=3, cursor=cursor, band="clear"), 400, "cursor")
    assert_refused(page(api, tenant, limit=3, cursor=cursor[:-2]), 400, "cursor")


@pytest.mark.usefixtures("seven")
def test_given_a_listed_transfer_when_read_then_it_is_the_same_with_its_raw_object(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    listed = page(api, tenant, limit=1).json()["data"][0]

    read = page(api, tenant, "/api/transfers/acht_6", programId=program["id"]).json()

    raw = read.pop("raw")
    assert read == listed
    assert "raw" not in listed
    assert (read["amountCents"], read["bankCreatedAt"]) == ("10006", "2026-03-02T14:06:00.000Z")
    assert read["scoreInputs"]["card"] == {"version": "trs-v1", "sha256": DEFAULT.sha256}
    assert read["scoreInputs"]["featureVersion"] == "features-v7"
    assert read["scoreInputs"]["features"]["amountCents"] == 10_006
    assert raw["id"] == "acht_6"


def test_given_a_later_event_when_read_then_raw_is_the_newest_and_masked(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    land(api, program, 1)
    land(api, program, 1, status="SUBMITTED", updated_at="2026-03-02T14:30:00Z", **RAW)
    api.catch_up()

    raw = page(api, tenant, "/api/transfers/acht_1").json()["raw"]

    assert raw["status"] == "SUBMITTED"
    assert raw["account_number"] == "6789"
    assert "images" not in raw


@pytest.mark.usefixtures("seven")
def test_given_a_log_that_moved_to_the_lake_when_read_then_raw_is_still_there(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    target = api.registry.tenancy.ingest_targets.find(program["id"])
    assert target is not None
    shard = target.shard
    entries = [entry for entry in api.entries() if entry.shard == shard]
    api.stores.segments.shard(shard).write(entries)
    api.reader.trim(shard, entries[-1].offset)

    assert page(api, tenant, "/api/transfers/acht_2").json()["raw"]["id"] == "acht_2"


@pytest.mark.usefixtures("seven")
def test_given_another_tenant_when_it_reads_then_nothing_is_there(api: RunningApp, program: dict[str, Any]) -> None:
    other = api.create_tenant("second-bank")

    assert ids(page(api, other)) == []
    assert_refused(page(api, other, "/api/transfers/acht_1"), 404, "Unknown transfer on this tenant.")
    assert_refused(page(api, other, programId=program["id"]), 404, "Unknown program on this tenant.")
    assert_refused(page(api, other, "/api/transfers/acht_1", programId=program["id"]), 404, "Unknown program")


@pytest.mark.parametrize("transfer_id", ["acht_99", "x" * 400, "%0a", "%F0%9F%92%B8"])
def test_given_an_unknown_transfer_when_read_then_404(
    api: RunningApp, tenant: dict[str, Any], transfer_id: str
) -> None:
    assert_refused(page(api, tenant, f"/api/transfers/{transfer_id}"), 404)


def test_given_a_transfer_id_of_several_programs_when_read_then_the_program_has_to_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    for each in (program, lending):
        land(api, each, 1)
    api.catch_up()

    refused = api.client.get("/api/transfers/acht_1", headers=api.operator(tenant))

    assert_refused(refused, 400, "Several programs have a transfer of this id; name one in programId.")
    assert (refused.json()["code"], refused.json()["fields"]) == (
        "program_required",
        [{"path": "programId", "code": "required"}],
    )
    for each in (program, lending):
        answer = page(api, tenant, "/api/transfers/acht_1", programId=each["id"])
        assert (answer.status_code, answer.json()["programId"]) == (200, each["id"])
    key = api.key(tenant, programId=lending["id"])
    assert api.client.get("/api/transfers/acht_1", headers=key).json()["programId"] == lending["id"]
