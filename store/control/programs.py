"""Projection of the control streams: the programs, by id, by slug and by source.

Errors  ``ForbiddenError`` for a program of the tenant out of the principal's reach
"""

from typing import Final

import msgspec

from clearhold.features.core.principal import Principal
from clearhold.features.core.program import Program
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.control.entries import ProgramEntry

UNKNOWN_PROGRAM: Final = "Unknown program on this tenant. GET /api/programs lists them."


class Programs:
    def __init__(self) -> None:
        self._programs: dict[str, Program] = {}
        self._id_by_slug: dict[tuple[str, str], str] = {}
        self._ids_by_source: dict[tuple[str, ProgramSource], frozenset[str]] = {}

    def add(self, entry: ProgramEntry) -> str | None:
        """Add a program; returns the id of an unconfirmed one with the same slug, which is removed, as with tenants."""
        fields = msgspec.structs.asdict(entry)
        del fields["sealed_ingest_secret"]
        unconfirmed = self._id_by_slug.get((entry.tenant_id, entry.slug))
        if unconfirmed == entry.id:
            unconfirmed = None
        if unconfirmed is not None:
            del self._programs[unconfirmed]
            self._ids_by_source.clear()
        self.put(Program(**fields))
        return unconfirmed

    def put(self, program: Program) -> None:
        """Add a program, or replace it."""
        self._programs[program.id] = program
        self._ids_by_source.pop((program.tenant_id, program.source), None)
        self._id_by_slug[program.tenant_id, program.slug] = program.id

    def of_principal(self, principal: Principal, *, source: ProgramSource | None = None) -> tuple[Program, ...]:
        """The tenant's programs within the principal's reach, newest first."""
        programs = [
            program
            for program in self._programs.values()
            if program.tenant_id == principal.tenant_id
            and source in {None, program.source}
            and principal.reaches(program.id)
        ]
        return tuple(sorted(programs, key=lambda program: (program.created_at, program.id), reverse=True))

    def find(self, principal: Principal, program_id: str) -> Program | None:
        """The tenant's program with that id, in upper or lower case."""
        return _within_reach(principal, self._programs.get(program_id.lower()))

    def find_by_slug(self, principal: Principal, slug: str) -> Program | None:
        program_id = self._id_by_slug.get((principal.tenant_id, slug))
        return None if program_id is None else _within_reach(principal, self._programs[program_id])

    def of_tenant(self, tenant_id: str, *, program_id: str | None, slug: str | None) -> Program | None:
        """The tenant's program with that id, or with that slug when no id is given; for authorization, before the
        principal's reach is known.
        """
        key = program_id.lower() if program_id is not None else self._id_by_slug.get((tenant_id, slug or ""))
        program = None if key is None else self._programs.get(key)
        return program if program is not None and program.tenant_id == tenant_id else None

    def ids(self, tenant_id: str, source: ProgramSource) -> frozenset[str]:
        """The ids of the tenant's programs of one source; cached until a program is added or changed."""
        ids = self._ids_by_source.get((tenant_id, source))
        if ids is None:
            ids = self._ids_by_source[tenant_id, source] = frozenset(
                program.id
                for program in self._programs.values()
                if program.tenant_id == tenant_id and program.source is source
            )
        return ids

    def ids_of_tenant(self, tenant_id: str) -> tuple[str, ...]:
        """The ids of all programs of a tenant, in the order of their creation."""
        return tuple(program.id for program in self._programs.values() if program.tenant_id == tenant_id)

    def with_slug(self, slug: str) -> tuple[Program, ...]:
        """The programs of all tenants with that slug, for the platform's own work."""
        return tuple(self._programs[id_] for (_, each), id_ in self._id_by_slug.items() if each == slug)

    def has_slug(self, tenant_id: str, slug: str) -> bool:
        return (tenant_id, slug) in self._id_by_slug

    def source_of(self, program_id: str) -> ProgramSource | None:
        """For any thread; None for an unknown program."""
        program = self._programs.get(program_id)
        return None if program is None else program.source

    def of_any_tenant(self, program_id: str) -> Program | None:
        """For the platform's own administration only."""
        return self._programs.get(program_id)


def _within_reach(principal: Principal, program: Program | None) -> Program | None:
    if program is None or program.tenant_id != principal.tenant_id:
        return None
    principal.require_program(program.id)
    return program
