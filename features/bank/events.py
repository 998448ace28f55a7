"""A bank event as delivered: the envelope, and the object inside it without trusting its types.

Every field of ``BankObject`` is read as whatever JSON it holds: an odd type in one field must not cost the others,
and never an error to the bank. ``features/bank/transfers.py`` and its neighbours decide what is usable.
"""

from typing import Any

import msgspec


class BankEvent(msgspec.Struct, frozen=True, gc=False):
    """The envelope. ``data`` stays bytes until its family is known."""

    id: str
    type: str
    created_at: str
    data: msgspec.Raw = msgspec.Raw()


class BankObject(msgspec.Struct, frozen=True, gc=False):
    """All fields that any transfer object may carry, each untrusted."""

    id: Any = None
    type: Any = None
    amount: Any = None
    currency_code: Any = None
    status: Any = None
    is_incoming: Any = None
    bank_account_id: Any = None
    counterparty_id: Any = None
    entity_id: Any = None
    entry_class_code: Any = None
    sec_code: Any = None
    company_name: Any = None
    receiver_name: Any = None
    odfi_routing_number: Any = None
    effective_on: Any = None
    settlement_date: Any = None
    created_at: Any = None
    initiated_at: Any = None
    updated_at: Any = None
    returned_at: Any = None
    return_details: Any = None
    counterparty: Any = None
    originator_name: Any = None
    originator_account_number: Any = None
    originator_address: Any = None
    beneficiary_name: Any = None
    beneficiary_account_number: Any = None
    beneficiary_address: Any = None
    creditor_agent_routing_number: Any = None
    wire: Any = None
    sender_bank_account_id: Any = None
    receiver_bank_account_id: Any = None
    deposited_amount: Any = None
    positive_pay_amount: Any = None
    payee_name: Any = None
    merchant: Any = None
    category: Any = None
    decision_reason: Any = None
    processor_reason: Any = None


class TransferSnapshot(msgspec.Struct, frozen=True, gc=False):
    """What one event says of one transfer. None means the event does not say; instants are microseconds.

    ``updated_at`` and the event's time order snapshots of one transfer; ``created_at`` is the bank's creation time.
    """

    id: str
    rail: str
    direction: str
    type: str | None
    amount_cents: int | None
    currency: str
    status: str | None
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    counterparty_name: str | None
    counterparty_routing: str | None
    counterparty_last4: str | None
    country: str | None
    sec_code: str | None
    return_code: str | None
    return_undone: bool
    returned_at: int | None
    effective_at: int | None
    created_at: int | None
    updated_at: int | None
    card_decision_reason: str | None


class EntitySnapshot(msgspec.Struct, frozen=True, gc=False):
    """What one ``identity.*`` event says of one entity; None means the event does not say."""

    id: str
    type: str | None
    name: str | None
    verification_status: str | None
    is_high_risk: bool | None
    pep_status: str | None
    requires_screening: bool | None
    review_reasons: tuple[str, ...] | None
    last_screened_at: int | None
    country: str | None
    legal_type: str | None
    expected_rails: tuple[str, ...] | None
    created_at: int | None
    updated_at: int | None


class CounterpartySnapshot(msgspec.Struct, frozen=True, gc=False):
    """What an event says of a counterparty, inline in a transfer or as an object of its own."""

    id: str
    name: str | None
    routing: str | None
    last4: str | None
    country: str | None
    updated_at: int | None


class AccountSnapshot(msgspec.Struct, frozen=True, gc=False):
    """What an ``account.*`` event says of a bank account."""

    id: str
    owner_id: str | None
    type: str | None
    status: str | None


EVENT_DECODER = msgspec.json.Decoder(BankEvent)
OBJECT_DECODER = msgspec.json.Decoder(BankObject)
ANY_DECODER = msgspec.json.Decoder()
