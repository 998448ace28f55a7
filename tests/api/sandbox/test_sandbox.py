"""Transfers, events and returns of the sandbox, and what every route of it has in common."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import httpx
import pytest

from clearhold.api.sandbox import service as sandbox_service
from clearhold.api.sandbox.service import MOST_AT_A_TIME, MOST_IN_ALL
from clearhold.features.core.errors import UnavailableError
from clearhold.features.core.instants import MINUTE_US
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.features.sandbox.order import MAGIC_NAMES
from clearhold.store.redis_log.appender import LogAppender
from tests.support.callers import UNKNOWN_ID, running_app
from tests.support.running_app import SHARDS, RunningApp, assert_refused, content_of_201

DEBIT = {"rail": "ach", "direction": "outgoing", "type": "DEBIT", "amountCents": "12500"}
AWAY = "The log is away."
UNDER_WAY_S = 60.0
SCENARIO = {"scenario": "entity_denied"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One application for all tests here; each has a program of its own."""
    with running_app(tmp_path_factory.mktemp("sandbox"), lambda api: api) as running:
        yield running


@pytest.fixture(scope="module")
def tenant(api: RunningApp) -> dict[str, Any]:
    return api.create_tenant()


@pytest.fixture
def simulated(api: RunningApp, tenant: dict[str, Any]) -> dict[str, Any]:
    return new_program(api, tenant, "simulated")


@pytest.fixture(scope="module")
def key(api: RunningApp, tenant: dict[str, Any]) -> dict[str, str]:
    return api.key(tenant, mode="test")


def new_program(api: RunningApp, tenant: dict[str, Any], source: str) -> dict[str, Any]:
    return api.create_program(tenant, slug=api.new_id(), source=source)


def post(
    api: RunningApp, program: dict[str, Any], route: str, body: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    api.clock.advance(MINUTE_US)
    return api.client.post(f"/api/sandbox/{program['id']}/{route}", json=body, headers=headers)


def read(api: RunningApp, path: str, headers: dict[str, str]) -> dict[str, Any]:
    answer = api.client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def bank_entries(api: RunningApp, program: dict[str, Any]) -> int:
    return sum((entry.kind, entry.program_id) == (EntryKind.BANK, program["id"]) for entry in api.entries())


def person(entity_id: str, last_name: str, **over: Any) -> dict[str, Any]:
    details = {"first_name": "Dana", "last_name": last_name}
    data = {"id": entity_id, "type": "PERSON", "person_details": details} | over
    return {"type": "identity.created", "data": data}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (person("enti_1", "Rivers"), "VERIFIED"),
        (person("enti_1", "Review"), "MANUAL_REVIEW"),
        (person("enti_1", "Denied", verification_status="PENDING"), "DENIED"),
        (person("enti_1", "Denied", verification_status="VERIFIED"), "VERIFIED"),
    ],
)
def test_given_a_name_when_an_entity_is_created_then_it_is_verified_as_at_the_banks_sandbox(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], body: dict[str, Any], status: str
) -> None:
    result = content_of_201(post(api, simulated, "event", body, key))

    entity = read(api, f"/api/entities/enti_1?programId={simulated['id']}", key)
    assert (entity["verificationStatus"], entity["simulated"]) == (status, True)
    assert "transferId" not in result
    assert (result["committed"], result["simulated"], result["score"]) == (True, True, None)
    assert {read(api, f"/api/events/{each}", key)["result"] for each in result["events"]} == {"applied"}


@pytest.mark.parametrize("name", list(MAGIC_NAMES))
def test_given_a_magic_name_when_debited_then_the_debit_comes_back(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], name: str
) -> None:
    content_of_201(post(api, simulated, "event", person("enti_1", "Rivers"), key))
    body = DEBIT | {"entityId": "enti_1", "counterparty": {"name": name, "countryCode": "US"}}

    result = content_of_201(post(api, simulated, "transfer", body, key))

    transfer = read(api, f"/api/transfers/{result['transferId']}", key)
    assert (transfer["status"], transfer["returnCode"]) == ("RETURNED", MAGIC_NAMES[name])
    assert (transfer["entityId"], transfer["counterpartyCountry"], transfer["simulated"]) == ("enti_1", "US", True)


def test_given_a_magic_name_when_its_code_does_not_fit_a_credit_then_the_credit_goes_through(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    body = DEBIT | {"type": "CREDIT", "counterparty": {"name": "RETURN_UNAUTH"}}

    result = content_of_201(post(api, simulated, "transfer", body, key))

    assert read(api, f"/api/transfers/{result['transferId']}", key)["status"] == "COMPLETED"


@pytest.mark.parametrize("direction", ["outgoing", "incoming"])
@pytest.mark.parametrize("rail", ["ach", "wire", "intl_wire", "realtime", "book", "check", "card"])
def test_given_a_rail_when_a_transfer_is_simulated_then_it_lands_on_it_and_nothing_of_it_is_odd(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], rail: str, direction: str
) -> None:
    sides = {"rail": rail, "direction": direction, "entityId": "bacc_9"}
    body = sides | {"amountCents": "500"} | ({"type": "CREDIT"} if rail == "ach" else {})
    answer = post(api, simulated, "transfer", body, key)
    if (rail, direction) == ("book", "incoming"):
        assert_refused(answer, 400, "direction must be outgoing on book")
        return

    result = content_of_201(answer)

    transfer = read(api, f"/api/transfers/{result['transferId']}", key)
    assert (transfer["rail"], transfer["direction"], transfer["accountId"]) == (rail, direction, "bacc_9")
    assert (transfer["amountCents"], transfer["counterpartyCountry"]) == ("500", None)  # which nobody named
    assert not [each for each in result["events"] if read(api, f"/api/events/{each}", key)["reason"] is not None]


def test_given_a_preflight_when_its_transfer_is_simulated_then_it_is_matched(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    counterparty = {"name": "Sam Cole", "routingNumber": "021000021", "accountLast4": "6789"}
    content_of_201(post(api, simulated, "transfer", DEBIT | {"counterparty": counterparty}, key))
    proposed = DEBIT | {"amountCents": "777", "counterparty": counterparty}
    question = {"programId": simulated["id"], "transfer": proposed}
    preflight = content_of_201(api.client.post("/api/preflight", json=question, headers=key))

    result = content_of_201(post(api, simulated, "transfer", proposed, key))

    matched = read(api, f"/api/preflight/{preflight['preflightId']}", key)["matchedTransferId"]
    assert matched == result["transferId"]


@pytest.mark.parametrize(
    ("route", "body", "status", "sentence"),
    [
        ("transfer", DEBIT | {"type": None}, 400, "type is required on ach"),
        ("transfer", DEBIT | {"rail": "wire"}, 400, "type must be left out but on ach"),
        ("transfer", DEBIT | {"amountCents": "0"}, 400, "amountCents must be at least 1"),
        ("transfer", DEBIT | {"counterparty": {"name": "X", "countryCode": "XX"}}, 400, "counterparty.countryCode"),
        ("transfer", DEBIT | {"entityId": "enti_x"}, 404, "Unknown entity on this program"),
        ("event", {"type": "ach.created", "data": {}}, 400, "type must be one that the bank sends"),
        ("event", {"type": "account.frozen"}, 400, "data is required"),
        ("scenario", {"scenario": "windfall"}, 400, "scenario must be one of account_frozen"),
        ("scenario", SCENARIO | {"count": 11}, 400, "count must be at most 10"),
        ("scenario", SCENARIO | {"seed": 1.5}, 400, "seed must be an integer"),
        ("return", {"transferId": "acht_x", "returnCode": "R01"}, 404, "Unknown transfer on this tenant"),
    ],
)
def test_given_what_cannot_be_simulated_when_posted_then_the_sentence_says_why_and_nothing_is_stored(
    api: RunningApp,
    simulated: dict[str, Any],
    key: dict[str, str],
    route: str,
    body: dict[str, Any],
    status: int,
    sentence: str,
) -> None:
    assert_refused(post(api, simulated, route, body, key), status, sentence)

    assert bank_entries(api, simulated) == 0


def test_given_data_that_cannot_be_used_when_sent_then_it_is_stored_and_its_event_says_what_is_wrong(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    body = {"type": "ach.outgoing_transfer.settled", "data": {"id": "acht_1", "amount": "much"}}

    result = content_of_201(post(api, simulated, "event", body, key))

    (event_id,) = result["events"]
    assert "transferId" not in result
    event = read(api, f"/api/events/{event_id}", key)
    assert (event["result"], event["path"], event["simulated"]) == ("unusable", "data.amount", True)


@pytest.mark.parametrize(
    ("rail", "code", "status", "sentence"),
    [
        ("ach", None, 400, "returnCode is required for an ACH transfer"),
        ("ach", "R61", 400, "returnCode must be an ACH return code"),
        ("ach", "R23", 400, "returnCode is not a return code of a DEBIT"),
        ("check", "R01", 400, "returnCode must be a check's return reason"),
        ("intl_wire", "R01", 400, "returnCode must be left out"),
        ("wire", None, 409, "A wire is final"),
        ("card", "A", 409, "A card transfer is not returned"),
    ],
)
def test_given_a_transfer_that_the_bank_could_not_return_so_when_returned_then_the_sentence_says_why(
    api: RunningApp,
    simulated: dict[str, Any],
    key: dict[str, str],
    rail: str,
    code: str | None,
    status: int,
    sentence: str,
) -> None:
    body = DEBIT | {"rail": rail} | ({} if rail == "ach" else {"type": None})
    transfer_id = content_of_201(post(api, simulated, "transfer", body, key))["transferId"]
    stored = bank_entries(api, simulated)

    assert_refused(
        post(api, simulated, "return", {"transferId": transfer_id, "returnCode": code}, key), status, sentence
    )

    assert bank_entries(api, simulated) == stored


def test_given_a_settled_debit_when_returned_twice_then_the_second_is_a_409(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    body = {"transferId": content_of_201(post(api, simulated, "transfer", DEBIT, key))["transferId"]}

    result = content_of_201(post(api, simulated, "return", body | {"returnCode": "R10"}, key))
    again = post(api, simulated, "return", body | {"returnCode": "R10"}, key)

    transfer = read(api, f"/api/transfers/{body['transferId']}", key)
    assert result["transferId"] == body["transferId"]
    assert (transfer["status"], transfer["returnCode"]) == ("RETURNED", "R10")
    assert_refused(again, 409, "was already returned")


def test_given_a_settled_debit_when_returned_by_many_at_once_then_it_comes_back_once(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    transfer_id = content_of_201(post(api, simulated, "transfer", DEBIT, key))["transferId"]
    stored = bank_entries(api, simulated)
    body = {"transferId": transfer_id, "returnCode": "R01"}

    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: post(api, simulated, "return", body, key), range(4))]

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    assert bank_entries(api, simulated) == stored + 1


@pytest.mark.parametrize("route", ["scenario", "transfer", "return"])
def test_given_an_answer_that_was_lost_when_repeated_under_its_key_then_it_happened_once(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    debit = content_of_201(post(api, simulated, "transfer", DEBIT, key))["transferId"]
    body = {"scenario": SCENARIO, "transfer": DEBIT, "return": {"transferId": debit, "returnCode": "R01"}}[route]
    keyed = key | {"Idempotency-Key": "once"}
    with monkeypatch.context() as patch:
        patch.setattr(type(api.services["sandbox"]), "_result", lambda *_: 1 / 0)
        assert_refused(post(api, simulated, route, body, keyed), 500)
    stored = bank_entries(api, simulated)

    result = content_of_201(post(api, simulated, route, body, keyed))
    replay = post(api, simulated, route, body, keyed)

    assert bank_entries(api, simulated) == stored
    assert (replay.json(), replay.headers["idempotent-replayed"]) == (result, "true")
    assert {read(api, f"/api/events/{each}", key)["result"] for each in result["events"]} == {"applied"}
    assert result["committed"] is True


def test_given_a_run_without_a_key_when_repeated_then_it_happens_again(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str]
) -> None:
    first, second = (content_of_201(post(api, simulated, "scenario", SCENARIO, key)) for _ in range(2))

    assert not set(first["events"]) & set(second["events"])
    assert not set(first["alertIds"]) & set(second["alertIds"])
    assert first["alertIds"]
    assert first["score"]["signals"][0] == {"code": "kyc_denied_moving", "weight": 60, "hard": True}


def test_given_a_flow_that_stands_still_when_run_then_the_answer_has_what_is_stored_and_says_that_it_is_not_committed(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_service, "COMMITTED_WITHIN_S", 0.01)
    api.appender.stands_still = True

    result = content_of_201(post(api, simulated, "scenario", SCENARIO, key))

    assert (result["committed"], result["alertIds"], result["score"]) == (False, [], None)
    assert bank_entries(api, simulated) == len(result["events"])
    api.appender.stands_still = False
    api.catch_up()
    alerts = read(api, f"/api/alerts?programId={simulated['id']}&transferId={result['transferId']}", key)["data"]
    assert [result["transferId"] in alert["evidence"]["transferIds"] for alert in alerts] == [True]


@pytest.mark.parametrize("route", ["scenario", "transfer", "return"])
def test_given_a_shard_that_is_being_replayed_when_posted_then_503_and_nothing_is_stored(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tails = {shard_of(simulated["id"], SHARDS): 1 << 63}
    monkeypatch.setattr(api.stores.owner, "_tails", tails)
    body = {"scenario": SCENARIO, "transfer": DEBIT, "return": {"transferId": "acht_1", "returnCode": "R01"}}[route]

    answer = post(api, simulated, route, body, key)

    assert_refused(answer, 503, "is being replayed")
    assert int(answer.headers["retry-after"]) >= 1
    assert bank_entries(api, simulated) == 0


def test_given_a_log_that_is_away_when_run_then_503_and_the_repeat_happens_once(
    api: RunningApp, simulated: dict[str, Any], key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any, **__: Any) -> Any:
        raise UnavailableError(AWAY)

    with monkeypatch.context() as patch:
        patch.setattr(LogAppender, "_written", refused)
        failed = post(api, simulated, "scenario", SCENARIO, key)
    result = content_of_201(post(api, simulated, "scenario", SCENARIO, key))

    assert_refused(failed, 503, AWAY)
    assert bank_entries(api, simulated) == len(result["events"])


def test_given_as_many_requests_as_there_may_be_when_one_more_comes_then_429_and_when_they_are_done_the_next_is_taken(
    api: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_service, "COMMITTED_WITHIN_S", UNDER_WAY_S)
    tenants = [api.create_tenant(api.new_id()) for _ in range(MOST_IN_ALL // MOST_AT_A_TIME + 1)]
    callers = [(new_program(api, tenant, "simulated"), api.key(tenant, mode="test")) for tenant in tenants]
    *fill, last = callers

    def send(caller: tuple[dict[str, Any], dict[str, str]]) -> httpx.Response:
        program, key = caller
        return post(api, program, "event", {"type": "account.frozen", "data": {"id": "bacc_1"}}, key)

    with ThreadPoolExecutor(MOST_IN_ALL + len(fill)) as pool:
        api.appender.stands_still = True
        sent, refused = [], []
        for caller in fill:
            one_more = [pool.submit(send, caller) for _ in range(MOST_AT_A_TIME + 1)]
            sent += one_more
            refused.append(next(as_completed(one_more, timeout=UNDER_WAY_S)).result())
        in_all = send(last)
        api.appender.stands_still = False
        api.catch_up()

    for answer in refused:
        assert_refused(answer, 429, f"At most {MOST_AT_A_TIME} requests of the sandbox run at a time for a tenant")
    assert_refused(in_all, 429, f"At most {MOST_IN_ALL} requests of the sandbox run at a time in all")
    assert sorted(each.result().status_code for each in sent) == [201] * MOST_IN_ALL + [429] * len(fill)
    assert [send(caller).status_code for caller in callers] == [201] * len(callers)
    assert [bank_entries(api, program) for program, _ in callers] == [MOST_AT_A_TIME + 1] * len(fill) + [1]


@pytest.mark.parametrize("route", ["scenario", "transfer", "event", "return"])
def test_given_a_program_that_is_out_of_reach_when_named_then_nothing_of_it_can_be_told_or_changed(
    api: RunningApp, tenant: dict[str, Any], simulated: dict[str, Any], route: str
) -> None:
    theirs = new_program(api, api.create_tenant(api.new_id()), "simulated")
    narrow = api.key(tenant, mode="test", programId=new_program(api, tenant, "simulated")["id"])
    wide, live = api.key(tenant, mode="test"), api.key(tenant)
    body = {"scenario": SCENARIO, "transfer": DEBIT, "event": person("enti_1", "Rivers")} | {
        "return": {"transferId": "acht_1", "returnCode": "R01"}
    }
    unknown = post(api, {"id": UNKNOWN_ID}, route, body[route], wide)

    assert_refused(post(api, simulated, route, body[route], narrow), 403)
    assert_refused(post(api, new_program(api, tenant, "bank"), route, body[route], wide), 403)
    assert_refused(post(api, simulated, route, body[route], live), 403, "test key")
    assert_refused(post(api, simulated, route, body[route], api.operator(tenant)), 403, "test key")
    assert_refused(unknown, 404)
    assert post(api, theirs, route, body[route], wide).json()["error"] == unknown.json()["error"]
    assert bank_entries(api, simulated) == 0
