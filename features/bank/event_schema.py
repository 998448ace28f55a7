"""Bank events as JSON Schema, for the OpenAPI document. It lists the fields that are read; an event may have others.

The envelope is enforced when an event is taken in. ``data`` never is: a value that does not fit is read as absent.
"""

from collections.abc import Iterable
from typing import Any, Final

from clearhold.features.bank.event_fields import (
    ACCOUNT_FIELDS,
    ADDRESS_FIELDS,
    COUNTERPARTY_FIELDS,
    DISPUTE_FIELDS,
    EMBEDDED_COUNTERPARTY_FIELDS,
    ENTITY_FIELDS,
    WIRE_DETAILS,
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


_SHARED_INSIDE: Final = {
    "AddressObject": ADDRESS_FIELDS,
    "WireDetailsObject": WIRE_DETAILS.inside,
    "EmbeddedCounterpartyObject": EMBEDDED_COUNTERPARTY_FIELDS,
}
"""Objects that stand in several others."""


def object_schema(title: str, fields: Iterable[EventField]) -> Schema:
    """An open object of these fields, each of which may be null."""
    return {"type": "object", "title": title, "properties": {each.name: _field_schema(each) for each in fields}}


def _field_schema(field: EventField) -> Schema:
    schema: Schema = dict(field.kind.schema)
    if field.inside:
        inside: Schema = {"properties": {each.name: _field_schema(each) for each in field.inside}}
        inside |= next(({"title": title} for title, shared in _SHARED_INSIDE.items() if shared == field.inside), {})
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
