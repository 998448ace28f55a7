"""Arguments of the tools, and the JSON Schemas by which models write them."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import ID_LIMIT, IdempotencyKeyText, PageLimit, Prose
from clearhold.api.openapi.glossary import PROPERTIES
from clearhold.features.core.vocabulary import ActorType, AlertDecision, Route

WEEK: Final = "^[0-9]{4}-W[0-9]{2}$"
ACTOR_ID: Final = r"^[^/\x00-\x1f\x7f-\x9f]+$(?!\n)"
_NOT_SHOWN: Final = frozenset({"title", "default", "description"})
_NOT_BEFORE_A_NEWLINE: Final = r"(?!\n)"

ActorId = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LIMIT, pattern=ACTOR_ID)]


class QueueArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    status: (
        Annotated[tuple[Literal["open", "held", "escalated"], ...], msgspec.Meta(min_length=1, max_length=20)] | None
    ) = None
    route: Route | None = None
    program_id: UUID | None = None
    overdue_only: bool | None = None
    limit: PageLimit | None = None
    cursor: Annotated[str, msgspec.Meta(max_length=512)] | None = None


class AlertArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_id: UUID


class DecisionArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_id: UUID
    decision: AlertDecision
    narrative: Prose
    idempotency_key: IdempotencyKeyText | None = None


class ProgramArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: UUID


class ActorArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    type: ActorType
    id: ActorId
    program_id: UUID | None = None


class WeekArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: UUID
    week: Annotated[str, msgspec.Meta(pattern=WEEK)] | None = None


class MetricsArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] | None = None


WORDS: Final[Mapping[str, str]] = {
    "status": "Only alerts in one of these states. Left out: all three.",
    "route": "reviewed waits for a person, automated was routed to the policy.",
    "programId": "One program, by its id.",
    "overdueOnly": "true: only alerts whose due time has passed.",
    "limit": "How many alerts at most. Left out: 25.",
    "cursor": "nextCursor of the page before, sent with the same other arguments.",
    "alertId": "The alert's id, as list_queue has it.",
    "decision": "close: explained, nothing is wrong. hold: keep the money back. escalate: somebody with more authority "
    "is to see it. release: let go what is held. no_action: noted, nothing follows.",
    "narrative": "Why, in the words of whoever decides. It goes on the record as it is, and cannot be changed.",
    "idempotencyKey": "Send the same key with every attempt at the same call: it takes effect once.",
    "ActorArguments.type": "What kind of actor.",
    "ActorArguments.id": "The bank's id of the actor, as subjectId, entityId or counterpartyId has it.",
    "ActorArguments.programId": "Needed where several programs have an actor of this id.",
    "week": "An ISO week, as 2026-W37. Left out: the last full week.",
    "days": "Of how many UTC days, today included. Left out: 30.",
}
"""What an argument means, where the words of the API document do not fit."""


def input_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The arguments in one closed object, without references, for models of several vendors."""
    definitions = msgspec.json.schema(struct)["$defs"]
    return _inlined(definitions[struct.__name__], definitions)


def _inlined(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """What may be left out is shown by its own type: a null, which is taken as well, would need another form."""
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        (branch,) = [each for each in schema["anyOf"] if each.get("type") != "null"]
        return _inlined(branch, definitions)
    flat = {name: each for name, each in schema.items() if name not in _NOT_SHOWN and each != []}
    if "pattern" in flat:
        flat["pattern"] = flat["pattern"].removesuffix(_NOT_BEFORE_A_NEWLINE)
    if "enum" in flat:
        flat["type"] = "string"
    if "items" in flat:
        flat["items"] = _inlined(flat["items"], definitions)
    if "properties" in flat:
        flat["properties"] = {
            name: _inlined(each, definitions) | {"description": _words_of(schema["title"], name)}
            for name, each in flat["properties"].items()
        }
    return flat


def _words_of(struct: str, name: str) -> str:
    own = f"{struct}.{name}"
    return WORDS.get(own) or PROPERTIES.get(own) or WORDS.get(name) or PROPERTIES[name]
