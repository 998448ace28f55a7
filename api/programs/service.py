"""Programs as their tenant sees them; the one place where a named program becomes a program or a 404."""

from features.errors import NotFoundError
from features.principal import Principal
from features.program import Program
from features.vocabulary import ProgramSource
from store.registry import UNKNOWN_PROGRAM
from store.tenancy import Tenancy


class ProgramService:
    def __init__(self, tenancy: Tenancy) -> None:
        self._tenancy = tenancy

    def list(self, principal: Principal, *, source: ProgramSource | None) -> tuple[Program, ...]:
        return self._tenancy.programs(principal, source=source)

    def read(self, principal: Principal, program_id: str) -> Program:
        program = self._tenancy.find_program(principal, program_id)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM)
        return program

    def filter_by(self, principal: Principal, program_id: str | None) -> tuple[str, ...] | None:
        """The program that a list is narrowed to; None is no such wish."""
        return None if program_id is None else (self.read(principal, program_id).id,)

    def read_by_slug(self, principal: Principal, slug: str) -> Program:
        program = self._tenancy.program_by_slug(principal, slug)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM)
        return program
