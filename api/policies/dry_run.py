"""What a policy would have routed otherwise: a draft, or a written version, against the alerts of the last days.

One read of the newest alerts, in a worker thread, each routed again by ``features/policy/dry_run.py``. Nothing is
written. A tenant-wide policy is run over the programs that a figure is over; a program's own over that program.

Errors  NotFoundError for a version or program that is not this tenant's; RateLimitedError for too many at once
"""

from typing import Annotated, Any, Final, cast
from uuid import UUID

import msgspec
from anyio import to_thread

from clearhold.api.area import Resources
from clearhold.api.http.fields import POLICY_VERSION
from clearhold.api.http.idempotency import comparable
from clearhold.api.lists.exports import Concurrency
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.principal import Principal, Simulated
from clearhold.features.core.vocabulary import Route, SlaTier, about
from clearhold.features.policy.bodies import POLICY, PolicyBody, decode_body
from clearhold.features.policy.dry_run import (
    WHY_NOT,
    KnownPolicy,
    NotConsidered,
    Placement,
    Rerouted,
    RunTotals,
    dry_run,
    placement,
)
from clearhold.features.policy.routing import RouteReason
from clearhold.store.duck.opened_alerts import OpenedAlerts
from clearhold.store.tables import Span

MOST_ALERTS: Final = 20_000
RUNS_OF_TENANT: Final = 2
RUNS_IN_ALL: Final = 4
_UNKNOWN_VERSION: Final = "Unknown policy version on this tenant."


class DryRunRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A draft as ``POST /api/policies`` takes it; without ``body``, the written version of that name."""

    version: Annotated[
        str,
        msgspec.Meta(pattern=POLICY_VERSION),
        about("The draft's version, as in policy-v2; without a body, the written version that is run."),
    ]
    program_id: Annotated[UUID | None, about("The one program that the draft is for; null: the whole tenant.")] = None
    body: Annotated[dict[str, Any] | None, about("The draft's body; null: that of the written version.")] = None
    days: Annotated[int, msgspec.Meta(ge=1, le=90), about("How many days back alerts are routed again.")] = 30


class AlertPlacement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    route: Annotated[Route, about("automated or reviewed.")]
    sla_tier: Annotated[SlaTier, about("The tier of its clock.")]
    auto_hold: Annotated[bool, about("Whether it opens as held.")]


class PlacementChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    from_: Annotated[AlertPlacement, about("The stored answer.")] = msgspec.field(name="from")
    to: Annotated[AlertPlacement, about("Under the policy that is run.")]
    alerts: Annotated[int, about("How many alerts go this way otherwise.")]


class DetectorRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    detector: Annotated[str, about("The detector.")]
    alerts: Annotated[int, about("Its alerts that were considered.")]
    otherwise: Annotated[int, about("How many of them would have gone otherwise.")]


class ProgramRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    program_id: str
    alerts: Annotated[int, about("Its alerts that were considered.")]
    otherwise: Annotated[int, about("How many of them would have gone otherwise.")]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    reason: Annotated[
        NotConsidered,
        about(
            "appeal; own_policy (of the program); unknown_policy; incomplete_evidence; or not_reproduced: routed "
            "again under its own version it is not as stored."
        ),
    ]
    sentence: Annotated[str, about("The reason in words.")]
    alerts: Annotated[int, about("How many alerts.")]


class RoutedOtherwise(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    alert_id: str
    program_id: str
    detector: str
    opened_at: str
    from_: Annotated[AlertPlacement, about("The stored answer.")] = msgspec.field(name="from")
    from_reason: Annotated[RouteReason, about("The routeReason that it has.")]
    to: Annotated[AlertPlacement, about("Under the policy that is run.")]
    to_reason: Annotated[RouteReason, about("The routeReason that it would have.")]


class PolicyDryRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Alerts that opened in the last days, routed again. ``alerts`` is same, otherwise and not considered together."""

    as_of: Annotated[str, about("When the alerts were read.")]
    days: Annotated[int, about("How many days back, up to asOf.")]
    version: Annotated[str | None, about("The version that was run; null in the plan of a configuration.")]
    program_id: Annotated[str | None, about("The one program that it is for; null: the whole tenant.")]
    alerts: Annotated[int, about("Alerts that were read, the newest first.")]
    limit: Annotated[int, about("The most that are read.")]
    limit_reached: Annotated[bool, about("Whether the days have older alerts that were not read.")]
    same: Annotated[int, about("Alerts of the same route, tier and hold.")]
    otherwise: Annotated[int, about("Alerts of another route, tier or hold.")]
    not_considered: Annotated[tuple[LeftOut, ...], about("Alerts of which nothing is said, by reason.")]
    changes: Annotated[tuple[PlacementChange, ...], about("From where to where, the most frequent first.")]
    by_detector: Annotated[tuple[DetectorRun, ...], about("The considered alerts by detector.")]
    by_program: Annotated[tuple[ProgramRun, ...], about("The considered alerts by program.")]
    examples: Annotated[tuple[RoutedOtherwise, ...], about("The newest alerts that go otherwise, at most 20.")]
    simulated: Simulated = msgspec.UNSET


class DryRunService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._policies, self._clock = stores.registry.tenancy.policies, stores.clock
        self._programs, self._opened = resources.programs, OpenedAlerts(stores.database)
        self._under_way = Concurrency(RUNS_OF_TENANT, in_all=RUNS_IN_ALL, what="dry runs of policies")

    async def run(self, principal: Principal, request: DryRunRequest) -> PolicyDryRun:
        with self._under_way.slot(principal):
            return await self.answer(principal, request)

    async def answer(self, principal: Principal, request: DryRunRequest) -> PolicyDryRun:
        """The same within the caller's own limit of answers at once."""
        draft, program_id = self._draft(principal, request)
        programs = self._programs.counted(principal, None if program_id is None else [program_id])
        versions = {
            each.version: KnownPolicy(cast("PolicyBody", each.body), each.program_id is not None)
            for each in self._policies[principal.tenant_id].of_prefix(POLICY)
        }
        now, ids = self._clock.now(), [each.id for each in programs]
        span = Span(now - request.days * DAY_US, now + 1)

        def routed() -> tuple[RunTotals, int]:
            alerts = self._opened.newest(principal, ids, span, MOST_ALERTS + 1)
            autonomies = self._opened.autonomies(principal, ids)
            return dry_run(alerts[:MOST_ALERTS], draft, versions, autonomies), len(alerts)

        totals, number = await to_thread.run_sync(routed)
        answer = _answer(
            totals, number, version=request.version, program_id=program_id, days=request.days, as_of=format_instant(now)
        )
        return self._programs.marked_of(answer, programs)

    def _draft(self, principal: Principal, request: DryRunRequest) -> tuple[KnownPolicy, str | None]:
        """The policy that is run, and its program."""
        if request.body is not None:
            program_id = self._programs.named(principal, request.program_id)
            body = decode_body(request.version, comparable(request.body))
            return KnownPolicy(cast("PolicyBody", body), program_id is not None), program_id
        for stored in self._policies[principal.tenant_id].of_principal(principal, POLICY):
            if stored.version == request.version:
                return KnownPolicy(cast("PolicyBody", stored.body), stored.program_id is not None), stored.program_id
        raise NotFoundError(_UNKNOWN_VERSION, ErrorCode.POLICY_NOT_FOUND)


def _answer(
    totals: RunTotals, number: int, *, version: str, program_id: str | None, days: int, as_of: str
) -> PolicyDryRun:
    changes = sorted(totals.changes.items(), key=lambda change: (-change[1], change[0]))
    return PolicyDryRun(
        as_of=as_of,
        days=days,
        version=version,
        program_id=program_id,
        alerts=min(number, MOST_ALERTS),
        limit=MOST_ALERTS,
        limit_reached=number > MOST_ALERTS,
        same=totals.same,
        otherwise=totals.changes.total(),
        not_considered=tuple(
            LeftOut(reason=reason, sentence=WHY_NOT[reason], alerts=totals.not_considered[reason])
            for reason in NotConsidered
            if totals.not_considered[reason]
        ),
        changes=tuple(
            PlacementChange(from_=_placement(before), to=_placement(after), alerts=alerts)
            for (before, after), alerts in changes
        ),
        by_detector=tuple(
            DetectorRun(detector=detector, alerts=alerts, otherwise=otherwise)
            for detector, (alerts, otherwise) in sorted(totals.by_detector.items())
        ),
        by_program=tuple(
            ProgramRun(program_id=program_id, alerts=alerts, otherwise=otherwise)
            for program_id, (alerts, otherwise) in sorted(totals.by_program.items())
        ),
        examples=tuple(map(_example, totals.examples)),
    )


def _placement(place: Placement) -> AlertPlacement:
    return AlertPlacement(route=place.route, sla_tier=place.sla_tier, auto_hold=place.auto_hold)


def _example(rerouted: Rerouted) -> RoutedOtherwise:
    alert, before, after = rerouted
    return RoutedOtherwise(
        alert_id=alert.id,
        program_id=alert.program_id,
        detector=alert.detector,
        opened_at=format_instant(alert.opened_at),
        from_=_placement(placement(before)),
        from_reason=before.reason,
        to=_placement(placement(after)),
        to_reason=after.reason,
    )
