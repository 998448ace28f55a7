"""Counterparties, for reading; only ingest writes them.

Errors  NotFoundError for a counterparty or program that is not this tenant's; InvalidRequestError for an id that
        several programs have while the request names none of them
"""

from typing import Final

from anyio import to_thread

from clearhold.api.counterparties.schemas import Counterparty, to_counterparty
from clearhold.api.programs.service import ProgramService, several_programs
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.store.duck.parties import Counterparties

UNKNOWN_COUNTERPARTY: Final = "Unknown counterparty on this tenant."


class CounterpartyService:
    def __init__(self, *, programs: ProgramService, counterparties: Counterparties) -> None:
        self._programs, self._counterparties = programs, counterparties

    async def read(self, principal: Principal, counterparty_id: str, program_id: str | None) -> Counterparty:
        return await to_thread.run_sync(self._read, principal, counterparty_id, program_id)

    def _read(self, principal: Principal, counterparty_id: str, program_id: str | None) -> Counterparty:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._counterparties.find(principal, counterparty_id, named)
        if not rows:
            raise NotFoundError(UNKNOWN_COUNTERPARTY, ErrorCode.COUNTERPARTY_NOT_FOUND)
        if len(rows) > 1:
            raise several_programs("a counterparty")
        (row,) = rows
        return self._programs.marked(to_counterparty(row, raw=self._counterparties.last_raw(row)), row.program_id)
