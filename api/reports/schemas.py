"""Reports as the interface shows them: of an actor, of a program, of a program's week."""

from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec

from clearhold.api.http.fields import WEEK, DayBound, ProgramId
from clearhold.features.catalogue.kris import KriStatus, KriUnit, KriValue
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import AlertDecision, AlertStatus, Band, Reason, Route, about, minted

Instant = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]


_N: Final = about("How many indicators were measured.")
_NAME: Final = about("Name of the indicator.")
_FROM: Final = about("The midnight at which the first day of the period begins.")
_TO: Final = about("The midnight at which its last day ends.")
_N_OF_KRI_DELTA: Final = about("The number of observations behind the value.")


class ActorQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is required if several programs have an actor of that id."""

    program_id: ProgramId | None = None
    from_: DayBound | None = msgspec.field(default=None, name="from")
    to: DayBound | None = None


class ProgramReportQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    from_: DayBound | None = msgspec.field(default=None, name="from")
    to: DayBound | None = None


class WeeklyQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    week: Annotated[str, msgspec.Meta(pattern=WEEK)] | None = None
    format: Literal["json", "html"] = "json"


class CurrentScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The score of a subject at the end of the report's period; an actor's of now while the period has not ended."""

    score: int | None
    band: Band
    n: int
    confidence: float | None
    version: str
    reasons: tuple[Reason, ...]
    hard: bool
    scored_at: Annotated[
        str, about("When the score was given: the time of the answer, or of the last record of the period.")
    ]


class ScoreSignal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: Annotated[str, about("Code of the signal, as in velocity_spike.")]
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
    from_: Annotated[Band, about("The band before.")] = msgspec.field(name="from")
    to: Annotated[Band, about("The band from then on.")]
    score: int | None
    n: int


class SignalTrend(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    count: Annotated[int, about("How many score records of the period.")]
    prior: Annotated[int, about("How many of the period of equal length before it.")]


class ReturnCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    any: Annotated[int, about("For any reason.")]
    unauthorized: Annotated[int, about("ACH debits of the program, with a code of unauthorized entries.")]


class TransferBands(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    clear: int
    review: int
    hold: int
    unscored: int


class TransfersSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Transfers by the bank's time of creation, as they stand now."""

    count: Annotated[int, about("How many, attempts included.")]
    volume_cents: str
    returns: Annotated[ReturnCounts, about("How many of them were returned, and still are.")]
    bands: TransferBands


class ActorAlert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, minted("alert")]
    detector: str
    status: Annotated[AlertStatus, about("Where the alert stands now.")]
    route: Route | None
    opened_at: str
    summary: str


class ActorDisposition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    alert_id: str
    decided_by: str
    decision: Annotated[AlertDecision, about("What was decided.")]
    overturns_draft: bool | None
    created_at: str


class ReportedType(StrEnum):
    """The actors of reports; an account has no score, only its owner has."""

    ENTITY = "entity"
    COUNTERPARTY = "counterparty"
    AGENT = "agent"
    ACCOUNT = "account"


class ActorReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entity, counterparty, agent or account over a period of whole days."""

    kind: Annotated[Literal["actor"], about("Always actor.")]
    type: Annotated[ReportedType, about("What the actor is.")]
    id: Annotated[str, about("The bank's id of the actor.")]
    name: Annotated[str | None, about("The name that the bank gave last; null when it gave none.")]
    program_id: str
    generated_at: str
    from_: Annotated[str, _FROM] = msgspec.field(name="from")
    to: Annotated[str, _TO]
    current: CurrentScore | None
    history: Annotated[tuple[SkoorPoint, ...], about("The newest 200 score records of the period, oldest first.")]
    transitions: tuple[BandTransition, ...]
    signal_trends: Annotated[
        dict[str, SignalTrend] | None,
        about(
            "By code of a signal, how many score records carried it; null without a record in the period and in "
            "the one of equal length before it."
        ),
    ]
    transfers: TransfersSummary
    alerts: Annotated[
        tuple[ActorAlert, ...],
        about(
            "The worst 200 alerts of the period on the actor, on its accounts and on its transfers: hard ones first, "
            "then the hold band, then by severity, then newest first."
        ),
    ]
    dispositions: Annotated[
        tuple[ActorDisposition, ...],
        about("The newest 200 decisions of the period on such alerts, whenever those opened, newest first."),
    ]
    simulated: Simulated = msgspec.UNSET


class ProgramPoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The program's score in one snapshot of its indicators."""

    as_of: Annotated[str, about("The instant of the snapshot.")]
    program_score: Annotated[int | None, about("The Program Risk Score, 0-100; null below three measured indicators.")]
    band: Band
    n: Annotated[int, _N]


class KriDelta(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An indicator at both ends of the period; ``delta`` is null where it was not measured at one of them."""

    name: Annotated[str, _NAME]
    from_: Annotated[
        float | None, about("The value in the last snapshot before the period; null when not measured.")
    ] = msgspec.field(name="from")
    to: Annotated[float | None, about("The value in the last snapshot of the period; null when not measured.")]
    delta: float | None
    status_from: Annotated[KriStatus, about("The status before the period; unmeasured without a snapshot.")]
    status_to: Annotated[KriStatus, about("The status at its end.")]
    n: Annotated[int, _N_OF_KRI_DELTA]


class ProgramRank(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    rank: Annotated[int, about("1 is the highest score, so the highest risk; equal scores share the lower number.")]
    of: Annotated[int, about("How many programs of the same source, within the caller's reach, had a score.")]
    n: Annotated[int, _N]


class DetectorCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    detector: str
    route: Route
    count: Annotated[int, about("How many alerts.")]


class ProgramReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program over a period of whole days."""

    kind: Annotated[Literal["program"], about("Always program.")]
    id: Annotated[str, minted("program")]
    name: str
    generated_at: str
    from_: Annotated[str, _FROM] = msgspec.field(name="from")
    to: Annotated[str, _TO]
    current: CurrentScore | None
    history: Annotated[
        tuple[ProgramPoint, ...],
        about("The snapshots of the period, oldest first; of more than 200 the last of each of 200 equal parts of it."),
    ]
    transitions: tuple[BandTransition, ...]
    snapshot_id: Annotated[
        str | None, about("The period's last snapshot, whose indicators are shown; null without one.")
    ]
    kris: Annotated[
        dict[str, KriValue],
        about("The key risk indicators of the period's last snapshot, by name."),
    ]
    kri_deltas: Annotated[tuple[KriDelta, ...], about("These indicators against the last snapshot before the period.")]
    rank: Annotated[
        ProgramRank | None,
        about("Place of its score among the tenant's programs; null while unscored."),
    ]
    transfers: TransfersSummary
    alerts_by_detector: Annotated[
        tuple[DetectorCount, ...],
        about("The alerts that opened in the period, by detector and the route that they now have."),
    ]
    simulated: Simulated = msgspec.UNSET


class WeeklyScore(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    current: Annotated[int | None, about("The score of the week's last snapshot; null when not measured.")]
    prior: Annotated[int | None, about("The score of the last snapshot before the week; null when not measured.")]
    band: Band
    n: Annotated[int, _N]


class WeeklyKri(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: Annotated[str, _NAME]
    value: Annotated[float | None, about("As measured, never smoothed; null when not measured.")]
    prior: Annotated[float | None, about("The value before the week began; null when not measured.")]
    delta: float | None
    status: Annotated[
        KriStatus,
        about(
            "watch from its line on, breach beyond the threshold; unmeasured without a value, and for a rate of fewer "
            "observations than the policy asks for."
        ),
    ]
    prior_status: Annotated[KriStatus, about("The status before the week began; unmeasured without a snapshot.")]
    n: Annotated[int, _N_OF_KRI_DELTA]
    unit: KriUnit
    threshold: float | None


class WeeklyAlerts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    total: int
    by_detector: Annotated[tuple[DetectorCount, ...], about("By detector and present route, most alerts first.")]
    by_status: Annotated[dict[str, int], about("By where they stand now.")]


class EnteredHold(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    type: Annotated[str, about("entity, counterparty, agent or program.")]
    id: Annotated[str, about("The bank's id of it, or the program's id.")]
    score: int | None
    n: int
    at: Instant


class WeeklyDispositions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    total: int
    by_platform: Annotated[int, about("By the policy alone.")]
    by_person: Annotated[int, about("By persons.")]
    overturned: Annotated[int, about("Decisions against a draft or an earlier automatic close.")]


class PersonDecisionHours(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    median: Annotated[float | None, about("Half took no longer; null without a decision.")]
    p90: Annotated[float | None, about("Nine in ten took no longer; null without a decision.")]
    n: Annotated[int, about("How many first decisions of persons.")]


class WeeklyReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program over an ISO week, Monday 00:00 UTC to the next."""

    kind: Annotated[Literal["weekly"], about("Always weekly.")]
    key: str
    program_id: str
    program_name: Annotated[str, about("The program's name.")]
    iso_week: Annotated[str, about("The ISO week, as in 2026-W37.")]
    from_: Annotated[Instant, about("Monday 00:00 UTC.")] = msgspec.field(name="from")
    to: Annotated[Instant, about("The next Monday 00:00 UTC; in the current week figures go up to generatedAt.")]
    generated_at: str
    program_score: Annotated[WeeklyScore, about("The Program Risk Score at the end of this and of the last week.")]
    kris: Annotated[
        tuple[WeeklyKri, ...],
        about(
            "The key risk indicators of the last snapshot by the end of the week, against the last one before it began."
        ),
    ]
    alerts: Annotated[WeeklyAlerts, about("The alerts that opened in the week, as they stand now.")]
    entered_hold: Annotated[
        tuple[EnteredHold, ...],
        about(
            "Actors that entered the hold band in the week: entities, counterparties, agents and the program itself, "
            "each once with its last time, oldest first, at most 200."
        ),
    ]
    dispositions: Annotated[WeeklyDispositions, about("The decisions of the week.")]
    time_to_decision_hours: PersonDecisionHours
    transfers: TransfersSummary
    summary: Annotated[str, about("The report in sentences from a template, with ids and numbers only.")]
    simulated: Simulated = msgspec.UNSET
