"""Actions as the interface takes and shows them, the filters of their list, and examples of them all."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal
from uuid import UUID

import msgspec

from clearhold.api.http.fields import FILTER_LIMIT, BankId, CursorText, Moment, PageLimit, PersonName, ProgramIds, Prose
from clearhold.api.http.operation import examples_of
from clearhold.api.http.validation import Failure
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage, to_answer
from clearhold.features.bank.action_endpoints import BANK_ACTIONS, TargetType
from clearhold.features.core.entries.actions import ActionStatus, ActionType
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.principal import OperatorIdentity, Simulated
from clearhold.features.core.vocabulary import about
from clearhold.store.duck.alerts import StoredAction


class ActionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``type`` takes actions on the bank; changes of the platform's permissions have separate routes."""

    program_id: Annotated[UUID, about("The program that the target belongs to.")]
    type: Annotated[
        Literal[
            "clear_hold",
            "cancel_transfer",
            "pause_card",
            "suspend_card_account",
            "freeze_account",
            "request_to_program",
            "periodic_review",
        ],
        about("The action to take."),
    ]
    target_type: Annotated[TargetType, about("What the action is about; each type of action takes some of these.")]
    target_id: BankId
    alert_id: Annotated[UUID | None, about("The alert that the action follows from; one of this program.")] = None


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    approver_id: Annotated[
        PersonName | None, about("The approver of record, in place of X-Operator and by its rules.")
    ] = None


class EndingRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    note: Annotated[Prose, about("Why, in your words; it goes on the record.")]


class ActionsQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    status: Annotated[tuple[ActionStatus, ...], msgspec.Meta(min_length=1, max_length=len(ActionStatus))] | None = None
    type: Annotated[tuple[ActionType, ...], msgspec.Meta(min_length=1, max_length=len(ActionType))] | None = None
    program_id: ProgramIds | None = None
    alert_id: Annotated[tuple[UUID, ...], msgspec.Meta(min_length=1, max_length=FILTER_LIMIT)] | None = None
    from_: Moment | None = msgspec.field(default=None, name="from")
    to: Moment | None = None
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class Action(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """``prevHash`` and ``hash`` are those of its request on the tenant's chain, where each later step is a link too.

    ``programId`` is null for an action on the whole tenant.
    """

    id: Annotated[str, about("The action's id, minted here, and the bank's idempotency key.")]
    tenant_id: str
    program_id: Annotated[str | None, about("The program; null: the whole tenant.")]
    alert_id: Annotated[str | None, about("The alert that the action follows from; null for none.")]
    type: Annotated[
        ActionType,
        about(
            "The action; set_limit, activate_policy, set_autonomy, activate_rule, pause_rule, activate_scorecard, "
            "decide_alert and apply_config change what this platform does."
        ),
    ]
    target_type: Annotated[str, about("What the action is about.")]
    target_id: str
    requested_by: Annotated[str, about("Who requested it: the person of X-Operator, or a key.")]
    requested_identity: OperatorIdentity | None
    approved_by: Annotated[str | None, about("The second person; null without one.")]
    approved_identity: OperatorIdentity | None
    status: Annotated[
        ActionStatus, about("requested waits for a second person; approved is under way; the others are final.")
    ]
    change: Annotated[
        dict[str, Any] | None,
        about("What an action of ours changes, as its approver has to know it; null for an action at the bank."),
    ]
    bank_response: Annotated[
        dict[str, Any] | None,
        about(
            "How it was carried out: dryRun with its reason, or the request with the bank's status and answer, "
            "account numbers masked; of a policy or rule the version that is in force since. Null until then."
        ),
    ]
    error: Annotated[str | None, about("Why it failed, in a sentence; null unless it did.")]
    ended_by: Annotated[str | None, about("Who declined or withdrew it; null unless a person did.")]
    ended_identity: OperatorIdentity | None
    note: Annotated[
        str | None,
        about("Words of the person who approved, declined or withdrew it, or of the service on an approval."),
    ]
    executed_at: Annotated[str | None, about("When it was carried out; null until then.")]
    released_alert_ids: Annotated[
        tuple[str, ...], about("The alerts whose hold it ended, each with a disposition that names it.")
    ]
    seq: Annotated[int, about("The place of its request in the chain of actions, as GET /api/record/proof takes it.")]
    prev_hash: str | None
    hash: str
    created_at: str
    simulated: Simulated = msgspec.UNSET


class ActionPage(ListPage[Action], frozen=True, kw_only=True, rename="camel"):
    pass


def target_fits(request: Mapping[str, Any]) -> Iterable[Failure]:
    """Whether a type of action takes such a target, which no schema says."""
    allowed = _TARGETS.get(str(request.get("type")))
    if allowed is not None and request.get("targetType") not in allowed:
        listed = allowed[0] if len(allowed) == 1 else f"one of {', '.join(allowed)}"
        yield Failure("targetType", f"must be {listed} for this type of action", FieldCode.NOT_ONE_OF)


_TARGETS: Final = {type_.value: tuple(action.targets) for type_, action in BANK_ACTIONS.items()}


def to_action(stored: StoredAction) -> Action:
    row = stored.row
    return to_answer(
        row,
        Action,
        program_id=None if row.program_id == row.tenant_id else row.program_id,
        change=None if row.change is None else msgspec.json.decode(row.change),
        released_alert_ids=() if row.released_alert_ids is None else msgspec.json.decode(row.released_alert_ids),
        bank_response=None if row.bank_response is None else msgspec.json.decode(row.bank_response),
        seq=stored.seq,
        prev_hash=stored.prev_hash,
        hash=stored.hash,
    )


_EXAMPLES: Final = examples_of(__file__)
ACTION: Final[dict[str, Any]] = _EXAMPLES["action"]
ACTION_REQUEST: Final = {name: ACTION[name] for name in ("programId", "alertId", "type", "targetType", "targetId")}
APPROVAL: Final = {"approverId": "bob"}
DECLINED_ACTION: Final = ACTION | {
    "status": "declined",
    "endedBy": "bob",
    "endedIdentity": "claimed",
    "note": "The payee confirmed the invoice by telephone.",
}
APPROVED_ACTION: Final[dict[str, Any]] = _EXAMPLES["approved_action"]
