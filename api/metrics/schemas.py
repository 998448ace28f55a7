"""Metrics as the interface shows them: how right the scores were, how much they cover, and how alerts were decided."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import CursorText, Midnight, PageLimit, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT
from clearhold.features.core.event_results import EventResult
from clearhold.features.core.measured import Measured
from clearhold.features.core.program import Simulated


class MetricsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 30
    program_id: ProgramIds | None = None


class MetricsHistoryQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    from_: Midnight | None = msgspec.field(default=None, name="from")
    to: Midnight | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    clear: Measured
    review: Measured
    hold: Measured
    unscored: Measured


class MetricsCoverage(msgspec.Struct, frozen=True, kw_only=True):
    transfers: Measured
    programs: Measured


class HoldBand(msgspec.Struct, frozen=True, kw_only=True):
    precision: Measured
    recall: Measured
    tp: int
    fp: int
    fn: int


class DecisionHours(msgspec.Struct, frozen=True, kw_only=True):
    """Null without a decision."""

    median: float | None
    p90: float | None
    n: int


class TimeToDecision(msgspec.Struct, frozen=True, kw_only=True):
    automated: DecisionHours
    reviewed: DecisionHours


class ApprovedWithoutWaiting(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    cents: str
    n: int


class FamilyCount(msgspec.Struct, frozen=True, kw_only=True):
    family: str
    result: EventResult
    count: int


class EventCoverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null without an event."""

    value: float | None
    n: int
    seen: tuple[str, ...]
    by_family: tuple[FamilyCount, ...]


class Metrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null where nothing was measured, never 0."""

    as_of: str
    window_days: int
    from_: str = msgspec.field(name="from")
    to: str
    calibration: Calibration
    label_maturity: Measured
    coverage: MetricsCoverage
    hold_band: HoldBand
    auto_closed: Measured
    overturned: Measured
    time_to_decision_hours: TimeToDecision
    approved_without_waiting: ApprovedWithoutWaiting
    event_coverage: EventCoverage
    simulated: Simulated = msgspec.UNSET


class MetricsPage(ListPage[Metrics], frozen=True, kw_only=True, rename="camel"):
    pass
