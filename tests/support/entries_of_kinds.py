"""The body of an entry of each kind that Clearhold appends itself, each with an effect on the program of a bank."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from clearhold.features.catalogue.kris import SnapshotEntry
from clearhold.features.catalogue.vector import FEATURE_VERSION
from clearhold.features.core.entries.actions import ActionEntry, ActionType, ApprovalEntry, OutcomeEntry
from clearhold.features.core.entries.commands import (
    AppealEntry,
    AssignEntry,
    BackfillStep,
    DecisionEntry,
    DecisionsEntry,
    LabelEntry,
    LossEntry,
    NoteEntry,
    OperatorKind,
    OwnerEntry,
    Progress,
    SplitEntry,
    Stage,
    Subjects,
)
from clearhold.features.core.entries.directory import (
    AgentImportEntry,
    DirectoryEntry,
    DirectoryKind,
    DirectoryResult,
    ImportStage,
)
from clearhold.features.core.entries.preflight import Preflight, PreflightRecord, ProposedTransfer, Resolved
from clearhold.features.core.log_entry import EntryKind
from clearhold.features.core.principal import Program
from clearhold.features.core.vocabulary import AlertDecision, Band, Decision, Direction, LabelSource, LabelValue, Rail
from clearhold.features.policy.seeds import THRESHOLDS_V1
from clearhold.features.scorers.trs_v1 import scorer as trs_v1
from tests.support.clock import T0
from tests.support.policies import policy_entry
from tests.support.scan_items import a_profile, a_settlement, an_agent, wallet_of

_ID: Final = "11111111-1111-4111-8111-{:012d}"


_ACCOUNT: Final = msgspec.json.encode({"id": "bacc_1", "entity_id": "enti_mine", "status": "CLOSED"})
_FETCHED: Final = DirectoryEntry(
    kind=DirectoryKind.ACCOUNT,
    id="bacc_1",
    result=DirectoryResult.FOUND,
    fetched_at=T0,
    digest="ab" * 32,
    data=msgspec.Raw(_ACCOUNT),
)
_STEP: Final = Progress(
    id=_ID.format(1),
    subjects=Subjects.TRANSFERS,
    stage=Stage.DONE,
    feature_version=FEATURE_VERSION,
    score_version=trs_v1.VERSION,
    started_offset=1,
)
_WITHOUT_PERSON: Final[Mapping[EntryKind, bytes]] = {
    EntryKind.TICK: b"",
    EntryKind.POLICY: policy_entry("thresholds-v9", THRESHOLDS_V1),
    EntryKind.AGENT: msgspec.json.encode(an_agent()),
    EntryKind.PROFILE: msgspec.json.encode(a_profile(wallet_of(22))),
    EntryKind.DIRECTORY: msgspec.json.encode(_FETCHED),
    EntryKind.BACKFILL: msgspec.json.encode(BackfillStep(progress=_STEP)),
    EntryKind.SETTLEMENT: msgspec.json.encode(a_settlement(1, T0)),
}


def bodies_of_kinds(
    *, tenant_id: str, program_id: str, open_alert: str, closed_alert: str, transfer_id: str, operator: str, at: int
) -> Mapping[EntryKind, bytes]:
    """``transfer_id`` is that of the open alert, and ``operator`` the name that signs."""
    who: dict[str, Any] = {"operator": operator, "at": at}
    program = Program(id=program_id, tenant_id=tenant_id, slug="mine", name="Mine")
    action: dict[str, Any] = {"action_id": _ID.format(3), "at": at}
    structs: dict[EntryKind, msgspec.Struct] = {
        EntryKind.PREFLIGHT: _preflight(tenant_id, program_id, operator, at),
        EntryKind.PROGRAM: program,
        EntryKind.DECISION: DecisionEntry(
            id=_ID.format(2),
            alert_id=open_alert,
            decision=AlertDecision.CLOSE,
            narrative="It is closed by a person who never saw it.",
            operator_kind=OperatorKind.PERSON,
            **who,
        ),
        EntryKind.DECISIONS: DecisionsEntry(
            id=_ID.format(12),
            alert_ids=(open_alert,),
            decision=AlertDecision.CLOSE,
            narrative="They are closed by a person who never saw them.",
            operator_kind=OperatorKind.PERSON,
            **who,
        ),
        **_on_alert(open_alert, who),
        EntryKind.APPEAL: AppealEntry(id=_ID.format(4), alert_id=closed_alert, reason="It was not.", **who),
        EntryKind.LABEL: LabelEntry(
            id=_ID.format(5),
            transfer_id=transfer_id,
            label=LabelValue.OK,
            reason="It was looked into.",
            source=LabelSource.PERSON,
            recorded_by=operator,
            at=at,
        ),
        EntryKind.OWNER: OwnerEntry(id=_ID.format(6), account_id="bacc_1", entity_id="enti_mine", **who),
        EntryKind.ACTION: _freeze(tenant_id, operator, at),
        EntryKind.APPROVAL: ApprovalEntry(
            id=_ID.format(7), approver=operator, operator=operator, principal_id="op_1", **action
        ),
        EntryKind.OUTCOME: OutcomeEntry(id=_ID.format(8), bank_response={"status": "FROZEN"}, error=None, **action),
        EntryKind.SNAPSHOT: SnapshotEntry(id=_ID.format(9), at=at),
        EntryKind.LOSS: LossEntry(
            id=_ID.format(10), tenant_id=tenant_id, stream="shard=00", after="1-0", upto="2-0", accepted_at=at
        ),
        EntryKind.AGENT_IMPORT: AgentImportEntry(id=_ID.format(11), stage=ImportStage.BEGUN),
    }
    return {**_WITHOUT_PERSON} | {kind: msgspec.json.encode(body) for kind, body in structs.items()}


def _on_alert(alert_id: str, who: dict[str, Any]) -> dict[EntryKind, msgspec.Struct]:
    """Entries that decide nothing about an alert."""
    note = "It was never looked at."
    return {
        EntryKind.SPLIT: SplitEntry(id=_ID.format(13), stack_id=_ID.format(14), alert_ids=(alert_id,), **who),
        EntryKind.NOTE: NoteEntry(id=_ID.format(15), alert_id=alert_id, alert_sha256="ab" * 32, note=note, **who),
        EntryKind.ASSIGN: AssignEntry(id=_ID.format(16), alert_ids=(alert_id,), assignee="mallory", **who),
    }


def _freeze(tenant_id: str, operator: str, at: int) -> ActionEntry:
    return ActionEntry(
        id=_ID.format(3),
        tenant_id=tenant_id,
        alert_id=None,
        alert_sha256=None,
        type=ActionType.FREEZE_ACCOUNT,
        target_type="account",
        target_id="bacc_1",
        operator=operator,
        operator_kind=OperatorKind.PERSON,
        principal_id="op_1",
        change=None,
        at=at,
    )


def a_clear_answer(preflight_id: str, program_id: str) -> Preflight:
    """The answer to a pre-flight without reasons."""
    return Preflight(
        preflight_id=preflight_id,
        decision=Decision.CLEAR,
        score=3,
        band=Band.CLEAR,
        version=trs_v1.VERSION,
        n=40,
        confidence=0.5,
        reasons=(),
        limits_hit=(),
        degraded=False,
        degraded_reasons=(),
        latency_ms=1,
        idempotent=False,
        program_id=program_id,
    )


def _preflight(tenant_id: str, program_id: str, operator: str, at: int) -> PreflightRecord:
    return PreflightRecord(
        tenant_id=tenant_id,
        answer=a_clear_answer(_ID.format(12), program_id),
        request={},
        transfer=ProposedTransfer(rail=Rail.WIRE, direction=Direction.OUTGOING, amount_cents="100"),
        operator=operator,
        resolved=Resolved(entity_id=None, counterparty_id=None, counterparty_country=None),
        asked_at=at,
    )
