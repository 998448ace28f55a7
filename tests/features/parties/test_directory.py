"""Answers of the bank's directory as log entries: what they say counts like the bank's own events on parties."""

from typing import Any

import msgspec
import pytest

from clearhold.features.bank.masking import masked_text
from clearhold.features.core.entries.directory import (
    DirectoryEntry,
    DirectoryKind,
    DirectoryResult,
    kind_of_counterparty,
)
from clearhold.features.core.instants import DAY_US, HOUR_US
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.rows.events import QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, DirectoryRow, EntityRow
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

AT = T0 + 9 * DAY_US
ACCOUNT: dict[str, Any] = {"id": "bacc_1", "type": "CHECKING", "owners": ["enti_1"], "status": "open"}
ENTITY: dict[str, Any] = {
    "id": "enti_1",
    "type": "PERSON",
    "is_root": True,
    "verification_status": "VERIFIED",
    "person_details": {"first_name": "Dana", "last_name": "Rivers", "ssn": "123456789"},
    "updated_at": bank.rfc3339(T0),
}
COUNTERPARTY: dict[str, Any] = {
    "id": "cpty_1",
    "name": "Muster GmbH",
    "routing_number": "021000021",
    "account_number": "000123456789",
    "local_bank_country_code": "DE",
}


def fetched(
    story: ShardStory,
    kind: DirectoryKind,
    data: dict[str, Any] | None,
    *,
    at: int = AT,
    asked_for: str = "",
    result: DirectoryResult = DirectoryResult.FOUND,
) -> ShardStory:
    """The entry that a fetch leads to, with the object masked as the fetcher masks it."""
    raw = b"null" if data is None else masked_text(msgspec.json.encode(data)).encode()
    entry = DirectoryEntry(
        kind=kind,
        id=asked_for or (data or {})["id"],
        result=result,
        fetched_at=at,
        digest=None if data is None else "ab" * 32,
        data=msgspec.Raw(raw),
    )
    return story.append(EntryKind.DIRECTORY, msgspec.json.encode(entry), at=at + 1_000)


def wire(story: ShardStory, number: int, at: int) -> TransferRow:
    """A wire as the bank sends it: an account and a counterparty by their ids, and nothing about either."""
    data = bank.a_wire(
        id=f"wire_{number}",
        bank_account_id="bacc_1",
        counterparty_id="cpty_1",
        beneficiary_name=None,
        beneficiary_account_number=None,
        creditor_agent_routing_number=None,
        created_at=bank.rfc3339(at),
        updated_at=bank.rfc3339(at),
    )
    data.pop("entity_id", None)
    story.deliver("wire.outgoing_transfer.completed", data, at=at)
    return story.one(TransferRow)


@pytest.fixture
def story() -> ShardStory:
    story = ShardStory()
    for number in range(8):
        wire(story, number, T0 + (number + 1) * DAY_US)
    return story


def test_given_transfers_of_an_account_then_the_first_one_alone_has_rows_of_its_parties(story: ShardStory) -> None:
    accounts, parties = story.all(AccountRow), story.all(CounterpartyRow)

    assert [(row.id, row.entity_id, row.raw) for row in accounts] == [("bacc_1", None, "{}")]
    assert [row.id for row in parties] == ["cpty_1"]
    assert accounts[0].offset == parties[0].offset == story.all(TransferRow)[0].offset


def test_given_an_overdraft_alert_on_an_unknown_account_then_the_account_has_a_row_once() -> None:
    story = ShardStory()
    for _ in range(2):
        story.deliver("account.overdrafted", {"bank_account_id": "bacc_7", "transfer_id": "wire_1"})

    assert [row.id for row in story.all(AccountRow)] == ["bacc_7"]


def test_given_a_fetched_account_then_its_owner_is_known_and_has_its_history(story: ShardStory) -> None:
    fetched(story, DirectoryKind.ACCOUNT, ACCOUNT)

    account, entity, record = story.one(AccountRow), story.one(EntityRow), story.one(DirectoryRow)
    assert (account.entity_id, account.type, account.owner_told_by) == ("enti_1", "CHECKING", "bank")
    assert (entity.id, entity.verification_status) == ("enti_1", "UNVERIFIED")
    assert (record.kind, record.id, record.result, record.fetched_at) == ("account", "bacc_1", "found", AT)
    assert record.digest == "ab" * 32
    assert (wire(story, 8, AT + HOUR_US).entity_id, story.vector.entity_prior_transfers) == ("enti_1", 8)


def test_given_a_fetched_entity_then_it_is_stored_masked_with_the_bank_s_words(story: ShardStory) -> None:
    fetched(story, DirectoryKind.ENTITY, ENTITY)

    row = story.one(EntityRow)
    assert (row.name, row.verification_status, row.type) == ("Dana Rivers", "VERIFIED", "PERSON")
    assert "123456789" not in row.raw
    assert "6789" in row.raw


def test_given_a_fetched_entity_without_a_status_then_none_is_derived() -> None:
    story = fetched(ShardStory(), DirectoryKind.ENTITY, {"id": "enti_1"})

    assert story.one(EntityRow).verification_status == "UNVERIFIED"


def test_given_a_fetched_counterparty_then_bank_and_country_are_known(story: ShardStory) -> None:
    fetched(story, DirectoryKind.COUNTERPARTY, COUNTERPARTY)

    row = story.one(CounterpartyRow)
    assert (row.name, row.routing_number, row.account_last4) == ("Muster GmbH", "021000021", "6789")
    assert row.country_code == "DE"
    assert "000123456789" not in repr(story.entries[-1])
    assert wire(story, 8, AT + HOUR_US).counterparty_country == "DE"


@pytest.mark.parametrize("result", [DirectoryResult.UNCHANGED, DirectoryResult.MISSING, DirectoryResult.UNUSABLE])
def test_given_another_result_then_only_the_fetch_is_recorded(story: ShardStory, result: DirectoryResult) -> None:
    fetched(story, DirectoryKind.ACCOUNT, None, asked_for="bacc_1", result=result)

    (row,) = story.last_rows
    assert isinstance(row, DirectoryRow)
    assert (row.result, row.digest) == (result.value, None)
    assert len(story.entries[-1].body) < 120


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (DirectoryKind.ACCOUNT, ACCOUNT | {"id": "bacc_2"}),
        (DirectoryKind.ACCOUNT, ACCOUNT | {"bank_account_id": "bacc_2"}),
        (DirectoryKind.ENTITY, ENTITY | {"id": "enti_2"}),
        (DirectoryKind.ENTITY, {"entity_id": "enti_1"}),
        (DirectoryKind.COUNTERPARTY, COUNTERPARTY | {"id": "cpty_2"}),
        (DirectoryKind.COUNTERPARTY, {"id": 7}),
        (DirectoryKind.COUNTERPARTY, None),
    ],
)
def test_given_an_object_with_another_id_then_it_is_not_applied(
    story: ShardStory, kind: DirectoryKind, data: dict[str, Any] | None
) -> None:
    ids = {DirectoryKind.ACCOUNT: "bacc_1", DirectoryKind.ENTITY: "enti_1", DirectoryKind.COUNTERPARTY: "cpty_1"}
    fetched(story, kind, data, asked_for=ids[kind])

    (row,) = story.last_rows
    assert isinstance(row, DirectoryRow)
    assert (row.id, row.result, row.digest) == (ids[kind], "unusable", None)
    assert story.program.accounts.owner_of("bacc_1") is None


def test_given_an_event_sent_after_the_request_when_the_answer_is_applied_later_then_the_event_stays(
    story: ShardStory,
) -> None:
    story.deliver("account.frozen", bank.an_account(id="bacc_1", owners=["enti_9"]), at=AT + 500)
    fetched(story, DirectoryKind.ACCOUNT, ACCOUNT)

    assert story.one(DirectoryRow).result == "found"
    assert wire(story, 8, AT + HOUR_US).entity_id == "enti_9"


def test_given_an_event_with_a_newer_object_when_an_older_one_is_fetched_then_the_event_stays(
    story: ShardStory,
) -> None:
    newer = ENTITY | {"verification_status": "DENIED", "updated_at": bank.rfc3339(T0 + DAY_US)}
    story.deliver("identity.verification.denied", newer, at=T0 + DAY_US)
    fetched(story, DirectoryKind.ENTITY, ENTITY)

    assert [type(row) for row in story.last_rows] == [DirectoryRow]
    assert story.all(EntityRow)[-1].verification_status == "DENIED"


def test_given_a_request_time_after_the_append_then_the_append_counts(story: ShardStory) -> None:
    entry = DirectoryEntry(
        kind=DirectoryKind.ENTITY, id="enti_1", result=DirectoryResult.MISSING, fetched_at=AT + 9 * DAY_US
    )
    story.append(EntryKind.DIRECTORY, msgspec.json.encode(entry), at=AT)

    assert story.one(DirectoryRow).fetched_at == AT


def test_given_an_unknown_kind_then_the_entry_is_quarantined(story: ShardStory) -> None:
    body = b'{"kind":"card","id":"card_1","result":"found","fetchedAt":1,"data":{"id":"card_1"}}'

    story.append(EntryKind.DIRECTORY, body)

    assert [type(row) for row in story.last_rows] == [QuarantineRow]


@pytest.mark.parametrize(("party", "kind"), [("bacc_2", "account"), ("cpty_2", "counterparty"), ("x", "counterparty")])
def test_given_the_other_side_of_a_transfer_then_its_id_says_what_the_bank_has_it_as(party: str, kind: str) -> None:
    assert kind_of_counterparty(party) == kind
