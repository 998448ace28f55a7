"""Stored transfers with their scores, for reading.

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, and for a transfer id that several programs have; UnavailableError while the log that holds the bank's own
        object cannot be read
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Final

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from clearhold.api.lists.cursors import Place
from clearhold.api.lists.list_reader import BATCH, ListReader, batches_of
from clearhold.api.lists.lists import instant_in
from clearhold.api.log.refusals import unknown_transfer
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.api.transfers.schemas import (
    ScoreInputs,
    ScoringCard,
    Transfer,
    TransferFilters,
    TransferPage,
    TransfersQuery,
    TransferSummary,
    to_summary,
)
from clearhold.features.bank.masking import masked_raw
from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.errors import ErrorCode, NotFoundError, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Principal
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.core.vocabulary import Reason
from clearhold.features.policy.card_book import card_version
from clearhold.features.scorers.trs_v1.scorer import DEFAULT
from clearhold.store.control.policies import Policies
from clearhold.store.control.scorecard_registry import card_in
from clearhold.store.duck.transfers import StoredTransferRow, TransferFilter, Transfers
from clearhold.store.lake.log_segments import RawEvents


class ScoringCards:
    """Versions are never edited, so each is digested once. Thread-safe."""

    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._cards: dict[tuple[str, str], ScoringCard] = {}

    def of(self, tenant_id: str, score_version: str) -> ScoringCard:
        """The card of a score's version."""
        version = card_version(score_version)
        if version is None:
            return _DEFAULT
        known = self._cards.get((tenant_id, version))
        if known is None:
            policy = self._policies.of_tenant(tenant_id).find(version)
            card = None if policy is None else card_in(policy)
            known = ScoringCard(version=version, sha256=None if card is None else scorecard_sha256(card))
            if card is not None:
                self._cards[tenant_id, version] = known
        return known


_DEFAULT = ScoringCard(version=DEFAULT.version, sha256=DEFAULT.sha256)


UNREADABLE: Final = "The bank's object cannot be read at the moment. Try again."
LOST: Final = "The bank's object of this transfer is lost with a part of the log; lists and exports have the transfer."


class _Delivered(msgspec.Struct, frozen=True):
    """The object in a bank event."""

    data: msgspec.Raw = msgspec.Raw(b"{}")


_DELIVERED: Final = msgspec.json.Decoder(_Delivered)


def object_of(raw_events: RawEvents, row: TransferRow) -> bytes:
    """The object as JSON, from the entry of this version of the transfer; for a worker thread."""
    try:
        entry = raw_events.entry(row.shard, row.raw_offset)
    except ConnectionError as error:
        raise UnavailableError(UNREADABLE) from error
    if entry is None:
        raise NotFoundError(LOST, ErrorCode.OBJECT_LOST)
    return entry.body if entry.kind == EntryKind.SETTLEMENT else bytes(_DELIVERED.decode(entry.body).data)


def find_transfer(
    programs: ProgramService, transfers: Transfers, principal: Principal, transfer_id: str, program_id: str | None
) -> StoredTransferRow:
    """The transfer of that id; without a program, the only one of that id. For a worker thread."""
    named = programs.filter_by(principal, None if program_id is None else [program_id])
    stored = transfers.find(principal, transfer_id, named)
    if stored is None:
        raise unknown_transfer()
    if named is None and len(transfers.programs_of(principal, transfer_id)) > 1:
        raise several_programs("a transfer")
    return stored


_REASONS: Final = msgspec.json.Decoder(tuple[Reason, ...])


class TransferService:
    def __init__(
        self, *, programs: ProgramService, transfers: Transfers, events: RawEvents, cards: ScoringCards
    ) -> None:
        self._programs, self._transfers, self._events, self._cards = programs, transfers, events, cards
        self._list = ListReader(
            read_page=transfers.list_page, items_of=lambda _, rows: self._marked(rows), place=_place, key=_key
        )

    async def page(self, principal: Principal, query: TransfersQuery) -> TransferPage:
        """Newest first by the bank's creation time; a programId of another tenant is a 404."""
        return TransferPage.of(*await self._list.page(principal, self._store_filter(principal, query), query))

    def export(
        self, principal: Principal, filters: TransferFilters
    ) -> Generator[Sequence[TransferSummary], None, None]:
        """All transfers of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._store_filter(principal, filters)
        return batches_of(self._transfers.export(principal, wanted, BATCH), self._marked)

    async def read(self, principal: Principal, transfer_id: str, program_id: str | None) -> Transfer:
        find = partial(find_transfer, self._programs, self._transfers)
        stored = await to_thread.run_sync(find, principal, transfer_id, program_id)
        raw = masked_raw(await to_thread.run_sync(object_of, self._events, stored.row))
        (summary,) = self._marked([stored])
        if stored.features is not None and stored.features.paths is not None:
            paths = await to_thread.run_sync(self._transfers.paths, principal, stored.features)
            assert summary.score_inputs is not None
            summary = replace(summary, score_inputs=replace(summary.score_inputs, paths=paths))
        return Transfer(**{name: getattr(summary, name) for name in summary.__struct_fields__}, raw=raw)

    def _store_filter(self, principal: Principal, filters: TransferFilters) -> TransferFilter:
        return TransferFilter(
            program_ids=self._programs.filter_by(principal, filters.program_id),
            bands=filters.band,
            entity_ids=filters.entity_id,
            counterparty_ids=filters.counterparty_id,
            created_from=instant_in(filters.from_),
            created_to=instant_in(filters.to),
        )

    def _marked(self, rows: Sequence[StoredTransferRow]) -> list[TransferSummary]:
        """Stored transfers for lists and exports."""
        return [self._programs.marked(self._summary(each), each.row.program_id) for each in rows]

    def _summary(self, transfer: StoredTransferRow) -> TransferSummary:
        features = transfer.features
        inputs = None
        if features is not None:
            inputs = _inputs(features, self._cards.of(features.tenant_id, features.score_version))
        return to_summary(transfer.row, inputs, transfer.alert_ids)


def _inputs(features: TransferFeaturesRow, card: ScoringCard) -> ScoreInputs:
    return ScoreInputs(
        card=card,
        feature_version=features.feature_version,
        features=values_by_name(features.vector),
        reasons=_REASONS.decode(features.reasons),
        degraded=features.degraded,
    )


def _place(transfer: StoredTransferRow) -> Place:
    return Place(transfer.row.bank_created_at, transfer.row.id, transfer.row.program_id)


def _key(place: Place) -> tuple[int, str, str]:
    """Transfer ids are unique in a program, not in the tenant."""
    return place.at, place.id, place.program_id
