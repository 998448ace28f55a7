"""Metrics as the interface shows them: how right the scores were, how much they cover, and how alerts were decided."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import CursorText, DayBound, PageLimit, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT
from clearhold.features.core.log_entry import EventResult
from clearhold.features.core.measured import Measured
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import about


class MetricsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    days: Annotated[int, msgspec.Meta(ge=1, le=365)] = 30
    program_id: ProgramIds | None = None


class MetricsHistoryQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    program_id: ProgramIds | None = None
    from_: DayBound | None = msgspec.field(default=None, name="from")
    to: DayBound | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    clear: Annotated[Measured, about("clear: labelled bad among labelled transfers that landed in this band.")]
    review: Annotated[Measured, about("review: labelled bad among labelled transfers that landed in this band.")]
    hold: Annotated[Measured, about("hold: labelled bad among labelled transfers that landed in this band.")]
    unscored: Annotated[Measured, about("unscored: labelled bad among labelled transfers that landed in this band.")]


class MetricsCoverage(msgspec.Struct, frozen=True, kw_only=True):
    transfers: Annotated[Measured, about("Transfers with a score among all, attempts included.")]
    programs: Annotated[Measured, about("Programs with a Program Risk Score, as of asOf, among all.")]


class HoldBand(msgspec.Struct, frozen=True, kw_only=True):
    precision: Annotated[Measured, about("Bad among the labelled transfers in hold.")]
    recall: Annotated[
        Measured,
        about(
            "In hold among the transfers labelled bad. Labels favour alerted transfers, so this is an upper estimate."
        ),
    ]
    tp: Annotated[int, about("In hold and bad.")]
    fp: Annotated[int, about("In hold and ok.")]
    fn: Annotated[int, about("Bad and not in hold, unscored ones included.")]


class DecisionHours(msgspec.Struct, frozen=True, kw_only=True):
    """Null without a decision."""

    median: Annotated[float | None, about("The median, interpolated; null without a decision.")]
    p90: Annotated[float | None, about("The 90th percentile, interpolated; null without a decision.")]
    n: Annotated[int, about("How many decisions.")]


class TimeToDecision(msgspec.Struct, frozen=True, kw_only=True):
    automated: Annotated[DecisionHours, about("Decided by the policy alone, which decides as the alert opens.")]
    reviewed: Annotated[DecisionHours, about("Decided by a person.")]


class ApprovedWithoutWaiting(msgspec.Struct, frozen=True, kw_only=True):
    count: Annotated[int, about("How many; attempts that the bank declined are among them.")]
    cents: Annotated[str, about("US cents of the transfers that moved money, as a string of digits.")]
    n: Annotated[int, about("How many transfers have a score.")]


class FamilyCount(msgspec.Struct, frozen=True, kw_only=True):
    family: str
    result: Annotated[EventResult, about("Their result.")]
    count: Annotated[int, about("How many deliveries.")]


class EventCoverage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null without an event."""

    value: Annotated[float | None, about("The share of the sent families that is read; null when none was sent.")]
    n: Annotated[int, about("How many families the bank sent.")]
    seen: Annotated[tuple[str, ...], about("The families that the bank sent, in order.")]
    by_family: Annotated[tuple[FamilyCount, ...], about("Deliveries by family and result, on the days of created_at.")]


class Metrics(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Null where nothing was measured, never 0."""

    as_of: Annotated[str, about("When the figures were taken.")]
    window_days: Annotated[int, about("How many UTC days are covered; the last may not be over.")]
    from_: Annotated[str, about("The midnight at which the first day begins.")] = msgspec.field(name="from")
    to: Annotated[str, about("The midnight at which the last day ends.")]
    calibration: Annotated[
        Calibration,
        about(
            "By band, how many transfers went bad. The band is that of the score with which a transfer landed, "
            "however it was scored again since."
        ),
    ]
    label_maturity: Annotated[
        Measured,
        about(
            "Final labels among all. A label ok is provisional on the transfers of the last day covered and of "
            "the 60 days before it, which may yet come back as unauthorized."
        ),
    ]
    coverage: Annotated[MetricsCoverage, about("Transfers and programs with a score.")]
    hold_band: Annotated[HoldBand, about("How right the hold band was, by labels and the score at landing.")]
    auto_closed: Annotated[Measured, about("Closed by the policy at opening, among the alerts opened in the window.")]
    overturned: Annotated[
        Measured,
        about(
            "Decisions of persons against the draft or against a close by the policy, among all on alerts with "
            "one of them; an appeal has neither."
        ),
    ]
    time_to_decision_hours: TimeToDecision
    approved_without_waiting: Annotated[
        ApprovedWithoutWaiting, about("Transfers in the band clear that no alert was opened or written with.")
    ]
    event_coverage: Annotated[
        EventCoverage, about("Families of events that the bank sent, and which of them are read.")
    ]
    simulated: Simulated = msgspec.UNSET


class MetricsPage(ListPage[Metrics], frozen=True, kw_only=True, rename="camel"):
    pass
