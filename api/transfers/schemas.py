"""Transfers as the interface shows them. Lists leave ``raw`` out."""

from typing import Annotated, Any

import msgspec

from clearhold.api.http.fields import BankId, BankIds, CursorText, Moment, PageLimit, ProgramIds
from clearhold.api.lists.exports import ExportFormat
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, instant_text
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.features.core.reason import Reason
from clearhold.features.core.rows.transfers import TransferRow
from clearhold.features.core.vocabulary import Band


class TransferFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of transfers."""

    program_id: ProgramIds | None = None
    band: Annotated[tuple[Band, ...], msgspec.Meta(min_length=1, max_length=4)] | None = None
    entity_id: BankIds | None = None
    counterparty_id: BankIds | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class TransfersQuery(TransferFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class ExportQuery(TransferFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: ExportFormat = ExportFormat.NDJSON


class TransferQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: BankId | None = None


class ScoringCard(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The scorecard that gave a score, as ``GET /api/scorecards`` has it."""

    version: str
    sha256: str | None


class ScoreInputs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The inputs of the score, as of the transfer's own time.

    ``paths`` names the transfers of a round trip or of layering hops, oldest first; lists and exports leave it out.
    """

    card: ScoringCard
    feature_version: str
    features: dict[str, Any]
    reasons: tuple[Reason, ...]
    degraded: bool
    paths: dict[str, list[str]] | None = None


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
    status: str
    entity_id: str | None
    account_id: str | None
    counterparty_id: str | None
    counterparty_country: str | None
    sec_code: str | None
    return_code: str | None
    returned_at: str | None
    effective_at: str | None
    bank_created_at: str
    score: int | None
    score_band: Band | None
    score_version: str | None
    score_n: int | None
    score_confidence: float | None
    score_inputs: ScoreInputs | None
    scored_at: str | None
    updated_at: str
    simulated: Simulated = msgspec.UNSET


class Transfer(TransferSummary, frozen=True, kw_only=True, rename="camel"):
    """A transfer with the bank's object as last delivered, masked."""

    raw: dict[str, Any]


class TransferPage(ListPage[TransferSummary], frozen=True, kw_only=True, rename="camel"):
    pass


def to_summary(row: TransferRow, inputs: ScoreInputs | None) -> TransferSummary:
    """A row as the interface shows it: cents as digits, instants as text."""
    return TransferSummary(
        id=row.id,
        tenant_id=row.tenant_id,
        program_id=row.program_id,
        rail=row.rail,
        direction=row.direction,
        type=row.type,
        amount_cents=str(row.amount_cents),
        currency=row.currency,
        status=row.status,
        entity_id=row.entity_id,
        account_id=row.account_id,
        counterparty_id=row.counterparty_id,
        counterparty_country=row.counterparty_country,
        sec_code=row.sec_code,
        return_code=row.return_code,
        returned_at=instant_text(row.returned_at),
        effective_at=instant_text(row.effective_at),
        bank_created_at=format_instant(row.bank_created_at),
        score=row.score,
        score_band=None if row.score_band is None else Band(row.score_band),
        score_version=row.score_version,
        score_n=row.score_n,
        score_confidence=row.score_confidence,
        score_inputs=inputs,
        scored_at=instant_text(row.scored_at),
        updated_at=format_instant(row.updated_at),
    )
