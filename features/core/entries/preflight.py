"""Pre-flight: the request before money moves, the recorded answer, and the rules of its decision."""

from typing import Annotated, Any, Final

import msgspec

from clearhold.features.core.money import UsdRate
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import AchType, Band, Decision, Direction, Rail, Reason, Score, about

HARD_HIT: Final = "hard"
SOFT_HIT: Final = "soft"
_MS: Final = 1_000


class ProposedCounterparty(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The other side when it is not on file; matched by routing number and last four, else by name."""

    name: str
    routing_number: str | None = None
    account_last4: str | None = None
    country_code: str | None = None


class ProposedTransfer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A transfer that has not moved yet. ``amount_cents`` is canonical digits; the API has checked it."""

    rail: Rail
    direction: Direction
    amount_cents: str
    type: AchType | None = None
    currency: str = "USD"
    entity_id: str | None = None
    counterparty_id: str | None = None
    counterparty: ProposedCounterparty | None = None
    effective_on: str | None = None
    description: str | None = None
    card_present: bool | None = None  # this and the next three: of a card transfer
    entry_mode: str | None = None
    merchant_category: str | None = None
    merchant_state: str | None = None


class LimitHit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A cap of the limit ladder that the proposed amount would cross.

    ``severity`` is hard when the actor itself is in the hold band.
    """

    limit: Annotated[str, about("Which cap.")]
    actor: Annotated[str, about("Whose cap: entity or counterparty.")]
    actor_id: Annotated[str, about("The bank's id of the actor; not_on_file for a counterparty without an id.")]
    band: Annotated[Band, about("The actor's band, whose cap this is.")]
    cap: Annotated[str, about("The cap, in cents or as a count, in a string of digits.")]
    observed: Annotated[str, about("The amount or count moved in the cap's period, in a string of digits.")]
    proposed: Annotated[
        str,
        about(
            "This amount in integer cents, in a string of digits; 1, the least that it can be, where its US "
            "dollars are not known."
        ),
    ]
    severity: Annotated[str, about("soft goes to review, hard is held.")]


class Resolved(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parties on file that the request names."""

    entity_id: str | None
    counterparty_id: str | None
    counterparty_country: str | None


class Preflight(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer, as the interface shows it."""

    preflight_id: str
    decision: Annotated[
        Decision,
        about(
            "hold on the hold band, a hard signal or a hard limit; review on review, unscored or a soft limit; "
            "else clear."
        ),
    ]
    score: int | None
    band: Band
    version: str
    n: int
    confidence: float | None
    reasons: tuple[Reason, ...]
    limits_hit: Annotated[tuple[LimitHit, ...], about("Caps that the amount would cross.")]
    degraded: bool
    degraded_reasons: Annotated[tuple[str, ...], about("Which facts were missing; docs/api-guide.md lists the words.")]
    latency_ms: Annotated[
        int, about("Milliseconds from the request's arrival to its answer, durable write included.")
    ]  # from the request's arrival; the recorded answer without its own durable write
    idempotent: Annotated[
        bool, about("Whether it is the recorded answer to an earlier request with the idempotencyKey.")
    ]
    program_id: str
    simulated: Simulated = msgspec.UNSET
    scoring_us: Annotated[int | None, about("Microseconds of the scoring alone; null when unscored.")] = (
        None  # None where nothing was scored
    )
    usd_rate: Annotated[
        UsdRate | None,
        about("The rate at which an amount of another currency was counted; null without one."),
    ] = None


class PreflightRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recorded pre-flight: the log entry's body and, with the match, the source of PreflightDetail.

    ``request`` is the body as submitted; ``asked_at`` is the instant of the features, in microseconds.
    """

    tenant_id: str
    answer: Preflight
    request: dict[str, Any]
    transfer: ProposedTransfer
    operator: str
    resolved: Resolved
    asked_at: int
    idempotency_key: str | None = None


def decide(band: Band, *, hard: bool, limits_hit: tuple[LimitHit, ...] = ()) -> Decision:
    """Hold on the hold band, a hard signal or a hard limit; review on review, unscored or a soft limit; else clear."""
    if band is Band.HOLD or hard or any(hit.severity == HARD_HIT for hit in limits_hit):
        return Decision.HOLD
    if band in (Band.REVIEW, Band.UNSCORED) or limits_hit:
        return Decision.REVIEW
    return Decision.CLEAR


def answer_of(
    score: Score,
    *,
    preflight_id: str,
    program_id: str,
    degraded_reasons: tuple[str, ...],
    limits_hit: tuple[LimitHit, ...],
    scoring_us: int | None,
    latency_us: int,
    usd_rate: UsdRate | None = None,
) -> Preflight:
    return Preflight(
        preflight_id=preflight_id,
        decision=decide(score.band, hard=score.hard, limits_hit=limits_hit),
        score=score.value,
        band=score.band,
        version=score.version,
        n=score.n,
        confidence=score.confidence,
        reasons=score.reasons,
        limits_hit=limits_hit,
        degraded=bool(degraded_reasons),
        degraded_reasons=degraded_reasons,
        latency_ms=-(-max(0, latency_us) // _MS),  # rounded up: at least one for an answer that took any time
        idempotent=False,
        program_id=program_id,
        scoring_us=None if scoring_us is None else max(0, scoring_us),
        usd_rate=usd_rate,
    )
