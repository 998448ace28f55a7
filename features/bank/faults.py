"""Why an event had its result: one sentence, with the path of the field.

A sentence names fields of the tables in ``event_fields.py`` and quotes nothing of the sender's. It is worked out after
the event was applied, and decides nothing.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

import msgspec

from clearhold.features.bank.event_fields import (
    DISPUTE_FIELDS,
    FIELDS_OF_PARTY,
    FOR_ITS_AMOUNT,
    TO_NAME_IT,
    EventField,
    transfer_fields,
)
from clearhold.features.bank.event_types import KNOWN_FAMILIES, TRANSFER_RESOURCES, BankEventType, event_type
from clearhold.features.bank.events import (
    ANY_DECODER,
    EVENT_DECODER,
    BankEvent,
    BankObject,
    TransferSnapshot,
    TypedEvent,
)
from clearhold.features.bank.fields import (
    ACCOUNT,
    ACH_TYPE,
    CURRENCY,
    EFFECT_AHEAD_US,
    ENTRY_MODE,
    ROUTING,
    UPDATE_AHEAD_US,
    BankFieldKind,
    instant,
    mapping,
    routing,
    text,
)
from clearhold.features.bank.transfers import DISPUTE_OPENED
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.log_entry import EventFault, EventResult
from clearhold.features.core.money import UNREADABLE_CURRENCY
from clearhold.features.core.vocabulary import Rail

SHOWN_FIELDS: Final = 10
SHOWN_NAMES: Final = 50
SHOWN_LENGTH: Final = 64
CAMEL_CASE_ID: Final = b'Id":'
"""The endings of the most frequent names in camel case; no name of the bank ends so."""

_DATA: Final = "data"
_NOTHING: Final = (None, "")
_NO_RETURNS: Final[tuple[object, ...]] = (None, [])
_ACH: Final = Rail.ACH.value
_CARD: Final = Rail.CARD.value
_OTHER_WORDS: Final = {"entity": "identity", "bank_account": "account", "transaction": "card", "rtp": "realtime"}
_SENTENCES: Final = {
    EventResult.DUPLICATE: EventFault("The same event, byte for byte, came before."),
    EventResult.CONFLICTING: EventFault(
        "Other bytes took effect under this id. If only the spelling differs, as spaces or the order of names, nothing "
        "is missing; send a changed event under a new id.",
        "id",
    ),
    EventResult.FAILED: EventFault("Clearhold could not apply it. Its table of quarantined entries has the cause."),
    EventResult.WAITING: EventFault("The dispute is decided, and its transfer is not known yet.", "data.transfer_id"),
}
_CAMEL_CASE: Final = re.compile(rb'[A-Z][a-z]+":')
"""The ending of a name in camel case, the spelling of Clearhold's own API."""
_READ_FURTHER: Final = (ACCOUNT, ACH_TYPE, CURRENCY, ENTRY_MODE, ROUTING)
_FIELDS_OF_RAIL: Final = {rail: transfer_fields(rail) for rail in Rail}
_CHECKED_WHEN_TYPED: Final = {
    rail: tuple(each for each in of_rail if each.kind in _READ_FURTHER or each.kind.ahead_us is not None or each.inside)
    for rail, of_rail in _FIELDS_OF_RAIL.items()
}
"""The fields whose types in ``BankObject`` do not ensure that they can be used."""


def fault_of(event: TypedEvent | BankEvent, body: bytes, result: EventResult, *, appended_at: int) -> EventFault | None:
    """The fault of an event with this result; None when there is nothing to report."""
    kind = event_type(event.type)
    if result is EventResult.UNKNOWN:
        return _unknown_family(event.type)
    if result in _SENTENCES:
        return _SENTENCES[result]
    if result is EventResult.APPLIED and isinstance(event, TypedEvent) and _is_plain(event, kind, body, appended_at):
        return _in_future(event.created_at, event.data.created_at, appended_at)
    data = _data_of(body)
    if isinstance(data, EventFault):
        return data
    if result in _FAULT_IN_DATA:
        return _FAULT_IN_DATA[result](kind, data)
    return (
        _read_otherwise(data, _fields_of(kind), appended_at)
        or _in_future(event.created_at, data.get("created_at"), appended_at)
        or _unlisted(kind)
    )


def unread_names(body: bytes) -> tuple[str, ...]:
    """The first names of the event's object that are not read; of an event that nothing reads, none."""
    data, fields = _data_of(body), _fields_of(event_type(EVENT_DECODER.decode(body).type))
    if not fields or isinstance(data, EventFault):
        return ()
    known = {each.name for each in fields}
    return tuple(islice((name[:SHOWN_LENGTH] for name in data if name not in known), SHOWN_NAMES))


def _data_of(body: bytes) -> dict[str, Any] | EventFault:
    """The event's object, or the fault when it has no object."""
    try:
        data: Any = ANY_DECODER.decode(EVENT_DECODER.decode(body).data or b"null")
    except (msgspec.DecodeError, RecursionError):
        return EventFault("data is not well-formed JSON, or nests too deeply.", _DATA)
    if data is None:
        return EventFault("data is required: the object that the event is about.", _DATA)
    return data if isinstance(data, dict) else EventFault("data must be an object.", _DATA)


def reads_plainly(kind: BankEventType, data: BankObject, snapshot: TransferSnapshot, *, appended_at: int) -> bool:
    """Whether all of a usual transfer was read, which needs no search for faults: true of most transfers."""
    created_at = snapshot.created_at
    return (
        kind.is_transfer
        and kind.is_listed
        and created_at is not None
        and created_at <= appended_at
        and snapshot.updated_at is not None
        and snapshot.currency is not None
        and snapshot.currency != UNREADABLE_CURRENCY
        and snapshot.account_id is not None
        and (snapshot.counterparty_id is not None or snapshot.counterparty_name is not None)
        and (not data.initiated_at or _both_read(data.created_at, data.initiated_at, appended_at))
        and (snapshot.effective_at is not None or not (data.effective_on or data.settlement_date))
        and (
            not data.settlement_date
            or _both_read(data.effective_on, data.settlement_date, appended_at + EFFECT_AHEAD_US)
        )
        and (snapshot.type is not None or snapshot.rail != _ACH)
        and (
            snapshot.counterparty_routing is not None
            or _bank_read(data.odfi_routing_number if snapshot.rail == _ACH else data.creditor_agent_routing_number)
        )
        and (
            snapshot.counterparty_last4 is not None
            or not (data.beneficiary_account_number or data.originator_account_number)
        )
        and data.counterparty is data.wire is None
        and (data.merchant is None or _merchant_read(snapshot, data))
        and data.beneficiary_address is data.originator_address is None
        and data.return_details in _NO_RETURNS
        and not data.returned_at
        and snapshot.amount_cents is not None
        and not (data.settled_currency_code or data.instructed_currency_code)
    )


def _both_read(stated: str | None, other: str | None, latest: int) -> bool:
    """Whether two times, one of which is known to be read, both are."""
    if not stated or not other or stated == other:
        return True
    return instant(stated, latest) is not None and instant(other, latest) is not None


def _merchant_read(snapshot: TransferSnapshot, data: BankObject) -> bool:
    """Whether all that is read of a card's merchant and purchase is there, or is not stated, and was read."""
    of_merchant = (snapshot.counterparty_id, snapshot.counterparty_name, snapshot.card_decision_reason)
    stated, read = mapping(data.merchant), snapshot.purchase
    return (
        snapshot.rail == _CARD
        and None not in of_merchant
        and bool(snapshot.country)
        and (read.category is not None or not stated.get("category_code"))
        and (read.state is not None or not stated.get("state"))
        and (read.entry_mode is not None or not data.entry_mode)
    )


def _bank_read(number: str | None) -> bool:
    return not number or routing(number) is not None


def _is_plain(event: TypedEvent, kind: BankEventType, body: bytes, appended_at: int) -> bool:
    """Whether a transfer's object has no fault: found in a fraction of the time of a full search."""
    data = event.data
    if not kind.is_transfer or not kind.is_listed or kind.kind is None:
        return False
    for field in _CHECKED_WHEN_TYPED[kind.kind.rail]:
        value = getattr(data, field.name)
        if value is None:
            continue
        if not field.kind.fits(value, appended_at) or (
            field.inside and any(_odd_inside(field, value, _DATA, appended_at))
        ):
            return False
    return _CAMEL_CASE.search(body) is None


def _in_future(created_at: str, own: object, appended_at: int) -> EventFault | None:
    """``own`` is the object's creation time."""
    for path, stated in (("created_at", created_at), ("data.created_at", own)):
        at = parse_instant(stated) if isinstance(stated, str) else None
        if at is not None and at > appended_at + UPDATE_AHEAD_US:
            return EventFault(f"{path} is in the future, and was read as the time at which the event arrived.", path)
    return None


def _unlisted(kind: BankEventType) -> EventFault | None:
    if kind.is_listed:
        return None
    if kind.kind is not None and not kind.is_transfer and not kind.is_dispute:
        return EventFault(
            "type is not a listed one; it was read as that of a transfer, because of the id and amount.", "type"
        )
    return EventFault("type is not a listed one; its last part was read as a state that is not known here.", "type")


def _fields_of(kind: BankEventType) -> tuple[EventField, ...]:
    if kind.is_dispute:
        return DISPUTE_FIELDS
    return FIELDS_OF_PARTY.get(kind.family, ()) if kind.kind is None else _FIELDS_OF_RAIL[kind.kind.rail]


def _unknown_family(type_text: str) -> EventFault:
    family = type_text.partition(".")[0]
    if family.lower() in KNOWN_FAMILIES:
        return EventFault("type must be in lower-case letters.", "type")
    families = ", ".join(sorted(KNOWN_FAMILIES))
    meant = _OTHER_WORDS.get(family) or next(iter(get_close_matches(family, sorted(KNOWN_FAMILIES), 1)), None)
    hint = f" Is {meant} meant?" if meant else ""
    return EventFault(f"type must begin with one of the families {families}, and a dot.{hint}", "type")


def _stale(_kind: BankEventType, data: dict[str, Any]) -> EventFault:
    path = "data.updated_at" if text(data.get("updated_at")) else "created_at"
    return EventFault(f"{path} is earlier than that of the newest snapshot of the object.", path)


def _unusable(kind: BankEventType, data: dict[str, Any]) -> EventFault:
    """The missing field without which the event cannot be used: the id, else the amount."""
    fields = _fields_of(kind)
    alternatives: list[EventField] = []
    for why in (TO_NAME_IT, FOR_ITS_AMOUNT):
        alternatives = [each for each in fields if each.needed == why]
        if not any(each.kind.is_usable(data.get(each.name)) for each in alternatives):
            break
    for field in alternatives:
        if data.get(field.name) not in _NOTHING:
            return EventFault(f"data.{field.name} must be {field.kind.words}.", f"data.{field.name}")
    first = alternatives[0]
    hint = f" Its name is {first.name}, and not {other}." if (other := _spelt_otherwise(first.name, data)) else ""
    return EventFault(f"data.{first.name} is required {first.needed}.{hint}", f"data.{first.name}")


def _stored(kind: BankEventType, data: dict[str, Any]) -> EventFault:
    """Why an event of a known family was kept and had no effect."""
    if kind.is_dispute:
        return _dispute(kind, data)
    if kind.kind is None:
        if kind.family in FIELDS_OF_PARTY:
            return EventFault("It names an account and states nothing about it.")
        return EventFault("Events of this family are kept, and nothing is done with them.")
    if kind.is_request:
        return EventFault("It is about a request, which is no transfer.")
    known = sorted(each for each in TRANSFER_RESOURCES if each.partition(".")[0] == kind.family)
    return EventFault(f"type names no transfer: those of this family begin with {' or '.join(known)}.", "type")


def _dispute(kind: BankEventType, data: dict[str, Any]) -> EventFault:
    if kind.suffix == DISPUTE_OPENED:
        return EventFault("The dispute is open. It labels its transfer when it is decided.")
    if not any(text(data.get(each.name)) for each in DISPUTE_FIELDS if each.name.endswith("_id")):
        nested = mapping(data.get("transaction"))
        if not text(nested.get("id")):
            return EventFault("data.transfer_id is required to know which transfer is disputed.", "data.transfer_id")
    return EventFault("data.outcome says neither that the dispute was won nor that it was lost.", "data.outcome")


def _read_otherwise(data: dict[str, Any], fields: Sequence[EventField], appended_at: int) -> EventFault | None:
    """The fields of an applied event that could not be used, the first with its rule."""
    odd = [*_odd(fields, data, _DATA, appended_at)]
    if odd:
        path, kind = odd[0]
        further = ", ".join(each for each, _ in odd[1 : 1 + SHOWN_FIELDS])
        return EventFault(
            f"{path} must be {kind.words}; it was read {kind.read_as}."
            + (f" Nor can these be used: {further}." if further else ""),
            path,
        )
    for path, name, other in _misspelt(fields, data, _DATA):
        return EventFault(f"{path}.{other} is not read: the field's name is {name}.", f"{path}.{name}")
    return None


def _misspelt(fields: Sequence[EventField], data: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """The object, the name and the spelling of fields that are there under another name."""
    for field in fields:
        value = data.get(field.name)
        if value is None and (other := _spelt_otherwise(field.name, data)):
            yield path, field.name, other
        elif field.inside and isinstance(value, dict):
            yield from _misspelt(field.inside, value, f"{path}.{field.name}")


def _odd(
    fields: Sequence[EventField], data: dict[str, Any], path: str, appended_at: int
) -> Iterator[tuple[str, BankFieldKind]]:
    """The paths, and what should be there, of values that cannot be used."""
    for field in fields:
        value = data.get(field.name)
        if value in _NOTHING:
            continue
        if not field.kind.fits(value, appended_at):
            yield f"{path}.{field.name}", field.kind
        elif field.inside:
            yield from _odd_inside(field, value, path, appended_at)


def _odd_inside(field: EventField, value: object, path: str, appended_at: int) -> Iterator[tuple[str, BankFieldKind]]:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _odd(field.inside, each, f"{path}.{field.name}[{number}]", appended_at)
    elif isinstance(value, dict):
        yield from _odd(field.inside, value, f"{path}.{field.name}", appended_at)


def _spelt_otherwise(name: str, data: dict[str, Any]) -> str | None:
    """The field in camel case, or with its unit, as Clearhold's own API writes it."""
    first, *rest = name.split("_")
    camel = first + "".join(each.title() for each in rest)
    spellings = (camel, f"{camel}Cents", f"{name}_cents", name.upper())
    return next((each for each in spellings if each != name and each in data), None)


_FAULT_IN_DATA: Final = {
    EventResult.STALE: _stale,
    EventResult.STORED: _stored,
    EventResult.UNUSABLE: _unusable,
}
