"""Rescoring over HTTP: who may ask, what is answered, and what a repeat is."""

from typing import Any

import msgspec
import pytest

from clearhold.features.core.entries.commands import BackfillStep, Stage
from clearhold.features.core.log_entry import EntryKind
from tests.support.bank_events import an_ach_transfer, an_event
from tests.support.running_app import ADMIN_TOKEN, RunningApp, assert_refused

TRANSFERS = 3
UNKNOWN = "0b0c4a53-0000-4000-8000-000000000001"
WRONG = "UPDATE transfer_features SET score = 1; UPDATE transfers SET score = 1, score_band = 'clear'"


@pytest.fixture
def filled(api: RunningApp, program: dict[str, Any]) -> dict[str, Any]:
    """A program with transfers."""
    for number in range(TRANSFERS):
        data = an_ach_transfer(id=f"acht_{number}")
        event = an_event("ach.outgoing_transfer.initiated", data, event_id=f"evnt_{number}")
        assert api.deliver(program, event).status_code == 200
    api.catch_up()
    return program


def bearer(token: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} | more


def path_of(program: dict[str, Any] | str, subjects: str = "") -> str:
    return f"/api/skoor/{subjects}backfill/{program if isinstance(program, str) else program['id']}"


def steps(api: RunningApp) -> list[BackfillStep]:
    bodies = [entry.body for entry in api.entries() if entry.kind == EntryKind.BACKFILL]
    return [msgspec.json.decode(body, type=BackfillStep) for body in bodies]


def test_given_the_owners_token_alone_when_asked_then_every_transfer_is_counted_and_the_log_has_start_and_end(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    answer = api.client.post(path_of(filled), headers=bearer(tenant["operatorToken"]))

    assert (answer.status_code, answer.json()) == (200, {"scored": TRANSFERS})
    stages = [step.progress.stage for step in steps(api)]
    assert (stages[0], stages[-1]) == (Stage.STARTED, Stage.DONE)


def test_given_the_owners_token_alone_when_actors_are_asked_for_then_each_is_counted_and_has_a_record(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    for number in range(2):
        data = an_ach_transfer(id=f"acht_of_{number}", entity_id=f"enti_{number}", counterparty_id=f"cpty_of_{number}")
        event = an_event("ach.outgoing_transfer.initiated", data, event_id=f"evnt_of_{number}")
        assert api.deliver(filled, event).status_code == 200
    api.catch_up()

    answers = [
        api.client.post(path_of(filled, "actors/"), headers=bearer(tenant["operatorToken"], **more))
        for more in ({}, {"Idempotency-Key": "k"}, {"Idempotency-Key": "k"})
    ]

    for answer in answers:
        assert (answer.status_code, answer.json()) == (200, {"entities": 2, "counterparties": 3, "agents": 0})
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, None, "true"]
    records = "SELECT subject_type, count(DISTINCT subject_id), count(*) FROM scores GROUP BY ALL ORDER BY ALL"
    assert [row[:2] for row in api.stores.database.execute(records).fetchall()] == [("counterparty", 3), ("entity", 2)]
    assert [step.progress.stage for step in steps(api)].count(Stage.DONE) == 2


def test_given_an_actors_backfill_whose_answer_was_lost_when_repeated_then_it_is_found(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    headers = bearer(tenant["operatorToken"], **{"Idempotency-Key": "once"})
    first = api.client.post(path_of(filled, "actors/"), headers=headers)
    before = len(api.entries())
    for key in api.sync_redis.keys("idem:*"):
        api.sync_redis.delete(key)

    again = api.client.post(path_of(filled, "actors/"), headers=headers)

    assert first.json() == again.json() == {"entities": 0, "counterparties": 1, "agents": 0}
    assert len(api.entries()) == before


def test_given_a_program_without_transfers_when_asked_then_none_are_counted(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    answer = api.client.post(path_of(program), headers=bearer(tenant["operatorToken"]))

    assert (answer.status_code, answer.json()) == (200, {"scored": 0})


def test_given_anyone_else_or_another_program_when_asked_then_401_and_nothing_is_begun(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    token = tenant["operatorToken"]
    before = len(api.entries())

    not_owned = [
        api.client.post(path_of(filled, "actors/"), headers=bearer(other["operatorToken"])),
        api.client.post(path_of(UNKNOWN, "actors/"), headers=bearer(token)),
        api.client.post(path_of(filled), headers=bearer(other["operatorToken"])),
        api.client.post(path_of(UNKNOWN), headers=bearer(token)),
    ]
    assert_refused(api.client.post(path_of("not-a-uuid"), headers=bearer(token)), 400, "programId must be a UUID")
    others = [
        api.client.post(path_of(filled, "actors/")),
        api.client.post(path_of(filled)),
        api.client.post(path_of(filled), headers=api.key(tenant)),
        api.client.post(path_of(filled), headers=bearer(ADMIN_TOKEN, **{"X-Operator": "root"})),
    ]

    for answer in [*not_owned, *others]:
        assert_refused(answer, 401)
    assert len({answer.json()["error"] for answer in not_owned}) == 1, "a foreign program is as one that is not there"
    assert len(api.entries()) == before


def test_given_an_idempotency_key_when_repeated_then_the_stored_answer_comes_and_nothing_is_begun_again(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    headers = bearer(tenant["operatorToken"], **{"Idempotency-Key": "once"})

    first = api.client.post(path_of(filled), headers=headers)
    before = len(api.entries())
    again = api.client.post(path_of(filled), headers=headers)

    assert first.json() == again.json() == {"scored": TRANSFERS}
    assert again.headers["idempotent-replayed"] == "true"
    assert len(api.entries()) == before


def test_given_an_answer_that_was_lost_when_the_request_is_repeated_then_its_backfill_is_found(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    headers = bearer(tenant["operatorToken"], **{"Idempotency-Key": "once"})
    api.client.post(path_of(filled), headers=headers)
    before = len(api.entries())
    for key in api.sync_redis.keys("idem:*"):
        api.sync_redis.delete(key)

    again = api.client.post(path_of(filled), headers=headers)

    assert (again.status_code, again.json()) == (200, {"scored": TRANSFERS})
    assert len(api.entries()) == before


def test_given_a_body_or_a_query_when_asked_then_it_is_refused(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    headers = bearer(tenant["operatorToken"])

    assert_refused(api.client.post(path_of(filled), json={"force": True}, headers=headers), 400, "force")
    assert_refused(api.client.post(f"{path_of(filled)}?force=1", headers=headers), 400, "force")
    assert api.client.post(path_of(filled), json={}, headers=headers).status_code == 200


def test_given_wrong_scores_in_the_record_when_given_again_then_the_transfers_show_the_right_ones(
    api: RunningApp, tenant: dict[str, Any], filled: dict[str, Any]
) -> None:
    def backfills_listed() -> list[dict[str, Any]]:
        page = api.client.get("/api/transfers", headers=api.operator(tenant)).json()
        return [
            {name: value for name, value in each.items() if name not in {"scoredAt", "updatedAt"}}
            for each in page["data"]
        ]

    right = backfills_listed()
    api.stores.database.execute(WRONG)
    assert backfills_listed() != right

    api.client.post(path_of(filled), headers=bearer(tenant["operatorToken"]))

    assert backfills_listed() == right
    assert sum(len(step.rescored) for step in steps(api)) == TRANSFERS
