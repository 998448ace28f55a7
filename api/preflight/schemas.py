"""Pre-flights as the interface shows them: request, recorded detail, and statistics."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from uuid import UUID

import msgspec

from clearhold.api.http.countries import country_failures
from clearhold.api.http.fields import (
    MOMENT,
    RULE_OF_PATTERN,
    AccountLast4,
    BankId,
    CentsText,
    CountryCode,
    CurrencyCode,
    IdempotencyKeyText,
    Moment,
    ProgramIds,
    RoutingNumber,
    Slug,
    Text,
)
from clearhold.api.http.validation import Failure
from clearhold.features.core.entries.preflight import Preflight, ProposedTransfer
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.vocabulary import AchType, Direction, Rail


class CounterpartyRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    name: Text
    routing_number: RoutingNumber | None = None
    account_last4: AccountLast4 | None = None
    country_code: CountryCode | None = None


class TransferRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    rail: Rail
    direction: Direction
    amount_cents: CentsText
    type: AchType | None = None
    currency: CurrencyCode = "USD"
    entity_id: BankId | None = None
    counterparty_id: BankId | None = None
    counterparty: CounterpartyRequest | None = None
    effective_on: Moment | None = None
    description: Text | None = None


class PreflightRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    transfer: TransferRequest
    program_id: UUID | None = None
    program_slug: Slug | None = None
    idempotency_key: IdempotencyKeyText | None = None


class PreflightDetail(Preflight, frozen=True, kw_only=True, rename="camel"):
    """The answer as it was given, with the request, the matched transfer and the time."""

    request: dict[str, Any]
    matched_transfer_id: str | None
    created_at: str


class PreflightStatsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 30
    program_id: ProgramIds | None = None


class DecisionCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    clear: int
    review: int
    hold: int


class LatencySummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null without a pre-flight."""

    p50: float | None
    p90: float | None
    n: int


class Share(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of ``n``, between 0 and 1; null when ``n`` is 0."""

    value: float | None
    n: int


class PreflightGrades(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Decisions against labels. ``hold_precision`` is null without a hold, ``hold_recall`` without a bad transfer."""

    n: int
    hold_and_bad: int
    hold_and_ok: int
    not_hold_and_bad: int
    not_hold_and_ok: int
    hold_precision: float | None
    hold_recall: float | None


class PreflightStats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What pre-flights answered, and how that turned out."""

    window_days: int
    count: int
    by_decision: DecisionCounts
    latency_ms: LatencySummary
    matched: Share
    degraded: Share
    graded: PreflightGrades


def preflight_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """What the schema does not say: one program is named, and the day or instant and the country exist."""
    yield from names_one_program(plain)
    yield from transfer_rules(plain)


def transfer_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """The part of it that is about the transfer."""
    transfer = _object_at(plain, "transfer")
    moment = transfer.get("effectiveOn")
    if isinstance(moment, str) and parse_instant(moment) is None:
        yield Failure("transfer.effectiveOn", RULE_OF_PATTERN[MOMENT])
    yield from country_failures(
        "transfer.counterparty.countryCode", _object_at(transfer, "counterparty").get("countryCode")
    )


def _object_at(plain: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = plain.get(name)
    return value if isinstance(value, dict) else {}


def names_one_program(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Exactly one of programId and programSlug."""
    named = [name for name in ("programId", "programSlug") if plain.get(name) is not None]
    if not named:
        yield Failure("programId", "is required unless programSlug is given", FieldCode.REQUIRED)
    elif len(named) > 1:
        yield Failure("programSlug", "must not be given together with programId", FieldCode.CONFLICTING)


def proposed(request: TransferRequest) -> ProposedTransfer:
    """The requested transfer as the features score it and the log keeps it.

    They are two types on purpose: a request is closed and bounded by the limits of the interface, while a recorded
    transfer must stay readable whatever those limits become.
    """
    return msgspec.convert(msgspec.to_builtins(request), ProposedTransfer)
