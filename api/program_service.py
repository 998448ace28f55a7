"""Programs for their tenant: finds a named program or raises the 404, and marks simulated objects."""

from collections.abc import Iterable
from typing import Final, TypeVar
from uuid import UUID

import msgspec
from msgspec.structs import replace

from clearhold.features.core.errors import ErrorCode, FieldCode, FieldError, InvalidRequestError, NotFoundError, invalid
from clearhold.features.core.principal import KeyMode, Principal, Program
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.control.tenancy import UNKNOWN_PROGRAM, Tenancy

UNKNOWN_SLUG: Final = "No program of this tenant has this programSlug. GET /api/programs lists the slugs."

ONE_KIND: Final = "must name simulated programs or others, not both: their figures are never added up"

Item = TypeVar("Item", bound=msgspec.Struct)


def several_programs(noun: str) -> InvalidRequestError:
    """The 400 for an id that several programs of the tenant have."""
    return InvalidRequestError(
        f"Several programs have {noun} of this id; name one in programId.",
        ErrorCode.PROGRAM_REQUIRED,
        fields=[FieldError(path="programId", code=FieldCode.REQUIRED)],
    )


class ProgramService:
    def __init__(self, tenancy: Tenancy) -> None:
        self._tenancy = tenancy

    def list(self, principal: Principal, *, source: ProgramSource | None) -> tuple[Program, ...]:
        return self._tenancy.programs.of_principal(principal, source=source)

    def read(self, principal: Principal, program_id: str) -> Program:
        program = self._tenancy.programs.find(principal, program_id)
        if program is None:
            raise NotFoundError(UNKNOWN_PROGRAM, ErrorCode.PROGRAM_NOT_FOUND)
        return program

    def named(self, principal: Principal, program_id: UUID | None) -> str | None:
        """The id of the program that a request names; None where it is about the whole tenant."""
        return None if program_id is None else self.read(principal, str(program_id)).id

    def filter_by(self, principal: Principal, program_ids: Iterable[str] | None) -> tuple[str, ...] | None:
        """The programs of a list's filter, each of which must exist; None without a filter."""
        return None if program_ids is None else tuple(self.read(principal, each).id for each in program_ids)

    def counted(self, principal: Principal, named: Iterable[str] | None) -> tuple[Program, ...]:
        """The programs that a figure is over: the named ones; else all with real money, or for a test key all simulated
        ones. Real and simulated money is never added up.
        """
        if named is None:
            source = ProgramSource.SIMULATED if principal.mode is KeyMode.TEST else ProgramSource.BANK
            return self.list(principal, source=source)
        programs = {program.id: program for program in (self.read(principal, each) for each in named)}
        if len({program.source for program in programs.values()}) > 1:
            raise invalid("programId", ONE_KIND, FieldCode.CONFLICTING)
        return tuple(programs.values())

    def marked_of(self, item: Item, programs: Iterable[Program]) -> Item:
        """A figure over programs of one kind, with ``simulated`` true when they are simulated."""
        is_simulated = any(program.source is ProgramSource.SIMULATED for program in programs)
        return replace(item, simulated=True) if is_simulated else item

    def marked(self, item: Item, program_id: str) -> Item:
        """The item, with ``simulated`` true when its program is simulated; for any thread."""
        is_simulated = self._tenancy.programs.is_simulated(program_id)
        return replace(item, simulated=True) if is_simulated else item

    def find_by_slug(self, principal: Principal, slug: str) -> Program | None:
        return self._tenancy.programs.find_by_slug(principal, slug)

    def read_by_slug(self, principal: Principal, slug: str) -> Program:
        program = self.find_by_slug(principal, slug)
        if program is None:
            raise NotFoundError(UNKNOWN_SLUG, ErrorCode.PROGRAM_NOT_FOUND)
        return program
