"""Reports as the interface shows them: of an actor, of a program, of a program's week."""

from typing import Annotated, Literal

import msgspec

from clearhold.api.http.fields import WEEK, BankId, Midnight
from clearhold.features.core.entries.kris import KriStatus, KriUnit, KriValue
from clearhold.features.core.program import Simulated
from clearhold.features.core.reason import Reason
from clearhold.features.core.vocabulary import ActorType, AlertDecision, AlertStatus, Band, Route

Instant = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]


class ActorQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have an actor of that id."""

    program_id: BankId | None = None
    from_: Midnight | None = msgspec.field(default=None, name="from")
    to: Midnight | None = None


class ProgramReportQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    from_: Midnight | None = msgspec.field(default=None, name="from")
    to: Midnight | None = None


class WeeklyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    week: Annotated[str, msgspec.Meta(pattern=WEEK)] | None = None
    format: Literal["json", "html"] = "json"


class CurrentScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The last score record of a subject before the end of the report's period."""

    score: int | None
    band: Band
    n: int
    confidence: float | None
    version: str
    reasons: tuple[Reason, ...]
    hard: bool
    scored_at: str


class ScoreSignal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    weight: int
    hard: bool = False
    detail: str | None = None


class SkoorPoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One score record."""

    at: Instant
    score: int | None
    band: Band
    n: int
    version: str
    signals: tuple[ScoreSignal, ...]


class BandTransition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A score record with another band than the record before it."""

    at: Instant
    from_: Band = msgspec.field(name="from")
    to: Band
    score: int | None
    n: int


class SignalTrend(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    count: int
    prior: int


class ReturnCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    any: int
    unauthorized: int


class TransferBands(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    clear: int
    review: int
    hold: int
    unscored: int


class TransfersSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers by the bank's time of creation, as they stand now."""

    count: int
    volume_cents: str
    returns: ReturnCounts
    bands: TransferBands


class ActorAlert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    detector: str
    status: AlertStatus
    route: Route | None
    opened_at: str
    summary: str


class ActorDisposition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    alert_id: str
    decided_by: str
    decision: AlertDecision
    overturns_draft: bool | None
    created_at: str


class ActorReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entity, counterparty or agent over a period of whole days."""

    kind: Literal["actor"]
    type: ActorType
    id: str
    name: str | None
    program_id: str
    generated_at: str
    current: CurrentScore | None
    history: tuple[SkoorPoint, ...]
    transitions: tuple[BandTransition, ...]
    signal_trends: dict[str, SignalTrend] | None
    transfers: TransfersSummary
    alerts: tuple[ActorAlert, ...]
    dispositions: tuple[ActorDisposition, ...]
    simulated: Simulated = msgspec.UNSET


class ProgramPoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The program's score in one snapshot of its indicators."""

    as_of: str
    program_score: int | None
    band: Band
    n: int


class KriDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An indicator at both ends of the period; ``delta`` is null where it was not measured at one of them."""

    name: str
    from_: float | None = msgspec.field(name="from")
    to: float | None
    delta: float | None
    status_from: KriStatus
    status_to: KriStatus
    n: int


class ProgramRank(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    rank: int
    of: int
    n: int


class DetectorCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    detector: str
    route: Route
    count: int


class ProgramReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program over a period of whole days."""

    kind: Literal["program"]
    id: str
    name: str
    generated_at: str
    current: CurrentScore | None
    history: tuple[ProgramPoint, ...]
    transitions: tuple[BandTransition, ...]
    kris: dict[str, KriValue]
    kri_deltas: tuple[KriDelta, ...]
    rank: ProgramRank | None
    transfers: TransfersSummary
    alerts_by_detector: tuple[DetectorCount, ...]
    simulated: Simulated = msgspec.UNSET


class WeeklyScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    current: int | None
    prior: int | None
    band: Band
    n: int


class WeeklyKri(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    value: float | None
    prior: float | None
    delta: float | None
    status: KriStatus
    prior_status: KriStatus
    n: int
    unit: KriUnit
    threshold: float | None


class WeeklyAlerts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    total: int
    by_detector: tuple[DetectorCount, ...]
    by_status: dict[str, int]


class EnteredHold(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    type: str
    id: str
    score: int | None
    n: int
    at: Instant


class WeeklyDispositions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    total: int
    by_platform: int
    by_person: int
    overturned: int


class PersonDecisionHours(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    median: float | None
    p90: float | None
    n: int


class WeeklyReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program over an ISO week, Monday 00:00 UTC to the next."""

    kind: Literal["weekly"]
    key: str
    program_id: str
    program_name: str
    iso_week: str
    from_: Instant = msgspec.field(name="from")
    to: Instant
    generated_at: str
    program_score: WeeklyScore
    kris: tuple[WeeklyKri, ...]
    alerts: WeeklyAlerts
    entered_hold: tuple[EnteredHold, ...]
    dispositions: WeeklyDispositions
    time_to_decision_hours: PersonDecisionHours
    transfers: TransfersSummary
    summary: str
    simulated: Simulated = msgspec.UNSET
