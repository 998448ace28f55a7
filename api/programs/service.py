"""Programs as their tenant sees them; the one place where a named program becomes a program or a 404."""

from typing import Final

from api.auth import Caller
from features.errors import NotFoundError
from features.program import Program
from features.vocabulary import ProgramSource
from store.tenancy import Tenancy

UNKNOWN_PROGRAM: Final = "Unknown program on this tenant."


class ProgramService:
    def __init__(self, tenancy: Tenancy) -> None:
        self._tenancy = tenancy

    def list(self, caller: Caller, *, source: ProgramSource | None) -> tuple[Program, ...]:
        return self._tenancy.programs(caller.tenant_id, source=source)

    def read(self, caller: Caller, program_id: str) -> Program:
        program = self._tenancy.find_program(caller.tenant_id, program_id)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM)
        return program

    def read_by_slug(self, caller: Caller, slug: str) -> Program:
        program = self._tenancy.program_by_slug(caller.tenant_id, slug)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM)
        return program
