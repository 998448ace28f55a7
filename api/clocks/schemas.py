"""Decision clocks over HTTP: the alerts that are overdue."""

from typing import Annotated

import msgspec

from clearhold.api.lists.lists import instant_text
from clearhold.features.core.instants import format_instant
from clearhold.features.core.program import Simulated
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.words import about, minted
from clearhold.features.policy.bodies import ClockPolicy


class OverdueQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``fromHistory`` false leaves out alerts on transfers that were delivered as history."""

    from_history: bool | None = None


class OverdueAlert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: Annotated[str, minted("alert")]
    program_id: str
    detector: str
    severity: str
    status: Annotated[str, about("The alert's status.")]
    route: str | None
    sla_tier: str | None
    opened_at: str
    due_at: str | None
    escalated_at: str | None
    summary: str
    from_history: bool
    simulated: Simulated = msgspec.UNSET


class Overdue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``count`` is of all overdue alerts that match; ``alerts`` has the first, oldest due first."""

    as_of: str
    policy: Annotated[ClockPolicy, about("The decision clocks in force.")]
    count: Annotated[int, about("How many there are in all.")]
    alerts: Annotated[tuple[OverdueAlert, ...], about("The first thousand of them, oldest due first.")]


def to_overdue_alert(row: AlertRow) -> OverdueAlert:
    return OverdueAlert(
        id=row.id,
        program_id=row.program_id,
        detector=row.detector,
        severity=row.severity,
        status=row.status,
        route=row.route,
        sla_tier=row.sla_tier,
        opened_at=format_instant(row.opened_at),
        due_at=instant_text(row.due_at),
        escalated_at=instant_text(row.escalated_at),
        summary=row.summary,
        from_history=row.from_history,
    )
