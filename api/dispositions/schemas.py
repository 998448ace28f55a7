"""Dispositions as the interface shows them, and the filters of their lists."""

from typing import Annotated
from uuid import UUID

import msgspec

from clearhold.api.http.fields import FILTER_LIMIT, BankIds, CursorText, Moment, PageLimit, ProgramIds
from clearhold.api.lists.list_reader import ListPage
from clearhold.api.lists.lists import DEFAULT_LIMIT, to_answer
from clearhold.features.core.entries.commands import DecisionWarning
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.program import Simulated
from clearhold.features.core.vocabulary import AlertDecision, about, minted
from clearhold.store.duck.decisions import StoredDisposition


class DispositionFilters(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Filters of lists and exports of dispositions."""

    decision: Annotated[tuple[AlertDecision, ...], msgspec.Meta(min_length=1, max_length=len(AlertDecision))] | None = (
        None
    )
    decided_by: BankIds | None = None
    alert_id: Annotated[tuple[UUID, ...], msgspec.Meta(min_length=1, max_length=FILTER_LIMIT)] | None = None
    program_id: ProgramIds | None = None
    overturned: bool | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None


class DispositionsQuery(DispositionFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Disposition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on an alert: ``hash`` is sha256 over ``prevHash`` and the canonical body, on the tenant's chain."""

    id: Annotated[str, minted("disposition")]
    tenant_id: str
    alert_id: str
    decided_by: str
    decision: Annotated[AlertDecision, about("What was decided.")]
    narrative: str
    narrative_model: str | None
    recommendation: str | None
    confidence: Annotated[float | None, about("The draft's confidence, 0 to 1; null for a person's own decision.")]
    policy_version: str
    overturns_draft: bool | None
    prev_hash: str | None
    hash: str
    created_at: str
    action_id: Annotated[
        str | None, about("The executed action that it follows from: clear_hold or decide_alert; null for none.")
    ]
    warnings: Annotated[
        tuple[DecisionWarning, ...],
        about("The executed actions on the same transfer, card or account that it contradicts."),
    ]
    identity: OperatorIdentity | None
    simulated: Simulated = msgspec.UNSET


class DispositionPage(ListPage[Disposition], frozen=True, kw_only=True, rename="camel"):
    pass


def to_disposition(stored: StoredDisposition) -> Disposition:
    warnings = msgspec.json.decode(stored.row.warnings or "[]", type=tuple[DecisionWarning, ...])
    return to_answer(stored.row, Disposition, prev_hash=stored.prev_hash, hash=stored.hash, warnings=warnings)
