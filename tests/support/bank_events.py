"""Bank events in the shapes the bank delivers them, every default filled; a test names only what it is about.

``an_event`` makes the signed bytes. The other builders make its ``data``: one for each rail's transfer object, for the
entity, the bank account and the counterparty. Instants are given in microseconds and written as RFC 3339 in UTC.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from clearhold.features.core.log_entry import EntryKind, LogEntry
from tests.support.clock import T0

Data = dict[str, Any]

RESOURCES: Final = {
    ("ach", "outgoing"): "ach.outgoing_transfer",
    ("ach", "incoming"): "ach.incoming_transfer",
    ("wire", "outgoing"): "wire.outgoing_transfer",
    ("wire", "incoming"): "wire.incoming_transfer",
    ("intl_wire", "outgoing"): "swift.outgoing_transfer",
    ("intl_wire", "incoming"): "swift.incoming_transfer",
    ("realtime", "outgoing"): "realtime.outgoing_transfer",
    ("realtime", "incoming"): "realtime.incoming_transfer",
    ("book", "outgoing"): "book.transfer",
    ("check", "outgoing"): "check.incoming_debit",
    ("check", "incoming"): "check.outgoing_debit",
    ("card", "outgoing"): "card.authorization",
    ("card", "incoming"): "card.transaction",
}
"""The event types of a rail and of the way the money goes, without their last part."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(at: int) -> str:
    """An instant with all its microseconds."""
    return (_EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def an_event(kind: str, data: object, *, event_id: str = "evnt_1", created_at: int = T0) -> bytes:
    """The body of one webhook delivery."""
    envelope = {"id": event_id, "created_at": rfc3339(created_at), "type": kind, "data": data}
    return json.dumps(envelope, separators=(",", ":")).encode()


def a_bank_entry(
    kind: str,
    data: object,
    *,
    offset: int = 1,
    created_at: int = T0,
    appended_at: int | None = None,
    event_id: str | None = None,
    program_id: str = "prg_1",
) -> LogEntry:
    """The log entry of one delivery; appended when the event was created unless another instant is given."""
    return LogEntry(
        shard=0,
        offset=offset,
        kind=EntryKind.BANK,
        program_id=program_id,
        appended_at=created_at if appended_at is None else appended_at,
        body=an_event(kind, data, event_id=event_id or f"evnt_{offset}", created_at=created_at),
    )


_STAMPS: Final[Data] = {"created_at": rfc3339(T0), "updated_at": rfc3339(T0)}
_TRANSFER: Final[Data] = {
    **_STAMPS,
    "bank_account_id": "bacc_1",
    "counterparty_id": "cpty_1",
    "currency_code": "USD",
}


def an_ach_transfer(**over: Any) -> Data:
    usual: Data = {
        "id": "acht_1",
        "type": "CREDIT",
        "amount": 125_00,
        "status": "INITIATED",
        "is_incoming": False,
        "is_on_us": False,
        "same_day": False,
        "account_number_id": "acno_1",
        "entry_class_code": "WEB",
        "company_id": "1234567890",
        "company_name": "HARBOR REMIT",
        "company_entry_description": "PAYROLL",
        "receiver_name": "Sam Cole",
        "odfi_routing_number": "121145307",
        "effective_on": "2026-03-03",
        "description": "",
        "initiated_at": rfc3339(T0),
        "returned_at": None,
        "return_details": [],
        "notification_of_changes": None,
        "iat": None,
    }
    return _TRANSFER | usual | over


def a_return(code: str, at: int = T0) -> Data:
    """One element of ``return_details``."""
    return {
        "return_code": code,
        "description": "",
        "addenda": "",
        "created_at": rfc3339(at),
        "updated_at": rfc3339(at),
    }


def a_wire(**over: Any) -> Data:
    usual: Data = {
        "id": "wire_1",
        "status": "COMPLETED",
        "is_incoming": False,
        "is_on_us": False,
        "amount": 42_000_00,
        "account_number_id": "acno_1",
        "description": "",
        "originator_name": "HARBOR REMIT LLC",
        "originator_account_number": "000111222",
        "beneficiary_name": "North Trading Inc",
        "beneficiary_account_number": "000333444",
        "creditor_agent_routing_number": "021000021",
        "business_function_code": "CTR",
        "completed_at": None,
    }
    return _TRANSFER | usual | over


def an_international_wire(**over: Any) -> Data:
    usual: Data = {
        "id": "swft_1",
        "status": "SUBMITTED",
        "is_incoming": False,
        "amount": 9_000_00,
        "currency_code": "EUR",
        "instructed_amount": 9_000_00,
        "instructed_currency_code": "EUR",
        "settled_amount": 9_783_00,
        "settled_currency_code": "USD",
        "bank_account_id": "bacc_1",
        "counterparty_id": "cpty_1",
        "beneficiary_name": "Muster GmbH",
        "beneficiary_account_number": "DE00000000000000001234",
        "beneficiary_fi": "EXAMDEFFXXX",
        "beneficiary_address": {"line_1": "Hafen 1", "city": "Hamburg", "country_code": "DE"},
        "originator_name": "HARBOR REMIT LLC",
        "originator_address": {"city": "Miami", "state": "FL", "country_code": "US"},
        "settlement_date": "2026-03-06",
        "returned_at": None,
        "return_reason": None,
    }
    return _STAMPS | usual | over


def a_realtime_transfer(**over: Any) -> Data:
    usual: Data = {
        "id": "rttr_1",
        "status": "completed",
        "is_incoming": False,
        "is_on_us": False,
        "amount": 500_00,
        "end_to_end_id": "PAY-1009",
        "initiated_at": rfc3339(T0),
        "completed_at": rfc3339(T0),
    }
    return _TRANSFER | usual | over


def a_book_transfer(**over: Any) -> Data:
    usual: Data = {
        "id": "book_1",
        "status": "COMPLETED",
        "amount": 100_00,
        "currency_code": "USD",
        "sender_bank_account_id": "bacc_1",
        "receiver_bank_account_id": "bacc_2",
        "description": "",
        "allow_overdraft": False,
        "details": {},
    }
    return _STAMPS | usual | over


def a_check(**over: Any) -> Data:
    """A check that the program issued; a deposited one names its ``deposited_amount`` instead."""
    usual: Data = {
        "id": "chkt_1",
        "status": "issued",
        "bank_account_id": "bacc_1",
        "account_number_id": "acno_1",
        "check_number": 1047,
        "positive_pay_amount": 330_000,
        "currency_code": "USD",
        "payee_name": "Elm Street Rentals",
        "description": "rent",
    }
    return _STAMPS | usual | over


def a_card_authorization(**over: Any) -> Data:
    usual: Data = {
        "id": "ctxn_1",
        "card_id": "card_1",
        "card_account_id": "cacc_1",
        "bank_account_id": "bacc_1",
        "entity_id": "enti_1",
        "status": "PENDING",
        "decision": "APPROVED",
        "decision_reason": "APPROVED",
        "processor_reason": "APPROVED",
        "amount": 84_50,
        "currency_code": "USD",
        "merchant_amount": 84_50,
        "merchant_currency_code": "USD",
        "category": "purchase",
        "network": "VISA",
        "merchant": {"id": "mrch_1", "name": "ORBIT GAMES", "category_code": "5816", "city": "Austin"},
        "authorization_id": "auth_1",
    }
    return _STAMPS | usual | over


def an_entity(**over: Any) -> Data:
    usual: Data = {
        "id": "enti_1",
        "type": "PERSON",
        "is_root": False,
        "verification_status": "VERIFIED",
        "review_reasons": [],
        "is_high_risk": False,
        "requires_screening": False,
        "last_screened_at": rfc3339(T0),
        "person_details": {
            "first_name": "Dana",
            "last_name": "Rivers",
            "ssn": "000-00-0000",
            "date_of_birth": "1991-06-02",
            "pep_status": "no",
            "address": {"line_1": "5 Elm St", "city": "Boise", "country_code": "US"},
        },
        "documents": [],
    }
    return _STAMPS | usual | over


def an_account(**over: Any) -> Data:
    usual: Data = {
        "id": "bacc_1",
        "type": "CHECKING",
        "description": "Operating",
        "currency_code": "USD",
        "owners": ["enti_1"],
        "status": "open",
        "routing_number": "121145307",
        "balances": {"available_amount": 250_000, "pending_amount": 0, "holding_amount": 0, "locked_amount": 0},
        "created_at": rfc3339(T0),
    }
    return usual | over


def a_counterparty(**over: Any) -> Data:
    usual: Data = {
        "id": "cpty_1",
        "name": "Sam Cole",
        "routing_number": "021000021",
        "routing_number_type": "aba",
        "account_number": "000555666",
        "account_type": "checking",
        "address": {"line_1": "1 Hafen", "city": "Hamburg", "country_code": "DE"},
        "local_bank_country_code": None,
        "wire": None,
    }
    return _STAMPS | usual | over


def changed(data: Data, at: str | None, **over: object) -> Data:
    """A later snapshot of an object."""
    return {**data, "updated_at": at, **over}
