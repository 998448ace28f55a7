"""The record: held against itself, exported, signed. All of it is the tenant's as a whole.

Errors  ForbiddenError for a key of one program or of simulated ones; NotFoundError for links that are not there yet;
        ConflictError when a chain contradicts an earlier checkpoint; RateLimitedError for too many at a time
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from anyio import to_thread

from api.lists.cursors import UNREADABLE, Place, place_of
from api.lists.exports import Concurrency, Export, ExportFormat
from api.lists.lists import instant_in, only, page_of
from api.record.schemas import (
    ChainReport,
    CheckpointPage,
    CheckpointQuery,
    CheckpointsQuery,
    ProofQuery,
    RecordExportQuery,
    RecordLine,
    RecordProof,
    checkpoint_shown,
    proof_shown,
    report_of,
)
from features.core.canonical import Chain
from features.core.errors import InvalidRequestError
from features.core.principal import Principal
from store.record.checkpoints import RecordCheckpoints
from store.record.reader import RecordFilter, RecordReader
from store.record.rows import RecordCheckpointRow
from store.record.verification import Verification

LINES_A_BATCH: Final = 1_000


class RecordService:
    """``exports`` counts downloads together with those of lists; checks are counted apart."""

    def __init__(
        self,
        *,
        reader: RecordReader,
        verification: Verification,
        checkpoints: RecordCheckpoints,
        exports: Concurrency,
    ) -> None:
        self._reader, self._verification, self._checkpoints = reader, verification, checkpoints
        self._exports, self._checks = exports, Concurrency(what="verifications of the record")

    async def verify(self, principal: Principal, chain: Chain | None) -> ChainReport:
        """Every hash anew, in a worker thread; ``chain`` narrows what is said of it in all."""
        with self._checks.slot(principal):
            checks = [await to_thread.run_sync(self._verification.check, principal, each) for each in Chain]
            return report_of(checks, chain)

    def export(self, principal: Principal, query: RecordExportQuery) -> Export:
        principal.require_tenant_wide()
        wanted = RecordFilter(
            kinds=None if query.kinds is None else frozenset(query.kinds),
            created_from=instant_in(query.from_),
            created_to=instant_in(query.to),
        )
        return Export(
            name="record",
            kind=RecordLine,
            format_=ExportFormat.NDJSON,
            batches=lambda: self._lines(principal, wanted),
            principal=principal,
            limit=self._exports,
        )

    async def checkpoint(self, principal: Principal, query: CheckpointQuery) -> str:
        """The signed note over the chain as it is now, or over its first links."""
        row = await to_thread.run_sync(self._checkpoints.sign, principal, query.chain, query.size)
        return row.note

    async def checkpoints(self, principal: Principal, query: CheckpointsQuery) -> CheckpointPage:
        """Those that were signed, newest first."""
        filters, chain = {"chain": query.chain}, only(query.chain)
        after = None if query.cursor is None else _after(place_of(query.cursor, filters))
        found = await to_thread.run_sync(self._checkpoints.page, principal, chain, after, query.limit + 1)
        page, cursor = page_of(found, query.limit, filters, _place)
        return CheckpointPage(data=tuple(map(checkpoint_shown, page)), has_more=cursor is not None, next_cursor=cursor)

    async def proof(self, principal: Principal, query: ProofQuery) -> RecordProof:
        return proof_shown(await to_thread.run_sync(self._checkpoints.proof, principal, query.chain, query.seq))

    def _lines(self, principal: Principal, wanted: RecordFilter) -> Iterator[Sequence[msgspec.Raw]]:
        for batch in self._reader.export(principal, wanted, LINES_A_BATCH):
            yield [msgspec.Raw(line) for line in batch]


def _place(row: RecordCheckpointRow) -> Place:
    return Place(row.created_at, row.chain, str(row.size))


def _after(place: Place) -> tuple[int, str, int]:
    if not place.program_id.isdecimal() or len(place.program_id) > len(str(2**62)):
        raise InvalidRequestError(UNREADABLE)
    return place.at, place.id, int(place.program_id)
