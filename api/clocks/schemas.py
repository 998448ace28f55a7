"""Decision clocks over HTTP: the alerts that are overdue."""

from typing import Annotated

import msgspec

from clearhold.api.http.fields import ProgramIds
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import about, minted
from clearhold.features.policy.bodies import ClockPolicy


class OverdueQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``fromHistory`` false leaves out alerts on transfers that were delivered as history. Without a program, alerts of
    simulated ones are left out.
    """

    program_id: ProgramIds | None = None
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
    """``count`` is of all overdue alerts that match; ``alerts`` has the worst of them, oldest due first."""

    as_of: str
    policy: Annotated[ClockPolicy, about("The decision clocks in force.")]
    count: Annotated[int, about("How many there are in all.")]
    alerts: Annotated[tuple[OverdueAlert, ...], about("The worst thousand of them, oldest due first.")]
    simulated: Simulated = msgspec.UNSET
