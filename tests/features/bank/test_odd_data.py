"""Odd data: it is stored, it never stops a shard, and it costs nothing but itself."""

import json
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhold.features.bank.masking import masked_raw
from clearhold.features.catalogue.vector import TransferFeaturesRow
from clearhold.features.core.money import MOST_COUNTED_CENTS
from clearhold.features.core.rows.events import EventRow, QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import AccountRow, CounterpartyRow, EntityRow
from tests.features.bank.transfer_objects import BUILDERS
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

TYPES: Final = {
    "ach": "ach.outgoing_transfer.returned",
    "wire": "wire.outgoing_transfer.completed",
    "swift": "swift.outgoing_transfer.submitted",
    "realtime": "realtime.incoming_transfer.completed",
    "book": "book.transfer.completed",
    "check": "check.outgoing_debit.returned",
    "card": "card.authorization.declined",
    "identity": "identity.verification.denied",
    "account": "account.frozen",
    "counterparty": "counterparty.updated",
}
OBJECTS: Final = {
    **BUILDERS,
    "identity": bank.an_entity,
    "account": bank.an_account,
    "counterparty": bank.a_counterparty,
}
EXTRAS: Final = ("counterparty", "wire", "merchant", "sec_code", "deposited_amount", "business_details", "returned_at")
ODD: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ("", "\x00", "x" * 300, "\x00acht", "9999-99-99", "0001-01-01T00:00:00+14:00", "\uff11\uff12", "-1")
    ),
    st.text(max_size=12),
    st.recursive(
        st.none() | st.integers(-9, 9) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
        max_leaves=6,
    ),
)


@st.composite
def odd_objects(draw: st.DrawFn) -> tuple[str, Any]:
    family = draw(st.sampled_from(sorted(OBJECTS)))
    data = OBJECTS[family]()
    for name in draw(st.lists(st.sampled_from([*sorted(data), *EXTRAS]), max_size=4)):
        data[name] = draw(ODD)
    return TYPES[family], data


@settings(max_examples=300, deadline=None)
@given(odd=st.lists(odd_objects(), min_size=1, max_size=4))
def test_given_odd_fields_when_events_are_applied_then_each_is_kept_and_the_next_transfer_is_scored(
    odd: list[tuple[str, Any]],
) -> None:
    story = ShardStory()
    for number, (kind, data) in enumerate(odd):
        story.deliver(kind, data, at=T0 + number)
        assert not story.last(QuarantineRow), story.last_rows
        assert story.one(EventRow).result in ("applied", "stale", "stored", "unusable")

    story.deliver("wire.outgoing_transfer.completed", bank.a_wire(id="wire_99"), at=T0 + 10)

    assert story.one(EventRow).result == "applied"
    assert story.one(TransferFeaturesRow).transfer_id == "wire_99"


@pytest.mark.parametrize("kind", TYPES.values())
@pytest.mark.parametrize("data", [None, 5, "text", [], [{}], True, {}], ids=repr)
def test_given_data_that_is_no_object_when_it_is_delivered_then_it_is_stored_as_unusable(kind: str, data: Any) -> None:
    story = ShardStory().deliver(kind, data)

    assert story.one(EventRow).result == "unusable"
    assert len(story.last_rows) == 1


@pytest.mark.parametrize("kind", TYPES.values())
def test_given_no_data_at_all_when_an_event_is_delivered_then_it_is_stored_as_unusable(kind: str) -> None:
    entry = bank.a_bank_entry(kind, {})
    body = json.dumps({"id": "evnt_1", "created_at": bank.rfc3339(T0), "type": kind}).encode()

    story = ShardStory().apply(type(entry)(0, 1, entry.kind, "prg_1", T0, body))

    assert story.one(EventRow).result == "unusable"


def test_given_a_deeply_nested_object_when_it_is_delivered_then_it_is_stored() -> None:
    nested: Any = "core"
    for _ in range(900):
        nested = {"counterparty": nested, "merchant": [nested] if isinstance(nested, str) else []}

    story = ShardStory().deliver("wire.outgoing_transfer.completed", bank.a_wire(counterparty=nested))

    assert not story.last(QuarantineRow)
    assert story.one(TransferRow).id == "wire_1"


@pytest.mark.parametrize("value", [[], 0, False], ids=repr)
@pytest.mark.parametrize("field", ["counterparty", "beneficiary_address", "originator_address", "wire"])
def test_given_an_empty_value_where_an_object_belongs_when_it_is_applied_then_the_field_is_named(
    field: str, value: Any
) -> None:
    transfer = bank.an_ach_transfer(odfi_routing_number=None, **{field: value})

    row = ShardStory().deliver("ach.outgoing_transfer.initiated", transfer).one(EventRow)
    assert (row.result, row.path) == ("applied", f"data.{field}")


@pytest.mark.parametrize("number", ["12", "0210000211"])
def test_given_an_outgoing_transfer_when_its_own_banks_number_is_none_then_the_field_is_named(number: str) -> None:
    story = ShardStory().deliver("ach.outgoing_transfer.initiated", bank.an_ach_transfer(odfi_routing_number=number))

    assert story.one(EventRow).path == "data.odfi_routing_number"


@pytest.mark.parametrize("amount", [-1, 1.5, 10**18, True, "12.50", "\uff10", "1_000", [5], {"cents": 5}], ids=repr)
def test_given_an_amount_that_is_no_number_of_cents_when_a_transfer_is_first_seen_then_it_is_unusable(
    amount: Any,
) -> None:
    story = ShardStory().deliver("wire.outgoing_transfer.completed", bank.a_wire(amount=amount))

    assert story.one(EventRow).result == "unusable"


@pytest.mark.parametrize("amount", [0, 10**18 - 1])
def test_given_the_smallest_and_the_largest_amount_when_they_land_then_they_are_exact(amount: int) -> None:
    story = ShardStory().deliver("wire.outgoing_transfer.completed", bank.a_wire(amount=amount))

    assert story.one(TransferRow).amount_cents == amount
    assert story.vector.velocity_24h_sum_cents == min(amount, MOST_COUNTED_CENTS)


def test_given_an_event_id_when_it_comes_again_then_it_changes_nothing() -> None:
    story = ShardStory()
    entry = bank.a_bank_entry("wire.outgoing_transfer.completed", bank.a_wire(), event_id="evnt_7")
    other = bank.a_bank_entry("wire.outgoing_transfer.completed", bank.a_wire(amount=7), event_id="evnt_7", offset=2)

    results = [story.apply(each).one(EventRow).result for each in (entry, entry, other)]

    assert results == ["applied", "duplicate", "conflicting"]
    assert len(story.last_rows) == 1


ENTITIES: Final[dict[str, tuple[str, bank.Data, dict[str, Any]]]] = {
    "person": (
        "identity.created",
        bank.an_entity(),
        {"type": "PERSON", "name": "Dana Rivers", "country_code": "US", "pep_status": "no", "raw_has": "Rivers"},
    ),
    "business": (
        "identity.created",
        bank.an_entity(
            type="business",
            is_high_risk=True,
            person_details=None,
            business_details={
                "business_name": "Harbor Remit LLC",
                "ein": "00-0000001",
                "legal_type": "llc",
                "expected_payment_rails": "ach,wire, intl_wire",
                "country_of_incorporation": "GB",
            },
        ),
        {
            "type": "BUSINESS",
            "name": "Harbor Remit LLC",
            "legal_type": "llc",
            "country_code": "GB",
            "is_high_risk": True,
            "expected_payment_rails": '["ach","wire","intl_wire"]',
        },
    ),
    "status from the type": (
        "identity.verification.denied",
        bank.an_entity(verification_status=None),
        {"verification_status": "DENIED"},
    ),
    "id under its other name": (
        "identity.verification.verified",
        {"entity_id": "enti_1", "pep_status": "YES", "review_reasons": ["name_mismatch", 5]},
        {"id": "enti_1", "verification_status": "VERIFIED", "pep_status": "yes", "review_reasons": '["name_mismatch"]'},
    ),
}


@pytest.mark.parametrize("case", ENTITIES)
def test_given_an_identity_event_when_it_is_read_then_the_entity_is_known(case: str) -> None:
    kind, data, expected = ENTITIES[case]

    row = ShardStory().deliver(kind, data).one(EntityRow)

    known = {name: getattr(row, name) for name in expected if name != "raw_has"}
    assert known == {name: value for name, value in expected.items() if name != "raw_has"}
    assert expected.get("raw_has", "") in row.raw


def test_given_a_known_entity_when_a_later_event_says_one_thing_then_the_rest_stays() -> None:
    story = ShardStory().deliver("identity.created", bank.an_entity())

    story.deliver("identity.verification.denied", {"id": "enti_1"}, at=T0 + 1)

    row = story.one(EntityRow)
    assert (row.name, row.verification_status, row.last_screened_at) == ("Dana Rivers", "DENIED", T0)


def test_given_an_overdraft_alert_when_it_is_delivered_then_it_changes_nothing_known_and_makes_no_transfer() -> None:
    alert = {"bank_account_id": "bacc_1", "reserve_account_id": "bacc_2", "transfer_id": "wire_7"}

    story = ShardStory().deliver("account.frozen", bank.an_account(id="bacc_1", status="frozen"))
    frozen = story.one(AccountRow)
    story.deliver("account.overdrafted", alert)

    assert (frozen.id, frozen.status) == ("bacc_1", "FROZEN")
    assert story.one(EventRow).result == "applied"
    assert not story.last(AccountRow)
    assert not story.last(TransferRow)


@pytest.mark.parametrize(
    ("kind", "data", "row"),
    [
        ("account.frozen", bank.an_account(default_account_number="000123456789"), AccountRow),
        ("counterparty.created", bank.a_counterparty(local_account_number="GB12000123456789"), CounterpartyRow),
        ("identity.created", bank.an_entity(), EntityRow),
    ],
)
def test_given_numbers_that_identify_when_an_object_is_kept_then_their_last_four_remain(
    kind: str, data: bank.Data, row: Any
) -> None:
    raw = ShardStory().deliver(kind, data).one(row).raw

    assert not any(secret in raw for secret in ("000123456789", "GB12000123456789", "000555666", "000-00-0000"))
    assert any(masked in raw for masked in ('"6789"', '"5666"', '"0000"'))


def test_given_a_transfer_when_its_raw_object_is_shown_then_images_are_gone_and_numbers_are_cut() -> None:
    data = bank.a_check(
        image_front="aGVsbG8=",
        back_image="aGVsbG8=",
        micr_line="T121145307T000111222",
        beneficiary_account_number="000333444",
        counterparty={"account_number": "DE001234", "wire": {"local_account_number": "X-998877"}},
        charges=[{"agent": {"account_number": "5551212"}}],
        account_number_id="acno_1",
    )

    masked = masked_raw(json.dumps(data).encode())

    assert not {"image_front", "back_image"} & set(masked)
    assert (masked["micr_line"], masked["beneficiary_account_number"]) == ("1222", "3444")
    assert masked["counterparty"] == {"account_number": "1234", "wire": {"local_account_number": "8877"}}
    assert masked["charges"] == [{"agent": {"account_number": "1212"}}]
    assert (masked["account_number_id"], masked["payee_name"]) == ("acno_1", data["payee_name"])


def test_given_a_key_written_in_escapes_when_an_object_is_kept_then_its_number_is_cut_all_the_same() -> None:
    body = bank.an_event("counterparty.created", {"id": "cpty_1", "account#number": "000555666"})
    escaped = body.replace(b"account#number", rb"account\u005fnumber")
    entry = bank.a_bank_entry("counterparty.created", {})

    story = ShardStory().apply(type(entry)(0, 1, entry.kind, "prg_1", T0, escaped))

    assert "000555666" not in str(story.one(CounterpartyRow).raw)
    assert story.one(CounterpartyRow).account_last4 == "5666"


@pytest.mark.parametrize("data", [b"", b"null", b"[1]", b"{", b"\xff", b"[" * 20_000], ids=len)
def test_given_bytes_that_are_no_object_when_they_are_shown_then_there_is_nothing_to_show(data: bytes) -> None:
    assert masked_raw(data) == {}


SHOP: Final = {"id": "mrch_1", "name": "ORBIT GAMES", "country_code": "US"}


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({}, None),
        ({"merchant": SHOP | {"country_code": "ZZ"}}, "data.merchant.country_code"),
        ({"merchant": {"id": "mrch_1", "name": "ORBIT GAMES", "countryCode": "US"}}, "data.merchant.country_code"),
        ({"merchant": SHOP | {"id": 7}}, "data.merchant.id"),
        ({"merchant": SHOP | {"name": " "}}, "data.merchant.name"),
        ({"merchant": SHOP, "decision_reason": None, "decisionReason": "APPROVED"}, "data.decision_reason"),
        ({"merchant": SHOP, "currency_code": "US Dollar"}, "data.currency_code"),
    ],
    ids=repr,
)
def test_given_a_card_purchase_when_part_of_its_merchant_is_not_read_then_its_event_names_it(
    changed: bank.Data, path: str | None
) -> None:
    data = bank.a_card_authorization(**{"merchant": SHOP, "processor_reason": None} | changed)

    event = ShardStory().deliver("card.authorization.approved", data).one(EventRow)

    assert (event.result, event.path) == ("applied", path)
