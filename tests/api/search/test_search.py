"""One line of text finds things of a tenant."""

from typing import Any, Final

import pytest

from tests.support.alerting import alerts_of, deliver, outgoing, party
from tests.support.running_app import RunningApp, assert_refused, content_of_201

IRAN: Final[dict[str, Any]] = {"beneficiary_address": {"country_code": "IR"}}
KINDS: Final = ("transfers", "entities", "accounts", "counterparties", "agents", "alerts", "programs", "preflights")
NUMBER: Final = "744-5678-99"


def answer_of(api: RunningApp, headers: dict[str, str], line: str, **query: Any) -> dict[str, Any]:
    answer = api.client.get("/api/search", params={"q": line} | query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert tuple(found) == KINDS
    return found


def found_by(answer: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """The ids of each kind and why, without empty groups."""
    groups = {kind: group for kind, group in answer.items() if group is not None}
    hits = {kind: [(hit["id"], hit["matchedBy"]) for hit in group["data"]] for kind, group in groups.items()}
    return {kind: ids for kind, ids in hits.items() if ids}


@pytest.fixture
def operator(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> dict[str, str]:
    """Two transfers, a party of each kind, and an account, on the program ``payroll``."""
    deliver(
        api,
        program,
        party("identity", "enti_1", name="Ada O\u2019Brien", type="PERSON", status="VERIFIED"),
        party(
            "counterparty", "cpty_1", name="Cedar Freight, L.L.C.", account_number=NUMBER, routing_number="021000021"
        ),
        party("account", "bacc_1", entity_id="enti_1", account_number=NUMBER, type="checking", status="open"),
        outgoing("acht_1", amount=1_234_567, bank_account_id="bacc_1", **IRAN),
        outgoing("acht_12", amount=1_234_567, at="2026-03-02T15:00:00Z", bank_account_id="bacc_1"),
    )
    return api.operator(tenant)


def test_given_each_kind_of_line_when_searched_then_what_it_names_is_found(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], operator: dict[str, str]
) -> None:
    (alert, *_) = alerts_of(api, tenant, transferId="acht_1")
    body = {"programId": program["id"], "transfer": {"rail": "wire", "direction": "outgoing", "amountCents": "10000"}}
    preflight_id = content_of_201(api.client.post("/api/preflight", json=body, headers=operator))["preflightId"]
    api.catch_up()

    def found(line: str) -> dict[str, list[tuple[str, str]]]:
        return found_by(answer_of(api, operator, line))

    assert found("acht_1") == {"transfers": [("acht_1", "id"), ("acht_12", "idPrefix")]}
    assert found(" acht_12 ") == {"transfers": [("acht_12", "id")]}
    for amount in ("12,345.67", "12345.67", "$12,345.67"):
        assert found(amount) == {"transfers": [("acht_12", "amount"), ("acht_1", "amount")]}
    assert found("obrien ada") == {"entities": [("enti_1", "name")]}
    assert found("CEDAR-Freight") == {} == found("edar")
    assert found("llc ced") == {"counterparties": [("cpty_1", "name")]}
    assert (
        found("7899")
        == found("**** 7899")
        == {
            "accounts": [("bacc_1", "last4")],
            "counterparties": [("cpty_1", "last4")],
        }
    )
    assert found("bacc_1") == {"accounts": [("bacc_1", "id")]}
    assert found(alert["id"].upper()) == {"alerts": [(alert["id"], "id")]}
    assert found(preflight_id) == {"preflights": [(preflight_id, "id")]}
    assert found(program["id"])["programs"] == [(program["id"], "id")]
    assert (program["id"], "idPrefix") in found(program["id"][:-1])["programs"]
    assert found("payroll") == {"programs": [(program["id"], "id")]}


def test_given_a_hit_when_read_then_it_says_enough_to_be_known_and_no_whole_number(
    api: RunningApp, program: dict[str, Any], operator: dict[str, str]
) -> None:
    transfer = answer_of(api, operator, "acht_12")["transfers"]["data"][0]
    account = answer_of(api, operator, "bacc_1")["accounts"]["data"][0]
    of_number = api.client.get("/api/search", params={"q": NUMBER}, headers=operator)
    of_last = api.client.get("/api/search", params={"q": "7899"}, headers=operator)

    assert transfer == {
        "id": "acht_12",
        "programId": program["id"],
        "matchedBy": "id",
        "name": None,
        "status": "INITIATED",
        "at": "2026-03-02T15:00:00.000Z",
        "amountCents": "1234567",
        "currency": "USD",
        "accountLast4": None,
    }
    assert (account["accountLast4"], account["name"]) == ("7899", None)
    assert found_by(of_number.json()) == {}
    assert not {"744-5678-99", "744567899"} & set(of_last.text.split('"'))


def test_given_more_than_the_limit_when_searched_then_each_group_says_so(
    api: RunningApp, operator: dict[str, str]
) -> None:
    one, both = (answer_of(api, operator, "acht_", limit=limit)["transfers"] for limit in (1, 2))

    assert [hit["id"] for hit in one["data"]] == ["acht_12"]
    assert (one["hasMore"], len(both["data"]), both["hasMore"]) == (True, 2, False)


def test_given_a_name_that_changes_when_searched_then_only_the_new_one_is_found(
    api: RunningApp, program: dict[str, Any], operator: dict[str, str]
) -> None:
    assert found_by(answer_of(api, operator, "obrien")) == {"entities": [("enti_1", "name")]}
    renamed = party("identity", "enti_1", at="2026-03-03T14:00:00Z", name="Ada Stone", type="PERSON", status="VERIFIED")

    deliver(api, program, renamed.replace(b"identity.created", b"identity.updated"))

    assert found_by(answer_of(api, operator, "obrien")) == {}
    assert found_by(answer_of(api, operator, "stone")) == {"entities": [("enti_1", "name")]}


def test_given_other_tenants_and_narrow_keys_when_searched_then_each_finds_its_own_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], operator: dict[str, str]
) -> None:
    other = api.create_tenant("second-bank")
    lending = api.create_program(tenant, slug="lending", name="Lending")
    play = api.create_program(tenant, slug="play", name="Play", source="simulated")
    deliver(api, play, outgoing("acht_1", amount=1_234_567))
    deliver(api, lending, outgoing("acht_3", amount=1_234_567))

    def programs(headers: dict[str, str], line: str = "12,345.67", **query: Any) -> set[str]:
        answer = answer_of(api, headers, line, **query)
        return {hit["programId"] for group in answer.values() if group is not None for hit in group["data"]}

    for line in ("acht_1", "12,345.67", "7899", "cedar", program["id"], "payroll"):
        assert programs(api.operator(other), line) == set()
        assert programs(api.key(tenant, programId=lending["id"]), line) <= {lending["id"]}
    assert programs(operator) == {program["id"], lending["id"], play["id"]}
    assert programs(operator, programId=f"{lending['id']},{play['id']}") == {lending["id"], play["id"]}
    assert programs(api.key(tenant)) == {program["id"], lending["id"]}
    assert programs(api.key(tenant, mode="test")) == {play["id"]}
    hits = answer_of(api, operator, "acht_1")["transfers"]["data"]
    assert {hit["programId"]: hit.get("simulated", False) for hit in hits if hit["id"] == "acht_1"} == {
        program["id"]: False,
        play["id"]: True,
    }
    theirs = api.client.get(f"/api/search?q=acht&programId={program['id']}", headers=api.operator(other))
    assert_refused(theirs, 404, "program")


def test_given_a_key_without_a_scope_when_searched_then_the_kinds_of_that_scope_are_null(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, outgoing("acht_1"))
    narrow = answer_of(api, api.key(tenant, scopes=["alerts:read"]), "acht_1")
    wider = answer_of(api, api.key(tenant, scopes=["alerts:read", "preflight", "reports"]), "acht_1")

    assert {kind for kind, group in narrow.items() if group is None} == {"agents", "preflights"}
    assert {kind for kind, group in wider.items() if group is None} == set()
    assert_refused(api.client.get("/api/search?q=acht_1", headers=api.key(tenant, scopes=["reports"])), 403, "scope")


@pytest.mark.parametrize(
    "line", ["%%", "__", "acht%", "acht_%", "' OR 1=1 --", "acht_1' --", "\\\\", "..", "\u200b\u200bx"]
)
def test_given_wildcards_of_queries_when_searched_then_they_are_text(
    api: RunningApp, operator: dict[str, str], line: str
) -> None:
    assert found_by(answer_of(api, operator, line)) == {}


@pytest.mark.parametrize("query", ["", "?q=", "?q=a", "?q=%20%20a%20", "?q=%20%20", "?q=ab%00", "?q=a%0Ab", "?q=a%7Fb"])
def test_given_a_line_that_cannot_be_searched_when_sent_then_it_is_refused_with_the_reason(
    api: RunningApp, operator: dict[str, str], query: str
) -> None:
    answer = api.client.get(f"/api/search{query}", headers=operator)

    assert_refused(answer, 400, "q ")


@pytest.mark.parametrize("query", ["q=" + "a" * 201, "q=" + "a" * 10_000, "q=ab&q=cd", "q=ab&limit=26", "q=ab&limit=0"])
def test_given_too_much_when_sent_then_it_is_refused(api: RunningApp, operator: dict[str, str], query: str) -> None:
    assert api.client.get(f"/api/search?{query}", headers=operator).status_code == 400
