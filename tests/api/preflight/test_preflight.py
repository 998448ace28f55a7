"""Pre-flight: asked, recorded, answered; replayed under its key; read back."""

import asyncio
from statistics import median
from typing import Any, Final
from uuid import UUID

import msgspec
import pytest

from clearhold.api.log.preflight_log import STATE_BEHIND_AFTER_US
from clearhold.api.preflight.schemas import PreflightRequest
from clearhold.features.core.entries.preflight import PreflightRecord
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.log_entry import EntryKind
from tests.api.ingest.test_ingest import an_event
from tests.support.principals import an_operator
from tests.support.running_app import RunningApp, assert_refused

TRANSFER: Final[dict[str, Any]] = {
    "rail": "ach",
    "direction": "outgoing",
    "type": "CREDIT",
    "amountCents": "12500",
    "counterpartyId": "cpty_1",
    "entityId": "enti_1",
}
ANSWER_FIELDS: Final = {
    "preflightId",
    "decision",
    "score",
    "band",
    "version",
    "n",
    "confidence",
    "reasons",
    "limitsHit",
    "degraded",
    "degradedReasons",
    "latencyMs",
    "scoringUs",
    "usdRate",
    "idempotent",
    "programId",
}


def ask(api: RunningApp, tenant: dict[str, Any], *, transfer: Any = None, **over: Any) -> Any:
    named = {} if "programId" in over else {"programSlug": "payroll"}
    body = named | {"transfer": transfer or TRANSFER} | over
    return api.client.post("/api/preflight", json=body, headers=api.operator(tenant))


def recorded(api: RunningApp) -> list[PreflightRecord]:
    return [
        msgspec.json.decode(entry.body, type=PreflightRecord)
        for entry in api.entries()
        if entry.kind == EntryKind.PREFLIGHT
    ]


def test_given_a_question_when_asked_then_the_answer_is_recorded_before_it_is_given(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    answer = ask(api, tenant)

    assert answer.status_code == 201
    body = answer.json()
    assert set(body) == ANSWER_FIELDS
    assert str(UUID(body["preflightId"])) == body["preflightId"]
    assert (body["score"], body["band"], body["decision"]) == (None, "unscored", "review")
    assert (body["programId"], body["idempotent"], body["limitsHit"]) == (program["id"], False, [])
    (record,) = recorded(api)
    assert msgspec.json.decode(msgspec.json.encode(record.answer)) == body
    assert (record.operator, record.tenant_id, record.asked_at) == ("ann", tenant["id"], api.clock.now())


def test_given_a_program_by_id_or_slug_when_asked_then_both_find_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    answers = [
        ask(api, tenant),
        ask(api, tenant, programId=program["id"]),
        ask(api, tenant, programId=program["id"].upper()),
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 201]
    assert {answer.json()["programId"] for answer in answers} == {program["id"]}
    assert len({answer.json()["preflightId"] for answer in answers}) == 3


@pytest.mark.parametrize(
    "named",
    [{"programId": "0b0c4a53-0000-4000-8000-000000000001"}, {"programSlug": "nobody"}, {"programSlug": "theirs"}],
)
def test_given_a_program_that_is_not_this_tenants_when_asked_then_404_with_one_sentence(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], named: dict[str, str]
) -> None:
    other = api.create_tenant("second-bank")
    theirs = api.create_program(other, slug="theirs")

    answer = ask(api, tenant, **named)

    assert program["id"] != theirs["id"]
    sentence = "has this programSlug" if "programSlug" in named else "Unknown program on this tenant."
    assert_refused(answer, 404, sentence)
    assert_refused(ask(api, tenant, programId=theirs["id"]), 404, "Unknown program on this tenant.")
    assert recorded(api) == []


@pytest.mark.parametrize("committed", [False, True])
def test_given_an_idempotency_key_when_used_again_then_the_recorded_answer_is_given(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], *, committed: bool
) -> None:
    first = ask(api, tenant, idempotencyKey="order 1")
    api.clock.advance(1_000)
    if committed:
        api.catch_up()
        ask(api, tenant)  # what is committed is dropped from the places in the log here

    again = ask(api, tenant, idempotencyKey="order 1")

    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"idempotent": True, "degradedReasons": []}
    assert [record.idempotency_key for record in recorded(api)].count("order 1") == 1
    assert program["slug"] == "payroll"


def test_given_an_idempotency_key_when_used_for_another_transfer_then_it_is_a_conflict_and_nothing_is_recorded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="lending")
    first = ask(api, tenant, idempotencyKey="k")

    another_transfer = ask(api, tenant, idempotencyKey="k", transfer=TRANSFER | {"amountCents": "99900"})
    another_program = ask(api, tenant, idempotencyKey="k", programId=other["id"])

    assert_refused(another_transfer, 409, "This idempotencyKey was used for another transfer on this program.")
    assert (first.status_code, another_program.status_code) == (201, 201)
    assert another_program.json()["preflightId"] != first.json()["preflightId"]
    assert [record.answer.program_id for record in recorded(api)] == [program["id"], other["id"]]


def test_given_one_key_on_two_tenants_when_used_then_they_do_not_meet(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    api.create_program(other)

    answers = [ask(api, each, idempotencyKey="k") for each in (tenant, other)]

    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json()["programId"] == program["id"] != answers[1].json()["programId"]


def test_given_twenty_questions_under_one_key_at_once_when_asked_then_one_is_recorded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    plain = {"programSlug": program["slug"], "transfer": TRANSFER, "idempotencyKey": "k"}
    request = msgspec.convert(plain, PreflightRequest)
    found = api.registry.tenancy.tenant_of_token(tenant["operatorToken"], at=api.clock.now())
    assert found is not None
    ann = an_operator(found.id)

    async def all_of_them() -> list[Any]:
        submit = api.services["preflights"].submit
        return list(await asyncio.gather(*(submit(ann, request, plain, None, arrived_at=0) for _ in range(20))))

    answers = api.on_loop(all_of_them)

    assert sorted(answer.idempotent for answer in answers) == [False] + [True] * 19
    assert len({answer.preflight_id for answer in answers}) == 1
    assert len(recorded(api)) == 1


def test_given_a_restart_when_a_key_is_used_again_then_it_is_known(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    first = ask(api, tenant, idempotencyKey="k").json()
    ask(api, tenant)
    api.catch_up()

    api.restart()
    again = ask(api, tenant, idempotencyKey="k")

    assert again.status_code == 200
    assert again.json() == first | {"idempotent": True, "degradedReasons": []}
    assert len(recorded(api)) == 2
    assert program["slug"] == "payroll"


def test_given_a_log_that_is_away_when_asked_then_503_and_the_key_is_free(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> int:
        raise UnavailableError("The log is away.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", away)
        refused = ask(api, tenant, idempotencyKey="k")

    assert_refused(refused, 503)
    assert ask(api, tenant, idempotencyKey="k").status_code == 201
    assert program["slug"] == "payroll"


def test_given_a_service_that_is_starting_when_asked_then_503(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    api.resources.preflight_log.is_open = False

    answers = [ask(api, tenant), ask(api, tenant, idempotencyKey="k")]

    for answer in answers:
        assert_refused(answer, 503, "starting")
    assert program["slug"] == "payroll"


def test_given_entries_that_stay_unapplied_when_asked_then_the_answer_is_degraded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    api.deliver(program, an_event())
    api.clock.advance(STATE_BEHIND_AFTER_US)
    fresh = ask(api, tenant).json()
    api.clock.advance(1)
    behind = ask(api, tenant, idempotencyKey="k").json()
    replayed = ask(api, tenant, idempotencyKey="k").json()
    api.catch_up()
    caught_up = ask(api, tenant).json()

    assert "state_behind" not in fresh["degradedReasons"]
    assert "state_behind" in behind["degradedReasons"]
    assert (replayed["degraded"], replayed["degradedReasons"]) == (True, [])
    assert "state_behind" not in caught_up["degradedReasons"]


def test_given_nobody_known_when_asked_then_the_answer_says_so_and_is_degraded(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    answer = ask(api, tenant, transfer=TRANSFER | {"currency": "EUR"}).json()

    assert (answer["programId"], answer["degraded"], answer["decision"]) == (program["id"], True, "review")
    thin = ["entity_unknown", "baseline_thin", "program_usual_unknown"]
    assert answer["degradedReasons"] == ["amount_not_in_usd", *thin]


@pytest.mark.parametrize("moment", ["2026-11-30", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00.5-05:00"])
def test_given_a_day_or_an_instant_when_asked_then_it_is_kept_as_sent(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], moment: str
) -> None:
    answer = ask(api, tenant, transfer=TRANSFER | {"effectiveOn": moment})

    assert (answer.status_code, answer.json()["programId"]) == (201, program["id"])
    (record,) = recorded(api)
    assert record.transfer.effective_on == moment


def test_given_a_slow_log_when_asked_then_one_latency_has_the_write_and_the_scoring_has_not(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    append, now = api.appender.append, api.clock.now

    async def slow(*entry: Any) -> int:
        offset = await append(*entry)
        api.clock.advance(40_000)
        return offset

    def ticking() -> int:
        api.clock.advance(1_000)
        return now()

    monkeypatch.setattr(api.appender, "append", slow)
    monkeypatch.setattr(api.clock, "now", ticking)
    answers = [ask(api, tenant).json() for _ in range(40)]

    first, answer = answers[0], answers[-1]
    assert answer["programId"] == program["id"]
    assert 0 <= answer["scoringUs"] < 40_000  # measured where the state is, by no clock of this test
    assert (first["latencyMs"] < 40, 40 < answer["latencyMs"] < 60) == (True, True), "the first knows of no write"
    stored = {record.answer.preflight_id: record.answer for record in recorded(api)}
    assert [stored[each["preflightId"]].latency_ms for each in answers] == [each["latencyMs"] for each in answers]
    assert stored[answer["preflightId"]].scoring_us == answer["scoringUs"]
    api.catch_up()
    read_back = api.client.get(f"/api/preflight/{answer['preflightId']}", headers=api.operator(tenant)).json()
    stats = api.client.get("/api/preflight/stats", headers=api.operator(tenant)).json()["latencyMs"]
    assert read_back["latencyMs"] == answer["latencyMs"]
    assert stats["p50"] == median(each["latencyMs"] for each in answers)


@pytest.mark.parametrize("committed", [False, True])
def test_given_a_recorded_preflight_when_read_then_it_is_the_answer_with_its_question(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], *, committed: bool
) -> None:
    body = {"programSlug": program["slug"], "transfer": TRANSFER, "idempotencyKey": "k"}
    answer = api.client.post("/api/preflight", json=body, headers=api.operator(tenant)).json()
    if committed:
        api.catch_up()
        ask(api, tenant)

    read = api.client.get(f"/api/preflight/{answer['preflightId']}", headers=api.operator(tenant, "bob"))

    assert read.status_code == 200
    detail = read.json()
    resolved = {"entityId": "enti_1", "counterpartyId": "cpty_1", "counterpartyCountry": None}
    assert detail == answer | {
        "request": body | {"operator": "ann", "resolved": resolved},
        "matchedTransferId": None,
        "createdAt": "2026-03-02T15:00:00.000Z",
    }


@pytest.mark.parametrize("preflight_id", ["not-a-uuid", "0b0c4a53-0000-4000-8000-000000000001"])
def test_given_an_unknown_preflight_when_read_then_404(
    api: RunningApp, tenant: dict[str, Any], preflight_id: str
) -> None:
    answer = api.client.get(f"/api/preflight/{preflight_id}", headers=api.operator(tenant))

    assert_refused(answer, 404, "Unknown pre-flight on this tenant.")


@pytest.mark.parametrize("committed", [False, True])
def test_given_a_preflight_of_another_tenant_when_read_then_404(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], *, committed: bool
) -> None:
    other = api.create_tenant("second-bank")
    answer = ask(api, tenant).json()
    if committed:
        api.catch_up()
        ask(api, tenant)

    read = api.client.get(f"/api/preflight/{answer['preflightId']}", headers=api.operator(other))

    assert answer["programId"] == program["id"]
    assert_refused(read, 404, "Unknown pre-flight on this tenant.")


def test_given_a_record_whose_answer_was_lost_when_the_key_is_used_again_then_the_answer_given_is_the_one_that_stays(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    append = api.appender.append

    async def answer_lost(*entry: Any) -> int:
        await append(*entry)
        raise UnavailableError("The answer got lost.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", answer_lost)
        assert_refused(ask(api, tenant, idempotencyKey="k", transfer=TRANSFER | {"amountCents": "1"}), 503)
    given = ask(api, tenant, idempotencyKey="k")
    api.catch_up()
    api.restart()

    again = ask(api, tenant, idempotencyKey="k")

    assert (given.status_code, again.status_code) == (201, 200)
    assert len(recorded(api)) == 2
    assert program["slug"] == "payroll"
