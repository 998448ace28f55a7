"""Bank event to transfer snapshot, for every rail; and disputes of card payments and of checks.

Errors  none: an object without a usable id is not a transfer (None); any other field of an odd type counts as absent
Source  the bank's public object pages; checks are inverted, because "incoming debit" there means money leaving

Disputes: the bank defines no object for ``card.dispute.*``. Issuers' APIs state an outcome of won or lost, seen from
the holder's side (Stripe Issuing ``won``, ``lost``; Lithic ``CASE_WON``). A dispute that was withdrawn or expired
says nothing of the payment. Of checks the bank states the outcome as a status. An object that names no transfer or no
outcome is None.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from clearhold.features.bank.events import BankObject, EmbeddedCounterparty, TransferSnapshot
from clearhold.features.bank.fields import (
    EFFECT_AHEAD_US,
    STATED_AHEAD_US,
    UPDATE_AHEAD_US,
    account_last4,
    country,
    country_in,
    currency,
    first_country,
    instant,
    mapping,
    name,
    routing,
    text,
    word,
)
from clearhold.features.bank.purchases import NOTHING_STATED, Purchase, read_purchase
from clearhold.features.bank.statuses import (
    REFUNDED_STATUS,
    RETURN_UNDONE_STATUSES,
    STATUS_OF_BOOK_SUFFIX,
    STATUS_OF_CARD_SUFFIX,
    SUFFIXES_WITHOUT_STATUS,
    is_dishonour,
    is_interbank_step,
    normalised_reason,
    return_code_of,
)
from clearhold.features.core.money import USD
from clearhold.features.core.vocabulary import AchType, Direction, Rail

_ACH_TYPES: Final = frozenset(AchType)
# Looked up once: Python 3.11 takes 0.1 µs for a member and 0.2 µs for its value, and each event asks for many.
_ACH, _BOOK, _CARD, _CHECK = Rail.ACH, Rail.BOOK, Rail.CARD, Rail.CHECK
_INCOMING, _OUTGOING = Direction.INCOMING, Direction.OUTGOING
_INCOMING_WORD, _OUTGOING_WORD = Direction.INCOMING.value, Direction.OUTGOING.value


class EventKind:
    """An event type taken apart once: ``ach.outgoing_transfer.returned`` is rail ach, outgoing, suffix returned."""

    __slots__ = ("direction", "rail", "rail_word", "suffix")

    def __init__(self, rail: Rail, middle: str, suffix: str) -> None:
        self.rail = rail
        self.rail_word = rail.value
        self.suffix = suffix
        incoming = middle.startswith("incoming")
        if rail is _CHECK:
            incoming = not incoming
        if rail is _CARD:
            incoming = suffix == "refunded"
        self.direction = _INCOMING if incoming else _OUTGOING


def read_transfer(kind: EventKind, data: BankObject, *, event_at: int, appended_at: int) -> TransferSnapshot | None:
    """What the event says of its transfer, or None when it names none."""
    transfer_id = data.id
    if not transfer_id:
        return None
    rail, latest = kind.rail, appended_at + STATED_AHEAD_US
    is_ach, is_card = rail is _ACH, rail is _CARD
    status = _status(kind, data)
    direction = kind.direction
    if is_card and (direction is _INCOMING or status == REFUNDED_STATUS):
        direction = _INCOMING  # a refund, although its object may be the purchase's
    elif rail is not _CHECK and isinstance(data.is_incoming, bool):
        direction = _INCOMING if data.is_incoming else _OUTGOING
    return_code, undone, detail_at = (
        _returns(data.return_details, status, latest, code_of=return_code_of if is_ach else word)
        if data.return_details
        else (None, False, None)
    )
    counterparty_id, party_name, party_routing, last4, party_country = _other_side(rail, direction, data)
    is_foreign = data.settled_currency_code or data.instructed_currency_code
    return TransferSnapshot(  # by position, in the order of the Struct's fields: one is built for each event
        transfer_id,
        kind.rail_word,
        _INCOMING_WORD if direction is _INCOMING else _OUTGOING_WORD,
        _ach_type(data.type) if is_ach else None,
        data.amount if rail is not _CHECK else _amount_of_check(data),
        currency(data.currency_code),
        status,
        data.entity_id or None,
        (data.sender_bank_account_id if rail is _BOOK else data.bank_account_id) or None,
        counterparty_id,
        party_name,
        party_routing,
        last4,
        party_country,
        (data.entry_class_code or data.sec_code or "").strip().upper() or None if is_ach else None,
        return_code if is_ach else None,
        undone or status in RETURN_UNDONE_STATUSES,
        (instant(data.returned_at, latest) if data.returned_at else None)
        or detail_at
        or (event_at if kind.suffix == "returned" else None),
        _first_instant(data.effective_on, data.settlement_date, appended_at + EFFECT_AHEAD_US),
        _first_instant(data.created_at, data.initiated_at, latest),
        instant(data.updated_at, appended_at + UPDATE_AHEAD_US) if data.updated_at else None,
        _card_reason(data) if is_card else None,
        data.card_id or None if is_card else None,
        _stated_usd_cents(data) if is_foreign else None,
        None if is_card or rail is _BOOK or not data.counterparty else _embedded(data.counterparty, appended_at),
        _purchase(data) if is_card else NOTHING_STATED,
    )


def _first_instant(value: str | None, other: str | None, latest: int) -> int | None:
    at = instant(value, latest) if value else None
    return instant(other, latest) if at is None and other else at


def _ach_type(value: str | None) -> str | None:
    ach_type = value.strip().upper() if value else None
    return ach_type if ach_type in _ACH_TYPES else None


def _status(kind: EventKind, data: BankObject) -> str | None:
    if data.status and (status := data.status.strip().upper()):
        return status
    if kind.rail is _CARD:
        return STATUS_OF_CARD_SUFFIX.get(kind.suffix)
    if kind.rail is _BOOK and kind.suffix in STATUS_OF_BOOK_SUFFIX:
        return STATUS_OF_BOOK_SUFFIX[kind.suffix]
    if not kind.suffix or "." in kind.suffix or kind.suffix in SUFFIXES_WITHOUT_STATUS:
        return None
    return kind.suffix.upper()


def _amount_of_check(data: BankObject) -> int | None:
    amounts = (data.deposited_amount, data.positive_pay_amount, data.amount)
    return next((amount for amount in amounts if amount is not None), None)


def _stated_usd_cents(data: BankObject) -> int | None:
    """The settled amount when it is in USD, else the instructed one when that is."""
    if currency(data.settled_currency_code) == USD and data.settled_amount is not None:
        return data.settled_amount
    return data.instructed_amount if currency(data.instructed_currency_code) == USD else None


def _returns(
    details: object, status: str | None, latest: int, *, code_of: Callable[[object], str | None]
) -> tuple[str | None, bool, int | None]:
    """The last return code that is not a step between banks, whether it was undone, and when it was returned."""
    code: str | None = None
    undone = False
    returned_at: int | None = None
    for item in details if isinstance(details, list) else [details]:
        detail = mapping(item)
        return_code = code_of(detail.get("return_code")) or code_of(detail.get("code"))
        if return_code is None:
            continue
        if is_interbank_step(return_code):
            undone = is_dishonour(return_code)
        else:
            code, undone, returned_at = return_code, False, instant(detail.get("created_at"), latest)
    return code, undone and status != "RETURN_CONTESTED", returned_at


def _other_side(
    rail: Rail, direction: Direction, data: BankObject
) -> tuple[str | None, str | None, str | None, str | None, str | None]:
    """Counterparty id, name, routing number, last four and country, from the fields of the rail."""
    if rail is _CARD:
        merchant = mapping(data.merchant)
        return text(merchant.get("id")), name(merchant.get("name")), None, None, country(merchant.get("country_code"))
    if rail is _BOOK:
        return data.receiver_bank_account_id or None, None, None, None, None
    incoming = direction is _INCOMING
    if rail is _ACH:
        inline_name = data.company_name if incoming else data.receiver_name
        stated_routing, number = (data.odfi_routing_number if incoming else None), None
    elif rail is _CHECK:
        inline_name, stated_routing, number = data.payee_name, None, None
    elif incoming:
        inline_name, stated_routing, number = data.originator_name, None, data.originator_account_number
    else:
        inline_name, stated_routing = data.beneficiary_name, data.creditor_agent_routing_number
        number = data.beneficiary_account_number
    inline_routing = routing(stated_routing) if stated_routing else None
    last4 = account_last4(number) if number else None
    if data.counterparty:
        embedded = mapping(data.counterparty)
        return (
            data.counterparty_id or text(embedded.get("id")),
            name(embedded.get("name")) or name(inline_name),
            routing(embedded.get("routing_number")) or inline_routing,
            account_last4(embedded.get("account_number")) or last4,
            first_country(country_of_counterparty(embedded), _inline_country(data, incoming=incoming)),
        )
    inline_country = _inline_country(data, incoming=incoming)
    party_name = name(inline_name) if inline_name else None
    return data.counterparty_id or None, party_name, inline_routing, last4, inline_country


def _embedded(value: object, appended_at: int) -> EmbeddedCounterparty | None:
    data = mapping(value)
    updated_at = instant(data.get("updated_at"), appended_at + UPDATE_AHEAD_US)
    return EmbeddedCounterparty(data, updated_at) if data else None


def _inline_country(data: BankObject, *, incoming: bool) -> str | None:
    address = data.originator_address if incoming else data.beneficiary_address
    if not address and not data.wire:
        return None
    return first_country(country_in(address), country_in(mapping(data.wire).get("beneficiary_address")))


def country_of_counterparty(data: dict[str, Any]) -> str | None:
    """The first that can be read of its address, its local bank's country and the address its wires go to."""
    return first_country(
        country_in(data.get("address")),
        country(data.get("local_bank_country_code")),
        country_in(mapping(data.get("wire")).get("beneficiary_address")),
    )


def _card_reason(data: BankObject) -> str | None:
    reason = data.decision_reason or data.processor_reason
    return normalised_reason(reason) if reason else None


def _purchase(data: BankObject) -> Purchase:
    merchant = mapping(data.merchant)
    return read_purchase(
        merchant.get("category_code"), merchant.get("state"), data.entry_mode, present=data.card_present
    )


class DisputeOutcome(StrEnum):
    """The party that the decision is for; the holder disputes the payment."""

    WON = "won"
    LOST = "lost"


class DecidedDispute(NamedTuple):
    transfer_id: str
    outcome: DisputeOutcome


_TRANSFER_FIELDS: Final = ("transfer_id", "transaction_id", "card_transaction_id")
_OUTCOME_FIELDS: Final = ("outcome", "resolution", "status")
DISPUTE_OPENED: Final = "dispute.opened"
_WON: Final = frozenset({"WON", "CASE_WON", "CARDHOLDER_WON", "WON_BY_CARDHOLDER", "ACCEPTED", "UPHELD"})
_LOST: Final = frozenset({"LOST", "CASE_LOST", "MERCHANT_WON", "WON_BY_MERCHANT", "DENIED", "REJECTED"})
OUTCOME_OF_CHECK_STATUS: Final = {
    "USER_INITIATED_RETURNED": DisputeOutcome.WON,
    "USER_INITIATED_RETURN_DISHONORED": DisputeOutcome.LOST,
}


def read_dispute(suffix: str, data: dict[str, Any]) -> DecidedDispute | None:
    """A ``card.dispute.*`` event's object, once the dispute is decided."""
    if suffix == DISPUTE_OPENED:
        return None
    nested = text(mapping(data.get("transaction")).get("id"))
    transfer_id = next((value for name in _TRANSFER_FIELDS if (value := text(data.get(name)))), nested)
    words = {value for name in _OUTCOME_FIELDS if (value := word(data.get(name)))}
    outcome = DisputeOutcome.WON if words & _WON else DisputeOutcome.LOST if words & _LOST else None
    return None if transfer_id is None or outcome is None else DecidedDispute(transfer_id, outcome)
