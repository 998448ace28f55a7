"""Transfers as the interface shows them. Lists leave ``raw`` out."""

from typing import Annotated, Any

import msgspec

from clearhold.api.http.fields import BankIds, CursorText, Moment, PageLimit, ProgramId, ProgramIds
from clearhold.api.lists.exports import ExportFormat
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, to_answer
from clearhold.features.core.money import UsdRate
from clearhold.features.core.principal import Simulated
from clearhold.features.core.rows.events import TransferRow
from clearhold.features.core.vocabulary import Band, Reason, about


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
