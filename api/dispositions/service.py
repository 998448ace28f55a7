"""Dispositions, for reading. Decisions are made on alerts (``api/alerts/decisions.py``).

Errors  NotFoundError for a disposition or program that is not this tenant's; InvalidRequestError for a cursor of
        another list
"""

from collections.abc import Generator, Sequence
from typing import Final

from anyio import to_thread

from clearhold.api.dispositions.schemas import (
    Disposition,
    DispositionFilters,
    DispositionPage,
    DispositionsQuery,
    to_disposition,
)
from clearhold.api.lists.cursors import Place, place_key
from clearhold.api.lists.list_reader import BATCH, ListReader, batches_of
from clearhold.api.lists.lists import instant_in
from clearhold.api.program_service import ProgramService
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.store.duck.decisions import DispositionFilter, Dispositions, StoredDisposition

UNKNOWN_DISPOSITION: Final = "Unknown disposition on this tenant."


class DispositionService:
    def __init__(self, *, programs: ProgramService, dispositions: Dispositions) -> None:
        self._programs, self._dispositions = programs, dispositions
        self._list = ListReader(
            read_page=dispositions.list_page,
            items_of=lambda _, rows: self._marked(rows),
            place=_place,
            key=place_key,
        )

    async def page(self, principal: Principal, query: DispositionsQuery) -> DispositionPage:
        """Newest first; a programId of another tenant is a 404."""
        return DispositionPage.of(*await self._list.page(principal, self._store_filter(principal, query), query))

    def export(self, principal: Principal, filters: DispositionFilters) -> Generator[Sequence[Disposition], None, None]:
        """All dispositions of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._store_filter(principal, filters)
        return batches_of(self._dispositions.export(principal, wanted, BATCH), self._marked)

    async def read(self, principal: Principal, disposition_id: str) -> Disposition:
        stored = await to_thread.run_sync(self._dispositions.find, principal, disposition_id.lower())
        if stored is None:
            raise NotFoundError(UNKNOWN_DISPOSITION, ErrorCode.DISPOSITION_NOT_FOUND)
        (disposition,) = self._marked([stored])
        return disposition

    def _store_filter(self, principal: Principal, filters: DispositionFilters) -> DispositionFilter:
        return DispositionFilter(
            program_ids=self._programs.filter_by(principal, filters.program_id),
            alert_ids=None if filters.alert_id is None else tuple(map(str, filters.alert_id)),
            decisions=filters.decision,
            decided_by=filters.decided_by,
            overturned=filters.overturned,
            created_from=instant_in(filters.from_),
            created_to=instant_in(filters.to),
        )

    def _marked(self, rows: Sequence[StoredDisposition]) -> list[Disposition]:
        return [self._programs.marked(to_disposition(each), each.row.program_id) for each in rows]


def _place(stored: StoredDisposition) -> Place:
    return Place(stored.row.created_at, stored.row.id, stored.row.program_id)
