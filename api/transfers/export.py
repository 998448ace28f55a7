"""The transfers of a list as one download."""

from collections.abc import Iterator
from typing import Any, Final

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.types import ASGIApp

from api.examples import TRANSFER_SUMMARY
from api.http.gate import principal_of, query_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.lists.exports import BATCH, MEDIA_TYPES, Concurrency, Export, ExportFormat, examples_of
from api.lists.lists import moments_exist
from api.programs.service import ProgramService
from api.transfers.schemas import TransferFilters, TransferSummary
from api.transfers.service import filter_of, summary_of
from features.core.principal import KeyScope, Principal
from store.duck.transfers import TransferFilter, Transfers


class ExportQuery(TransferFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


class TransferExports:
    """Makes exports of what the list of the same filters would page through, in the same order."""

    def __init__(self, *, programs: ProgramService, transfers: Transfers, limit: Concurrency) -> None:
        self._programs, self._transfers, self._limit = programs, transfers, limit

    def export(self, principal: Principal, query: ExportQuery) -> Export:
        """A programId of another tenant is a 404, now; all the rest is read while it is sent."""
        wanted = filter_of(query, self._programs.filter_by(principal, query.program_id))
        return Export(
            name="transfers",
            kind=TransferSummary,
            format_=query.format,
            batches=lambda: self._batches(principal, wanted),
            principal=principal,
            limit=self._limit,
        )

    def _batches(self, principal: Principal, wanted: TransferFilter) -> Iterator[list[TransferSummary]]:
        for batch in self._transfers.export(principal, wanted, BATCH):
            yield [summary_of(transfer) for transfer in batch]


_EXPORT: Final = Operation(
    id="exportTransfers",
    tag="transfers",
    summary="All transfers of a list as a download: one TransferSummary a line, or a row under a row of names. "
    "An export that fails midway ends without a clean end of the connection; at most two run at a time.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: TransferSummary, 404: None},
    query=RequestSchema(ExportQuery, rules=moments_exist),
    headers=("Content-Disposition",),
    media=tuple(MEDIA_TYPES.values()),
    text_examples=examples_of(TransferSummary, TRANSFER_SUMMARY),
)


@get("/api/transfers/export", opt=_EXPORT.as_opt)
async def export_transfers(
    request: Request[Any, Any, Any], transfer_exports: NamedDependency[TransferExports]
) -> ASGIApp:
    return transfer_exports.export(principal_of(request.scope), query_of(request.scope, ExportQuery))


ROUTES: Final = (export_transfers,)
