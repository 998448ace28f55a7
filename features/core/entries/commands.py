"""Commands as log entries, and their results: decisions, notes, appeals, labels and owners; losses of the log as a fact
for the record; and a backfill, which computes a program's scores again beside the stream, in steps.

The flow alone decides, from the alert's state when the entry is applied. The appender of an entry waits until its
offset is committed and reads the ``decision_results`` row of its ``id``. A repeated ``id`` changes nothing: the first
result stands.

A backfill goes start ─▶ step ─▶ … ─▶ done. Every step carries the whole progress, so after a crash the newest one is
where to resume.

Unit    instants in microseconds; ``after`` and ``upto`` of a loss are ``milliseconds-sequence``, as Redis names places
        of the log
"""

from enum import StrEnum
from typing import Annotated

import msgspec

from clearhold.features.core.canonical import derived_id
from clearhold.features.core.principal import OperatorIdentity
from clearhold.features.core.vocabulary import WAITING, AlertDecision, LabelSource, LabelValue, Route, Score, about


class OperatorKind(StrEnum):
    PERSON = "person"
    KEY = "key"  # an API key without a person's name; ``operator`` is then ``key:<prefix>``


def needs_person(kind: OperatorKind, status: str, route: str) -> bool:
    """Whether an API key would sign a decision that needs a person: the alert waits, or was routed to a person."""
    return kind is OperatorKind.KEY and (status in WAITING or route == Route.REVIEWED)


class DecisionEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A decision on an alert; ``id`` becomes the disposition's."""

    id: str
    alert_id: str
    decision: AlertDecision
    narrative: str
    operator: str
    operator_kind: OperatorKind
    at: int
    principal_id: str = ""
    identity: OperatorIdentity | None = None


class DecisionsEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One decision on several alerts of a program; each gets a disposition, or the reason why not."""

    id: str
    alert_ids: tuple[str, ...]
    decision: AlertDecision
    narrative: str
    operator: str
    operator_kind: OperatorKind
    at: int
    principal_id: str = ""
    identity: OperatorIdentity | None = None

    def id_on(self, alert_id: str) -> str:
        """The id of its decision on one alert."""
        return derived_id(self.id, alert_id)


class SplitEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Takes waiting alerts out of a stack; together they become a stack, which no further alert joins."""

    id: str
    stack_id: str
    alert_ids: tuple[str, ...]
    operator: str
    at: int
    principal_id: str = ""
    identity: OperatorIdentity | None = None


class NoteEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A note on an alert, whatever its status; ``id`` becomes the note's.

    ``alert_sha256`` is the digest of the alert as it opened, which the state forgets once the alert is closed.
    """

    id: str
    alert_id: str
    alert_sha256: str
    note: str
    operator: str
    at: int
    principal_id: str = ""
    identity: OperatorIdentity | None = None


class AssignEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Assigns alerts to a person; ``assignee`` None ends their assignment."""

    id: str
    alert_ids: tuple[str, ...]
    assignee: str | None
    operator: str
    at: int
    principal_id: str = ""
    identity: OperatorIdentity | None = None


class DecisionWarning(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An executed action on the same transfer, card or account, which a decision contradicts."""

    action_id: Annotated[str, about("The executed action.")]
    type: Annotated[str, about("Its type.")]
    target_type: Annotated[str, about("What it was about.")]
    target_id: str
    sentence: Annotated[str, about("The contradiction in words, with ids only.")]


class AppealEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An appeal against a closed alert."""

    id: str
    alert_id: str
    reason: str
    operator: str
    at: int


class LabelEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a transfer, bad or ok; ``id`` becomes the label's."""

    id: str
    transfer_id: str
    label: LabelValue
    reason: str
    source: LabelSource
    recorded_by: str
    at: int


class OwnerEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The owner of an account, as an operator states it."""

    id: str
    account_id: str
    entity_id: str
    operator: str
    at: int


class ResultKind(StrEnum):
    DECISION = "decision"
    DECISIONS = "decisions"
    SPLIT = "split"
    NOTE = "note"
    ASSIGN = "assign"
    APPEAL = "appeal"
    LABEL = "label"
    OWNER = "owner"
    ACTION = "action"
    APPROVAL = "approval"
    OUTCOME = "outcome"
    SNAPSHOT = "snapshot"


class EntryResult(StrEnum):
    """The result of an entry: carried out, or the reason why not."""

    MADE = "made"
    UNKNOWN = "unknown"  # no such alert, or transfer, in the program
    FINAL = "final"  # the alert is closed; an appeal would open a new one
    NOT_HELD = "not_held"  # only a held alert can be released
    ALREADY = "already"  # it is held or escalated, without a decision since
    APPEALED = "appealed"  # it was appealed already; the appeal's alert may be decided and appealed
    NOT_FINAL = "not_final"  # an appeal needs a decision to appeal against
    NOT_WAITING = "not_waiting"  # the action no longer waits for this; it does not change
    NOT_REQUESTED = "not_requested"  # the action is decided, so that it can be neither declined nor withdrawn
    OWN_REQUEST = "own_request"  # another person declines an action; its requester withdraws it
    NOT_REQUESTER = "not_requester"  # its requester withdraws an action; another person declines it
    PENDING = "pending"  # the same change waits for its approver
    UNCHANGED = "unchanged"  # the requested version is in force already
    SAME_CAP = "same_cap"  # the cap requested is the one in force
    NOT_ELIGIBLE = "not_eligible"  # the evidence allows no wider autonomy
    TOO_EARLY = "too_early"  # autonomy was widened within the last week
    IN_FORCE = "in_force"  # the policy is in force already
    NEEDS_PERSON = "needs_person"  # a key may not decide an alert that waits for a person
    NOT_IN_STACK = "not_in_stack"  # an alert to take out of a stack does not wait in it
    WHOLE_STACK = "whole_stack"  # all waiting alerts of a stack cannot be taken out of it
    NARRATIVE_TOO_SHORT = "narrative_too_short"  # for an alert of this severity


class LossEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Entries of ``stream`` (of a shard or a tenant) with ``after`` < place <= ``upto`` are missing."""

    id: str
    tenant_id: str
    stream: str
    after: str
    upto: str
    accepted_at: int


class LossBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The loss as a link of the tenant's record."""

    id: str
    tenant_id: str
    kind: str
    stream: str
    after: str
    upto: str
    accepted_at: str


Value = int | float | str | bool | None


class Subjects(StrEnum):
    TRANSFERS = "transfers"
    ACTORS = "actors"


class Stage(StrEnum):
    STARTED = "started"
    RUNNING = "running"
    DONE = "done"


class Progress(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The progress of a backfill.

    ``started_offset`` is the offset of its start entry, 0 within it; later scores of the stream are left alone.
    ``position`` is the offset of the last finished subject's stored scoring; while ``replaying``, the offset of the log
    entry that scored it. For actors and counterparties, in the order in which the program met them and actors first, it
    is the number of finished ones.
    """

    id: str
    subjects: Subjects
    stage: Stage = Stage.STARTED
    feature_version: str
    score_version: str
    started_offset: int = 0
    replaying: bool = False
    position: int = 0
    total: int = 0
    done: int = 0
    changed: int = 0
    actors: int = 0
    counterparties: int = 0


class Rescored(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A transfer's new score with its inputs; the vector is given field by field."""

    transfer_id: str
    taken_at: int
    degraded: bool
    score: Score
    paths: str | None
    vector: tuple[Value, ...]


class ActorsRescored(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of evaluated subjects. Agents are counted among the entities too."""

    entities: Annotated[int, about("How many entities were scored again.")]
    counterparties: Annotated[int, about("How many counterparties were scored again.")]
    agents: Annotated[int, about("How many of them are agents.")]


class ActorRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Actors and counterparties to evaluate, from one index up to another.

    ``transfers`` are their transfers that the detectors examine again, in this order.
    """

    actors: tuple[int, int] = (0, 0)
    counterparties: tuple[int, int] = (0, 0)
    transfers: tuple[str, ...] = ()


class BackfillStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The body of a backfill's log entry."""

    progress: Progress
    rescored: tuple[Rescored, ...] = ()
    evaluate: ActorRange | None = None
