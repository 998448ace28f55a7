"""The sandbox as the interface takes and shows it."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from clearhold.api.http.countries import country_failures
from clearhold.api.http.fields import BankId, CentsText
from clearhold.api.http.validation import Failure
from clearhold.api.preflight.schemas import CounterpartyRequest
from clearhold.api.reports.conversions import signals_of
from clearhold.api.reports.schemas import ScoreSignal
from clearhold.features.bank.event_types import event_type as read_type
from clearhold.features.core.bands import band_of
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import AchType, Band, Direction, Rail
from clearhold.features.sandbox.order import OrderedCounterparty, TransferOrder
from clearhold.features.sandbox.scenario import MOST_REPETITIONS, ScenarioName
from clearhold.features.sandbox.scenarios import SCENARIOS
from clearhold.store.duck.transfers import StoredTransferRow

MOST_SEED: Final = 2**31 - 1
NOBODY: Final = "Sandbox Counterparty"
"""The other side where the caller names none."""
BOOK_INCOMING: Final = "must be outgoing on book, which the bank reports from the sender"


class ScenarioListing(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A scenario, and the detectors of the alerts that it must open: of exactly these, or of none."""

    name: ScenarioName
    description: str
    rails: tuple[Rail, ...]
    expects: tuple[str, ...]


LISTINGS: Final = msgspec.convert(tuple(SCENARIOS.values()), tuple[ScenarioListing, ...], from_attributes=True)


class ScenarioRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``seed`` fixes names and amounts, ``count`` is how often it happens, each time to other people."""

    scenario: ScenarioName
    seed: Annotated[int, msgspec.Meta(ge=0, le=MOST_SEED)] = 0
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_REPETITIONS)] = 1


class SandboxTransfer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A transfer that goes through from beginning to end. ``type`` is for ACH, and required there."""

    rail: Rail
    direction: Direction
    amount_cents: CentsText
    type: AchType | None = None
    entity_id: BankId | None = None
    counterparty: CounterpartyRequest | None = None


class EventRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An event of the bank: its type, and its object as the bank would send it."""

    type: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    data: dict[str, Any]


class ReturnRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``returnCode`` is an ACH return code, or the letter of a check; an international wire comes back without one."""

    transfer_id: BankId
    return_code: Annotated[str, msgspec.Meta(min_length=1, max_length=3)] | None = None


class SandboxScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The score of the transfer as it now stands."""

    score: int | None
    band: Band
    version: str | None
    n: int | None
    confidence: float | None
    signals: tuple[ScoreSignal, ...]


class SandboxResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The events that were stored, and what they led to as far as that is ``committed``."""

    events: tuple[str, ...]
    transfer_id: str | msgspec.UnsetType = msgspec.UNSET
    alert_ids: tuple[str, ...]
    score: SandboxScore | None
    committed: bool = False
    simulated: Simulated = msgspec.UNSET


def transfer_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """What the schema does not say: the type belongs to ACH, and the bank sends no such transfer in of its own."""
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
        yield from country_failures("counterparty.countryCode", counterparty.get("countryCode"))


def event_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """The bank is known to send such an event."""
    event_type = plain.get("type")
    if isinstance(event_type, str) and not read_type(event_type).is_listed:
        yield Failure("type", "must be one that the bank sends; docs/events.md lists them", FieldCode.NOT_ONE_OF)


def ordered(request: SandboxTransfer) -> TransferOrder:
    """The request with everything that it leaves open."""
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
