"""The reads of the workspace: one stack, the evidence on it, and the rest beside it.

The stack is read first; everything else follows from it and is read at the same time.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from clearhold.api.accounts.routes import Account
from clearhold.api.alerts.schemas import AlertDetail, AlertsQuery
from clearhold.api.alerts.summaries import AlertSummary
from clearhold.api.console.visit import Visit
from clearhold.api.dispositions.routes import Disposition, DispositionsQuery
from clearhold.api.explain.service import TransferExplained
from clearhold.api.parties.routes import PartyQuery
from clearhold.api.policies.service import PoliciesQuery, PolicyPrefix
from clearhold.api.preflight.schemas import PreflightDetail
from clearhold.api.stacks.schemas import Stack, StackDetail, StacksQuery
from clearhold.api.timeline.routes import TimelinePage, TimelineQuery
from clearhold.api.transfers.service import TransferQuery, TransfersQuery, TransferSummary
from clearhold.features.alerts.decisions import CLOSING
from clearhold.features.core.errors import NotFoundError
from clearhold.features.core.principal import KeyScope, Program
from clearhold.features.core.vocabulary import WAITING, AlertDecision, AlertStatus, SubjectType
from clearhold.features.policy.bodies import PolicyBody
from clearhold.store.duck.party_timeline import TimelineKind, TimelineSubject
from clearhold.store.duck.waiting_stacks import StackSort

PAGE: Final = 100
AROUND: Final = 100
NEAR: Final = 25
EVENTS: Final = 40
_CLOSED: Final = (AlertStatus.CLOSED, AlertStatus.AUTO_CLOSED)
_FIELDS: Final[Mapping[SubjectType, str]] = {
    SubjectType.ENTITY: "entity_id",
    SubjectType.ACCOUNT: "account_id",
    SubjectType.COUNTERPARTY: "counterparty_id",
}
T = TypeVar("T")


class EvidenceSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The thing whose money and history stand beside the stack."""

    type: SubjectType
    id: str
    program_id: str


class WorkspaceView(msgspec.Struct, frozen=True, kw_only=True):
    """``worst`` is the alert that stands for the stack, ``explained`` the highest score of its alerts' transfers.

    ``transfers`` are those of its alerts, the oldest first; ``around`` the newest of its subject. ``names`` are
    of counterparties. ``following`` is the next stack by due time.
    """

    stack: Stack
    alerts: tuple[AlertSummary, ...]
    worst: AlertDetail
    explained: TransferExplained | None
    program: Program
    about: EvidenceSubject
    account: Account | None
    transfers: tuple[TransferSummary, ...]
    around: tuple[TransferSummary, ...]
    names: Mapping[str, str]
    timeline: TimelinePage
    decided: tuple[Disposition, ...]
    earlier: tuple[AlertSummary, ...]
    policy: PolicyBody | None
    preflight: PreflightDetail | None
    following: Stack | None

    @property
    def waiting(self) -> tuple[AlertSummary, ...]:
        return tuple(each for each in self.alerts if each.status in WAITING)

    @property
    def least_chars(self) -> int:
        """The least length of a narrative that every waiting alert takes."""
        policy = self.policy
        if policy is None:
            return 0
        return max((policy.least_narrative(each.severity, hard=each.hard_signal) for each in self.waiting), default=0)

    @property
    def needs_second(self) -> frozenset[AlertDecision]:
        """Decisions that wait for a second person: where the policy says so, closing a hard alert."""
        is_so = self.policy is not None and self.policy.hard_needs_second_person is True
        return CLOSING if is_so and any(each.hard_signal for each in self.waiting) else frozenset()

    @property
    def path(self) -> frozenset[str]:
        """The transfers of a round trip or of layering, by the worst alert and by its transfer."""
        path = self.worst.alert.evidence.get("path") or {}
        inputs = None if self.worst.transfer is None else self.worst.transfer.score_inputs
        lists = [*path.values(), *((inputs.paths or {}).values() if inputs is not None else ())]
        return frozenset(each for ids in lists if isinstance(ids, list) for each in ids)


async def view_of(visit: Visit, stack_id: str) -> WorkspaceView:
    services, principal = visit.services, visit.principal
    detail, following = await asyncio.gather(services.stacks.read(principal, stack_id), _following(visit, stack_id))
    first, about = detail.worst, _about(detail)
    scored = max(
        (each for each in detail.alerts if each.transfer_id is not None and (each.status in WAITING or first is each)),
        key=lambda each: -1 if each.score_at_alert is None else each.score_at_alert,
        default=first,
    )
    evidence = asyncio.gather(
        services.alerts.read(principal, first.id),
        _explained(visit, scored),
        _account(visit, about),
        _around(visit, about),
    )
    beside = asyncio.gather(
        timeline_of(visit, about),
        _decided(visit, detail.alerts),
        _earlier(visit, about, detail.stack.id),
        _policy(visit, about.program_id),
        _preflight(visit, first),
    )
    of_alert, of_rest = await asyncio.gather(evidence, beside)
    worst, explained, account, around = of_alert
    timeline, decided, earlier, policy, preflight = of_rest
    transfers = await _transfers(visit, about, worst, detail.alerts, around)
    return WorkspaceView(
        stack=detail.stack,
        alerts=detail.alerts,
        worst=worst,
        explained=explained,
        program=services.programs.read(principal, detail.stack.program_id),
        about=about,
        account=account,
        transfers=transfers,
        around=around,
        names=await _names(visit, about, transfers),
        timeline=timeline,
        decided=decided,
        earlier=earlier,
        policy=policy,
        preflight=preflight,
        following=following,
    )


async def timeline_of(visit: Visit, about: EvidenceSubject) -> TimelinePage:
    """The page of history that the query asks for: its kinds, and from its cursor on."""
    kinds = tuple(TimelineKind(each) for each in visit.query.get("kind", "").split(",") if each in set(TimelineKind))
    query = TimelineQuery(
        program_id=about.program_id, kind=kinds or None, limit=EVENTS, cursor=visit.query.get("history") or None
    )
    return await visit.services.timeline.page(visit.principal, TimelineSubject(about.type), about.id, query)


async def about_of(visit: Visit, stack_id: str) -> EvidenceSubject:
    return _about(await visit.services.stacks.read(visit.principal, stack_id))


def _about(detail: StackDetail) -> EvidenceSubject:
    """The party that the stack is by; else the subject of its worst alert."""
    who, worst = detail.stack.who, detail.worst
    subject, subject_id = (who.type, who.id) if who.type in _FIELDS else (worst.subject_type, worst.subject_id)
    return EvidenceSubject(type=subject, id=subject_id, program_id=detail.stack.program_id)


async def _following(visit: Visit, stack_id: str) -> Stack | None:
    """The stack after this one by due time; the first of all after the last one."""
    page = await visit.services.stacks.page(visit.principal, StacksQuery(sort=StackSort.DUE_AT, limit=NEAR))
    ids = [each.id for each in page.data]
    at = ids.index(stack_id) + 1 if stack_id in ids else 0
    others = [each for each in (*page.data[at:], *page.data[:at]) if each.id != stack_id]
    return others[0] if others else None


async def _explained(visit: Visit, alert: AlertSummary) -> TransferExplained | None:
    """The score of the alert's transfer, explained; None without a scored transfer."""
    if alert.transfer_id is None:
        return None
    query = TransferQuery(program_id=alert.program_id)
    return await _or_none(visit.services.explanations.transfer(visit.principal, alert.transfer_id, query))


async def _account(visit: Visit, about: EvidenceSubject) -> Account | None:
    if about.type is not SubjectType.ACCOUNT:
        return None
    query = PartyQuery(program_id=about.program_id)
    return await _or_none(visit.services.accounts.read(visit.principal, about.id, query))


async def _around(visit: Visit, about: EvidenceSubject) -> tuple[TransferSummary, ...]:
    """The newest transfers of the subject; none for a transfer or program."""
    field = _FIELDS.get(about.type)
    if field is None:
        return ()
    of_subject: dict[str, Any] = {field: (about.id,)}
    query = TransfersQuery(program_id=(about.program_id,), limit=AROUND, **of_subject)
    return tuple(await visit.services.transfers.newest(visit.principal, query))


async def _transfers(
    visit: Visit,
    about: EvidenceSubject,
    worst: AlertDetail,
    alerts: Sequence[AlertSummary],
    around: Sequence[TransferSummary],
) -> tuple[TransferSummary, ...]:
    """Transfers that the alerts name, with those on the worst one's path; at most ``PAGE`` beyond the newest."""
    evidence = worst.alert.evidence
    of_evidence = [*(evidence.get("restsOn") or ()), *(evidence.get("transferIds") or ())]
    of_path = [each for ids in (evidence.get("path") or {}).values() for each in ids or ()]
    of_alerts = [each for alert in alerts for each in alert.transfer_ids]
    own = () if worst.transfer is None else (worst.transfer.id,)
    wanted = dict.fromkeys((*own, *of_path, *of_evidence, *of_alerts))
    known = {each.id: each for each in around}
    missing = [each for each in wanted if each not in known][:PAGE]
    if missing:
        read = await visit.services.transfers.named(visit.principal, missing, about.program_id)
        known |= {each.id: each for each in read}
    return tuple(sorted((known[each] for each in wanted if each in known), key=lambda each: each.bank_created_at))


async def _names(visit: Visit, about: EvidenceSubject, transfers: Iterable[TransferSummary]) -> Mapping[str, str]:
    ids = {each.counterparty_id for each in transfers if each.counterparty_id is not None}
    return await visit.services.parties.counterparty_names(visit.principal, ids, about.program_id)


async def _decided(visit: Visit, alerts: Sequence[AlertSummary]) -> tuple[Disposition, ...]:
    """Decisions on alerts of the stack, the newest first."""
    ids = [each.id for each in alerts if each.status is not AlertStatus.OPEN][:PAGE]
    if not ids:
        return ()
    query = msgspec.convert({"alertId": ids, "limit": PAGE}, DispositionsQuery)
    return tuple((await visit.services.dispositions.page(visit.principal, query)).data)


async def _earlier(visit: Visit, about: EvidenceSubject, stack_id: str) -> tuple[AlertSummary, ...]:
    """Closed alerts on the subject that are no part of the stack."""
    field = _FIELDS.get(about.type)
    if field is None:
        return ()
    subject: dict[str, Any] = {"subject_type": (about.type,), "subject_id": (about.id,)}
    if about.type is SubjectType.ACCOUNT:
        subject = {"account_id": (about.id,)}
    query = AlertsQuery(program_id=(about.program_id,), status=_CLOSED, limit=20, **subject)
    page = await visit.services.alerts.summaries(visit.principal, query)
    return tuple(each for each in page.data if each.stack_id != stack_id)


async def _policy(visit: Visit, program_id: str) -> PolicyBody | None:
    """The alert policy in force: the program's own, else the tenant's; None for a key without its scope."""
    if not visit.principal.has_scope(KeyScope.POLICIES):
        return None
    query = PoliciesQuery(prefix=(PolicyPrefix.POLICY,), active=True)
    listed = msgspec.json.decode((await visit.services.policies.list(visit.principal, query)).body)
    bodies = {each["programId"]: each["body"] for each in reversed(listed)}
    body = bodies.get(program_id) or bodies.get(None)
    return None if body is None else msgspec.convert(body, PolicyBody)


async def _preflight(visit: Visit, alert: AlertSummary) -> PreflightDetail | None:
    """The one for which the alert's transfer landed; None for a key without the scope of pre-flights."""
    if alert.transfer_id is None or not visit.principal.has_scope(KeyScope.PREFLIGHT):
        return None
    read = visit.services.preflight_reads.of_transfer(visit.principal, alert.transfer_id, alert.program_id)
    return await _or_none(read)


async def _or_none(read: Awaitable[T]) -> T | None:
    """The thing read, or None where there is no such thing."""
    try:
        return await read
    except NotFoundError:
        return None
