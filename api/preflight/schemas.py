"""Pre-flights as the interface shows them: request, recorded detail, and statistics."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec

from clearhold.api.http.fields import (
    RULE_OF_PATTERN,
    US_STATE,
    AccountLast4,
    BankId,
    CategoryCode,
    CentsText,
    CountryCode,
    CurrencyCode,
    CursorText,
    EntryMode,
    IdempotencyKeyText,
    Moment,
    PageLimit,
    ProgramIds,
    RoutingNumber,
    Slug,
    Text,
    UsState,
)
from clearhold.api.http.validation import (
    OF_COUNTERPARTY,
    Failure,
    counterparty_failures,
    moment_failures,
    read_as_meant,
)
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage
from clearhold.features.bank.purchases import us_state
from clearhold.features.core.entries.preflight import Preflight, ProposedTransfer
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import AchType, Band, Decision, Direction, Rail, about

_OF_CARDS: Final = ("cardPresent", "entryMode", "merchantCategory", "merchantState")


class CounterpartyRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    name: Text
    routing_number: Annotated[
        RoutingNumber | None, about("Of the counterparty's bank: nine digits, in groups or not, or a BIC.")
    ] = None
    account_last4: Annotated[
        AccountLast4 | None,
        about("Last four letters and digits of the account number; of a longer one, they are used."),
    ] = None
    country_code: Annotated[
        CountryCode | None,
        about(
            "ISO 3166-1, of two or three letters, as in US or USA. An international wire without a country, given "
            "or on file, is degraded and has the reason `country_unknown`."
        ),
    ] = None

    def __post_init__(self) -> None:
        read_as_meant(self, OF_COUNTERPARTY)


class TransferRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    rail: Rail
    direction: Direction
    amount_cents: CentsText
    type: AchType | None = None
    currency: CurrencyCode = "USD"
    entity_id: Annotated[
        BankId | None, about("The entity on the program's side, or one of its accounts, whose owner counts.")
    ] = None
    counterparty_id: Annotated[
        BankId | None,
        about("The other side, when the bank has it on file: on book the receiving account, on card the merchant."),
    ] = None
    counterparty: Annotated[
        CounterpartyRequest | None, about("The other side when it is not on file, or what the transfer will say of it.")
    ] = None
    effective_on: Annotated[Moment | None, about("When the money is to move: a date, or a date-time with offset.")] = (
        None
    )
    description: Annotated[Text | None, about("The statement's text, as the originator writes it.")] = None
    card_present: Annotated[
        bool | None, about("On card alone: whether the card is at the merchant; not measured without it.")
    ] = None
    entry_mode: Annotated[
        EntryMode | None, about("On card alone: how the card's number was entered, in the issuer's word.")
    ] = None
    merchant_category: Annotated[
        CategoryCode | None, about("On card alone: the merchant's category code of ISO 18245, four digits.")
    ] = None
    merchant_state: Annotated[
        UsState | None, about("On card alone: the merchant's state or territory, where its country is US.")
    ] = None


class PreflightRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    transfer: Annotated[TransferRequest, about("The transfer that is asked about.")]
    program_id: Annotated[UUID | None, about("The program; give exactly one of programId and programSlug.")] = None
    program_slug: Annotated[Slug | None, about("The program's slug; give exactly one of it and programId.")] = None
    idempotency_key: Annotated[
        IdempotencyKeyText | None,
        about("The caller's key: with it, the same program gets the recorded answer for good."),
    ] = None


class PreflightDetail(Preflight, frozen=True, kw_only=True, rename="camel"):
    """The recorded answer, with the request, the matched transfer and the time."""

    request: Annotated[
        dict[str, Any],
        about("The request as sent, with the caller (operator) and the parties that it was about (resolved)."),
    ]
    matched_transfer_id: Annotated[str | None, about("The transfer that landed as proposed within 24 hours, or null.")]
    created_at: str


class PreflightsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    decision: Annotated[tuple[Decision, ...], msgspec.Meta(min_length=1, max_length=len(Decision))] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class PreflightSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recorded pre-flight without its reasons; with the parties that it was about."""

    preflight_id: str
    program_id: str
    decision: Annotated[Decision, about("The recorded decision.")]
    score: int | None
    band: Band
    degraded: bool
    latency_ms: Annotated[int, about("Milliseconds from the request's arrival to its answer.")]
    rail: str
    direction: str
    amount_cents: str
    currency: str
    entity_id: Annotated[str | None, about("The entity that it was about; null when unknown.")]
    counterparty_id: Annotated[str | None, about("The counterparty that it was about; null when unknown.")]
    matched_transfer_id: Annotated[str | None, about("The transfer that landed as proposed within 24 hours, or null.")]
    created_at: str
    simulated: Simulated = msgspec.UNSET


class PreflightPage(ListPage[PreflightSummary], frozen=True, kw_only=True, rename="camel"):
    pass


class PreflightStatsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 30
    program_id: ProgramIds | None = None


class DecisionCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    clear: int
    review: int
    hold: int


class LatencySummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null without a pre-flight."""

    p50: Annotated[float | None, about("Median; null without a pre-flight.")]
    p90: Annotated[float | None, about("90th percentile; null without a pre-flight.")]
    n: Annotated[int, about("How many pre-flights were measured.")]


class Share(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of ``n``, between 0 and 1; null when ``n`` is 0."""

    value: Annotated[float | None, about("0 to 1; null when there was nothing to measure.")]
    n: Annotated[int, about("How many pre-flights the share is of.")]


class PreflightGrades(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Decisions against labels. ``hold_precision`` is null without a hold, ``hold_recall`` without a bad transfer."""

    n: Annotated[int, about("How many pre-flights have a labelled transfer.")]
    hold_and_bad: Annotated[int, about("Held, and the transfer is labelled bad.")]
    hold_and_ok: Annotated[int, about("Held, and the transfer is labelled ok.")]
    not_hold_and_bad: Annotated[int, about("Not held, and the transfer is labelled bad.")]
    not_hold_and_ok: Annotated[int, about("Not held, and the transfer is labelled ok.")]
    hold_precision: Annotated[float | None, about("Of the graded holds, the share that is bad; null without one.")]
    hold_recall: Annotated[float | None, about("The held share of transfers labelled bad; null without one.")]


class PreflightStats(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answers of pre-flights, compared with later labels."""

    window_days: Annotated[int, about("How many days back they were asked.")]
    count: Annotated[int, about("How many pre-flights there were; repeats under a key are not counted.")]
    by_decision: Annotated[DecisionCounts, about("How many were decided how.")]
    latency_ms: Annotated[
        LatencySummary,
        about(
            "Milliseconds from a request's arrival to its answer, as answered: the durable write counts with the mean "
            "of the writes before it."
        ),
    ]
    matched: Annotated[Share, about("Share whose transfer landed as proposed.")]
    degraded: Annotated[Share, about("Share whose answer lacked facts.")]
    graded: Annotated[PreflightGrades, about("Decisions against the newest label of the transfer that landed.")]
    simulated: Simulated = msgspec.UNSET


def preflight_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Rules beyond the schema: one program is named, and the day or instant and the counterparty can be read."""
    yield from names_one_program(plain)
    yield from transfer_rules(plain)


def transfer_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """The rules for the transfer."""
    transfer = _object_at(plain, "transfer")
    yield from moment_failures("transfer.effectiveOn", transfer.get("effectiveOn"))
    yield from counterparty_failures("transfer.counterparty", _object_at(transfer, "counterparty"))
    state, rail = transfer.get("merchantState"), transfer.get("rail")
    if isinstance(state, str) and us_state(state) is None:
        yield Failure("transfer.merchantState", RULE_OF_PATTERN[US_STATE], FieldCode.NOT_ONE_OF)
    for name in _OF_CARDS if rail != Rail.CARD.value else ():
        if transfer.get(name) is not None:
            yield Failure(f"transfer.{name}", "must be left out on other rails than card", FieldCode.CONFLICTING)


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
    """The requested transfer for the features and the log.

    Two types on purpose: a request is bounded by the limits of the interface, while a recorded transfer must stay
    readable when these limits change.
    """
    return msgspec.convert(msgspec.to_builtins(request), ProposedTransfer)
