"""Everything about one subject as a download, for an examiner or a court, read-only.

A subject is an entity, which may be an agent, or a counterparty of one program.

Errors  ForbiddenError for a key of one program or of simulated ones; NotFoundError for a subject or program that is not
        this tenant's; InvalidRequestError for an id that several programs have while the request names none of them
"""

from functools import partial
from hashlib import sha256
from typing import Annotated, Any, Final

import msgspec
from litestar.handlers import HTTPRouteHandler

from clearhold.api.area import Area, Resources
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.reading import in_reader
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import MEDIA_TYPES, Batches, ExportFormat
from clearhold.api.lists.handlers import export_route
from clearhold.api.lists.lists import raw_batches, to_answer
from clearhold.api.parties.routes import ENTITY, PartyFinder, PartyQuery
from clearhold.api.programs.routes import PROGRAM_ID, TENANT_ID
from clearhold.api.record.service import policy_bodies
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import ActorType, about
from clearhold.store.subjects.check import END, FORMAT, MANIFEST, SubjectKind
from clearhold.store.subjects.reader import SubjectReader, line_of
from clearhold.store.subjects.things import ORDER, ExportSubject


class SubjectLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line. The first is the manifest, the last the end with counts and a hash; all others are rows of tables."""

    table: Annotated[
        str,
        about(
            "The table that the row is of; manifest on the first line, end on the last, bank_objects for what "
            "the log has."
        ),
    ]
    row: Annotated[
        dict[str, Any],
        about(
            "The row under the names and in the forms of the interface: docs/record.md has the manifest and the end."
        ),
    ]


LINES_A_BATCH: Final = 100


class SubjectService:
    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._parties, self._clock = PartyFinder(resources), stores.clock
        self._reader = SubjectReader(
            stores.database,
            checkpoints=stores.record.checkpoints,
            policies=policy_bodies(stores),
            events=resources.events,
        )

    async def export(self, principal: Principal, subject_id: str, query: PartyQuery, *, kind: SubjectKind) -> Batches:
        """The lines of the export, batch by batch; an unknown subject is refused at once."""
        principal.require_tenant_wide()
        row = await in_reader(self._parties.find, principal, ActorType(kind), subject_id, query.program_id)
        subject = to_answer(row, ExportSubject, kind=kind)
        return raw_batches(self._reader.export(principal, subject, now=self._clock.now(), batch=LINES_A_BATCH))


_MANIFEST: Final = line_of(
    MANIFEST,
    {
        "format": FORMAT,
        "subject": {"type": "entity", "id": ENTITY["id"], "accountIds": []},
        "tenantId": TENANT_ID,
        "tenant": "first-bank",
        "programId": PROGRAM_ID,
        "createdAt": "2026-03-02T16:00:00.000Z",
        "asOf": {"at": "2026-03-02T15:59:58.120Z", "shard": 3, "offset": "1858904402821120001"},
        "versions": {"features": ["features-v7"], "scores": ["trs-v1"], "policies": {"policy": "policy-v1"}},
        "tables": {"entities": ORDER["entities"]},
        "leftOut": {},
    },
)
_ROW: Final = line_of(
    "entities",
    {name: ENTITY[name] for name in ("id", "tenantId", "programId", "type", "name", "verificationStatus")},
)
_LINES: Final = b"%b\n%b\n" % (_MANIFEST, _ROW)
_END: Final = line_of(END, {"counts": {"entities": 1}, "lines": 2, "sha256": sha256(_LINES).hexdigest()})
SUBJECT_EXPORT: Final = (_LINES + _END).decode() + "\n"


_SUMMARY: Final = (
    "All stored data about {noun}, as a download for an examiner or a court. A line is a SubjectLine: "
    "the manifest, which names the tables in their order and the omissions; the rows; the links of the record about "
    "{noun}, each with its inclusion proof to a signed checkpoint; and an end with the rows of each table and the "
    "SHA-256 of all lines before it, so that a cut file is detected. All rows are as of its log offset. 400 if "
    "several programs have {noun} of that id and programId names none of them. 409 when the chain contradicts an "
    "earlier checkpoint. A failure midway breaks the connection without a clean end."
)
_REFUSALS: Final = (
    ErrorCode.PROGRAM_REQUIRED,
    ErrorCode.PROGRAM_NOT_FOUND,
    ErrorCode.CHAIN_INCONSISTENT,
    ErrorCode.TOO_MANY_AT_ONCE,
)
_MEDIA: Final = MEDIA_TYPES[ExportFormat.NDJSON]


def _route(path: str, kind: SubjectKind, noun: str, unknown: ErrorCode) -> HTTPRouteHandler:
    operation = Operation(
        id=f"export{kind.capitalize()}",
        tag="record",
        summary=_SUMMARY.format(noun=noun),
        access=Access.BEARER,
        scope=KeyScope.RECORD,
        tenant_wide=True,
        answers={200: SubjectLine},
        refusals=(*_REFUSALS, unknown),
        query=RequestSchema(PartyQuery),
        headers=("Content-Disposition",),
        media=(_MEDIA,),
        text_examples={_MEDIA: SUBJECT_EXPORT},
    )
    return export_route(path, operation, "subjects", partial(SubjectService.export, kind=kind), "subject")


AREA: Final = Area(
    routes=(
        _route("/api/entities/{entity_id:str}/export", SubjectKind.ENTITY, "an entity", ErrorCode.ENTITY_NOT_FOUND),
        _route(
            "/api/counterparties/{counterparty_id:str}/export",
            SubjectKind.COUNTERPARTY,
            "a counterparty",
            ErrorCode.COUNTERPARTY_NOT_FOUND,
        ),
    ),
    provide={"subjects": SubjectService},
)
