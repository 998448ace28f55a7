"""Labels: asked for here, recorded by the flow, which is where a transfer is known.

The entry's id follows from the Idempotency-Key, when there is one; the flow applies an id once.

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, and for a transfer that could be of several programs; UnavailableError when it is not recorded in time
"""

from typing import Final

import msgspec
import structlog
from anyio import to_thread

from api.labels.schemas import Label, LabelPage, LabelsQuery, NewLabel, shown
from api.lists.cursors import Place, place_of
from api.lists.lists import instant_in, page_of
from api.log.commands import CommandLog
from api.programs.service import ProgramService
from api.transfers.service import UNKNOWN_TRANSFER
from features.core.commands import LabelEntry
from features.core.errors import InvalidRequestError, NotFoundError
from features.core.log_entry import EntryKind
from features.core.principal import Principal
from features.core.rows.alerts import LabelRow
from features.core.vocabulary import LabelSource
from store.clock import Clock
from store.duck.labels import LabelFilter, Labels
from store.duck.transfers import Transfers
from store.ids import IdFactory

SEVERAL_PROGRAMS: Final = "Several programs have a transfer of this id; name one in programId."

log = structlog.get_logger()


class LabelService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self,
        *,
        programs: ProgramService,
        labels: Labels,
        transfers: Transfers,
        command_log: CommandLog,
        clock: Clock,
        new_id: IdFactory,
    ) -> None:
        self._programs, self._labels, self._transfers = programs, labels, transfers
        self._log, self._clock, self._new_id = command_log, clock, new_id

    async def record(self, principal: Principal, request: NewLabel, effect_id: str | None) -> Label:
        """The label that this made, or had made when the request came before. The last one of a transfer counts."""
        made = None if effect_id is None else await self._find(principal, effect_id)
        if made is None:
            program_id = await to_thread.run_sync(self._program_of, principal, request)
            entry = LabelEntry(
                id=effect_id or self._new_id(),
                transfer_id=request.transfer_id,
                label=request.label,
                reason=request.reason,
                source=LabelSource.PERSON,
                recorded_by=principal.operator,
                at=self._clock.now(),
            )
            await self._log.append(EntryKind.LABEL, program_id, entry.at, msgspec.json.encode(entry))
            made = await self._find(principal, entry.id)
        if made is None:
            raise NotFoundError(UNKNOWN_TRANSFER)
        log.info("label_recorded", label_id=made.id, transfer_id=made.transfer_id, operator=principal.operator)
        return shown(made)

    async def page(self, principal: Principal, query: LabelsQuery) -> LabelPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = LabelFilter(
            program_ids=self._programs.filter_by(principal, query.program_id),
            transfer_ids=query.transfer_id,
            labels=query.label,
            created_from=instant_in(query.from_),
            created_to=instant_in(query.to),
        )
        after = None if query.cursor is None else place_of(query.cursor, wanted).key
        found = await to_thread.run_sync(self._labels.list_page, principal, wanted, after, query.limit + 1)
        page, cursor = page_of(found, query.limit, wanted, _place)
        return LabelPage(data=tuple(map(shown, page)), has_more=cursor is not None, next_cursor=cursor)

    def _program_of(self, principal: Principal, request: NewLabel) -> str:
        """The program of the transfer, which the request has to name where it could be several."""
        named = self._programs.filter_by(principal, None if request.program_id is None else [request.program_id])
        transfer = self._transfers.find(principal, request.transfer_id, named)
        if transfer is None:
            raise NotFoundError(UNKNOWN_TRANSFER)
        if named is None and len(self._transfers.programs_of(principal, request.transfer_id)) > 1:
            raise InvalidRequestError(SEVERAL_PROGRAMS)
        return transfer.row.program_id

    async def _find(self, principal: Principal, label_id: str) -> LabelRow | None:
        return await to_thread.run_sync(self._labels.find, principal, label_id)


def _place(row: LabelRow) -> Place:
    return Place(row.created_at, row.id, row.program_id)
