"""Labels: requested here, recorded by the flow, which knows the transfers (``api/log/commands.py``).

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, and for a transfer id that several programs have; UnavailableError when it is not recorded in time
"""

from functools import partial

import structlog
from anyio import to_thread

from clearhold.api.labels.schemas import Label, LabelPage, LabelsQuery, NewLabel
from clearhold.api.lists.cursors import Place, place_key
from clearhold.api.lists.list_reader import ListReader
from clearhold.api.lists.lists import instant_in, to_answer
from clearhold.api.log.commands import CommandLog
from clearhold.api.program_service import ProgramService
from clearhold.api.transfers.service import find_transfer
from clearhold.features.core.entries.commands import LabelEntry
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.alerts import LabelRow
from clearhold.features.core.vocabulary import LabelSource
from clearhold.store.duck.alerts import LabelFilter, Labels
from clearhold.store.duck.transfers import Transfers

log = structlog.get_logger()


class LabelService:
    """One for the process; belongs to the API's event loop."""

    def __init__(
        self, *, programs: ProgramService, labels: Labels, transfers: Transfers, command_log: CommandLog
    ) -> None:
        self._programs, self._labels, self._transfers = programs, labels, transfers
        self._commands = command_log
        self._list = ListReader(
            read_page=labels.list_page, items_of=lambda _, rows: [*map(self._marked, rows)], place=_place, key=place_key
        )

    async def record(self, principal: Principal, request: NewLabel, effect_id: str | None) -> Label:
        """The label; a repeated ``effect_id`` returns the first one."""
        result = await self._commands.carried_out(principal, effect_id)
        if result is None:
            find = partial(find_transfer, self._programs, self._transfers, principal, request.transfer_id)
            program_id = (await to_thread.run_sync(find, request.program_id)).row.program_id

            def label(entry_id: str, at: int) -> LabelEntry:
                return LabelEntry(
                    id=entry_id,
                    transfer_id=request.transfer_id,
                    label=request.label,
                    reason=request.reason,
                    source=LabelSource(request.source),
                    recorded_by=principal.operator,
                    at=at,
                )

            result = await self._commands.submit(principal, EntryKind.LABEL, program_id, label, effect_id=effect_id)
        row = await to_thread.run_sync(self._labels.find, principal, result.id)
        assert row is not None, "a label that was made has a row"
        log.info("label_recorded", label_id=row.id, transfer_id=row.transfer_id, operator=principal.operator)
        return self._marked(row)

    async def page(self, principal: Principal, query: LabelsQuery) -> LabelPage:
        """Newest first; a programId of another tenant is a 404."""
        wanted = LabelFilter(
            program_ids=self._programs.filter_by(principal, query.program_id),
            transfer_ids=query.transfer_id,
            labels=query.label,
            created_from=instant_in(query.from_),
            created_to=instant_in(query.to),
        )
        return LabelPage.of(*await self._list.page(principal, wanted, query))

    def _marked(self, row: LabelRow) -> Label:
        return self._programs.marked(to_answer(row, Label), row.program_id)


def _place(row: LabelRow) -> Place:
    return Place(row.created_at, row.id, row.program_id)
