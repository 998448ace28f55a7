"""The export of one subject: an entity, which may be an agent, or a counterparty of one program.

Errors  ForbiddenError for a key of one program or of simulated ones; NotFoundError for a subject or program that is not
        this tenant's; InvalidRequestError for an id that several programs have while the request names none of them
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread

from clearhold.api.lists.list_reader import batches_of
from clearhold.api.parties.routes import UNKNOWN_COUNTERPARTY, UNKNOWN_ENTITY
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.principal import Principal
from clearhold.features.core.vocabulary import about
from clearhold.store.clock import Clock
from clearhold.store.duck.parties import Counterparties, Entities
from clearhold.store.subjects.reader import SubjectReader
from clearhold.store.subjects.things import ExportSubject, SubjectKind


class SubjectLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line. The first is the manifest, the last the end with counts and a hash; all others are rows of tables."""

    table: Annotated[
        str,
        about(
            "The table that the row is of; manifest on the first line, end on the last, bank_objects for what "
            "the log has."
        ),
    ]
    row: Annotated[
        dict[str, Any],
        about(
            "The row under the names and in the forms of the interface: docs/record.md has the manifest and the end."
        ),
    ]


LINES_A_BATCH: Final = 100

_UNKNOWN: Final = {
    SubjectKind.ENTITY: (UNKNOWN_ENTITY, ErrorCode.ENTITY_NOT_FOUND),
    SubjectKind.COUNTERPARTY: (UNKNOWN_COUNTERPARTY, ErrorCode.COUNTERPARTY_NOT_FOUND),
}
_NOUNS: Final = {SubjectKind.ENTITY: "an entity", SubjectKind.COUNTERPARTY: "a counterparty"}


class SubjectService:
    def __init__(
        self,
        *,
        programs: ProgramService,
        entities: Entities,
        counterparties: Counterparties,
        reader: SubjectReader,
        clock: Clock,
    ) -> None:
        self._programs, self._reader, self._clock = programs, reader, clock
        self._tables: Mapping[SubjectKind, Entities | Counterparties] = {
            SubjectKind.ENTITY: entities,
            SubjectKind.COUNTERPARTY: counterparties,
        }

    async def export(
        self, principal: Principal, kind: SubjectKind, subject_id: str, program_id: str | None
    ) -> Generator[Sequence[msgspec.Raw], None, None]:
        """The lines of the export, batch by batch; an unknown subject is refused at once."""
        principal.require_tenant_wide()
        subject = await to_thread.run_sync(self._find, principal, kind, subject_id, program_id)
        lines = self._reader.export(principal, subject, now=self._clock.now(), batch=LINES_A_BATCH)
        return batches_of(lines, _to_lines)

    def _find(self, principal: Principal, kind: SubjectKind, subject_id: str, program_id: str | None) -> ExportSubject:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        rows = self._tables[kind].find(principal, subject_id, named)
        if not rows:
            raise NotFoundError(*_UNKNOWN[kind])
        if len(rows) > 1:
            raise several_programs(_NOUNS[kind])
        (row,) = rows
        return ExportSubject(kind=kind, id=row.id, tenant_id=row.tenant_id, program_id=row.program_id, shard=row.shard)


def _to_lines(batch: Sequence[bytes]) -> list[msgspec.Raw]:
    return [msgspec.Raw(line) for line in batch]
