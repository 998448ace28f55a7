"""Alerts as the interface shows them, the filters of their lists, decisions and appeals."""

from typing import Annotated, Any

import msgspec

from clearhold.api.actions.schemas import Action
from clearhold.api.dispositions.schemas import Disposition
from clearhold.api.http.fields import BankIds, CursorText, Listed, Moment, PageLimit, ProgramIds, Prose
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, to_answer
from clearhold.api.transfers.schemas import Transfer
from clearhold.features.alerts.evidence_bodies import Draft
from clearhold.features.core.program import Simulated
from clearhold.features.core.reason import Reason
from clearhold.features.core.rows.alerts import AlertRow
from clearhold.features.core.vocabulary import (
    AlertDecision,
    AlertStatus,
    Band,
    Route,
    Severity,
    SlaTier,
    SubjectType,
    about,
    minted,
)

_SOME = msgspec.Meta(min_length=1, max_length=20)


class AlertFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of alerts; ``overdue`` means undecided past the due time.

    ``fromHistory`` false leaves out alerts on transfers that were delivered as history.
    """

    status: Annotated[tuple[AlertStatus, ...], _SOME] | None = None
    route: Annotated[tuple[Route, ...], _SOME] | None = None
    detector: Annotated[tuple[Listed, ...], _SOME] | None = None
    severity: Annotated[tuple[Severity, ...], _SOME] | None = None
    sla_tier: Annotated[tuple[SlaTier, ...], _SOME] | None = None
    program_id: ProgramIds | None = None
    subject_type: Annotated[tuple[SubjectType, ...], _SOME] | None = None
    subject_id: BankIds | None = None
    transfer_id: BankIds | None = None
    overdue: bool | None = None
    from_history: bool | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class AlertsQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Alert(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A finding of a detector, with the state of its decision."""

    id: Annotated[str, minted("alert")]
    tenant_id: str
    program_id: str
    detector: str
    severity: Severity
    subject_type: Annotated[SubjectType, about("What the alert is about.")]
    subject_id: Annotated[str, about("The bank's id of what the alert is about.")]
    transfer_id: Annotated[str | None, about("The bank's id of the transfer; null when none is concerned.")]
    summary: str
    evidence: Annotated[dict[str, Any], about("The finding's figures, and the ids of the transfers that it rests on.")]
    score_at_alert: Annotated[int | None, about("The subject's score as the alert opened; null without one.")]
    band_at_alert: Annotated[Band | None, about("Band of that score; null without one.")]
    hard_signal: Annotated[bool, about("Whether its finding or one of its reasons is hard; a person decides it.")]
    status: Annotated[AlertStatus, about("open, held and escalated need a decision; closed and auto_closed are final.")]
    route: Route | None
    policy_version: str | None
    opened_at: str
    closed_at: Annotated[str | None, about("When it was closed; null until then.")]
    dedupe_key: Annotated[str | None, about("One alert per detector, subject and window: further findings join it.")]
    due_at: str | None
    escalated_at: str | None
    sla_tier: SlaTier | None
    from_history: bool
    simulated: Simulated = msgspec.UNSET


class AlertPage(ListPage[Alert], frozen=True, kw_only=True, rename="camel"):
    pass


class AlertDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An alert with all that a decision needs. ``dispositions`` and ``actions`` are oldest first."""

    alert: Annotated[Alert, about("The alert.")]
    transfer: Annotated[Transfer | None, about("The alert's transfer, with its score; null when it is about none.")]
    reasons: Annotated[
        tuple[Reason, ...], about("The reasons of the score at the opening; they add up to scoreAtAlert.")
    ]
    draft: Annotated[Draft | None, about("A proposed decision, made from the evidence; null without one.")]
    dispositions: Annotated[tuple[Disposition, ...], about("The decisions so far, oldest first.")]
    actions: Annotated[tuple[Action, ...], about("The actions so far, oldest first.")]


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    decision: Annotated[
        AlertDecision, about("close is final; hold keeps the money; release ends a hold; escalate hands on.")
    ]
    narrative: Annotated[
        Prose, about("Why, in words: it goes on the record. The policy sets its least length by severity.")
    ]


class AppealRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    reason: Annotated[Prose, about("Why the decision should be looked at again, in words: it goes on the record.")]


def to_alert(row: AlertRow, evidence: dict[str, Any]) -> Alert:
    return to_answer(row, Alert, evidence=evidence)
