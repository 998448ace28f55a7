"""The export of one subject over HTTP: all that is stored about it, nobody else's, whole or recognisably cut."""

from collections import Counter
from typing import Any, Final
from urllib.parse import quote

import pytest
from msgspec import json

from clearhold.api.parties.routes import PartyQuery
from clearhold.api.subjects import routes
from clearhold.features.core.entries.commands import LossEntry
from clearhold.features.core.log_entry import EntryKind, shard_of
from clearhold.store.lake.log_segments import RawEvents
from clearhold.store.record.export_check import public_keys_of
from clearhold.store.subjects.check import LOG_LOSS, SubjectCheck, SubjectKind
from clearhold.store.subjects.things import BANK_OBJECTS, LEFT_OUT, ORDER
from tests.support.alerting import deliver, outgoing, party, read
from tests.support.principals import an_operator
from tests.support.raw_http import RawClient, served
from tests.support.running_app import SHARDS, RunningApp, assert_refused, assert_stamped
from tests.support.subjects import ACCOUNT_NUMBER, ADA, BOB, OF, SSN, export, lines_of, live, own_account, rows

OF_BOTH: Final = {"policies", "record_checkpoints"}
OF_PERSONS: Final = {
    "bank_events": "subject_type <> 'counterparty'",
    "scores": "subject_type <> 'counterparty'",
    "webhook_deliveries": "coalesce(json_extract_string(body, '$.data.subjectType'), '') <> 'program'",
    "decision_results": "kind <> 'owner'",
    "alerts": "subject_type <> 'program'",
    "alert_transfers": "alert_id IN (SELECT id FROM alerts WHERE subject_type <> 'program')",
    "alert_bodies": "json_extract_string(body, '$.subjectType') <> 'program'",
}
"""Not so: a counterparty's own events and scores, a program's alerts, the answer to whoever named an owner."""
LOSSES: Final = ("loss_1", "loss_2")
PATH: Final = f"/api/entities/{ADA}/export"


@pytest.fixture
def lived(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]) -> None:
    live(api, tenant, program)


def stored(api: RunningApp, table: str) -> int:
    with api.database.cursor() as cursor:
        of_persons = OF_PERSONS.get(table, "true")
        ((count,),) = cursor.execute(f"SELECT count(*) FROM {table} WHERE {of_persons}").fetchall()  # noqa: S608 - ours
    return int(count)


@pytest.mark.usefixtures("lived")
def test_given_two_lives_when_each_is_exported_then_every_row_of_the_database_is_in_one_file_and_no_other(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    of = {person: Counter(line["table"] for line in lines_of(export(api, tenant, person))) for person in OF}

    tables = ORDER.keys() - OF_BOTH - {BANK_OBJECTS}
    assert {table: of[ADA][table] + of[BOB][table] for table in tables} == {each: stored(api, each) for each in tables}
    assert of[ADA] == of[BOB]
    present = {table for table in ORDER if of[ADA][table]}
    assert present >= set(ORDER) - {
        "agents",
        "directory",
        "shadow_scores",
        "rule_matches",
        "scores",
        "webhook_attempts",
    }
    assert of[ADA][BANK_OBJECTS] == of[ADA]["bank_events"]


@pytest.mark.usefixtures("lived")
def test_given_another_person_with_the_same_history_when_exported_then_nothing_of_theirs_is_in_the_file(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = export(api, tenant)

    assert not [word for word in (BOB, *OF[BOB]) if word.encode() in answer.content]
    assert all(word.encode() in answer.content for word in (ADA, *OF[ADA]))


@pytest.mark.usefixtures("lived")
def test_given_numbers_of_accounts_and_persons_when_exported_then_their_last_four_are_there_alone(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    answer = export(api, tenant)

    (person,) = [row for row in rows(lines_of(answer), BANK_OBJECTS) if row["object"]["id"] == ADA]
    assert person["object"]["person_details"]["ssn"] == SSN[-4:]
    assert ACCOUNT_NUMBER.encode() not in answer.content
    assert SSN.encode() not in answer.content


@pytest.mark.usefixtures("lived")
def test_given_transfers_of_before_the_owner_was_known_when_exported_then_they_are_its_own(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    lines = lines_of(export(api, tenant))

    transfers = rows(lines, "transfers")
    assert [(row["id"], row["entityId"]) for row in transfers] == [
        ("acht_ada_1", None),
        ("acht_ada_2", ADA),
        ("acht_ada_3", ADA),
        ("acht_ada_3", ADA),
    ]
    assert [row["status"] for row in transfers][2:] == ["INITIATED", "SETTLED"]
    assert lines[0]["row"]["subject"] == {"type": "entity", "id": ADA, "accountIds": ["bacc_ada"]}
    assert {row["transferId"] for row in rows(lines, "transfer_features")} == {row["id"] for row in transfers}


@pytest.mark.usefixtures("lived")
def test_given_rows_when_exported_then_they_say_what_the_interface_says(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    lines = lines_of(export(api, tenant))

    for row in rows(lines, "alerts"):
        known = read(api, tenant, row["id"])
        if row["status"] == known["alert"]["status"]:
            same = row.keys() & known["alert"].keys() - {"evidence"}
            assert {name: row[name] for name in same} == {name: known["alert"][name] for name in same}
    (scored,) = [row for row in rows(lines, "transfer_features") if row["transferId"] == "acht_ada_2"]
    query = {"programId": program["id"]}
    transfer = api.client.get("/api/transfers/acht_ada_2", params=query, headers=api.operator(tenant)).json()
    assert scored["features"] == transfer["scoreInputs"]["features"]
    assert scored["reasons"] == transfer["scoreInputs"]["reasons"]
    (landed,) = [row for row in rows(lines, "transfers") if row["id"] == "acht_ada_2"]
    objects = {row["offset"]: row["object"] for row in rows(lines, BANK_OBJECTS)}
    assert landed["amountCents"] == transfer["amountCents"]
    assert objects[landed["rawOffset"]] == transfer["raw"]
    (preflight,) = rows(lines, "preflights")
    assert [row["transferId"] for row in rows(lines, "preflight_matches")] == ["acht_ada_3"]
    assert preflight["body"]["resolved"]["entityId"] == ADA


@pytest.mark.usefixtures("lived")
def test_given_rows_that_came_later_when_the_manifest_names_an_offset_then_none_of_them_is_in_the_file(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lines_of(export(api, tenant))
    entries = RawEvents.entries

    def landing_meanwhile(self: RawEvents, shard: int, offsets: list[int]) -> object:
        """Another transfer is committed after the manifest was sent, before transfers are read."""
        deliver(api, program, outgoing("acht_ada_late", bank_account_id="bacc_ada", counterparty_id="cpty_ada"))
        return entries(self, shard, offsets)

    monkeypatch.setattr(RawEvents, "entries", landing_meanwhile)
    during = lines_of(export(api, tenant))
    monkeypatch.undo()
    after = lines_of(export(api, tenant))

    assert [line for line in during if line["table"] not in {"manifest", "end"}] == before[1:-1]
    offset = during[0]["row"]["asOf"]["offset"]
    assert all(int(row["offset"]) <= int(offset) for row in rows(during, "transfers"))
    assert {row["id"] for row in rows(after, "transfers")} - {row["id"] for row in rows(during, "transfers")} == {
        "acht_ada_late"
    }


@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_given_batches_of_any_size_when_exported_then_the_lines_are_the_same(
    api: RunningApp, tenant: dict[str, Any], batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = export(api, tenant).content
    monkeypatch.setattr(routes, "LINES_A_BATCH", batch)

    assert export(api, tenant).content == usual


@pytest.mark.usefixtures("lived")
def test_given_a_counterparty_when_exported_then_it_is_the_subject(api: RunningApp, tenant: dict[str, Any]) -> None:
    answer = export(api, tenant, "cpty_ada", "counterparties")

    lines = lines_of(answer)
    assert lines[0]["row"]["subject"] == {"type": "counterparty", "id": "cpty_ada", "accountIds": []}
    assert {row["id"] for row in rows(lines, "transfers")} == {"acht_ada_1", "acht_ada_2", "acht_ada_3"}
    assert {row["id"] for row in rows(lines, "counterparties")} == {"cpty_ada"}
    assert {row["subjectId"] for row in rows(lines, "bank_events")} >= {"cpty_ada", "acht_ada_1"}
    assert len(rows(lines, "preflights")) == 1
    assert not [word for word in (BOB, *OF[BOB]) if word.encode() in answer.content]


def test_given_a_person_of_whom_nothing_else_is_known_when_exported_then_the_file_says_so(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", ADA, type="PERSON"))

    lines = lines_of(export(api, tenant))

    assert [line["table"] for line in lines] == ["manifest", "entities", "bank_events", BANK_OBJECTS, "end"]
    assert lines[0]["row"]["tables"] == ORDER
    assert lines[0]["row"]["leftOut"] == LEFT_OUT


def test_given_an_export_when_answered_then_it_is_a_download_under_the_usual_headers(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    deliver(api, program, party("identity", ADA, type="PERSON"))

    answer = export(api, tenant)

    assert_stamped(answer)
    assert answer.headers["content-disposition"] == 'attachment; filename="subject.ndjson"'
    assert answer.headers["cache-control"] == "no-store"
    manifest = lines_of(answer)[0]["row"]
    assert manifest["tenant"] == "first-bank"
    assert (manifest["tenantId"], manifest["programId"]) == (tenant["id"], program["id"])


@pytest.mark.parametrize(
    "hostile",
    [
        "' OR '1'='1",
        "enti_%",
        '"; DROP TABLE transfers; --',
        "enti\u2028\u202e\U0001f600",
        "a?b#c;d&e=f",
        "$.resolved",
        "{0}{name}",
        "a" * 200,
    ],
)
def test_given_an_id_made_to_harm_when_exported_then_it_is_an_id_and_nothing_else(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], hostile: str
) -> None:
    deliver(api, program, party("identity", "enti_1", type="PERSON"), party("identity", hostile, type="PERSON"))
    deliver(api, program, outgoing("acht_1", bank_account_id=hostile), outgoing("acht_2"))
    own_account(api, program, quote(hostile, safe=""), hostile)

    lines = lines_of(export(api, tenant, quote(hostile, safe="")))

    assert {row["id"] for row in rows(lines, "entities")} == {hostile}
    assert {row["id"] for row in rows(lines, "transfers")} == {"acht_1"}


@pytest.mark.parametrize("resource", ["entities", "counterparties"])
def test_given_a_subject_of_another_tenant_or_of_nobody_when_exported_then_both_are_the_same_404(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], resource: str
) -> None:
    at = "2026-03-02T14:00:01Z"
    deliver(api, program, party("identity", "same"), party("counterparty", "same", at=at))
    other = api.create_tenant("second-bank")

    assert export(api, tenant, "same", resource).status_code == 200
    for tenant_of_caller, subject_id in ((other, "same"), (tenant, "nobody"), (tenant, "' OR 1=1 --")):
        answer = export(api, tenant_of_caller, subject_id, resource)
        noun = "entity" if resource == "entities" else "counterparty"
        assert_refused(answer, 404, f"Unknown {noun} on this tenant.")
    assert_refused(export(api, other, "same", resource, programId=program["id"]), 404, "Unknown program")


def test_given_an_id_of_two_programs_when_exported_then_one_has_to_be_named_and_the_other_stays_out(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    second = api.create_program(tenant, slug="second")
    for each, amount in ((program, 1_100), (second, 2_200)):
        deliver(api, each, party("identity", ADA), outgoing("acht_1", entity_id=ADA, amount=amount))
        own_account(api, each, "bacc_1", ADA)

    assert_refused(export(api, tenant), 400, "programId")
    lines = lines_of(export(api, tenant, programId=second["id"]))

    assert {row["amountCents"] for row in rows(lines, "transfers")} == {"2200"}
    assert {line["row"].get("programId", second["id"]) for line in lines} == {second["id"]}


@pytest.mark.usefixtures("lived")
def test_given_keys_when_they_export_then_only_one_of_the_record_and_the_whole_tenant_may(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    def status(**key: Any) -> tuple[int, str | None]:
        answer = api.client.get(PATH, headers=api.key(tenant, **key))
        return answer.status_code, answer.json()["code"] if answer.is_error else None

    assert status(scopes=["record"]) == (200, None)
    assert status(scopes=["alerts:read", "reports"]) == (403, "scope_missing")
    assert status(scopes=["record"], programId=program["id"]) == (403, "tenant_wide_required")
    assert status(mode="test", scopes=["record"]) == (403, "tenant_wide_required")


@pytest.mark.usefixtures("lived")
def test_given_an_account_that_went_to_another_person_when_exported_then_that_word_is_in_the_other_file_alone(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    own_account(api, program, OF[ADA][0], BOB)
    api.catch_up()

    of_ada, of_bob = export(api, tenant), export(api, tenant, BOB)

    assert BOB.encode() not in of_ada.content
    assert {row["entityId"] for row in rows(lines_of(of_ada), "accounts")} == {None, ADA}
    assert [row["id"] for row in rows(lines_of(of_bob), "accounts") if row["entityId"] == BOB][-1] == OF[ADA][0]
    assert {row["accountId"] for row in rows(lines_of(of_ada), "transfers")} == {OF[ADA][0]}


@pytest.mark.usefixtures("lived")
def test_given_a_record_that_contradicts_its_checkpoint_when_exported_then_409_and_no_download(
    api: RunningApp, tenant: dict[str, Any]
) -> None:
    lines_of(export(api, tenant))
    api.database.execute("UPDATE record_chain SET hash = sha256(hash)")
    api.restart()

    answer = export(api, tenant)

    assert_refused(answer, 409)
    assert answer.json()["code"] == "chain_inconsistent"


@pytest.mark.usefixtures("lived")
def test_given_an_entry_that_is_lost_with_the_log_when_exported_then_its_object_is_null_and_all_else_is_there(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = lines_of(export(api, tenant))
    monkeypatch.setattr(RawEvents, "entries", lambda *_: {})

    lines = lines_of(export(api, tenant))

    assert {json.encode(row["object"]) for row in rows(lines, BANK_OBJECTS)} == {b"null"}
    assert [row["offset"] for row in rows(lines, BANK_OBJECTS)] == [row["offset"] for row in rows(whole, BANK_OBJECTS)]
    assert rows(lines, "transfers") == rows(whole, "transfers")


@pytest.mark.usefixtures("lived")
def test_given_a_failure_midway_when_exported_then_the_connection_ends_without_a_clean_end(
    api: RunningApp, tenant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(RawEvents, "entries", lost)
    with served(api) as port, RawClient(port) as client:
        client.send(asked(api, tenant))
        received = client._read.read()

    assert received.startswith(b"HTTP/1.1 200")
    assert b'"table":"end"' not in received
    assert not received.endswith(b"0\r\n\r\n")


@pytest.mark.usefixtures("lived")
def test_given_a_client_that_reads_nothing_when_an_export_is_under_way_then_commits_and_folding_go_on(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "LINES_A_BATCH", 1)
    batches = api.on_loop(
        lambda: api.services["subjects"].export(an_operator(tenant["id"]), ADA, PartyQuery(), kind=SubjectKind.ENTITY)
    )
    begun = [line for _ in range(12) for line in next(batches)]  # and now nobody reads on

    deliver(api, program, outgoing("acht_ada_late", bank_account_id="bacc_ada"))
    api.database.execute("CHECKPOINT")  # waits for, or fails on, a transaction that is open

    whole = [bytes(line) for line in [*begun, *(line for batch in batches for line in batch)]]
    assert not [line for line in whole if b"acht_ada_late" in line]
    assert json.decode(whole[-1])["row"]["lines"] == len(whole) - 1


def asked(api: RunningApp, tenant: dict[str, Any]) -> bytes:
    headers = "".join(f"{name}: {value}\r\n" for name, value in api.operator(tenant).items())
    return f"GET {PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n".encode()


def lose(api: RunningApp, tenant: dict[str, Any], program: dict[str, Any], loss_id: str) -> None:
    """Entries of the log are gone, and somebody goes on without them."""
    loss = LossEntry(id=loss_id, tenant_id=tenant["id"], stream="log:0", after="1-0", upto="2-0", accepted_at=0)
    body, at = json.encode(loss), api.clock.now()
    shard = shard_of(program["id"], SHARDS)
    api.on_loop(lambda: api.appender.append(shard, EntryKind.LOSS, program["id"], at, body))
    api.catch_up()


@pytest.mark.usefixtures("lived")
def test_given_losses_of_the_log_when_exported_then_all_of_the_tenant_and_no_others_are_linked_and_proved(
    api: RunningApp, tenant: dict[str, Any], program: dict[str, Any]
) -> None:
    other = api.create_tenant("second-bank")
    lose(api, tenant, program, "loss_1")
    lose(api, tenant, api.create_program(tenant, slug="lending"), "loss_2")
    lose(api, other, api.create_program(other), "loss_3")

    answer = export(api, tenant)

    links = [row for row in rows(lines_of(answer), "record_chain") if row["body"].get("kind") == LOG_LOSS]
    assert [(row["id"], row["body"]["tenantId"]) for row in links] == [(each, tenant["id"]) for each in LOSSES]
    keys = api.client.get("/.well-known/jwks.json").content
    check = SubjectCheck(public_keys_of(keys))
    for line in answer.content.splitlines(keepends=True):
        check.take(line)
    assert check.finish().links == len(rows(lines_of(answer), "record_chain"))
