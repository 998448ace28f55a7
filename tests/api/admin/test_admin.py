"""Administration and the tenant's own view of its programs."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused, assert_stamped


def test_given_a_tenant_when_created_then_its_token_is_shown_once(api: RunningApp) -> None:
    created = api.client.post("/api/admin/tenants", json={"slug": "a", "name": "A"}, headers=api.admin)
    listed = api.client.get("/api/admin/tenants", headers=api.admin)

    assert created.status_code == 201
    assert_stamped(created)
    token = created.json()["operatorToken"]
    assert listed.json() == [{name: value for name, value in created.json().items() if name != "operatorToken"}]
    assert token not in listed.text


@pytest.mark.parametrize("slug", ["", "A", "a_b", "-a", "a-", "a b", "a\n", "x" * 65, "é"])
def test_given_a_bad_slug_when_created_then_400(api: RunningApp, slug: str) -> None:
    answer = api.client.post("/api/admin/tenants", json={"slug": slug, "name": "A"}, headers=api.admin)

    assert_refused(answer, 400, "slug must be")


@pytest.mark.parametrize("slug", ["a", "0", "a-b", "x" * 64])
def test_given_a_good_slug_when_created_then_201_and_a_second_time_409(api: RunningApp, slug: str) -> None:
    answers = [
        api.client.post("/api/admin/tenants", json={"slug": slug, "name": "A"}, headers=api.admin) for _ in range(2)
    ]

    assert answers[0].status_code == 201
    assert_refused(answers[1], 409)


def test_given_a_program_when_created_then_it_is_the_whole_resource_with_its_secret_once(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    declared = {
        "slug": "remit",
        "name": "Remittance",
        "source": "simulated",
        "webhookEndpointId": "whep_1",
        "declaredMonthlyVolumeCents": "250000000",
        "declaredRails": ["ach", "intl_wire"],
        "declaredCountries": ["US", "MX"],
        "programReserveAccountId": "bacc_1",
    }
    created = api.create_program(tenant, **declared)

    secret = created.pop("ingestSecret")
    read = api.client.get(f"/api/programs/{created['id']}", headers=api.operator(tenant))
    listed = api.client.get("/api/programs?source=simulated&tenant=first-bank", headers=api.operator(tenant))

    assert secret.startswith("whsec_")
    assert created == declared | {
        "id": created["id"],
        "tenantId": tenant["id"],
        "signatureHeader": "Bank-Signature",
        "createdAt": "2026-03-02T15:00:00.000Z",
    }
    assert read.json() == created
    assert listed.json() == [created]
    assert api.client.get("/api/programs?source=bank", headers=api.operator(tenant)).json() == []


def test_given_only_what_is_required_when_created_then_the_rest_has_its_defaults(
    api: RunningApp, program: dict[str, Any]
) -> None:
    assert program["declaredCountries"] == ["US"]
    assert program["declaredRails"] == []
    assert program["declaredMonthlyVolumeCents"] is None
    assert program["source"] == "bank"
    assert api.registry.tenancy.programs.of_any_tenant(program["id"]) is not None


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("declaredRails", ["pigeon"], "declaredRails[0]"),
        ("declaredRails", "ach", "declaredRails"),
        ("declaredCountries", ["US", "XX"], "declaredCountries[1]"),
        ("declaredCountries", ["Utopia"], "declaredCountries[0]"),
        ("declaredCountries", ["US"] * 1_001, "declaredCountries"),
        ("declaredMonthlyVolumeCents", 5, "declaredMonthlyVolumeCents"),
        ("declaredMonthlyVolumeCents", "05", "declaredMonthlyVolumeCents"),
        ("name", "", "name"),
        ("name", "x" * 201, "name"),
        ("source", "sandbox", "source"),
        ("tenantId", "nobody", "tenantId"),
        ("webhookEndpointId", "a\nb", "webhookEndpointId"),
        ("id", "mine", "id"),
        ("createdAt", "2026-01-01T00:00:00Z", "createdAt"),
    ],
)
def test_given_a_bad_field_when_a_program_is_created_then_400_names_it(
    api: RunningApp, tenant: dict[str, Any], field: str, value: Any, path: str
) -> None:
    body = {"tenantId": tenant["id"], "slug": "pay", "name": "Pay"} | {field: value}

    answer = api.client.post("/api/admin/programs", json=body, headers=api.admin)

    assert_refused(answer, 400)
    assert answer.json()["error"].startswith(f"Validation failed: {path} ")


def test_given_an_unknown_tenant_or_a_taken_slug_when_a_program_is_created_then_404_or_409(
    api: RunningApp, program: dict[str, Any]
) -> None:
    body = {"tenantId": program["tenantId"], "slug": program["slug"], "name": "Pay"}
    unknown = body | {"tenantId": "0b0c4a53-0000-4000-8000-000000000001"}

    assert_refused(api.client.post("/api/admin/programs", json=unknown, headers=api.admin), 404)
    assert_refused(api.client.post("/api/admin/programs", json=body, headers=api.admin), 409)


def test_given_a_change_when_patched_then_only_what_was_named_changes(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    change = {"name": "Payroll 2", "declaredRails": ["ach"], "declaredMonthlyVolumeCents": "100"}
    path = f"/api/admin/programs/{program['id']}"

    patched = api.client.patch(path, json=change, headers=api.admin)
    emptied = api.client.patch(path, json={"declaredMonthlyVolumeCents": None}, headers=api.admin)

    before = {name: value for name, value in program.items() if name != "ingestSecret"}
    assert (patched.status_code, patched.json()) == (200, before | change)
    assert emptied.json() == before | change | {"declaredMonthlyVolumeCents": None}
    assert api.client.get(f"/api/programs/{program['id']}", headers=api.operator(tenant)).json() == emptied.json()
    assert api.reloaded_registry().tenancy.programs.of_any_tenant(program["id"]) is not None


@pytest.mark.parametrize("body", [{"tenantId": "x"}, {"source": "simulated"}, {"slug": "other"}, {"name": None}])
def test_given_a_field_that_never_changes_when_patched_then_400(
    api: RunningApp, program: dict[str, Any], body: dict[str, Any]
) -> None:
    assert_refused(api.client.patch(f"/api/admin/programs/{program['id']}", json=body, headers=api.admin), 400)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", f"/api/admin/programs/{UNKNOWN_ID}", {}),
        ("POST", f"/api/admin/programs/{UNKNOWN_ID}/ingest-secret", {"overlapHours": 1}),
        ("POST", "/api/admin/tenants/nobody/operator-token", {}),
    ],
)
def test_given_an_unknown_id_when_administered_then_404(
    api: RunningApp, method: str, path: str, body: dict[str, Any]
) -> None:
    assert_refused(api.client.request(method, path, json=body, headers=api.admin), 404)


@pytest.mark.parametrize("hours", [-1, 25, "1", 1.5])
def test_given_a_bad_overlap_when_rotated_then_400(api: RunningApp, program: dict[str, Any], hours: Any) -> None:
    path = f"/api/admin/programs/{program['id']}/ingest-secret"

    assert_refused(api.client.post(path, json={"overlapHours": hours}, headers=api.admin), 400, "overlapHours must be")


def test_given_a_program_of_another_tenant_when_read_then_404_as_if_it_were_not_there(
    api: RunningApp, program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    theirs = api.client.get(f"/api/programs/{program['id']}", headers=api.operator(other))
    nobodys = api.client.get(f"/api/programs/{UNKNOWN_ID}", headers=api.operator(other))

    assert_refused(theirs, 404, "Unknown program on this tenant.")
    assert theirs.json()["error"] == nobodys.json()["error"]


def test_given_secrets_when_made_and_used_then_no_log_holds_them(api: RunningApp) -> None:
    with capture_logs() as logs:
        tenant = api.create_tenant("quiet-bank")
        program = api.create_program(tenant)
        api.deliver(program, b"not json")
        api.client.get("/api/programs", headers=api.operator(tenant))

    assert logs
    for secret in (tenant["operatorToken"], program["ingestSecret"], "not json", "Bearer"):
        assert secret not in repr(logs)
