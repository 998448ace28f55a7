"""Bank events for the OpenAPI document and its page: as JSON Schema, with the fields that are read (an event may have
others), and one example of each rail and of each kind of party, as the bank sends it.

The envelope is enforced when an event is taken in. ``data`` never is: a value that does not fit is read as absent.
Names and numbers of the examples are invented; a test applies each of them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from clearhold.features.bank.event_fields import (
    ACCOUNT_FIELDS,
    COUNTERPARTY_FIELDS,
    DISPUTE_FIELDS,
    ENTITY_FIELDS,
    EventField,
    transfer_fields,
)
from clearhold.features.core.vocabulary import Rail

Schema = dict[str, Any]

_TITLES: Final = {
    Rail.ACH: "AchTransferObject",
    Rail.WIRE: "WireTransferObject",
    Rail.INTL_WIRE: "InternationalWireObject",
    Rail.REALTIME: "RealtimeTransferObject",
    Rail.BOOK: "BookTransferObject",
    Rail.CHECK: "CheckTransferObject",
    Rail.CARD: "CardTransferObject",
}


def object_schema(title: str, fields: Iterable[EventField]) -> Schema:
    """An open object of these fields, each of which may be null."""
    return {"type": "object", "title": title, "properties": {each.name: _field_schema(each) for each in fields}}


def _field_schema(field: EventField) -> Schema:
    schema: Schema = dict(field.kind.schema)
    if field.inside:
        inside: Schema = {"properties": {each.name: _field_schema(each) for each in field.inside}}
        if schema["type"] == "array":
            schema["items"] = schema["items"] | inside
        else:
            schema |= inside
    return {"anyOf": [schema, {"type": "null"}], "description": field.meaning}


EVENT_SCHEMA: Final[Schema] = {
    "type": "object",
    "title": "BankEvent",
    "required": ["id", "type", "created_at"],
    "properties": {
        "id": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "The event's id. Once an event with it has taken effect, later ones change nothing.",
        },
        "type": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "description": "`<resource>.<state>` in lower-case letters, as `ach.outgoing_transfer.returned`.",
            "examples": ["wire.outgoing_transfer.initiated"],
        },
        "created_at": {
            "type": "string",
            "format": "date-time",
            "description": "When the event was created: the time from which its facts are known.",
        },
        "data": {
            "description": "The object that the event is about, as it stood then.",
            "anyOf": [
                *(object_schema(title, transfer_fields(rail)) for rail, title in _TITLES.items()),
                object_schema("EntityObject", ENTITY_FIELDS),
                object_schema("CounterpartyObject", COUNTERPARTY_FIELDS),
                object_schema("AccountObject", ACCOUNT_FIELDS),
                object_schema("DisputeObject", DISPUTE_FIELDS),
            ],
        },
    },
}


EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "identity": {
        "id": "evnt_2zA0001",
        "created_at": "2026-03-02T14:00:00Z",
        "type": "identity.verification.verified",
        "data": {
            "id": "enti_2zHarbor01",
            "type": "BUSINESS",
            "verification_status": "VERIFIED",
            "review_reasons": [],
            "is_high_risk": False,
            "business_details": {
                "business_name": "Harbor Remit LLC",
                "legal_type": "llc",
                "expected_payment_rails": "ach,wire,intl_wire",
                "address": {"city": "Miami", "state": "FL", "country_code": "US"},
            },
            "created_at": "2026-02-27T07:59:00Z",
            "updated_at": "2026-03-02T14:00:00Z",
        },
    },
    "account": {
        "id": "evnt_2zA0002",
        "created_at": "2026-03-02T14:01:00Z",
        "type": "account.unfrozen",
        "data": {"id": "bacc_2zOps01", "type": "CHECKING", "owners": ["enti_2zHarbor01"], "status": "open"},
    },
    "counterparty": {
        "id": "evnt_2zA0003",
        "created_at": "2026-03-02T14:02:00Z",
        "type": "counterparty.created",
        "data": {
            "id": "cpty_2zPayer01",
            "name": "Sam Cole",
            "routing_number": "021000021",
            "account_number": "000555666",
            "address": {"city": "Boise", "state": "ID", "country_code": "US"},
            "updated_at": "2026-03-02T14:02:00Z",
        },
    },
    "ach": {
        "id": "evnt_2zA0004",
        "created_at": "2026-03-05T13:00:04Z",
        "type": "ach.outgoing_transfer.returned",
        "data": {
            "id": "acht_2zDebit01",
            "type": "DEBIT",
            "amount": 125000,
            "currency_code": "USD",
            "status": "RETURNED",
            "is_incoming": False,
            "bank_account_id": "bacc_2zOps01",
            "counterparty_id": "cpty_2zPayer01",
            "entry_class_code": "WEB",
            "company_name": "HARBOR REMIT",
            "receiver_name": "SAM COLE",
            "effective_on": "2026-03-03",
            "return_details": [{"return_code": "R10", "created_at": "2026-03-05T13:00:00Z"}],
            "returned_at": "2026-03-05T13:00:00Z",
            "created_at": "2026-03-02T16:20:00Z",
            "updated_at": "2026-03-05T13:00:00Z",
        },
    },
    "wire": {
        "id": "evnt_2zA0005",
        "created_at": "2026-03-05T17:10:03Z",
        "type": "wire.outgoing_transfer.initiated",
        "data": {
            "id": "wire_2zOut01",
            "status": "INITIATED",
            "is_incoming": False,
            "amount": 985000,
            "currency_code": "USD",
            "bank_account_id": "bacc_2zOps01",
            "beneficiary_name": "North Trading Inc",
            "beneficiary_account_number": "000333444",
            "creditor_agent_routing_number": "021000021",
            "created_at": "2026-03-05T17:10:00Z",
            "updated_at": "2026-03-05T17:10:02Z",
        },
    },
    "intl_wire": {
        "id": "evnt_2zA0006",
        "created_at": "2026-03-05T10:00:31Z",
        "type": "swift.outgoing_transfer.submitted",
        "data": {
            "id": "swft_2zOut01",
            "status": "SUBMITTED",
            "is_incoming": False,
            "amount": 900000,
            "currency_code": "EUR",
            "settled_amount": 978300,
            "settled_currency_code": "USD",
            "bank_account_id": "bacc_2zOps01",
            "beneficiary_name": "Muster GmbH",
            "beneficiary_account_number": "DE00000000000000000000",
            "beneficiary_address": {"city": "Hamburg", "country_code": "DE"},
            "settlement_date": "2026-03-06",
            "created_at": "2026-03-05T10:00:00Z",
            "updated_at": "2026-03-05T10:00:30Z",
        },
    },
    "realtime": {
        "id": "evnt_2zA0007",
        "created_at": "2026-03-05T18:00:04Z",
        "type": "realtime.outgoing_transfer.completed",
        "data": {
            "id": "rttr_2zOut01",
            "status": "completed",
            "is_incoming": False,
            "amount": 50000,
            "currency_code": "USD",
            "bank_account_id": "bacc_2zOps01",
            "counterparty_id": "cpty_2zPayer01",
            "initiated_at": "2026-03-05T18:00:00Z",
        },
    },
    "book": {
        "id": "evnt_2zA0008",
        "created_at": "2026-03-05T19:00:01Z",
        "type": "book.transfer.completed",
        "data": {
            "id": "book_2zMove01",
            "status": "COMPLETED",
            "amount": 10000,
            "currency_code": "USD",
            "sender_bank_account_id": "bacc_2zOps01",
            "receiver_bank_account_id": "bacc_2zCust01",
            "created_at": "2026-03-05T19:00:00Z",
            "updated_at": "2026-03-05T19:00:00Z",
        },
    },
    "check": {
        "id": "evnt_2zA0009",
        "created_at": "2026-03-06T12:00:01Z",
        "type": "check.outgoing_debit.returned",
        "data": {
            "id": "chkt_2zDep01",
            "status": "returned",
            "bank_account_id": "bacc_2zOps01",
            "deposited_amount": 330000,
            "currency_code": "USD",
            "payee_name": "Elm Street Rentals",
            "returned_at": "2026-03-06T12:00:00Z",
            "created_at": "2026-03-01T12:00:00Z",
            "updated_at": "2026-03-06T12:00:00Z",
        },
    },
    "card": {
        "id": "evnt_2zA0010",
        "created_at": "2026-03-05T20:15:01Z",
        "type": "card.authorization.declined",
        "data": {
            "id": "ctxn_2zDecl01",
            "card_id": "card_2zBlue01",
            "bank_account_id": "bacc_2zCust01",
            "entity_id": "enti_2zPerson01",
            "status": "DECLINED",
            "decision_reason": "INSUFFICIENT_FUNDS",
            "amount": 8450,
            "currency_code": "USD",
            "merchant": {"id": "mrch_001", "name": "ORBIT GAMES", "country_code": "US"},
            "created_at": "2026-03-05T20:15:00Z",
            "updated_at": "2026-03-05T20:15:00Z",
        },
    },
    "dispute": {
        "id": "evnt_2zA0011",
        "created_at": "2026-03-25T09:00:00Z",
        "type": "card.dispute.closed",
        "data": {"id": "disp_2z01", "transfer_id": "ctxn_2zBuy01", "outcome": "won"},
    },
}
"""By the rail, or the kind of the object."""
