"""Everything about one subject as a download, for an examiner or a court, read-only."""

from functools import partial
from hashlib import sha256
from typing import Final

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ASGIApp

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import principal_of, query_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import MEDIA_TYPES, Downloads, ExportFormat
from clearhold.api.parties.routes import ENTITY, PartyQuery
from clearhold.api.programs.examples import PROGRAM_ID, TENANT_ID
from clearhold.api.record.routes import policy_bodies
from clearhold.api.subjects.service import SubjectLine, SubjectService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.duck.parties import Counterparties, Entities
from clearhold.store.subjects.lines import END, FORMAT, MANIFEST, line_of
from clearhold.store.subjects.reader import SubjectReader
from clearhold.store.subjects.things import ORDER, SubjectKind

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
        "versions": {"features": ["features-v6"], "scores": ["trs-v1"], "policies": {"policy": "policy-v1"}},
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


_operation: Final = partial(Operation, tag="record", access=Access.BEARER, scope=KeyScope.RECORD)
_NAME: Final = "subject"
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

_ENTITY: Final = _operation(
    id="exportEntity",
    summary=_SUMMARY.format(noun="an entity"),
    tenant_wide=True,
    answers={200: SubjectLine},
    refusals=(*_REFUSALS, ErrorCode.ENTITY_NOT_FOUND),
    query=RequestSchema(PartyQuery),
    headers=("Content-Disposition",),
    media=(_MEDIA,),
    text_examples={_MEDIA: SUBJECT_EXPORT},
)
_COUNTERPARTY: Final = _operation(
    id="exportCounterparty",
    summary=_SUMMARY.format(noun="a counterparty"),
    tenant_wide=True,
    answers={200: SubjectLine},
    refusals=(*_REFUSALS, ErrorCode.COUNTERPARTY_NOT_FOUND),
    query=RequestSchema(PartyQuery),
    headers=("Content-Disposition",),
    media=(_MEDIA,),
    text_examples={_MEDIA: SUBJECT_EXPORT},
)


@get("/api/entities/{entity_id:str}/export", opt=_ENTITY.as_opt)
async def export_entity(
    entity_id: FromPath[str],
    request: ApiRequest,
    subjects: NamedDependency[SubjectService],
    downloads: NamedDependency[Downloads],
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, PartyQuery)
    batches = await subjects.export(principal, SubjectKind.ENTITY, entity_id, query.program_id)
    return downloads.of(principal, batches, name=_NAME, kind=SubjectLine)


@get("/api/counterparties/{counterparty_id:str}/export", opt=_COUNTERPARTY.as_opt)
async def export_counterparty(
    counterparty_id: FromPath[str],
    request: ApiRequest,
    subjects: NamedDependency[SubjectService],
    downloads: NamedDependency[Downloads],
) -> ASGIApp:
    principal, query = principal_of(request.scope), query_of(request.scope, PartyQuery)
    batches = await subjects.export(principal, SubjectKind.COUNTERPARTY, counterparty_id, query.program_id)
    return downloads.of(principal, batches, name=_NAME, kind=SubjectLine)


def _subjects(resources: Resources) -> SubjectService:
    stores = resources.stores
    return SubjectService(
        programs=resources.programs,
        entities=Entities(stores.database),
        counterparties=Counterparties(stores.database),
        reader=SubjectReader(
            stores.database,
            checkpoints=stores.record.checkpoints,
            policies=policy_bodies(stores),
            events=resources.events,
        ),
        clock=stores.clock,
    )


AREA: Final = Area(routes=(export_entity, export_counterparty), provide={"subjects": _subjects})
