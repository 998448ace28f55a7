"""Labels: what a transfer turned out to be, said by whoever may, read back newest first."""

from typing import Any

import httpx
import pytest

from clearhold.api.log import commands as committed
from clearhold.features.core.log_entry import EntryKind
from tests.support.alerting import deliver, outgoing
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused, content_of_201

SECOND_US = 1_000_000


def label(
    api: RunningApp, headers: dict[str, str], transfer_id: str, value: str = "bad", reason: str = "It came back."
) -> httpx.Response:
    body = {"transferId": transfer_id, "label": value, "reason": reason}
    return api.client.post("/api/labels", json=body, headers=headers)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("source", ["person", "dispute", "law_enforcement"])
def test_given_a_source_when_labelled_then_the_label_and_the_list_name_it(
    api: RunningApp, tenant: dict[str, Any], source: str
) -> None:
    body = {"transferId": "acht_1", "label": "bad", "reason": "It is known.", "source": source}

    answer = content_of_201(api.client.post("/api/labels", json=body, headers=api.operator(tenant)))

    assert answer["source"] == source
    assert [each["source"] for each in listed(api, tenant)] == [source]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("source", ["return", "Person", "", None, 1])
def test_given_a_source_that_nobody_may_name_when_labelled_then_400(
    api: RunningApp, tenant: dict[str, Any], source: object
) -> None:
    body = {"transferId": "acht_1", "label": "bad", "reason": "It is known.", "source": source}

    assert_refused(api.client.post("/api/labels", json=body, headers=api.operator(tenant)), 400, "source")


def listed(api: RunningApp, tenant: dict[str, Any], **query: Any) -> list[dict[str, Any]]:
    answer = api.client.get("/api/labels", params=query or None, headers=api.operator(tenant))
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["data"]
    return found


@pytest.fixture
def two(api: RunningApp, program: dict[str, Any]) -> None:
    deliver(api, program, outgoing("acht_1"), outgoing("acht_2"))


@pytest.mark.usefixtures("two")
def test_given_a_transfer_when_labelled_then_the_label_says_what_by_whom_and_when(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    answer = content_of_201(label(api, api.operator(tenant), "acht_1", "bad", "The payer disputes it."))

    assert answer == {
        "id": answer["id"],
        "transferId": "acht_1",
        "programId": program["id"],
        "label": "bad",
        "reason": "The payer disputes it.",
        "source": "person",
        "recordedBy": "ann",
        "createdAt": "2026-03-02T15:00:00.000Z",
    }
    assert listed(api, tenant) == [answer]


@pytest.mark.usefixtures("two")
def test_given_labels_of_one_transfer_when_listed_then_all_are_there_and_the_last_comes_first(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    first = content_of_201(label(api, api.operator(tenant), "acht_1", "bad"))
    api.clock.advance(SECOND_US)
    other = content_of_201(label(api, api.operator(tenant), "acht_2", "bad"))
    api.clock.advance(SECOND_US)
    last = content_of_201(label(api, api.operator(tenant, "bob"), "acht_1", "ok", "It did not."))

    assert listed(api, tenant) == [last, other, first]
    assert listed(api, tenant, transferId="acht_1") == [last, first]
    assert listed(api, tenant, label="ok") == [last]
    assert listed(api, tenant, **{"from": other["createdAt"], "to": last["createdAt"]}) == [other]
    assert listed(api, tenant, programId=program["id"]) == [last, other, first]
    page = api.client.get("/api/labels", params={"limit": 2}, headers=api.operator(tenant))
    assert page.json()["hasMore"] is True
    assert api.client.get(page.links["next"]["url"], headers=api.operator(tenant)).json()["data"] == [first]


@pytest.mark.usefixtures("two")
def test_given_a_transfer_that_is_not_this_tenants_when_labelled_then_404_and_nothing_is_appended(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    before = len(api.entries())

    assert_refused(label(api, api.operator(other), "acht_1"), 404, "Unknown transfer on this tenant.")
    assert_refused(label(api, api.operator(tenant), "acht_9"), 404, "Unknown transfer on this tenant.")
    assert len(api.entries()) == before
    assert listed(api, other) == []
    refused = api.client.get("/api/labels", params={"programId": program["id"]}, headers=api.operator(other))
    assert_refused(refused, 404, "Unknown program on this tenant.")


@pytest.mark.usefixtures("two")
def test_given_a_key_when_it_labels_then_within_its_reach_and_under_its_own_name(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    reaching, elsewhere = (api.key(tenant, programId=each, scopes=["labels"]) for each in (None, lending["id"]))

    assert content_of_201(label(api, reaching, "acht_1"))["recordedBy"] == f"key:{reaching['Authorization'][7:19]}"
    assert_refused(label(api, elsewhere, "acht_1"), 404, "Unknown transfer on this tenant.")
    assert api.client.get("/api/labels", headers=elsewhere).json()["data"] == []


def test_given_a_transfer_id_of_several_programs_when_labelled_then_the_program_has_to_be_named(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    for each in (program, lending):
        deliver(api, each, outgoing("acht_1"))
    body = {"transferId": "acht_1", "label": "bad", "reason": "It came back."}
    before = len(api.entries())

    refused = api.client.post("/api/labels", json=body, headers=api.operator(tenant))
    unknown = api.client.post("/api/labels", json=body | {"programId": UNKNOWN_ID}, headers=api.operator(tenant))

    assert_refused(refused, 400, "Several programs have a transfer of this id; name one in programId.")
    assert_refused(unknown, 404, "Unknown program on this tenant.")
    assert len(api.entries()) == before
    for each in (program, lending):
        answer = api.client.post(
            "/api/labels", json=body | {"programId": each["id"].upper()}, headers=api.operator(tenant)
        )
        assert content_of_201(answer)["programId"] == each["id"]


def test_given_a_key_of_one_of_several_programs_when_it_labels_then_there_is_only_its_own(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lending = api.create_program(tenant, slug="lending")
    for each in (program, lending):
        deliver(api, each, outgoing("acht_1"))
    key = api.key(tenant, programId=lending["id"], scopes=["labels"])

    assert content_of_201(label(api, key, "acht_1"))["programId"] == lending["id"]
    elsewhere = {"transferId": "acht_1", "label": "bad", "reason": "It came back.", "programId": program["id"]}
    assert_refused(api.client.post("/api/labels", json=elsewhere, headers=key), 403, "program")


@pytest.mark.usefixtures("two")
def test_given_a_program_without_that_transfer_when_named_then_404(api: RunningApp, tenant: dict[str, Any]) -> None:
    lending = api.create_program(tenant, slug="lending")
    body = {"transferId": "acht_1", "label": "bad", "reason": "It came back.", "programId": lending["id"]}

    answer = api.client.post("/api/labels", json=body, headers=api.operator(tenant))

    assert_refused(answer, 404, "Unknown transfer on this tenant.")


def test_given_a_label_whose_answer_was_lost_when_its_transfer_became_ambiguous_then_the_repeat_finds_it(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = api.operator(tenant) | {"Idempotency-Key": "late"}
    deliver(api, program, outgoing("acht_1"))
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)
    api.appender.stands_still = True
    assert_refused(label(api, headers, "acht_1"), 503, "Idempotency-Key")
    api.appender.stands_still = False
    deliver(api, api.create_program(tenant, slug="lending"), outgoing("acht_1"))

    assert content_of_201(label(api, headers, "acht_1"))["programId"] == program["id"]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("over", "sentence"),
    [
        ({"label": "worse"}, "label must be one of bad, ok"),
        ({"reason": ""}, "reason must not be empty"),
        ({"reason": "  "}, "reason must have more than spaces"),
        ({"reason": "a\0b"}, "reason must not have NUL characters"),
        ({"transferId": ""}, "transferId must not be empty"),
        ({"recordedBy": "bob"}, "recordedBy is not a known property"),
    ],
)
def test_given_a_label_that_is_none_when_posted_then_400_says_why(
    api: RunningApp, tenant: dict[str, Any], over: dict[str, str], sentence: str
) -> None:
    body = {"transferId": "acht_1", "label": "bad", "reason": "It came back."} | over

    assert_refused(api.client.post("/api/labels", json=body, headers=api.operator(tenant)), 400, sentence)


@pytest.mark.usefixtures("two")
def test_given_a_flow_that_stands_still_when_labelled_then_503_and_the_repeat_finds_it_made_once(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = api.operator(tenant) | {"Idempotency-Key": "late"}
    monkeypatch.setattr(committed, "COMMITTED_WITHIN_S", 0.05)

    api.appender.stands_still = True
    assert_refused(label(api, headers, "acht_1"), 503, "Idempotency-Key")
    assert_refused(label(api, headers, "acht_1"), 503, "Idempotency-Key")
    api.appender.stands_still = False
    api.catch_up()
    answer = content_of_201(label(api, headers, "acht_1"))
    again = label(api, headers, "acht_1")

    assert listed(api, tenant) == [answer]
    assert (content_of_201(again), again.headers["idempotent-replayed"]) == (answer, "true")
    assert sum(entry.kind == EntryKind.LABEL for entry in api.entries()) == 2
