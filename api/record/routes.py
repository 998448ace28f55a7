"""The record over HTTP, for reading: nothing here can change it."""

from typing import Any, Final

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.types import ASGIApp

from api.http.gate import principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.lists.exports import MEDIA_TYPES, ExportFormat
from api.lists.lists import moments_exist, next_link
from api.record.examples import CHAIN_REPORT, CHECKPOINT, CHECKPOINT_PAGE, RECORD_LINE, RECORD_PROOF
from api.record.schemas import (
    ChainReport,
    CheckpointPage,
    CheckpointQuery,
    CheckpointsQuery,
    ProofQuery,
    RecordExportQuery,
    RecordLine,
    RecordProof,
    VerifyQuery,
)
from api.record.service import RecordService
from features.core.principal import KeyScope

_TAG: Final = "record"
_NOTE_MEDIA: Final = "text/plain"

_VERIFY: Final = Operation(
    id="verifyRecord",
    tag=_TAG,
    summary="Computes every hash of the tenant's chains anew, from the stored bodies, and holds them against the last "
    "checkpoint. 200 also when something is wrong: then ok is false, and firstBreakAt says where. The first link that "
    "does not hold ends the check of its chain. Both chains are checked, and `chains` says how each stands; `chain` "
    "narrows what ok, checked and firstBreakAt are about.",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    tenant_wide=True,
    answers={200: ChainReport},
    answer_example=CHAIN_REPORT,
    query=RequestSchema(VerifyQuery),
)
_EXPORT: Final = Operation(
    id="exportRecord",
    tag=_TAG,
    summary="The record as a download, a RecordLine in canonical JSON (RFC 8785) a line: the policies and alerts that "
    "links cite, then the links of each chain from seq 0. A range of time is a run of links without holes; only a "
    "whole export can be shown to be complete. One that fails midway ends without a clean end of the connection.",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    tenant_wide=True,
    answers={200: RecordLine},
    query=RequestSchema(RecordExportQuery, rules=moments_exist),
    headers=("Content-Disposition",),
    media=(MEDIA_TYPES[ExportFormat.NDJSON],),
    text_examples={MEDIA_TYPES[ExportFormat.NDJSON]: f"{RECORD_LINE}\n"},
)
_CHECKPOINT: Final = Operation(
    id="signCheckpoint",
    tag=_TAG,
    summary="A checkpoint over a chain, signed now unless it was before: a C2SP note with the number of links and the "
    "root of their RFC 6962 tree. Keep it somewhere else: it shows a cut or rewritten record. 409 when the chain "
    "contradicts an earlier checkpoint.",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    tenant_wide=True,
    answers={200: str, 404: None, 409: None},
    query=RequestSchema(CheckpointQuery),
    media=(_NOTE_MEDIA,),
    text_examples={_NOTE_MEDIA: CHECKPOINT},
)
_CHECKPOINTS: Final = Operation(
    id="listCheckpoints",
    tag=_TAG,
    summary="The checkpoints that were signed, hourly and when asked for, newest first.",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    tenant_wide=True,
    answers={200: CheckpointPage},
    answer_example=CHECKPOINT_PAGE,
    query=RequestSchema(CheckpointsQuery),
    headers=("Link",),
)
_PROOF: Final = Operation(
    id="proveRecord",
    tag=_TAG,
    summary="Proves with a few hashes that one link is in the tree of a checkpoint (RFC 6962, 2.1.1).",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    tenant_wide=True,
    answers={200: RecordProof, 404: None, 409: None},
    answer_example=RECORD_PROOF,
    query=RequestSchema(ProofQuery),
)


@get("/api/record/verify", opt=_VERIFY.as_opt)
async def verify_record(request: Request[Any, Any, Any], record: NamedDependency[RecordService]) -> ChainReport:
    return await record.verify(principal_of(request.scope), query_of(request.scope, VerifyQuery).chain)


@get("/api/record/export", opt=_EXPORT.as_opt)
async def export_record(request: Request[Any, Any, Any], record: NamedDependency[RecordService]) -> ASGIApp:
    return record.export(principal_of(request.scope), query_of(request.scope, RecordExportQuery))


@get("/api/record/checkpoint", opt=_CHECKPOINT.as_opt)
async def sign_checkpoint(request: Request[Any, Any, Any], record: NamedDependency[RecordService]) -> Response[str]:
    note = await record.checkpoint(principal_of(request.scope), query_of(request.scope, CheckpointQuery))
    return Response(note, media_type=_NOTE_MEDIA)


@get("/api/record/checkpoints", opt=_CHECKPOINTS.as_opt)
async def list_checkpoints(
    request: Request[Any, Any, Any], record: NamedDependency[RecordService]
) -> Response[CheckpointPage]:
    page = await record.checkpoints(principal_of(request.scope), query_of(request.scope, CheckpointsQuery))
    return Response(page, headers=next_link(request, page.next_cursor))


@get("/api/record/proof", opt=_PROOF.as_opt)
async def prove_record(request: Request[Any, Any, Any], record: NamedDependency[RecordService]) -> RecordProof:
    return await record.proof(principal_of(request.scope), query_of(request.scope, ProofQuery))


ROUTES: Final = (verify_record, export_record, sign_checkpoint, list_checkpoints, prove_record)
