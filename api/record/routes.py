"""The record over HTTP, read-only."""

from functools import partial
from typing import Any, Final

from clearhold.api.area import Area
from clearhold.api.dispositions.routes import DISPOSITION
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.exports import MEDIA_TYPES, ExportFormat
from clearhold.api.lists.handlers import answer_route, export_route
from clearhold.api.lists.lists import moments_exist
from clearhold.api.record.service import (
    ChainReport,
    CheckpointPage,
    CheckpointQuery,
    CheckpointsQuery,
    ProofQuery,
    RecordExportQuery,
    RecordLine,
    RecordProof,
    RecordService,
    VerifyQuery,
)
from clearhold.features.core.canonical import Chain, LineKind, canonical, link_hash, record_line
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope

_TAG: Final = "record"
_ORIGIN: Final = "risk.bank.example/first-bank/dispositions"
_ROOT: Final = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
CHECKPOINT: Final = (
    f"{_ORIGIN}\n2\n{_ROOT}\n\n\N{EM DASH} {_ORIGIN} "
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
)

_BODY: Final = canonical(
    {name: value for name, value in DISPOSITION.items() if name not in {"seq", "prevHash", "hash"}}
    | dict.fromkeys(("alertSha256", "policySha256"), "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752")
)
RECORD_LINE: Final = record_line(
    LineKind.DISPOSITION, _BODY, (Chain.DISPOSITIONS.value, 0, None, link_hash(None, _BODY))
).decode()

CHECKPOINT_PAGE: Final[dict[str, Any]] = {
    "data": [
        {
            "chain": "dispositions",
            "size": 2,
            "root": _ROOT,
            "note": CHECKPOINT,
            "createdAt": "2026-03-02T16:00:00.000Z",
        }
    ],
    "hasMore": False,
    "nextCursor": None,
}


_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.RECORD, tenant_wide=True)
_NOTE_MEDIA: Final = "text/plain"

_VERIFY: Final = _operation(
    id="verifyRecord",
    summary="Computes every hash of the tenant's chains again, from the stored bodies, and compares them with the last "
    "checkpoint. The answer is 200 even if the record is broken: then ok is false, and firstBreakAt names the place. "
    "The check of a chain ends at its first broken link. Both chains are checked and reported in `chains`; `chain` "
    "restricts ok, checked and firstBreakAt to one of them.",
    answers={200: ChainReport},
    refusals=(ErrorCode.TOO_MANY_AT_ONCE,),
    answer_example=examples_of(__file__)["chain_report"],
    query=RequestSchema(VerifyQuery),
)
_EXPORT: Final = _operation(
    id="exportRecord",
    summary="Downloads the record. A line is a RecordLine in canonical JSON (RFC 8785): the policies and alerts "
    "that links cite, then the links of each chain from seq 0. A range of time has all its links; only a "
    "whole export can be proved complete. A failure midway breaks the connection without a clean end.",
    answers={200: RecordLine},
    refusals=(ErrorCode.TOO_MANY_AT_ONCE,),
    query=RequestSchema(RecordExportQuery, rules=moments_exist),
    headers=("Content-Disposition",),
    media=(MEDIA_TYPES[ExportFormat.NDJSON],),
    text_examples={MEDIA_TYPES[ExportFormat.NDJSON]: f"{RECORD_LINE}\n"},
)
_CHECKPOINT: Final = _operation(
    id="signCheckpoint",
    summary="A checkpoint over a chain, signed now if it was not before. It is a C2SP note with the number of links "
    "and the root of their RFC 6962 tree. Keep it elsewhere: it reveals a truncated or rewritten record. 409 when the "
    "chain contradicts an earlier checkpoint.",
    answers={200: str},
    refusals=(ErrorCode.CHAIN_TOO_SHORT, ErrorCode.CHAIN_INCONSISTENT),
    query=RequestSchema(CheckpointQuery),
    media=(_NOTE_MEDIA,),
    text_examples={_NOTE_MEDIA: CHECKPOINT},
)
_CHECKPOINTS: Final = _operation(
    id="listCheckpoints",
    summary="The signed checkpoints, those of every five minutes and those on request, newest first.",
    answers={200: CheckpointPage},
    answer_example=CHECKPOINT_PAGE,
    query=RequestSchema(CheckpointsQuery),
)
_PROOF: Final = _operation(
    id="proveRecord",
    summary="Proves with a few hashes that one link is in the tree of a checkpoint (RFC 6962, 2.1.1).",
    answers={200: RecordProof},
    refusals=(ErrorCode.CHAIN_TOO_SHORT, ErrorCode.CHAIN_INCONSISTENT),
    answer_example={"leafIndex": 0, "treeSize": 2, "hashes": [_ROOT], "checkpoint": CHECKPOINT},
    query=RequestSchema(ProofQuery),
)


AREA: Final = Area(
    routes=(
        answer_route("/api/record/verify", _VERIFY, _TAG, RecordService.verify),
        export_route("/api/record/export", _EXPORT, _TAG, RecordService.export),
        answer_route("/api/record/checkpoint", _CHECKPOINT, _TAG, RecordService.checkpoint),
        answer_route("/api/record/checkpoints", _CHECKPOINTS, _TAG, RecordService.checkpoints),
        answer_route("/api/record/proof", _PROOF, _TAG, RecordService.proof),
    ),
    provide={_TAG: RecordService},
)
