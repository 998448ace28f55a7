"""The inbound webhook: verify, read the envelope, append once, answer."""

import asyncio
import hmac
from collections.abc import Sequence
from typing import Any, Final

import httpx
import pytest
from msgspec import json

from clearhold.features.bank.envelope import read_envelope
from clearhold.features.core.errors import InvalidRequestError, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from tests.support import bank_events as bank
from tests.support.callers import UNKNOWN_ID
from tests.support.running_app import RunningApp, assert_refused, assert_stamped, signature

VECTOR_SECRET: Final = "whsec_inbound_test"
VECTOR_BODY: Final = (
    b'{"id":"evnt_2zTestVector0001","created_at":"2026-03-02T15:04:05Z","type":"ach.outgoing_transfer.returned",'
    b'"data":{"id":"acht_2zTestVector0001","status":"RETURNED"}}'
)
VECTOR_SIGNATURE: Final = "332f1b2d6915f321d38f2ce117cab9a24c7899c780184c0a42de76bf6984e681"


def an_event(event_id: str = "evnt_1", **over: Any) -> bytes:
    usual = {
        "id": event_id,
        "created_at": "2026-03-02T14:00:00Z",
        "type": "ach.outgoing_transfer.initiated",
        "data": {},
    }
    return json.encode(usual | over)


def bank_entries(api: RunningApp) -> Sequence[bytes]:
    return [entry.body for entry in api.entries() if entry.kind == EntryKind.BANK]


def with_secret(api: RunningApp, program: dict[str, Any], secret: str) -> None:
    """Give the program the bank's own secret, sealed as any other."""
    target = api.registry.tenancy.ingest_targets.find(program["id"])
    assert target is not None
    api.registry.tenancy.apply(
        program["tenantId"],
        "ingest_secret",
        json.encode(
            {
                "programId": program["id"],
                "sealedIngestSecret": api.registry._box.seal(secret),
                "sealedReplaced": api.registry._box.seal("replaced"),
                "othersUntil": 0,
            }
        ),
        offset=0,
    )


def test_given_a_signed_event_when_posted_then_its_raw_bytes_are_in_the_log(
    api: RunningApp, program: dict[str, Any]
) -> None:
    body = an_event(data={"amount": 5, "odd": [None]}) + b"\n"

    answer = api.deliver(program, body)

    assert (answer.status_code, answer.json()) == (200, {"received": True, "duplicate": False})
    assert_stamped(answer)
    (entry,) = [entry for entry in api.entries() if entry.kind == EntryKind.BANK]
    assert (entry.body, entry.program_id, entry.appended_at) == (body, program["id"], api.clock.now())


@pytest.mark.parametrize("sent", [VECTOR_SIGNATURE, VECTOR_SIGNATURE.upper()])
def test_given_the_reference_vector_when_posted_then_it_verifies(
    api: RunningApp, program: dict[str, Any], sent: str
) -> None:
    with_secret(api, program, VECTOR_SECRET)

    answer = api.client.post(f"/api/ingest/bank/{program['id']}", content=VECTOR_BODY, headers={"Bank-Signature": sent})

    assert signature(VECTOR_SECRET, VECTOR_BODY) == VECTOR_SIGNATURE
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [""],
        ["0" * 64],
        [VECTOR_SIGNATURE[:-1]],
        [VECTOR_SIGNATURE + "0"],
        ["zz" * 32],
        ["sha256=" + VECTOR_SIGNATURE],
        [VECTOR_SIGNATURE, VECTOR_SIGNATURE],
    ],
)
def test_given_a_signature_that_proves_nothing_when_posted_then_401_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any], sent: list[str]
) -> None:
    with_secret(api, program, VECTOR_SECRET)

    answer = api.client.post(
        f"/api/ingest/bank/{program['id']}",
        content=VECTOR_BODY,
        headers=httpx.Headers([("Bank-Signature", value) for value in sent]),
    )

    assert_refused(answer, 401, "signature")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert bank_entries(api) == []


def test_given_an_unknown_program_when_posted_then_the_answer_is_that_of_a_bad_signature(
    api: RunningApp, program: dict[str, Any]
) -> None:
    unknown = api.client.post(
        f"/api/ingest/bank/{UNKNOWN_ID}", content=VECTOR_BODY, headers={"Bank-Signature": "0" * 64}
    )
    forged = api.deliver(program, VECTOR_BODY, **{"Bank-Signature": "0" * 64})

    assert_refused(unknown, 401)
    assert_refused(forged, 401)
    assert unknown.json()["error"] == forged.json()["error"]


@pytest.mark.parametrize(("sent", "status"), [({}, 401), ({"Webhook-Endpoint-Id": "whep_2"}, 401)])
def test_given_a_program_with_an_endpoint_when_another_delivers_then_401(
    api: RunningApp, tenant: dict[str, Any], sent: dict[str, str], status: int
) -> None:
    program = api.create_program(tenant, webhookEndpointId="whep_1")

    assert_refused(api.deliver(program, an_event(), **sent), status)

    assert api.deliver(program, an_event(), **{"Webhook-Endpoint-Id": "whep_1"}).status_code == 200


def test_given_a_bad_signature_when_the_body_is_not_json_then_the_signature_answers_first(
    api: RunningApp, program: dict[str, Any]
) -> None:
    assert_refused(api.deliver(program, b"not json", **{"Bank-Signature": "0" * 64}), 401)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        an_event()[:-1],
        an_event().replace(b"evnt_1", b"\xff"),
        b"[" * 200_000,
        json.encode({"type": "a", "created_at": "2026-03-02T14:00:00Z"}),
        json.encode({"id": "a", "created_at": "2026-03-02T14:00:00Z"}),
        json.encode({"id": "a", "type": "b"}),
        an_event(""),
        an_event("x" * 256),
        an_event("a\nb"),
        an_event("a\x00b"),
        an_event(id=5),
        an_event(type=""),
        an_event(type=None),
        an_event(created_at="yesterday"),
        an_event(created_at="2026-13-02T14:00:00Z"),
        an_event(created_at="2026-03-02T14:00:00"),
        an_event(created_at="2026-03-02"),
        an_event(created_at="2026-03-02T14:00:00+0000"),
        an_event(created_at="2026-W10-1T14:00:00Z"),
        an_event(created_at="2026-03-02T14:00:00,5Z"),
        an_event(created_at="1969-03-02T14:00:00Z"),
        an_event(created_at=1_772_000_000),
    ],
)
def test_given_an_envelope_that_cannot_be_used_when_signed_then_400_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any], body: bytes
) -> None:
    assert_refused(api.deliver(program, body), 400, "Validation failed: ")
    assert bank_entries(api) == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":"e","type":"t","created_at":"2026-03-02T14:00:00Z"}',
        an_event(data=None),
        an_event(data="text"),
        an_event(data=[1, [2]]),
        an_event(data={"amount": "NaN", "id": None}),
        an_event(extra={"unknown": True}),
        an_event(created_at="2099-03-02T14:00:00+02:00"),
        an_event(created_at="2016-12-31T23:59:60Z"),
        an_event(type="a.family.nobody.knows"),
        b'{"id":"e","type":"t","created_at":"2026-03-02T14:00:00Z","data":' + b"[" * 400 + b"]" * 400 + b"}",
    ],
)
def test_given_odd_data_in_a_usable_envelope_when_signed_then_it_is_stored(
    api: RunningApp, program: dict[str, Any], body: bytes
) -> None:
    assert api.deliver(program, body).status_code == 200
    assert bank_entries(api) == [body]


def test_given_an_event_when_delivered_again_then_it_is_a_duplicate_before_and_after_it_is_applied(
    api: RunningApp, program: dict[str, Any]
) -> None:
    api.deliver(program, an_event())
    pending = api.deliver(program, an_event())
    api.catch_up()
    api.deliver(program, an_event("evnt_2"))  # what was applied is dropped from the pending set here

    applied = api.deliver(program, an_event())

    assert pending.json() == applied.json() == {"received": True, "duplicate": True}
    assert bank_entries(api) == [an_event(), an_event("evnt_2")]


def test_given_one_event_id_on_two_programs_when_delivered_then_neither_is_a_duplicate(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_program(tenant, slug="lending")

    answers = [api.deliver(each, an_event()).json() for each in (program, other)]

    assert [answer["duplicate"] for answer in answers] == [False, False]


def take_at_once(api: RunningApp, program: dict[str, Any], count: int) -> list[Any]:
    """Take one event ``count`` times at once, on the application's own loop."""
    body = an_event()
    headers = [(b"bank-signature", signature(program["ingestSecret"], body).encode())]

    async def all_of_them() -> list[Any]:
        scope = {"headers": headers}
        taken = (api.services["ingest"].take(program["id"], scope, body) for _ in range(count))
        return list(await asyncio.gather(*taken, return_exceptions=True))

    return api.on_loop(all_of_them)


def test_given_twenty_deliveries_at_once_when_taken_then_one_is_appended(
    api: RunningApp, program: dict[str, Any]
) -> None:
    taken = take_at_once(api, program, 20)

    assert sorted(taken) == [False] + [True] * 19
    assert bank_entries(api) == [an_event()]


def test_given_an_append_that_fails_when_others_wait_for_it_then_the_next_one_tries(
    api: RunningApp, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    append = api.appender.append
    tries: list[int] = []

    async def failing_once(*entry: Any) -> int:
        tries.append(1)
        if len(tries) == 1:
            await asyncio.sleep(0)
            raise UnavailableError("The log is away.")
        return await append(*entry)

    monkeypatch.setattr(api.appender, "append", failing_once)

    taken = take_at_once(api, program, 3)

    assert [type(each) for each in taken].count(UnavailableError) == 1
    assert [each for each in taken if isinstance(each, bool)].count(False) == 1
    assert len(tries) == 2
    assert bank_entries(api) == [an_event()]


def test_given_a_log_that_is_away_when_posted_then_503_and_the_event_may_come_again(
    api: RunningApp, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> int:
        raise UnavailableError("The log is away.")

    with monkeypatch.context() as broken:
        broken.setattr(api.appender, "append", away)
        refused = api.deliver(program, an_event())

    assert_refused(refused, 503)
    assert refused.headers["retry-after"] == "1"
    assert api.deliver(program, an_event()).json() == {"received": True, "duplicate": False}


def test_given_a_rotated_secret_when_the_overlap_ends_then_only_the_new_one_holds(
    api: RunningApp, program: dict[str, Any]
) -> None:
    path = f"/api/admin/programs/{program['id']}/ingest-secret"
    rotated = api.client.post(path, json={"overlapHours": 1}, headers=api.admin)
    renewed = program | {"ingestSecret": rotated.json()["secret"]}

    during = [api.deliver(each, an_event(f"evnt_{n}")).status_code for n, each in enumerate((program, renewed))]
    api.clock.advance(3_600_000_000)
    after = [api.deliver(each, an_event(f"evnt_1{n}")).status_code for n, each in enumerate((program, renewed))]

    assert rotated.status_code == 201
    assert (during, after) == ([200, 200], [401, 200])


def test_given_a_get_when_the_path_takes_posts_then_405_names_them(api: RunningApp, program: dict[str, Any]) -> None:
    answer = api.client.get(f"/api/ingest/bank/{program['id']}")

    assert_refused(answer, 405)
    assert "POST" in answer.headers["allow"]


def test_given_a_leap_of_offsets_when_read_then_an_instant_is_an_instant() -> None:
    assert read_envelope(an_event(created_at="2026-03-02T14:00:00.123456-05:00")).id == "evnt_1"
    with pytest.raises(InvalidRequestError, match="created_at"):
        read_envelope(an_event(created_at="2026-03-02T14:00:60Z"))


TWICE: Final = {
    "an id": b'{"id":"evnt_1",ENVELOPE,"id":"evnt_2","data":{}}',
    "an id between": b'{"id":"evnt_1","data":{"id":"acht_2zTestVector0001","status":"FAILED"},"id":"evnt_2",ENVELOPE}',
    "an escaped id": b'{"id":"evnt_1",ENVELOPE,"\\u0069d":"evnt_2","data":{}}',
    "the same data": b'{"id":"evnt_1",ENVELOPE' + b',"data":{"status":"RETURNED","amount":1234}' * 2 + b"}",
    "a type": b'{"id":"evnt_1",ENVELOPE,"type":"ach.outgoing_transfer.returned","data":{}}',
}
ONCE: Final = {
    "names in data": b'{"id":"evnt_1",ENVELOPE,"data":{"id":"a","type":"b","data":{"id":"c"}}}',
    "names as values": b'{"id":"id",ENVELOPE,"more":["data","type","id"],"data":{}}',
    "names elsewhere": b'{"id":"evnt_1",ENVELOPE,"links":{"id":"a","id":"b"},"data":{}}',
    "a backslash": b'{"id":"evnt_\\u0031",ENVELOPE,"data":{}}',
    "a long number": b'{"id":"evnt_1",ENVELOPE,"more\\n":' + b"9" * 5_000 + b',"data":{}}',
}


def enveloped(text: bytes) -> bytes:
    return text.replace(b"ENVELOPE", b'"type":"ach.outgoing_transfer.returned","created_at":"2026-03-02T15:04:05Z"')


@pytest.mark.parametrize("case", TWICE)
def test_given_a_field_of_the_envelope_twice_when_posted_then_400_and_nothing_is_stored(
    api: RunningApp, program: dict[str, Any], case: str
) -> None:
    answer = api.deliver(program, enveloped(TWICE[case]))

    assert_refused(answer, 400, "once each")
    assert bank_entries(api) == []


@pytest.mark.parametrize("case", ONCE)
def test_given_names_of_the_envelope_elsewhere_when_posted_then_it_is_taken(
    api: RunningApp, program: dict[str, Any], case: str
) -> None:
    assert api.deliver(program, enveloped(ONCE[case])).status_code == 200


def test_given_a_program_that_is_none_when_posted_to_then_as_many_digests_are_taken_as_for_one(
    api: RunningApp, program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    digests: list[bytes] = []
    digest = hmac.digest

    def counted(key: bytes, message: bytes, name: str) -> bytes:
        digests.append(message)
        return digest(key, message, name)

    monkeypatch.setattr("clearhold.api.ingest.routes.hmac.digest", counted)
    counts = []
    for program_id in (program["id"], UNKNOWN_ID):
        digests.clear()
        refused = api.client.post(
            f"/api/ingest/bank/{program_id}", content=an_event(), headers={"Bank-Signature": "0" * 64}
        )
        assert_refused(refused, 401)
        counts.append(len(digests))

    assert counts == [2, 2]


def test_given_an_event_without_effect_when_it_is_corrected_under_its_id_then_it_is_new_and_then_the_id_is_used_up(
    api: RunningApp, program: dict[str, Any]
) -> None:
    wrong = bank.an_event("wire.outgoing_transfer.initiated", bank.a_wire(amount=9850.5))
    right = bank.an_event("wire.outgoing_transfer.initiated", bank.a_wire(amount=985000))
    other = bank.an_event("wire.outgoing_transfer.initiated", bank.a_wire(amount=7))

    answers = []
    for body in (wrong, wrong, right, right, other):
        answers.append(api.deliver(program, body).json()["duplicate"])
        api.catch_up()

    assert answers == [False, True, False, True, True]
    assert bank_entries(api) == [wrong, right, other]
    rows = api.database.execute('SELECT result, is_correction FROM bank_events ORDER BY "offset"').fetchall()
    assert rows == [("unusable", False), ("applied", True), ("conflicting", False)]
