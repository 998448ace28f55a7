"""Where the bank's objects keep each field of a transfer, table by table, for every rail."""

from typing import Any, Final

import pytest

from clearhold.features.core.rows.events import EventRow, QuarantineRow, TransferRow
from clearhold.features.core.rows.parties import CounterpartyRow
from tests.features.bank.transfer_objects import object_of, transfer_row
from tests.support import bank_events as bank
from tests.support.clock import T0
from tests.support.stories import ShardStory

OUT, IN = "outgoing", "incoming"

FIELDS: Final[dict[str, tuple[str, bank.Data, dict[str, Any]]]] = {
    "ach": (
        "ach.outgoing_transfer.initiated",
        bank.an_ach_transfer(type="debit", entity_id="enti_7", sec_code="ignored"),
        {"type": "DEBIT", "sec_code": "WEB", "amount_cents": 125_00, "effective_at": T0 + 9 * 3_600_000_000},
    ),
    "ach with the other spelling of its SEC code": (
        "ach.outgoing_transfer.initiated",
        bank.an_ach_transfer(entry_class_code=None, sec_code="ppd"),
        {"type": "CREDIT", "sec_code": "PPD"},
    ),
    "wire": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(type="CREDIT"),
        {"type": None, "sec_code": None, "amount_cents": 42_000_00, "counterparty_id": "cpty_1"},
    ),
    "international wire": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(),
        {"amount_cents": 9_000_00, "currency": "EUR", "counterparty_country": "DE"},
    ),
    "realtime": (
        "realtime.outgoing_transfer.completed",
        bank.a_realtime_transfer(),
        {"amount_cents": 500_00, "account_id": "bacc_1", "returned_at": None},
    ),
    "book": (
        "book.transfer.completed",
        bank.a_book_transfer(bank_account_id="bacc_9"),
        {"account_id": "bacc_1", "counterparty_id": "bacc_2", "amount_cents": 100_00},
    ),
    "issued check": (
        "check.incoming_debit.issued",
        bank.a_check(amount=1),
        {"amount_cents": 330_000, "counterparty_id": None},
    ),
    "deposited check": (
        "check.outgoing_debit.returned",
        bank.a_check(deposited_amount=77, status="returned", returned_at=bank.rfc3339(T0)),
        {"amount_cents": 77, "return_code": None, "returned_at": T0},
    ),
    "check with a plain amount": (
        "check.incoming_debit.issued",
        bank.a_check(positive_pay_amount=None, amount=55),
        {"amount_cents": 55},
    ),
    "card": (
        "card.authorization.declined",
        bank.a_card_authorization(status="DECLINED", decision_reason="INCORRECT_PIN"),
        {"entity_id": "enti_1", "counterparty_id": "mrch_1", "card_decision_reason": "PIN_OR_CVV"},
    ),
    "no currency": ("wire.outgoing_transfer.completed", bank.a_wire(currency_code=None), {"currency": "USD"}),
    "lower-case currency": ("wire.outgoing_transfer.completed", bank.a_wire(currency_code="eur"), {"currency": "EUR"}),
    "amount as digits": ("wire.outgoing_transfer.completed", bank.a_wire(amount="1250"), {"amount_cents": 1250}),
    "settlement date": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(settlement_date="2026-03-06"),
        {"effective_at": T0 + (3 * 24 + 9) * 3_600_000_000},
    ),
    "initiated_at stands in for created_at": (
        "ach.outgoing_transfer.initiated",
        bank.an_ach_transfer(created_at=None, initiated_at=bank.rfc3339(T0 - 5_000_000)),
        {"bank_created_at": T0 - 5_000_000},
    ),
    "the event's time stands in for both": (
        "ach.outgoing_transfer.initiated",
        bank.an_ach_transfer(created_at=None, initiated_at=None),
        {"bank_created_at": T0},
    ),
}


@pytest.mark.parametrize("case", FIELDS)
def test_given_an_object_when_it_is_read_then_its_fields_are_where_the_bank_puts_them(case: str) -> None:
    kind, data, expected = FIELDS[case]

    row = transfer_row(kind, data)

    assert {name: getattr(row, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "is_incoming", "direction"),
    [
        ("ach.outgoing_transfer.settled", True, IN),
        ("ach.incoming_transfer.settled", False, OUT),
        ("ach.incoming_transfer.settled", None, IN),
        ("ach.outgoing_transfer.settled", "true", OUT),
        ("wire.incoming_transfer.completed", None, IN),
        ("check.incoming_debit.settled", True, OUT),
        ("check.outgoing_debit.settled", False, IN),
    ],
)
def test_given_the_bank_says_who_sent_when_a_transfer_lands_then_it_outweighs_the_type_except_on_checks(
    kind: str, is_incoming: object, direction: str
) -> None:
    assert transfer_row(kind, object_of(kind, is_incoming=is_incoming)).direction == direction


@pytest.mark.parametrize("ach_type", ["CREDIT", "DEBIT"])
def test_given_an_outgoing_ach_transfer_when_it_pulls_or_pushes_then_its_direction_is_who_originated(
    ach_type: str,
) -> None:
    row = transfer_row("ach.outgoing_transfer.initiated", bank.an_ach_transfer(type=ach_type))

    assert (row.direction, row.type) == (OUT, ach_type)


COUNTRIES: Final[dict[str, tuple[str, bank.Data, str | None]]] = {
    "embedded counterparty": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(counterparty={"address": {"country_code": "mx"}}),
        "MX",
    ),
    "embedded counterparty before the beneficiary": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(counterparty={"address": {"country_code": "MX"}}),
        "MX",
    ),
    "its local bank": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(counterparty={"local_bank_country_code": "GB"}),
        "GB",
    ),
    "its wire's beneficiary": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(counterparty={"wire": {"beneficiary_address": {"country_code": "FR"}}}),
        "FR",
    ),
    "beneficiary of an outgoing wire": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "IR"}),
        "IR",
    ),
    "originator of an incoming wire": (
        "swift.incoming_transfer.completed",
        bank.an_international_wire(is_incoming=True, originator_address={"country_code": "KP"}),
        "KP",
    ),
    "the wire's own beneficiary": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(wire={"beneficiary_address": {"country_code": "ES"}}),
        "ES",
    ),
    "three letters": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "USA"}),
        "US",
    ),
    "three letters of a country on a list": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "PRK"}),
        "KP",
    ),
    "the usual word for the United Kingdom": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": " uk "}),
        "GB",
    ),
    "of an originator, in Greece": (
        "swift.incoming_transfer.completed",
        bank.an_international_wire(is_incoming=True, originator_address={"country_code": "EL"}),
        "GR",
    ),
    "full-width letters": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "\uff29\uff32"}),
        "IR",
    ),
    "the code of no country": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "ZZ"}),
        None,
    ),
    "a country that is gone": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "AN"}),
        None,
    ),
    "unreadable beside a readable one of its bank": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(counterparty={"address": {"country_code": "XX"}, "local_bank_country_code": "DE"}),
        "DE",
    ),
    "not a country": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(beneficiary_address={"country_code": "Germany"}),
        None,
    ),
    "none, and no guess": ("ach.outgoing_transfer.initiated", bank.an_ach_transfer(), None),
}


@pytest.mark.parametrize("case", COUNTRIES)
def test_given_a_transfer_when_a_country_is_delivered_then_it_is_the_counterpartys(case: str) -> None:
    kind, data, country = COUNTRIES[case]

    assert transfer_row(kind, data).counterparty_country == country


def test_given_a_counterparty_object_when_a_transfer_names_no_country_then_the_stored_one_holds() -> None:
    story = ShardStory().deliver("counterparty.created", bank.a_counterparty())

    story.deliver("ach.outgoing_transfer.initiated", bank.an_ach_transfer())

    assert story.one(TransferRow).counterparty_country == "DE"


OTHER_SIDES: Final[dict[str, tuple[str, bank.Data, tuple[str | None, str | None, str | None]]]] = {
    "ach out": (
        "ach.outgoing_transfer.initiated",
        bank.an_ach_transfer(),
        ("Sam Cole", None, None),
    ),
    "ach in": (
        "ach.incoming_transfer.settled",
        bank.an_ach_transfer(is_incoming=True),
        ("HARBOR REMIT", "121145307", None),
    ),
    "wire out": (
        "wire.outgoing_transfer.completed",
        bank.a_wire(),
        ("North Trading Inc", "021000021", "3444"),
    ),
    "wire in": (
        "wire.incoming_transfer.completed",
        bank.a_wire(is_incoming=True),
        ("HARBOR REMIT LLC", None, "1222"),
    ),
    "international wire": (
        "swift.outgoing_transfer.submitted",
        bank.an_international_wire(),
        ("Muster GmbH", None, "1234"),
    ),
    "issued check": (
        "check.incoming_debit.issued",
        bank.a_check(counterparty_id="cpty_1"),
        ("Elm Street Rentals", None, None),
    ),
    "embedded": (
        "realtime.outgoing_transfer.completed",
        bank.a_realtime_transfer(
            counterparty={"name": "Ann  Lee", "routing_number": "021-000-021", "account_number": "98-765"}
        ),
        ("Ann  Lee", "021000021", "8765"),
    ),
}


@pytest.mark.parametrize("case", OTHER_SIDES)
def test_given_a_transfer_when_it_names_the_other_side_then_the_counterparty_is_learnt(case: str) -> None:
    kind, data, expected = OTHER_SIDES[case]

    row = ShardStory().deliver(kind, data).one(CounterpartyRow)

    assert (row.name, row.routing_number, row.account_last4) == expected
    assert (row.id, row.first_seen_at, row.raw is None) == ("cpty_1", T0, case != "embedded")


REASONS: Final = {
    "APPROVED": "APPROVED",
    "webhook_approved": "APPROVED",
    "INSUFFICIENT_FUNDS_PRELOAD": "INSUFFICIENT_FUNDS",
    "CARD_MONTHLY_SPEND_LIMIT_EXCEEDED": "LIMIT_EXCEEDED",
    "UNAUTHORIZED_MERCHANT": "MERCHANT_BLOCKED",
    "card_inactive": "CARD_INACTIVE",
    "CARD_CLOSED": "CARD_CLOSED",
    "1001": "CARD_EXPIRED",
    "ACCOUNT_PAUSED": "ACCOUNT_INACTIVE",
    "cardholder_blocked": "CARDHOLDER_BLOCKED",
    "CARD_SECURITY_CODE_INCORRECT": "PIN_OR_CVV",
    "suspected_fraud": "SUSPECTED_FRAUD",
    "webhook_declined": "PROGRAM_DECLINED",
    "webhook_timeout": "TECHNICAL",
    "SOMETHING_NEW": "OTHER",
}


@pytest.mark.parametrize(("word", "reason"), REASONS.items())
def test_given_an_issuers_reason_when_a_card_is_decided_then_it_is_one_of_the_shared_words(
    word: str, reason: str
) -> None:
    data = bank.a_card_authorization(decision_reason=word)

    story = ShardStory().deliver("card.authorization.declined", data)

    assert story.one(TransferRow).card_decision_reason == reason
    assert story.vector.card_decision_reason == reason


def test_given_a_card_purchase_when_no_merchant_id_is_delivered_then_there_is_no_counterparty() -> None:
    story = ShardStory().deliver("card.authorization.approved", bank.a_card_authorization(merchant=None))

    assert story.one(TransferRow).counterparty_id is None
    assert story.vector.counterparty_first_time is None


@pytest.mark.parametrize("missing", ["id", "amount", "created_at"])
def test_given_a_transfer_when_its_id_or_amount_is_missing_then_only_that_makes_it_unusable(missing: str) -> None:
    data = {name: value for name, value in bank.a_wire().items() if name != missing}

    story = ShardStory().deliver("wire.outgoing_transfer.completed", data)

    assert story.one(EventRow).result == ("applied" if missing == "created_at" else "unusable")
    assert not story.last(QuarantineRow)
