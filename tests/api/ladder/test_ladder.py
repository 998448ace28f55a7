"""The limit ladder over HTTP: read, held against a proposed transfer, and who is due to be screened again."""

from typing import Any, Final

import msgspec

from clearhold.features.core.instants import DAY_US
from clearhold.features.policy.seeds import LADDER_V1
from tests.support.alerting import deliver, outgoing, party
from tests.support.bank_events import rfc3339
from tests.support.clock import T0
from tests.support.running_app import RunningApp

TRANSFER: Final = {
    "rail": "wire",
    "direction": "outgoing",
    "entityId": "enti_1",
    "counterparty": {"name": "Nobody Known"},
}


def evaluated(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], **over: Any) -> dict[str, Any]:
    body = {"programId": program["id"], "transfer": TRANSFER | over}
    answer = api.client.post("/api/ladder/evaluate", json=body, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    return shown


def test_given_an_unscored_entity_and_a_stranger_when_evaluated_then_the_hits_are_those_of_the_preflight(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1", entity_id="enti_1", amount=1_600_000))
    before = len(api.entries())

    at_cap, over = (evaluated(api, tenant, program, amountCents=cents) for cents in ("900000", "900001"))

    assert at_cap["hits"] == []
    (hit,) = over["hits"]
    assert hit == {
        "limit": "entity.daily",
        "actor": "entity",
        "actorId": "enti_1",
        "band": "unscored",
        "cap": LADDER_V1.entity.unscored.daily_cents,
        "observed": "1600000",
        "proposed": "900001",
        "severity": "soft",
    }
    assert (over["hard"], over["bands"]) == (False, {"entity": "unscored", "counterparty": "unscored"})
    assert len(api.entries()) == before
    asked = {"programId": program["id"], "transfer": TRANSFER | {"amountCents": "900001"}}
    answer = api.client.post("/api/preflight", json=asked, headers=api.operator(tenant)).json()
    assert answer["limitsHit"] == over["hits"]
    detail = api.client.get(f"/api/preflight/{answer['preflightId']}", headers=api.operator(tenant)).json()
    assert detail["limitsHit"] == over["hits"]
    large = evaluated(api, tenant, program, amountCents="1000001")["hits"]
    assert [(each["limit"], each["actorId"]) for each in large] == [
        ("counterparty.per_transaction", "not_on_file"),
        ("entity.per_transaction", "enti_1"),
        ("entity.daily", "enti_1"),
    ]
    assert evaluated(api, tenant, program, amountCents="1000001", direction="incoming")["hits"] == []


def test_given_entities_when_those_due_are_listed_then_never_screened_and_stale_ones_are_by_pages(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    days = {"enti_2": 181, "enti_3": 180, "enti_5": 500}
    deliver(
        api,
        program,
        party("identity", "enti_1", requires_screening=True),
        party("identity", "enti_4", requires_screening=False),
        *(
            party("identity", entity, requires_screening=True, last_screened_at=rfc3339(T0 - age * DAY_US))
            for entity, age in days.items()
        ),
    )

    def due(**query: Any) -> dict[str, Any]:
        answer = api.client.get("/api/ladder/rescreen", params=query, headers=api.operator(tenant))
        assert answer.status_code == 200, answer.text
        page: dict[str, Any] = answer.json()
        return page

    first = due(limit=2, programId=program["id"])
    last = due(limit=2, programId=program["id"], cursor=first["nextCursor"])

    listed = [*first["data"], *last["data"]]
    assert [each["entityId"] for each in listed] == ["enti_1", "enti_2", "enti_5"]
    assert (listed[0]["lastScreenedAt"], listed[0]["dueAt"], listed[0]["cadenceDays"]) == (None, None, 180)
    assert (listed[1]["band"], listed[1]["dueAt"]) == ("unscored", "2026-03-01T15:00:00.000Z")
    assert (last["hasMore"], due(programId=api.create_program(tenant, slug="other")["id"])["data"]) == (False, [])
    overdue = {
        entity: evaluated(api, tenant, program, amountCents="1", entityId=entity)["rescreen"]["entity"]["overdue"]
        for entity in ("enti_1", "enti_2", "enti_3", "enti_4", "enti_9")
    }
    assert overdue == {"enti_1": True, "enti_2": True, "enti_3": False, "enti_4": False, "enti_9": None}


def test_given_a_program_with_a_ladder_of_its_own_when_read_then_it_and_its_cadence_are_shown(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="other")
    for each in (program, other):
        screened = rfc3339(T0 - 20 * DAY_US)
        deliver(api, each, party("identity", "enti_1", requires_screening=True, last_screened_at=screened))
    body = msgspec.to_builtins(LADDER_V1) | {"rescreenDays": dict.fromkeys(("clear", "review", "hold", "unscored"), 10)}
    own = {"version": "ladder-v2", "programId": program["id"], "body": body}
    policy = api.client.post("/api/policies", json=own, headers=api.operator(tenant)).json()
    path = f"/api/policies/{policy['id']}/activate"
    action = api.client.post(path, json={"note": "Stricter."}, headers=api.operator(tenant)).json()
    api.client.post(f"/api/actions/{action['id']}/approve", headers=api.operator(tenant, "bob"))

    def ladder(**query: str) -> tuple[str, int]:
        shown = api.client.get("/api/ladder", params=query, headers=api.operator(tenant)).json()
        return shown["version"], shown["ladder"]["rescreenDays"]["hold"]

    assert ladder() == ladder(programId=other["id"]) == ("ladder-v1", LADDER_V1.rescreen_days.hold)
    assert ladder(programId=program["id"]) == ("ladder-v2", 10)
    due = api.client.get("/api/ladder/rescreen", headers=api.operator(tenant)).json()["data"]
    assert [(each["programId"], each["cadenceDays"]) for each in due] == [(program["id"], 10)]
