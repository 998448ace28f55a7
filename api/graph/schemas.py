"""The graph of money around a subject as the interface shows it, and an example."""

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.http.fields import Around, Moment, ProgramId
from clearhold.api.programs.routes import PROGRAM_ID
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import Band, about

MOST_DAYS: Final = 90
MOST_EDGES: Final = 200


class GraphQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``around`` is a type and an id; the window of ``days`` ends at ``as_of``, which is not in it."""

    around: Around
    program_id: ProgramId | None = None
    hops: Annotated[int, msgspec.Meta(ge=1, le=2)] = 1
    days: Annotated[int, msgspec.Meta(ge=1, le=MOST_DAYS)] = MOST_DAYS
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_EDGES)] = MOST_EDGES
    as_of: Moment | None = None


class NodeType(StrEnum):
    ENTITY = "entity"
    AGENT = "agent"
    ACCOUNT = "account"
    COUNTERPARTY = "counterparty"
    PROGRAM = "program"


class GraphNode(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A party. The program stands for its own side where a transfer names neither entity nor account."""

    key: Annotated[str, about("Type and id, as in entity:enti_1. Edges name nodes by it.")]
    type: NodeType
    id: str
    name: Annotated[str | None, about("Name as the bank stated it; of an account with an owner, the owner's.")]
    account_last4: Annotated[str | None, about("Last four of its account number; null when unknown.")]
    country_code: Annotated[str | None, about("ISO 3166-1 alpha-2; null when unknown.")]
    entity_id: Annotated[str | None, about("Owner of an account; null for other types, and while unknown.")]
    score: Annotated[int | None, about("Score of now; of an account, its owner's. Null while unscored.")]
    band: Annotated[Band | None, about("Band of that score; null where the type has no score.")]
    hop: Annotated[int, about("0 is at the center, 1 next to it, 2 behind that.")]
    expanded: Annotated[bool, about("Whether its own transfers were read; false: only those with an expanded node.")]


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The transfers from one node to another, in the direction of the money. Cents are US cents."""

    from_: Annotated[str, about("Key of the node that pays.")] = msgspec.field(name="from")
    to: Annotated[str, about("Key of the node that is paid.")]
    transfers: Annotated[int, about("How many transfers moved money or are on their way.")]
    cents: Annotated[str, about("Their sum: postedCents, pendingCents, returnedCents and heldCents.")]
    posted_cents: Annotated[str, about("Of final transfers.")]
    pending_cents: Annotated[str, about("Of transfers that are not final.")]
    returned_cents: Annotated[str, about("Of transfers that came back.")]
    held_cents: Annotated[str, about("Of transfers whose alert is held; not of returned ones.")]
    failed_transfers: Annotated[int, about("How many failed or were canceled; they are in no other figure.")]
    failed_cents: Annotated[str, about("Of failed and canceled transfers.")]
    unpriced_transfers: Annotated[int, about("Of transfers: those whose US cents are not known; they add no cents.")]
    first_at: Annotated[str, about("When the bank created the first of all these transfers.")]
    last_at: Annotated[str, about("When the bank created the last of them.")]
    score: Annotated[int | None, about("The highest score of them; null while all are unscored.")]
    band: Annotated[Band, about("Band of that score.")]
    evidence: Annotated[int, about("How many of them the alert rests on; of a transfer, whether it is one of them.")]
    path: Annotated[bool, about("Whether the alert's round trip or layering, or the transfer itself, runs over it.")]


class TransferTotals(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    transfers: Annotated[int, about("How many transfers moved money or are on their way.")]
    cents: Annotated[str, about("Their US cents.")]


class EdgeTotals(TransferTotals, frozen=True, kw_only=True, rename="camel"):
    edges: Annotated[int, about("How many edges.")]


class SubjectGraph(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    around: Annotated[str, about("As in the request.")]
    program_id: str
    from_: Annotated[str | None, about("Begin of the window; null without a transfer on the program.")] = msgspec.field(
        name="from"
    )
    to: Annotated[str | None, about("End of the window: the program's newest transfer, or as in the request.")]
    nodes: Annotated[tuple[GraphNode, ...], about("The center first.")]
    edges: Annotated[tuple[GraphEdge, ...], about("Those on the path first, then with evidence, then by cents.")]
    truncated: Annotated[EdgeTotals, about("The edges that the limit left out; zeros when it left out none.")]
    unnamed: Annotated[TransferTotals, about("Transfers of the center whose other side has no id; without an edge.")]
    simulated: Simulated = msgspec.UNSET


GRAPH: Final[dict[str, Any]] = {
    "around": "entity:enti_2zExample0001",
    "programId": PROGRAM_ID,
    "from": "2025-12-02T15:04:05.000Z",
    "to": "2026-03-02T15:04:05.000Z",
    "nodes": [
        {
            "key": "entity:enti_2zExample0001",
            "type": "entity",
            "id": "enti_2zExample0001",
            "name": "Ada Example",
            "accountLast4": None,
            "countryCode": "US",
            "entityId": None,
            "score": 20,
            "band": "clear",
            "hop": 0,
            "expanded": True,
        },
        {
            "key": "counterparty:cpty_2zExample0001",
            "type": "counterparty",
            "id": "cpty_2zExample0001",
            "name": "Example Supplies",
            "accountLast4": "7899",
            "countryCode": "US",
            "entityId": None,
            "score": None,
            "band": "unscored",
            "hop": 1,
            "expanded": False,
        },
    ],
    "edges": [
        {
            "from": "entity:enti_2zExample0001",
            "to": "counterparty:cpty_2zExample0001",
            "transfers": 2,
            "cents": "570000",
            "postedCents": "285000",
            "pendingCents": "0",
            "returnedCents": "0",
            "heldCents": "285000",
            "failedTransfers": 0,
            "failedCents": "0",
            "unpricedTransfers": 0,
            "firstAt": "2026-02-20T09:30:00.000Z",
            "lastAt": "2026-03-02T15:04:05.000Z",
            "score": 35,
            "band": "review",
            "evidence": 0,
            "path": False,
        }
    ],
    "truncated": {"edges": 0, "transfers": 0, "cents": "0"},
    "unnamed": {"transfers": 0, "cents": "0"},
}
