"""Requests and answers of the sandbox."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.http.fields import BankId, CentsText
from clearhold.api.http.validation import Failure, counterparty_failures
from clearhold.api.preflight.schemas import CounterpartyRequest
from clearhold.api.reports.schemas import ScoreSignal
from clearhold.api.reports.service import signals_of
from clearhold.features.bank.event_types import event_type as read_type
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import AchType, Band, Direction, Rail, about, band_of
from clearhold.features.sandbox.order import OrderedCounterparty, TransferOrder
from clearhold.features.sandbox.scenarios import MOST_REPETITIONS, SCENARIOS, ScenarioName
from clearhold.store.duck.transfers import StoredTransferRow

MOST_SEED: Final = 2**31 - 1
NOBODY: Final = "Sandbox Counterparty"
"""The default other side."""
BOOK_INCOMING: Final = "must be outgoing on book, which the bank reports from the sender"


class ScenarioListing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scenario, and the detectors of exactly the alerts that it must open, perhaps none."""

    name: Annotated[ScenarioName, about("By which the scenario is run.")]
    description: Annotated[str, about("What happens in it.")]
    rails: Annotated[
        tuple[Rail, ...],
        about(
            "The rails of its transfers. A program that declares its rails without them opens one more alert, "
            "rail_outside_declared."
        ),
    ]
    expects: Annotated[
        tuple[str, ...],
        about(
            "The detectors of the alerts that every run opens, by name; empty: it opens none. Alerts that "
            "snapshots of key risk indicators open on the program are not among them, nor those of caps that you "
            "set."
        ),
    ]


LISTINGS: Final = msgspec.convert(tuple(SCENARIOS.values()), tuple[ScenarioListing, ...], from_attributes=True)


class ScenarioRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``seed`` fixes names and amounts; ``count`` is the number of repetitions, each with other people."""

    scenario: Annotated[ScenarioName, about("The scenario that is run.")]
    seed: Annotated[
        int,
        msgspec.Meta(ge=0, le=MOST_SEED),
        about("Names and amounts follow from the program and the seed. Every run has fresh ids and happens again."),
    ] = 0
    count: Annotated[
        int, msgspec.Meta(ge=1, le=MOST_REPETITIONS), about("How often it happens, each time to others.")
    ] = 1


class SandboxTransfer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A transfer from beginning to end. ``type`` is for ACH, and required there."""

    rail: Rail
    direction: Direction
    amount_cents: CentsText
    type: Annotated[AchType | None, about("Required on ach, else left out: CREDIT pushes money, DEBIT pulls it.")] = (
        None
    )
    entity_id: Annotated[
        BankId | None,
        about(
            "The entity on the program's side, or one of its accounts; left out, an account of the sandbox "
            "without an owner."
        ),
    ] = None
    counterparty: Annotated[
        CounterpartyRequest | None,
        about("The other side; the same details are the same counterparty. Left out, one that is always the same."),
    ] = None


class EventRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A bank event: its type, and its object in the bank's format."""

    type: Annotated[
        str,
        msgspec.Meta(min_length=1, max_length=255),
        about("A type that the bank sends, as in account.frozen. docs/events.md lists them."),
    ]
    data: Annotated[
        dict[str, Any],
        about("The bank's object, stored unchanged; GET /api/events/{id} has the result."),
    ]


class ReturnRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``returnCode`` is an ACH return code, or the letter of a check; an international wire has none."""

    transfer_id: Annotated[BankId, about("The bank's id of the transfer that comes back.")]
    return_code: Annotated[
        Annotated[str, msgspec.Meta(min_length=1, max_length=3)] | None,
        about(
            "An ACH return code, as in R01, or the return reason of a check, as in A; left out for an "
            "international wire."
        ),
    ] = None


class SandboxScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The present score of the transfer."""

    score: int | None
    band: Band
    version: str | None
    n: int | None
    confidence: float | None
    signals: tuple[ScoreSignal, ...]


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The stored events, and their consequences as far as they are ``committed``."""

    events: Annotated[
        tuple[str, ...], about("Ids of the stored events, in their order; GET /api/events/{id} has each.")
    ]
    transfer_id: Annotated[
        str | msgspec.UnsetType,
        about("The transfer that it is about, of several the last one; absent when it is about none."),
    ] = msgspec.UNSET
    alert_ids: Annotated[
        tuple[str, ...],
        about(
            "The alerts that these events opened or changed, without the alerts that a snapshot of key risk "
            "indicators opened on the program."
        ),
    ]
    score: Annotated[SandboxScore | None, about("The present score of that transfer; null without one.")]
    committed: Annotated[
        bool,
        about(
            "false when the events are stored and their results were not complete within 5 seconds: alertIds "
            "and score then lack later results."
        ),
    ] = False
    simulated: Simulated = msgspec.UNSET


def transfer_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """Rules beyond the schema: the type belongs to ACH, and the bank itself starts no such transfer."""
    rail, ach_type = plain.get("rail"), plain.get("type")
    if rail == Rail.ACH and ach_type is None:
        yield Failure("type", "is required on ach: CREDIT or DEBIT", FieldCode.REQUIRED)
    if rail != Rail.ACH and ach_type is not None:
        yield Failure("type", "must be left out but on ach", FieldCode.CONFLICTING)
    if rail == Rail.BOOK and plain.get("direction") == Direction.INCOMING:
        yield Failure("direction", BOOK_INCOMING, FieldCode.CONFLICTING)
    if plain.get("amountCents") == "0":
        yield Failure("amountCents", "must be at least 1", FieldCode.TOO_SMALL)
    counterparty = plain.get("counterparty")
    if isinstance(counterparty, dict):
        yield from counterparty_failures("counterparty", counterparty)


def event_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """The type must be one of the bank's events."""
    event_type = plain.get("type")
    if isinstance(event_type, str) and not read_type(event_type).is_listed:
        yield Failure("type", "must be one that the bank sends; docs/events.md lists them", FieldCode.NOT_ONE_OF)


def ordered(request: SandboxTransfer) -> TransferOrder:
    """The request with all defaults."""
    sought = request.counterparty
    return TransferOrder(
        rail=request.rail,
        direction=request.direction,
        type=request.type,
        cents=int(request.amount_cents),
        entity_id=request.entity_id,
        counterparty=OrderedCounterparty(name=NOBODY)
        if sought is None
        else OrderedCounterparty(
            name=sought.name,
            routing_number=sought.routing_number or "",
            account_last4=sought.account_last4 or "",
            country=sought.country_code or "",
        ),
    )


def to_score(transfer: StoredTransferRow) -> SandboxScore:
    row, features = transfer.row, transfer.features
    return SandboxScore(
        score=row.score,
        band=band_of(row.score),
        version=row.score_version,
        n=row.score_n,
        confidence=row.score_confidence,
        signals=() if features is None else signals_of(features.reasons),
    )
