"""Dispositions, for reading. Decisions are made on alerts (``api/alerts/decisions.py``).

Errors  NotFoundError for a disposition or program that is not this tenant's; InvalidRequestError for a cursor of
        another list
"""

from collections.abc import Iterator
from typing import Final

from anyio import to_thread

from api.dispositions.schemas import Disposition, DispositionFilters, DispositionPage, DispositionsQuery, shown
from api.lists.cursors import Place, place_of
from api.lists.exports import BATCH, Concurrency, Export, ExportFormat
from api.lists.lists import instant_in, page_of
from api.programs.service import ProgramService
from features.core.errors import NotFoundError
from features.core.principal import Principal
from store.duck.dispositions import DispositionFilter, Dispositions, StoredDisposition

UNKNOWN_DISPOSITION: Final = "Unknown disposition on this tenant."


class DispositionService:
    def __init__(self, *, programs: ProgramService, dispositions: Dispositions, limit: Concurrency) -> None:
        self._programs, self._dispositions, self._limit = programs, dispositions, limit

    async def page(self, principal: Principal, query: DispositionsQuery) -> DispositionPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = self._wanted(principal, query)
        after = None if query.cursor is None else place_of(query.cursor, wanted).key
        found = await to_thread.run_sync(self._dispositions.list_page, principal, wanted, after, query.limit + 1)
        page, cursor = page_of(found, query.limit, wanted, _place)
        return DispositionPage(data=tuple(map(shown, page)), has_more=cursor is not None, next_cursor=cursor)

    def export(self, principal: Principal, filters: DispositionFilters, format_: ExportFormat) -> Export:
        """What the list would page through; a programId of another tenant is a 404, now."""
        wanted = self._wanted(principal, filters)

        def batches() -> Iterator[list[Disposition]]:
            for batch in self._dispositions.export(principal, wanted, BATCH):
                yield list(map(shown, batch))

        return Export(
            name="dispositions",
            kind=Disposition,
            format_=format_,
            batches=batches,
            principal=principal,
            limit=self._limit,
        )

    async def read(self, principal: Principal, disposition_id: str) -> Disposition:
        found = await to_thread.run_sync(self._dispositions.find, principal, disposition_id.lower())
        if found is None:
            raise NotFoundError(UNKNOWN_DISPOSITION)
        return shown(found)

    def _wanted(self, principal: Principal, filters: DispositionFilters) -> DispositionFilter:
        return DispositionFilter(
            program_ids=self._programs.filter_by(principal, filters.program_id),
            alert_ids=None if filters.alert_id is None else tuple(map(str, filters.alert_id)),
            decisions=filters.decision,
            decided_by=filters.decided_by,
            overturned=filters.overturned,
            created_from=instant_in(filters.from_),
            created_to=instant_in(filters.to),
        )


def _place(stored: StoredDisposition) -> Place:
    return Place(stored.row.created_at, stored.row.id, stored.row.program_id)
