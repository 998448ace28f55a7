"""Dispositions: every decision on every alert, by policy or by a person, for reading; alerts are decided elsewhere.

Errors  NotFoundError for a disposition or program that is not this tenant's; InvalidRequestError for a cursor of
        another list
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.area import Area, Resources
from clearhold.api.http.fields import FILTER_LIMIT, BankIds, CursorText, Moment, PageLimit, ProgramIds
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.reading import in_reader
from clearhold.api.lists.exports import Batches, ExportFormat
from clearhold.api.lists.handlers import answer_route, export_operation, export_route, list_operation
from clearhold.api.lists.lists import (
    BATCH,
    DEFAULT_LIMIT,
    ListPage,
    ListReader,
    batches_of,
    filter_of,
    place_by,
    place_key,
    to_answer,
)
from clearhold.features.core.entries.commands import DecisionWarning
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import KeyScope, OperatorIdentity, Principal, Simulated
from clearhold.features.core.vocabulary import AlertDecision, about, minted
from clearhold.store.duck.alerts import DispositionFilter, Dispositions, StoredDisposition

_TAG: Final = "dispositions"


class DispositionFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of dispositions."""

    decision: Annotated[tuple[AlertDecision, ...], msgspec.Meta(min_length=1, max_length=len(AlertDecision))] | None = (
        None
    )
    decided_by: BankIds | None = None
    alert_id: Annotated[tuple[UUID, ...], msgspec.Meta(min_length=1, max_length=FILTER_LIMIT)] | None = None
    program_id: ProgramIds | None = None
    overturned: bool | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class DispositionsQuery(DispositionFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class DispositionExportQuery(DispositionFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


class Disposition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on an alert: ``hash`` is sha256 over ``prevHash`` and the canonical body, on the tenant's chain."""

    id: Annotated[str, minted("disposition")]
    tenant_id: str
    alert_id: str
    decided_by: str
    decision: Annotated[AlertDecision, about("What was decided.")]
    narrative: str
    narrative_model: str | None
    recommendation: str | None
    confidence: Annotated[float | None, about("The draft's confidence, 0 to 1; null for a person's own decision.")]
    policy_version: str
    overturns_draft: bool | None
    seq: Annotated[int, about("Its place in the chain of dispositions, as GET /api/record/proof takes it.")]
    prev_hash: str | None
    hash: str
    created_at: str
    action_id: Annotated[
        str | None, about("The executed action that it follows from: clear_hold or decide_alert; null for none.")
    ]
    warnings: Annotated[
        tuple[DecisionWarning, ...],
        about("The executed actions on the same transfer, card or account that it contradicts."),
    ]
    identity: OperatorIdentity | None
    simulated: Simulated = msgspec.UNSET


class DispositionPage(ListPage[Disposition], frozen=True, kw_only=True, rename="camel"):
    pass


def to_disposition(stored: StoredDisposition) -> Disposition:
    warnings = msgspec.json.decode(stored.row.warnings or "[]", type=tuple[DecisionWarning, ...])
    link = {"seq": stored.seq, "prev_hash": stored.prev_hash, "hash": stored.hash}
    return to_answer(stored.row, Disposition, warnings=warnings, **link)


class DispositionService:
    def __init__(self, resources: Resources) -> None:
        self._programs, self._dispositions = resources.programs, Dispositions(resources.stores.database)
        self._list = ListReader(
            self._dispositions.list_page, lambda _, rows: self._marked(rows), place_by("created_at"), place_key
        )

    async def page(self, principal: Principal, query: DispositionsQuery) -> DispositionPage:
        """Newest first; a programId of another tenant is a 404."""
        return DispositionPage.of(*await self._list.page(principal, self._store_filter(principal, query), query))

    async def export(self, principal: Principal, filters: DispositionFilters) -> Batches:
        """All dispositions of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._store_filter(principal, filters)
        return batches_of(self._dispositions.export(principal, wanted, BATCH), self._marked)

    async def read(self, principal: Principal, disposition_id: str) -> Disposition:
        stored = await in_reader(self._dispositions.find, principal, disposition_id.lower())
        if stored is None:
            raise NotFoundError("Unknown disposition on this tenant.", ErrorCode.DISPOSITION_NOT_FOUND)
        (disposition,) = self._marked([stored])
        return disposition

    def _store_filter(self, principal: Principal, filters: DispositionFilters) -> DispositionFilter:
        return filter_of(DispositionFilter, filters, self._programs.filter_by(principal, filters.program_id))

    def _marked(self, rows: Sequence[StoredDisposition]) -> list[Disposition]:
        return [self._programs.marked(to_disposition(each), each.row.program_id) for each in rows]


ALERT_ID: Final = "7d0f6f6e-4a0a-5d5e-9c1b-0e5b8a2f4c11"

DISPOSITION: Final[dict[str, Any]] = examples_of(__file__)["disposition"]


_LIST: Final = list_operation(
    "listDispositions",
    tag=_TAG,
    summary="Decisions on alerts, newest first.",
    scope=KeyScope.ALERTS_READ,
    page=DispositionPage,
    query=DispositionsQuery,
    example=DISPOSITION,
)
_EXPORT: Final = export_operation(
    "exportDispositions",
    tag=_TAG,
    summary="Downloads all dispositions of a list: one a line, or CSV with a header row.",
    scope=KeyScope.ALERTS_READ,
    item=Disposition,
    query=DispositionExportQuery,
    example=DISPOSITION,
)
_READ: Final = Operation(
    id="getDisposition",
    tag=_TAG,
    summary="One disposition, with its place on the tenant's chain.",
    access=Access.BEARER,
    scope=KeyScope.ALERTS_READ,
    answers={200: Disposition},
    refusals=(ErrorCode.DISPOSITION_NOT_FOUND,),
    answer_example=DISPOSITION,
)


AREA: Final = Area(
    routes=(
        answer_route("/api/dispositions", _LIST, _TAG, DispositionService.page),
        export_route("/api/dispositions/export", _EXPORT, _TAG, DispositionService.export),
        answer_route("/api/dispositions/{disposition_id:str}", _READ, _TAG, DispositionService.read),
    ),
    provide={_TAG: DispositionService},
)
