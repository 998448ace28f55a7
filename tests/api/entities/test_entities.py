"""Reading an entity: what the bank said of it, what a transfer alone says, and whose it is."""

from typing import Any

from tests.support.alerting import deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused

ADA: dict[str, Any] = {
    "type": "PERSON",
    "verification_status": "verified",
    "is_high_risk": False,
    "requires_screening": True,
    "review_reasons": ["name_mismatch"],
    "last_screened_at": "2026-03-01T08:00:00Z",
    "person_details": {
        "first_name": "Ada",
        "last_name": "Example",
        "pep_status": "no",
        "ssn": "123-45-6789",
        "address": {"country_code": "US"},
    },
}


def read(api: RunningApp, tenant: dict[str, Any], entity_id: str, **query: Any) -> Any:
    return api.client.get(f"/api/entities/{entity_id}", params=query or None, headers=api.operator(tenant))


def test_given_the_banks_object_when_read_then_every_field_is_as_delivered_and_raw_is_masked(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", "enti_1", **ADA))

    entity = read(api, tenant, "enti_1").json()

    raw = entity.pop("raw")
    assert raw["person_details"]["ssn"] == "6789"
    assert raw["person_details"]["first_name"] == "Ada"
    assert entity.pop("updatedAt")
    assert entity == {
        "id": "enti_1",
        "tenantId": tenant["id"],
        "programId": program["id"],
        "type": "PERSON",
        "name": "Ada Example",
        "verificationStatus": "VERIFIED",
        "isHighRisk": False,
        "pepStatus": "no",
        "requiresScreening": True,
        "reviewReasons": ["name_mismatch"],
        "lastScreenedAt": "2026-03-01T08:00:00.000Z",
        "countryCode": "US",
        "legalType": None,
        "expectedPaymentRails": [],
        "createdAt": "2026-03-02T14:00:00.000Z",
    }


def test_given_an_entity_known_as_an_owner_only_when_read_then_it_is_an_unverified_person(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("account", "bacc_1", owners=["enti_2"], type="CHECKING", status="OPEN"))

    entity = read(api, tenant, "enti_2").json()

    known = {name: entity[name] for name in ("type", "name", "verificationStatus", "pepStatus", "raw", "createdAt")}
    assert known == {
        "type": "PERSON",
        "name": "",
        "verificationStatus": "UNVERIFIED",
        "pepStatus": "not_checked",
        "raw": {},
        "createdAt": "2026-03-02T14:00:00.000Z",
    }


def test_given_an_entity_without_a_creation_time_when_it_changes_then_its_creation_time_stays(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    later = "2026-03-02T15:00:00Z"
    deliver(api, program, party("identity", "enti_1", created_at=None))
    deliver(api, program, party("identity", "enti_1", at=later, created_at=None, is_high_risk=True))

    entity = read(api, tenant, "enti_1").json()

    assert (entity["createdAt"], entity["isHighRisk"]) == ("2026-03-02T14:00:00.000Z", True)


def test_given_one_id_in_two_programs_when_read_then_a_program_must_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    deliver(api, program, party("identity", "enti_1", name="One"))
    deliver(api, lending, party("identity", "enti_1", name="Two"))

    assert_refused(read(api, tenant, "enti_1"), 400, "name one in programId")
    assert read(api, tenant, "enti_1", programId=lending["id"]).json()["name"] == "Two"


def test_given_another_tenants_entity_when_read_then_404(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", "enti_1"))
    other = api.create_tenant("second-bank")

    assert_refused(read(api, other, "enti_1"), 404, "Unknown entity on this tenant.")
    assert_refused(read(api, other, "enti_1", programId=program["id"]), 404, "Unknown program on this tenant.")
    assert_refused(read(api, tenant, "cpty_1"), 404, "Unknown entity on this tenant.")


def test_given_only_a_transfer_when_its_account_is_read_as_an_entity_then_404(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1"))

    assert_refused(read(api, tenant, "bacc_1"), 404, "Unknown entity")
