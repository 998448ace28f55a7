"""A batch of events: one signature, one durable append, one line of answer for each event."""

import asyncio
from typing import Any, Final

import pytest
from msgspec import json

from clearhold.api.ingest.routes import MOST_EVENTS, MOST_LINE_BYTES
from clearhold.features.core.errors import UnavailableError
from tests.api.ingest.test_ingest import an_event, bank_entries
from tests.support.running_app import RunningApp, assert_refused, assert_stamped, signature

NDJSON: Final = "application/x-ndjson"


def send(api: RunningApp, program: dict[str, Any], body: bytes, **headers: str) -> Any:
    signed = {"Bank-Signature": signature(program["ingestSecret"], body), "Content-Type": NDJSON} | headers
    return api.client.post(f"/api/ingest/bank/{program['id']}/batch", content=body, headers=signed)


def receipts(answer: Any) -> list[dict[str, Any]]:
    assert (answer.status_code, answer.headers["content-type"]) == (200, NDJSON), answer.text
    assert_stamped(answer)
    return [json.decode(line) for line in answer.content.splitlines()]


def test_given_good_and_bad_lines_when_posted_then_each_has_its_answer_in_order_and_the_good_ones_are_in_the_log(
    api: RunningApp, program: dict[str, Any]
) -> None:
    good = [an_event("evnt_1"), an_event("evnt_2", data={"amount": 5})]
    renamed = b'{"id":"evnt_3","type":"a.b","createdAt":"2026-03-02T14:00:00Z"}'
    body = good[0] + b"\r\n\n" + b"{broken\n" + renamed + b"\n" + good[1] + b"\n" + good[0]

    answered = receipts(send(api, program, body))

    assert bank_entries(api) == good
    assert answered == [
        {"line": 1, "received": True, "id": "evnt_1", "duplicate": False},
        {
            "line": 3,
            "received": False,
            "error": "Validation failed: body must be one JSON object in UTF-8, well formed throughout; "
            "it breaks at byte 1",
        },
        {
            "line": 4,
            "received": False,
            "error": "Validation failed: created_at is required; its name is created_at, and not createdAt",
            "path": "created_at",
        },
        {"line": 5, "received": True, "id": "evnt_2", "duplicate": False},
        {"line": 6, "received": True, "id": "evnt_1", "duplicate": True},
    ]


def test_given_a_batch_when_it_is_sent_again_before_and_after_it_is_applied_then_nothing_is_appended(
    api: RunningApp, program: dict[str, Any]
) -> None:
    events = [an_event(f"evnt_{number}") for number in range(5)]
    send(api, program, b"\n".join(events))

    pending = receipts(send(api, program, b"\n".join(events)))
    api.catch_up()
    applied = receipts(send(api, program, b"\n".join([*events, an_event("evnt_new")])))

    assert [each["duplicate"] for each in pending] == [True] * 5
    assert [each["duplicate"] for each in applied] == [True] * 5 + [False]
    assert bank_entries(api) == [*events, an_event("evnt_new")]


def test_given_a_full_batch_when_posted_then_its_events_are_appended_in_order(
    api: RunningApp, program: dict[str, Any]
) -> None:
    events = [an_event(f"evnt_{number}") for number in range(MOST_EVENTS)]

    answered = receipts(send(api, program, b"\n".join(events)))

    assert [each["line"] for each in answered] == [*range(1, MOST_EVENTS + 1)]
    assert bank_entries(api) == events


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "at least one event"),
        (b" \n\r\n", "at least one event"),
        (b"\n".join([b"{}"] * (MOST_EVENTS + 1)), "at most 1,000 events"),
        (b"\n" * (2 * MOST_EVENTS + 1), "2,000 lines, blank ones included"),
        (b" \n" * 2_097_152, "2,000 lines, blank ones included"),
        (an_event() + b"\r\n" * (2 * MOST_EVENTS + 1), "2,000 lines, blank ones included"),
        (b"[\n" + b"  {},\n" * 5_000 + b"]", "JSON array"),
        (b"[" + an_event() + b"]", "JSON array"),
        (b"id,type,created_at\n1,2,3\n", "CSV"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (an_event().decode().encode("utf-16"), "UTF-16"),
        (b'{\n  "id": "evnt_1"\n}', "several lines"),
    ],
)
def test_given_a_body_that_is_no_batch_when_posted_then_400_says_what_it_is_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any], body: bytes, sentence: str
) -> None:
    assert_refused(send(api, program, body), 400, sentence)
    assert bank_entries(api) == []


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_given_as_many_lines_as_a_batch_may_have_when_half_are_blank_then_all_events_are_taken(
    api: RunningApp, program: dict[str, Any], end: bytes
) -> None:
    events = [an_event(f"evnt_{number}") for number in range(MOST_EVENTS)]

    answered = receipts(send(api, program, b"\n" + b"\n\n".join(events) + end))

    assert [each["line"] for each in answered] == [*range(2, 2 * MOST_EVENTS + 1, 2)]
    assert bank_entries(api) == events


def test_given_a_line_longer_than_an_event_may_be_when_posted_then_only_that_line_is_refused(
    api: RunningApp, program: dict[str, Any]
) -> None:
    long = an_event("evnt_long", data="x" * MOST_LINE_BYTES)

    answered = receipts(send(api, program, long + b"\n" + an_event()))

    assert [each["received"] for each in answered] == [False, True]
    assert bank_entries(api) == [an_event()]


def test_given_a_wrong_signature_when_a_batch_is_posted_then_401_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any]
) -> None:
    assert_refused(send(api, program, an_event(), **{"Bank-Signature": "0" * 64}), 401)
    assert bank_entries(api) == []


def test_given_a_log_that_is_away_when_a_batch_is_posted_then_503_and_it_may_come_again(
    api: RunningApp, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any, **__: Any) -> Any:
        raise UnavailableError("The log is away.")

    body = an_event("evnt_1") + b"\n" + an_event("evnt_2")
    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "_written", away)
        refused = send(api, program, body)

    assert_refused(refused, 503)
    assert refused.headers["retry-after"] == "1"
    assert [each["duplicate"] for each in receipts(send(api, program, body))] == [False, False]


def test_given_batches_that_overlap_when_they_are_taken_at_once_then_each_event_is_appended_once(
    api: RunningApp, program: dict[str, Any]
) -> None:
    events = [an_event(f"evnt_{number}") for number in range(12)]
    bodies = [b"\n".join(events[start : start + 8]) for start in (0, 4, 2, 0)]

    async def all_of_them() -> list[Any]:
        def scope(body: bytes) -> dict[str, Any]:
            return {"headers": [(b"bank-signature", signature(program["ingestSecret"], body).encode())]}

        ingest = api.services["ingest"]
        return list(await asyncio.gather(*(ingest.take_batch(program["id"], scope(body), body) for body in bodies)))

    taken = api.on_loop(all_of_them)

    assert sorted(bank_entries(api)) == sorted(events)
    assert sum(not each.duplicate for receipts_of_one in taken for each in receipts_of_one) == len(events)
