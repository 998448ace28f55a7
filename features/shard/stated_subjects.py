"""What an event says that it is about, where it has no effect because its id is used up."""

from typing import Any, Final

import msgspec

from clearhold.features.bank.event_types import BankEventType
from clearhold.features.bank.events import ANY_DECODER, EVENT_DECODER, decode_object
from clearhold.features.bank.parties import account_id_of, counterparty_id_of, entity_id_of
from clearhold.features.bank.transfers import read_dispute, read_transfer
from clearhold.features.core.log_entry import EntryPosition, EventOutcome, EventResult, EventSubjectType, SubjectOfEvent

_PARTIES: Final = {
    "identity": (EventSubjectType.ENTITY, entity_id_of),
    "counterparty": (EventSubjectType.COUNTERPARTY, counterparty_id_of),
    "account": (EventSubjectType.ACCOUNT, account_id_of),
}


def outcome_again(result: EventResult, kind: BankEventType, body: bytes, position: EntryPosition) -> EventOutcome:
    """The outcome of an event whose id is known, with its subject where other bytes took effect under the id."""
    return EventOutcome(result, _stated(kind, body, position) if result is EventResult.CONFLICTING else None)


def _stated(kind: BankEventType, body: bytes, position: EntryPosition) -> SubjectOfEvent | None:
    """The transfer, party or account that it names; None where it names none, or cannot be read."""
    try:
        raw = EVENT_DECODER.decode(body).data
        if kind.kind is not None and not kind.is_dispute:
            return _transfer(kind, raw, position)
        data: Any = ANY_DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    if kind.is_dispute:
        dispute = read_dispute(kind.suffix, data)
        return None if dispute is None else SubjectOfEvent(EventSubjectType.TRANSFER, dispute.transfer_id)
    type_, id_of = _PARTIES.get(kind.family, (None, None))
    named = None if id_of is None else id_of(data)
    return None if type_ is None or named is None else SubjectOfEvent(type_, named)


def _transfer(kind: BankEventType, raw: msgspec.Raw, position: EntryPosition) -> SubjectOfEvent | None:
    data = decode_object(raw)
    if kind.kind is None or not kind.has_transfer(data):
        return None
    snapshot = read_transfer(kind.kind, data, event_at=position.event_at, appended_at=position.appended_at)
    return None if snapshot is None else SubjectOfEvent(EventSubjectType.TRANSFER, snapshot.id)
