"""A bank event as delivered: the envelope, and the object inside it without trusting its types.

A field of a wrong type must not cost the other fields, and is never an error to the bank. The object is decoded with
the expected types, in one pass with its envelope. When that fails, it is decoded field by field, and a field of a wrong
type counts as absent.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from clearhold.features.bank import fields
from clearhold.features.bank.purchases import NOTHING_STATED, Purchase
from clearhold.features.core.money import MAX_CENTS

NOT_AN_OBJECT: Final = "the event's data is not an object"

Text = Annotated[str, msgspec.Meta(max_length=fields.TEXT_LIMIT)]
WholeCents = Annotated[int, msgspec.Meta(ge=0, le=MAX_CENTS)]


class BankEvent(msgspec.Struct, frozen=True, gc=False):
    """The envelope. ``data`` stays bytes until its family is known."""

    id: str
    type: str
    created_at: str
    data: msgspec.Raw = msgspec.Raw()


class BankObject(msgspec.Struct, frozen=True, gc=False):
    """All fields that any transfer object may carry, with the types they should have; None where absent.

    Nested objects stay untrusted until they are read. ``decode_object`` makes one out of any JSON object. The usual
    fields come first, in the order in which the bank sends them: the decoder then finds each of them at once.
    """

    id: Text | None = None
    status: Text | None = None
    amount: WholeCents | None = None
    is_incoming: bool | None = None
    currency_code: Text | None = None
    bank_account_id: Text | None = None
    entity_id: Text | None = None
    counterparty_id: Text | None = None
    initiated_at: str | None = None
    returned_at: str | None = None
    type: Text | None = None
    entry_class_code: Text | None = None
    company_name: str | None = None
    receiver_name: str | None = None
    odfi_routing_number: Text | None = None
    originator_name: str | None = None
    originator_account_number: str | None = None
    beneficiary_name: str | None = None
    beneficiary_account_number: str | None = None
    creditor_agent_routing_number: Text | None = None
    sender_bank_account_id: Text | None = None
    receiver_bank_account_id: Text | None = None
    card_id: Text | None = None
    decision_reason: Text | None = None
    entry_mode: Text | None = None
    card_present: bool | None = None
    merchant: Any = None
    effective_on: str | None = None
    return_details: Any = None
    created_at: str | None = None
    updated_at: str | None = None
    settled_amount: WholeCents | None = None
    settled_currency_code: Text | None = None
    instructed_amount: WholeCents | None = None
    instructed_currency_code: Text | None = None
    sec_code: Text | None = None
    settlement_date: str | None = None
    counterparty: Any = None
    originator_address: Any = None
    beneficiary_address: Any = None
    wire: Any = None
    deposited_amount: WholeCents | None = None
    positive_pay_amount: WholeCents | None = None
    payee_name: str | None = None
    category: Any = None
    processor_reason: Text | None = None


class TypedEvent(msgspec.Struct, frozen=True, gc=False):
    """An event whose object, of any family, has no transfer field of a wrong type."""

    id: str
    type: str
    created_at: str
    data: BankObject


class EmbeddedCounterparty(NamedTuple):
    """The bank's object of the counterparty in a transfer."""

    data: dict[str, Any]
    updated_at: int | None


class TransferSnapshot(msgspec.Struct, frozen=True, gc=False):
    """The statements of one event about one transfer. None: not stated; instants are microseconds.

    ``country`` is ``NO_COUNTRY`` where the event states one that cannot be read.

    ``amount_cents`` is in ``currency``, which is USD where no snapshot states one; ``stated_usd_cents`` are the US
    cents that the bank states beside another currency.
    ``updated_at`` and the event's time order snapshots of one transfer; ``created_at`` is the bank's creation time.
    """

    id: str
    rail: str
    direction: str
    type: str | None
    amount_cents: int | None
    currency: str | None
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
    card_id: str | None
    stated_usd_cents: int | None
    embedded: EmbeddedCounterparty | None = None
    purchase: Purchase = NOTHING_STATED  # of a card transfer


class EntitySnapshot(msgspec.Struct, frozen=True, gc=False):
    """The statements of one ``identity.*`` event about one entity; None: not stated."""

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
    """The statements of an event about a counterparty, inline in a transfer or as a separate object."""

    id: str
    name: str | None
    routing: str | None
    last4: str | None
    country: str | None
    updated_at: int | None


class AccountSnapshot(msgspec.Struct, frozen=True, gc=False):
    """The statements of an ``account.*`` event about a bank account."""

    id: str
    owner_id: str | None
    type: str | None
    status: str | None
    balance_cents: int | None
    updated_at: int | None


def _exact(number: str) -> Decimal | None:
    try:
        return Decimal(number)
    except InvalidOperation:
        return None  # an exponent beyond any amount


EVENT_DECODER: Final = msgspec.json.Decoder(BankEvent)
ANY_DECODER: Final = msgspec.json.Decoder(float_hook=_exact)
"""Numbers with a fraction or an exponent become a ``Decimal``, so that no digit of an amount is lost."""

_TYPED_DECODER: Final = msgspec.json.Decoder(TypedEvent)
_OBJECT_DECODER: Final = msgspec.json.Decoder(BankObject)
_ESCAPE: Final = b"\\"
_ESCAPED_NUL: Final = b"\\u0000"


def decode_event(body: bytes) -> TypedEvent | BankEvent:
    """An event out of the bytes that the bank sent. Raises what ``EVENT_DECODER`` raises."""
    # ``in`` takes twice as long: it first checks whether the needle is a number.
    if body.find(_ESCAPE) < 0 or body.find(_ESCAPED_NUL) < 0:
        try:
            return _TYPED_DECODER.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # The object is odd, or the event cannot be read at all.
    return EVENT_DECODER.decode(body)


def decode_object(raw: msgspec.Raw) -> BankObject:
    """A transfer object out of JSON bytes. Raises ``msgspec.DecodeError`` when they are not a JSON object."""
    data = bytes(raw)
    if _ESCAPED_NUL not in data:
        try:
            return _OBJECT_DECODER.decode(data)
        except msgspec.ValidationError:
            pass  # Some field has an odd type: field by field, then.
    value = ANY_DECODER.decode(data)
    if not isinstance(value, dict):
        raise msgspec.DecodeError(NOT_AN_OBJECT)
    return BankObject(**{name: read(value[name]) for name, read in _READERS.items() if name in value})


def _plain(value: object) -> str | None:
    return value if isinstance(value, str) and "\x00" not in value else None


_READER_OF_TYPE: Final[Mapping[Any, Callable[[Any], Any]]] = {
    Text | None: fields.text,
    WholeCents | None: fields.cents,
    str | None: _plain,
    bool | None: fields.flag,
}
_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    field.name: fields.currency
    if "currency_code" in field.name
    else _READER_OF_TYPE.get(field.type, lambda value: value)
    for field in msgspec.structs.fields(BankObject)
}
