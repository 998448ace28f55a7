"""Recorded pre-flights, for reading.

Errors  NotFoundError for a pre-flight that is not this tenant's; UnavailableError while the log cannot be read
"""

from typing import Final

from clearhold.api.log.recorded_preflights import RecordedPreflights
from clearhold.api.preflight.schemas import PreflightDetail
from clearhold.api.programs.service import ProgramService
from clearhold.features.core.entries.preflight import Preflight
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import Principal

UNKNOWN_PREFLIGHT: Final = "Unknown pre-flight on this tenant."


class PreflightDetails:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, *, programs: ProgramService, recorded: RecordedPreflights) -> None:
        self._programs, self._recorded = programs, recorded

    async def read(self, principal: Principal, preflight_id: str) -> PreflightDetail:
        record = await self._recorded.find(principal, preflight_id.lower())
        if record is None:
            raise NotFoundError(UNKNOWN_PREFLIGHT, ErrorCode.PREFLIGHT_NOT_FOUND)
        matched = await self._recorded.matched_transfer_id(principal, preflight_id.lower())
        detail = PreflightDetail(
            **{name: getattr(record.answer, name) for name in Preflight.__struct_fields__},
            request=record.request | {"operator": record.operator, "resolved": record.resolved},
            matched_transfer_id=matched,
            created_at=format_instant(record.asked_at),
        )
        return self._programs.marked(detail, detail.program_id)
