"""Arguments of the tools, and the JSON Schemas by which models write them."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import ID_LIMIT, IdempotencyKeyText, PageLimit, Prose
from clearhold.api.openapi.glossary import PROPERTIES
from clearhold.features.core.vocabulary import ActorType, AlertDecision, Route, about

WEEK: Final = "^[0-9]{4}-W[0-9]{2}$"
ACTOR_ID: Final = r"^[^\x00-\x1f\x7f-\x9f]+$(?!\n)"
_NOT_SHOWN: Final = frozenset({"title", "default", "description"})
_NOT_BEFORE_A_NEWLINE: Final = r"(?!\n)"

QueueStatuses = Annotated[tuple[Literal["open", "held", "escalated"], ...], msgspec.Meta(min_length=1, max_length=20)]
PageCursor = Annotated[str, msgspec.Meta(max_length=512)]
IsoWeek = Annotated[str, msgspec.Meta(pattern=WEEK)]
ReportDays = Annotated[int, msgspec.Meta(ge=1, le=365)]
AlertId = Annotated[UUID, about("The alert's id, as list_queue has it.")]
_PROGRAM: Final = about("One program, by its id.")
ActorId = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LIMIT, pattern=ACTOR_ID)]


class QueueArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    status: Annotated[QueueStatuses | None, about("Only alerts in one of these states. Left out: all three.")] = None
    route: Annotated[Route | None, about("reviewed waits for a person, automated was routed to the policy.")] = None
    program_id: Annotated[UUID | None, _PROGRAM] = None
    overdue_only: Annotated[bool | None, about("true: only alerts whose due time has passed.")] = None
    limit: Annotated[PageLimit | None, about("How many alerts at most. Left out: 25.")] = None
    cursor: Annotated[PageCursor | None, about("nextCursor of the page before, with the same other arguments.")] = None


class AlertArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_id: AlertId


class DecisionArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_id: AlertId
    decision: Annotated[
        AlertDecision,
        about(
            "close: explained, nothing is wrong. hold: keep the money back. escalate: somebody with more "
            "authority is to see it. release: let the held money go. no_action: noted, nothing follows."
        ),
    ]
    narrative: Annotated[Prose, about("Why, in the decider's words. It goes on the record unchanged, and stays.")]
    idempotency_key: Annotated[
        IdempotencyKeyText | None, about("Send the same key with every attempt at the same call: it takes effect once.")
    ] = None


class ProgramArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: Annotated[UUID, _PROGRAM]


class ActorArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    type: Annotated[ActorType, about("What kind of actor.")]
    id: Annotated[ActorId, about("The bank's id of the actor, as subjectId, entityId or counterpartyId has it.")]
    program_id: Annotated[UUID | None, about("Needed where several programs have an actor of this id.")] = None


class WeekArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: Annotated[UUID, _PROGRAM]
    week: Annotated[IsoWeek | None, about("An ISO week, as 2026-W37. Left out: the last full week.")] = None


class MetricsArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[ReportDays | None, about("Of how many UTC days, today included. Left out: 30.")] = None


def input_schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The arguments in one closed object, without references, for models of several vendors."""
    definitions = msgspec.json.schema(struct)["$defs"]
    return _inlined(definitions[struct.__name__], definitions)


def _inlined(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """An optional argument shows only its type: null is accepted too, but would need a second form."""
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
            name: _inlined(each, definitions) | {"description": each.get("description") or PROPERTIES[name]}
            for name, each in flat["properties"].items()
        }
    return flat
