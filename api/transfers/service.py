"""Transfers as they were ingested and scored, for reading.

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list; UnavailableError while the log that holds the bank's own object cannot be read
"""

from typing import Any, Final

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from api.lists.cursors import Place, place_of
from api.lists.lists import instant_in, page_of
from api.programs.service import ProgramService
from api.transfers.schemas import (
    ScoreInputs,
    Transfer,
    TransferFilters,
    TransferPage,
    TransfersQuery,
    TransferSummary,
    shown,
)
from features.bank.masking import masked_raw
from features.catalogue.features import values_by_name
from features.catalogue.vector import TransferFeaturesRow
from features.core.errors import NotFoundError, UnavailableError
from features.core.principal import Principal
from features.core.reason import Reason
from store.duck.transfers import StoredTransfer, TransferFilter, Transfers
from store.lake.raw_events import RawEvents

UNKNOWN_TRANSFER: Final = "Unknown transfer on this tenant."
UNREADABLE: Final = "The bank's object cannot be read right now. Try again."


class _Delivered(msgspec.Struct, frozen=True):
    """The part of a bank event that ``raw`` shows."""

    data: msgspec.Raw = msgspec.Raw(b"{}")


_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])
_DELIVERED: Final = msgspec.json.Decoder(_Delivered)


class TransferService:
    def __init__(self, *, programs: ProgramService, transfers: Transfers, events: RawEvents) -> None:
        self._programs, self._transfers, self._events = programs, transfers, events

    async def page(self, principal: Principal, query: TransfersQuery) -> TransferPage:
        """Newest first by the bank's creation time; a programId of another tenant is a 404."""
        wanted = filter_of(query, self._programs.filter_by(principal, query.program_id))
        after = None if query.cursor is None else msgspec.structs.astuple(place_of(query.cursor, wanted))
        found = await to_thread.run_sync(self._transfers.list_page, principal, wanted, after, query.limit + 1)
        page, cursor = page_of(found, query.limit, wanted, _place)
        return TransferPage(data=tuple(map(summary_of, page)), has_more=cursor is not None, next_cursor=cursor)

    async def read(self, principal: Principal, transfer_id: str, program_id: str | None) -> Transfer:
        named = self._programs.filter_by(principal, None if program_id is None else [program_id])
        found = await to_thread.run_sync(self._transfers.find, principal, transfer_id, named)
        if found is None:
            raise NotFoundError(UNKNOWN_TRANSFER)
        raw = await to_thread.run_sync(self._raw_of, found)
        summary = summary_of(found)
        if found.features is not None and found.features.paths is not None:
            paths = await to_thread.run_sync(self._transfers.paths, principal, found.features)
            assert summary.score_inputs is not None
            summary = replace(summary, score_inputs=replace(summary.score_inputs, paths=paths))
        return Transfer(**{name: getattr(summary, name) for name in summary.__struct_fields__}, raw=raw)

    def _raw_of(self, transfer: StoredTransfer) -> dict[str, Any]:
        """The object of the entry that this version came from, masked."""
        try:
            body = self._events.body(transfer.row.shard, transfer.row.raw_offset)
        except ConnectionError as error:
            raise UnavailableError(UNREADABLE) from error
        if body is None:
            raise UnavailableError(UNREADABLE)
        return masked_raw(bytes(_DELIVERED.decode(body).data))


def filter_of(query: TransferFilters, program_ids: tuple[str, ...] | None) -> TransferFilter:
    """The filters of a request in the store's words, with the programs that it names."""
    return TransferFilter(
        program_ids=program_ids,
        bands=query.band,
        entity_ids=query.entity_id,
        counterparty_ids=query.counterparty_id,
        created_from=instant_in(query.from_),
        created_to=instant_in(query.to),
    )


def summary_of(transfer: StoredTransfer) -> TransferSummary:
    """A stored transfer as lists and exports show it."""
    return shown(transfer.row, None if transfer.features is None else _inputs(transfer.features))


def _inputs(features: TransferFeaturesRow) -> ScoreInputs:
    return ScoreInputs(
        feature_version=features.feature_version,
        features=values_by_name(features.vector),
        reasons=_REASONS.decode(features.reasons),
        degraded=features.degraded,
    )


def _place(transfer: StoredTransfer) -> Place:
    return Place(transfer.row.bank_created_at, transfer.row.id, transfer.row.program_id)
