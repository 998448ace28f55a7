"""Stored transfers with their scores, for reading.

Errors  NotFoundError for a transfer or program that is not this tenant's; InvalidRequestError for a cursor of another
        list, and for a transfer id that several programs have; UnavailableError while the log that holds the bank's own
        object cannot be read
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import replace

from clearhold.api.area import Resources
from clearhold.api.http.fields import BankIds, CentsText, CursorText, Listed, Moment, PageLimit, ProgramId, ProgramIds
from clearhold.api.http.reading import in_reader
from clearhold.api.http.validation import Failure
from clearhold.api.lists.exports import Batches, ExportFormat
from clearhold.api.lists.lists import (
    BATCH,
    DEFAULT_LIMIT,
    ListPage,
    ListReader,
    Place,
    batches_of,
    filter_of,
    moments_exist,
    place_by,
    to_answer,
)
from clearhold.api.log.commands import unknown_transfer
from clearhold.api.program_service import ProgramService, several_programs
from clearhold.features.bank.masking import masked_raw, object_in
from clearhold.features.catalogue.vector import TransferFeaturesRow, values_by_name
from clearhold.features.core.errors import ErrorCode, FieldCode, NotFoundError, UnavailableError
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.money import UsdRate, parse_cents
from clearhold.features.core.principal import Principal, Simulated
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.core.vocabulary import Band, Direction, Rail, Reason, about
from clearhold.features.policy.card_book import card_version
from clearhold.features.scorers.trs_v1.scorer import DEFAULT
from clearhold.store.control.policies import TenantPolicies
from clearhold.store.control.scorecard_registry import card_in
from clearhold.store.duck.transfers import BareTransfers, NamedTransfers, StoredTransferRow, TransferFilter, Transfers
from clearhold.store.lake.log_segments import RawEvents


def amounts_in_order(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Instants as in all lists, and amounts in this order."""
    yield from moments_exist(plain)
    least, most = (parse_cents(plain.get(name) or "") for name in ("amountFrom", "amountTo"))
    if least is not None and most is not None and least > most:
        yield Failure("amountFrom", "must not be over amountTo", FieldCode.CONFLICTING)


class TransferFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of transfers. Amounts are in a transfer's own currency, both bounds included."""

    program_id: ProgramIds | None = None
    band: Annotated[tuple[Band, ...], msgspec.Meta(min_length=1, max_length=4)] | None = None
    entity_id: BankIds | None = None
    counterparty_id: BankIds | None = None
    account_id: BankIds | None = None
    rail: Annotated[tuple[Rail, ...], msgspec.Meta(min_length=1, max_length=len(Rail))] | None = None
    direction: Annotated[tuple[Direction, ...], msgspec.Meta(min_length=1, max_length=len(Direction))] | None = None
    status: Annotated[tuple[Listed, ...], msgspec.Meta(min_length=1, max_length=20)] | None = None
    amount_from: CentsText | None = None
    amount_to: CentsText | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class TransfersQuery(TransferFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class ExportQuery(TransferFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


class TransferQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramId | None = None


class ScoringCard(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The scorecard that gave a score, as ``GET /api/scorecards`` has it."""

    version: Annotated[str, about("trs-v1 for the default card, else scorecard-v and a number.")]
    sha256: Annotated[str | None, about("Digest of the card; of trs-v1, that of the running service. Null: not known.")]


class ScoreInputs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The inputs of the score, as of the transfer's own time.

    ``paths`` names the transfers of a round trip or of layering hops, oldest first; lists and exports leave it out.
    """

    card: Annotated[ScoringCard, about("The scorecard of the score; GET /api/scorecards/{version} has it whole.")]
    feature_version: Annotated[str, about("Version of the features.")]
    features: Annotated[
        dict[str, Any],
        about("Every feature by name; docs/features.md has units, windows and meanings. null is not measured."),
    ]
    reasons: tuple[Reason, ...]
    degraded: bool
    paths: Annotated[
        dict[str, list[str]] | None,
        about("The transfers of a round trip or of layering hops, oldest first, by feature."),
    ] = None


class TransferSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A transfer without the bank's own object."""

    id: str
    tenant_id: str
    program_id: str
    rail: str
    direction: str
    type: str | None
    amount_cents: str
    currency: str
    status: Annotated[str, about("The bank's status word, in capitals.")]
    entity_id: Annotated[str | None, about("The bank's id of the party on the program's side; null while unknown.")]
    account_id: Annotated[str | None, about("The bank's id of the program's account that the transfer is on.")]
    counterparty_id: Annotated[str | None, about("The bank's id of the other side; null when it has none on file.")]
    counterparty_country: Annotated[str | None, about("ISO 3166-1 alpha-2; null when unknown.")]
    sec_code: Annotated[str | None, about("ACH entry class, as in PPD, CCD, WEB; null on other rails.")]
    return_code: Annotated[str | None, about("ACH return code, as in R01; null unless returned.")]
    returned_at: Annotated[str | None, about("When it was returned; null unless it was.")]
    effective_at: Annotated[str | None, about("The bank's effective date; null when it states none.")]
    bank_created_at: Annotated[str, about("When the bank created it, never later than its arrival here.")]
    score: int | None
    score_band: Annotated[Band | None, about("Band of the score; unscored when it is null.")]
    score_version: Annotated[str | None, about("Which scorer gave the score, as in trs-v1.")]
    score_n: Annotated[int | None, about("How many observations the score's baselines rest on.")]
    score_confidence: Annotated[
        float | None, about("0 to 1: how far the baselines can be trusted; null when unscored.")
    ]
    score_inputs: Annotated[
        ScoreInputs | None, about("The inputs of the score, at the transfer's time; null while unscored.")
    ]
    scored_at: Annotated[str | None, about("When the score was given; null until then.")]
    updated_at: str
    usd_rate: Annotated[
        UsdRate | None,
        about("The rate at which its amount counts; null where the bank states US dollars, or nothing is known."),
    ]
    alert_ids: Annotated[tuple[str, ...], about("The alerts that are about it or rest on it, oldest first.")]
    simulated: Simulated = msgspec.UNSET


class Transfer(TransferSummary, frozen=True, kw_only=True, rename="camel"):
    """A transfer with the bank's object as last delivered, masked."""

    raw: dict[str, Any]


class TransferPage(ListPage[TransferSummary], frozen=True, kw_only=True, rename="camel"):
    pass


def to_summary(row: TransferRow, inputs: ScoreInputs | None, alert_ids: tuple[str, ...]) -> TransferSummary:
    """A row as the interface shows it: cents as digits, instants as text."""
    return to_answer(
        row,
        TransferSummary,
        amount_cents=str(row.amount_cents),
        score_inputs=inputs,
        alert_ids=alert_ids,
        usd_rate=_rate_of(row),
    )


def _rate_of(row: TransferRow) -> UsdRate | None:
    if row.usd_rate is None or row.usd_rate_day is None or row.usd_rate_version is None:
        return None
    return UsdRate(currency=row.currency, day=row.usd_rate_day, rate=row.usd_rate, version=row.usd_rate_version)


class ScoringCards:
    """Versions are never edited, so each is digested once. Thread-safe."""

    def __init__(self, policies: Mapping[str, TenantPolicies]) -> None:
        self._policies = policies
        self._cards: dict[tuple[str, str], ScoringCard] = {}

    def of(self, tenant_id: str, score_version: str) -> ScoringCard:
        """The card of a score's version."""
        version = card_version(score_version)
        if version is None:
            return _DEFAULT
        known = self._cards.get((tenant_id, version))
        if known is None:
            policy = self._policies[tenant_id].find(version)
            card = None if policy is None else card_in(policy)
            known = ScoringCard(version=version, sha256=None if card is None else scorecard_sha256(card))
            if card is not None:
                self._cards[tenant_id, version] = known
        return known


_DEFAULT = ScoringCard(version=DEFAULT.version, sha256=DEFAULT.sha256)


UNREADABLE: Final = "The bank's object cannot be read at the moment. Try again."
LOST: Final = "The bank's object of this transfer is lost with a part of the log; lists and exports have the transfer."


def object_of(raw_events: RawEvents, row: TransferRow) -> bytes:
    """The object as JSON, from the entry of this version of the transfer; for a worker thread."""
    try:
        entry = raw_events.entry(row.shard, row.raw_offset)
    except ConnectionError as error:
        raise UnavailableError(UNREADABLE) from error
    if entry is None:
        raise NotFoundError(LOST, ErrorCode.OBJECT_LOST)
    return entry.body if entry.kind == EntryKind.SETTLEMENT else object_in(entry.body)


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
    def __init__(self, resources: Resources) -> None:
        self._programs, self._events = resources.programs, resources.events
        self._transfers = Transfers(resources.stores.database)
        self._bare = BareTransfers(resources.stores.database)
        self._cards = ScoringCards(resources.stores.registry.tenancy.policies)
        self._list = ListReader(
            self._transfers.list_page, lambda _, rows: self._marked(rows), place_by("bank_created_at"), _key
        )

    async def page(self, principal: Principal, query: TransfersQuery) -> TransferPage:
        """Newest first by the bank's creation time; a programId of another tenant is a 404."""
        return TransferPage.of(*await self._list.page(principal, self._store_filter(principal, query), query))

    async def newest(self, principal: Principal, query: TransfersQuery) -> Sequence[TransferSummary]:
        """The first page without the inputs of scores and without alerts: for a drawing of many."""
        wanted, limit = self._store_filter(principal, query), query.limit or DEFAULT_LIMIT
        rows = await in_reader(self._bare.list_page, principal, wanted, None, limit)
        return self._marked(rows)

    async def named(self, principal: Principal, ids: Sequence[str], program_id: str) -> Sequence[TransferSummary]:
        """As ``newest``, those with these ids; one that is not there is left out."""
        wanted = NamedTransfers(program_ids=self._programs.filter_by(principal, (program_id,)), ids=tuple(ids))
        return self._marked(await in_reader(self._bare.list_page, principal, wanted, None, len(ids)))

    async def export(self, principal: Principal, filters: TransferFilters) -> Batches:
        """All transfers of the list, batch by batch; a programId of another tenant is a 404 at once."""
        wanted = self._store_filter(principal, filters)
        return batches_of(self._transfers.export(principal, wanted, BATCH), self._marked)

    async def read(self, principal: Principal, transfer_id: str, query: TransferQuery) -> Transfer:
        find = partial(find_transfer, self._programs, self._transfers)
        stored = await in_reader(find, principal, transfer_id, query.program_id)
        raw = masked_raw(await in_reader(object_of, self._events, stored.row))
        (summary,) = self._marked([stored])
        if stored.features is not None and stored.features.paths is not None:
            paths = await in_reader(self._transfers.paths, principal, stored.features)
            assert summary.score_inputs is not None
            summary = replace(summary, score_inputs=replace(summary.score_inputs, paths=paths))
        return Transfer(**msgspec.structs.asdict(summary), raw=raw)

    def _store_filter(self, principal: Principal, filters: TransferFilters) -> TransferFilter:
        return filter_of(TransferFilter, filters, self._programs.filter_by(principal, filters.program_id))

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


def _key(place: Place) -> tuple[int, str, str]:
    """Transfer ids are unique in a program, not in the tenant."""
    return place.at, place.id, place.program_id
