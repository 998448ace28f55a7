"""The record: verified, exported, signed. It belongs to the whole tenant.

Errors  ForbiddenError for a key of one program or of simulated ones; NotFoundError for future links;
        ConflictError when a chain contradicts an earlier checkpoint; RateLimitedError for too many at a time
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Final

import msgspec
from anyio import to_thread

from clearhold.api.lists.cursors import UNREADABLE, Place, unusable_cursor
from clearhold.api.lists.exports import Concurrency
from clearhold.api.lists.list_reader import ListReader, batches_of
from clearhold.api.lists.lists import instant_in, only
from clearhold.api.record.schemas import (
    ChainReport,
    CheckpointPage,
    CheckpointQuery,
    CheckpointsQuery,
    ProofQuery,
    RecordExportQuery,
    RecordProof,
    report_of,
    to_checkpoint,
    to_proof,
)
from clearhold.features.core.canonical import Chain
from clearhold.features.core.principal import Principal
from clearhold.store.duck.shown_rows import ShownRows
from clearhold.store.record.chain_file import RecordCheckpointRow
from clearhold.store.record.checkpoints import CheckpointPlace, RecordCheckpoints
from clearhold.store.record.reading import LastVerifications, RecordFilter, RecordReader, Verification

LINES_A_BATCH: Final = 1_000

_CheckpointFilters = Mapping[str, tuple[Chain, ...] | None]


class RecordService:
    """One for the process; belongs to the API's event loop. Verifications are limited for each principal."""

    def __init__(
        self,
        *,
        reader: RecordReader,
        verification: Verification,
        rows: ShownRows,
        checkpoints: RecordCheckpoints,
        verifications: LastVerifications,
    ) -> None:
        self._reader, self._verification, self._rows, self._checkpoints = reader, verification, rows, checkpoints
        self._verifications = verifications
        self._checks = Concurrency(what="verifications of the record")
        self._list = ListReader(
            read_page=self._read_page,
            items_of=lambda _, rows: [*map(to_checkpoint, rows)],
            place=_place,
            key=_key,
        )

    async def verify(self, principal: Principal, chain: Chain | None) -> ChainReport:
        """Compute every hash again and compare the stored rows with the links, in worker threads; ``chain`` narrows
        the report to one chain.
        """
        with self._checks.slot(principal):
            checks = [await to_thread.run_sync(self._verification.check, principal, each) for each in Chain]
            rows = await to_thread.run_sync(self._rows.check, principal)
            self._verifications.note(principal.tenant, ok=report_of(checks, rows, None).ok)
            return report_of(checks, rows, chain)

    def export(self, principal: Principal, query: RecordExportQuery) -> Generator[Sequence[msgspec.Raw], None, None]:
        """The lines of the record, batch by batch."""
        principal.require_tenant_wide()
        wanted = RecordFilter(
            kinds=None if query.kinds is None else frozenset(query.kinds),
            created_from=instant_in(query.from_),
            created_to=instant_in(query.to),
        )
        return batches_of(self._reader.export(principal, wanted, LINES_A_BATCH), _to_lines)

    async def checkpoint(self, principal: Principal, query: CheckpointQuery) -> str:
        """The signed note over the present chain, or over its first links."""
        row = await to_thread.run_sync(self._checkpoints.sign, principal, query.chain, query.size)
        return row.note

    async def checkpoints(self, principal: Principal, query: CheckpointsQuery) -> CheckpointPage:
        """The signed checkpoints, newest first."""
        return CheckpointPage.of(*await self._list.page(principal, {"chain": query.chain}, query))

    async def proof(self, principal: Principal, query: ProofQuery) -> RecordProof:
        return to_proof(await to_thread.run_sync(self._checkpoints.proof, principal, query.chain, query.seq))

    def _read_page(
        self, principal: Principal, filters: _CheckpointFilters, after: CheckpointPlace | None, limit: int
    ) -> Sequence[RecordCheckpointRow]:
        return self._checkpoints.page(principal, only(filters["chain"]), after, limit)


def _to_lines(batch: Sequence[bytes]) -> list[msgspec.Raw]:
    return [msgspec.Raw(line) for line in batch]


def _place(row: RecordCheckpointRow) -> Place:
    return Place(row.created_at, row.chain, str(row.size))


def _key(place: Place) -> CheckpointPlace:
    if not place.program_id.isdecimal() or len(place.program_id) > len(str(2**62)):
        raise unusable_cursor(UNREADABLE)
    return place.at, place.id, int(place.program_id)
