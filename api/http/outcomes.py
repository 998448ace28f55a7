"""Details of a request that its status does not show. Routes note them in the scope, for the metrics."""

from enum import StrEnum
from typing import Any, Final, NamedTuple

_OUTCOME: Final = "clearhold.outcome"
_LINES: Final = "clearhold.lines"
_VERDICT: Final = "clearhold.verdict"


class Outcome(StrEnum):
    """A detail that the status does not show, at most one for each request."""

    NONE = ""
    DEGRADED = "degraded"  # a pre-flight with missing or stale inputs
    DUPLICATE = "duplicate"  # an event that was in the log already
    REPLAYED = "replayed"  # the stored answer to an Idempotency-Key
    CONFLICT = "conflict"  # an Idempotency-Key with another body, or one whose first request is still running


def note(scope: Any, outcome: Outcome) -> None:
    """Note the outcome for the metrics of the request."""
    scope[_OUTCOME] = outcome


def outcome_of(scope: Any) -> Outcome:
    outcome: Outcome = scope.get(_OUTCOME, Outcome.NONE)
    return outcome


class EventCounts(NamedTuple):
    """How many events of a batch there were of each kind."""

    accepted: int
    duplicate: int
    refused_invalid: int


def note_events(scope: Any, counts: EventCounts) -> None:
    """Note the events of a batch for the metrics of the request."""
    scope[_LINES] = counts


def events_of(scope: Any) -> EventCounts | None:
    counts: EventCounts | None = scope.get(_LINES)
    return counts


def note_verdict(scope: Any, verdict: str) -> None:
    """Note the result of a proof's verification, one of a closed set, for the metrics of the request."""
    scope[_VERDICT] = verdict


def verdict_of(scope: Any) -> str | None:
    verdict: str | None = scope.get(_VERDICT)
    return verdict
