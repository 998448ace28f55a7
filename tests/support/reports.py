"""Weekly reports with every field filled, so that a test names only what it is about."""

from typing import Any

from clearhold.api.reports.schemas import (
    PersonDecisionHours,
    ReturnCounts,
    TransferBands,
    TransfersSummary,
    WeeklyAlerts,
    WeeklyDispositions,
    WeeklyKri,
    WeeklyReport,
    WeeklyScore,
)
from clearhold.features.catalogue.kris import KriStatus, KriUnit
from clearhold.features.core.instants import IsoWeek, format_instant
from clearhold.features.core.vocabulary import AlertStatus, Band

WEEK = IsoWeek(2026, 37)


def an_empty_week(**over: Any) -> WeeklyReport:
    """A week in which nothing happened and nothing was measured."""
    usual: dict[str, Any] = {
        "kind": "weekly",
        "key": f"weekly:prg_1:{WEEK}",
        "program_id": "prg_1",
        "program_name": "Example Payroll",
        "iso_week": str(WEEK),
        "from_": format_instant(WEEK.start),
        "to": format_instant(WEEK.end),
        "generated_at": format_instant(WEEK.end),
        "program_score": WeeklyScore(current=None, prior=None, band=Band.UNSCORED, n=0),
        "kris": (),
        "alerts": WeeklyAlerts(total=0, by_detector=(), by_status=statuses()),
        "entered_hold": (),
        "dispositions": WeeklyDispositions(total=0, by_platform=0, by_person=0, overturned=0),
        "time_to_decision_hours": PersonDecisionHours(median=None, p90=None, n=0),
        "transfers": transfers(0, "0"),
        "summary": "",
    }
    return WeeklyReport(**usual | over)


def statuses(**over: int) -> dict[str, int]:
    return {status.value: 0 for status in AlertStatus} | over


def transfers(
    count: int, cents: str, *, returns: tuple[int, int] = (0, 0), bands: tuple[int, ...] = (0, 0, 0, 0)
) -> TransfersSummary:
    """``bands`` are clear, review, hold and unscored."""
    return TransfersSummary(
        count=count,
        volume_cents=cents,
        returns=ReturnCounts(any=returns[0], unauthorized=returns[1]),
        bands=TransferBands(**dict(zip(("clear", "review", "hold", "unscored"), bands, strict=True))),
    )


def a_kri(
    name: str, status: str, prior_status: str, value: float | None = 0.5, prior: float | None = 0.25
) -> WeeklyKri:
    return WeeklyKri(
        name=name,
        value=value,
        prior=prior,
        delta=None if value is None or prior is None else round(value - prior, 6),
        status=KriStatus(status),
        prior_status=KriStatus(prior_status),
        n=200,
        unit=KriUnit.RATIO,
        threshold=0.4,
    )
