"""Stacks as the interface shows them, the filters of their list, the requests on them, and examples."""

from typing import Annotated, Any, Final

import msgspec

from clearhold.api.alerts.schemas import ALERT, STACK_ID, AlertFilters
from clearhold.api.alerts.summaries import ALERT_SUMMARY, AlertSummary
from clearhold.api.http.fields import AlertIds, CursorText, PageLimit, Prose
from clearhold.api.lists.lists import DEFAULT_LIMIT, ListPage
from clearhold.features.core.principal import Simulated
from clearhold.features.core.vocabulary import (
    WAITING,
    AlertDecision,
    AlertStatus,
    Band,
    Severity,
    StackKind,
    SubjectType,
    about,
    minted,
)
from clearhold.store.duck.waiting_stacks import StackSort

_SOME = msgspec.Meta(min_length=1, max_length=20)


class StacksQuery(AlertFilters, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A stack is listed when one of its alerts passes the filters. ``status`` are the statuses of the alerts that
    count, by default of waiting ones.
    """

    kind: Annotated[tuple[StackKind, ...], _SOME] | None = None
    sort: Annotated[
        StackSort, about("worst: as in the list of alerts; dueAt: the soonest first; the others: the highest first.")
    ] = StackSort.WORST
    limit: PageLimit = DEFAULT_LIMIT
    cursor: CursorText | None = None


class StackSubject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who or what a stack is about."""

    type: Annotated[SubjectType, about("What it is.")]
    id: Annotated[str, about("The bank's id.")]
    name: Annotated[str | None, about("The name as the bank gave it, of an account its owner's; null without one.")]


class Stack(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Alerts that are looked at together. The figures are of the alerts in the statuses of the list."""

    id: Annotated[str, minted("stack")]
    program_id: str
    kind: Annotated[StackKind, about("What its alerts share.")]
    key: Annotated[str, about("The id of the shared thing.")]
    words: Annotated[str, about("The same in words.")]
    who: Annotated[StackSubject, about("Who it is about; of a stack by no party, the subject of its worst alert.")]
    size: Annotated[int, about("How many alerts count.")]
    waiting: Annotated[int, about("How many of them wait for a decision.")]
    due_at: Annotated[str | None, about("When the first of them is due; null without a clock.")]
    band: Annotated[Band | None, about("The worst band at which one opened; null without a score.")]
    score: Annotated[int | None, about("The highest score at which one opened; null without one.")]
    severity: Severity
    hard_signal: Annotated[bool, about("Whether one of them is hard.")]
    sentence: Annotated[str, about("The finding of the worst of them, in words.")]
    detectors: Annotated[dict[str, int], about("How many alerts each detector has in it.")]
    statuses: Annotated[dict[AlertStatus, int], about("How many alerts have each status.")]
    held_cents: Annotated[str, about("US cents of the transfers of its held alerts, each transfer once.")]
    first_opened_at: Annotated[str, about("When the first of its alerts opened.")]
    last_opened_at: Annotated[str, about("When the newest of them opened.")]
    alert_ids: Annotated[tuple[str, ...], about("The newest hundred of its alerts.")]
    assignees: Annotated[tuple[str, ...], about("The assignees of its alerts, each person once.")]
    unassigned: Annotated[int, about("How many of its alerts are unassigned.")]
    simulated: Simulated = msgspec.UNSET


class StackPage(ListPage[Stack], frozen=True, kw_only=True, rename="camel"):
    pass


class StackDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    stack: Annotated[Stack, about("The stack, with the figures of its waiting alerts, or of all when none waits.")]
    alerts: Annotated[tuple[AlertSummary, ...], about("The worst two hundred of its alerts, decided ones among them.")]

    @property
    def worst(self) -> AlertSummary:
        """The worst alert that waits; the worst of all when none does."""
        return next((each for each in self.alerts if each.status in WAITING), self.alerts[0])


class SplitRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    alert_ids: Annotated[AlertIds, about("Alerts that wait in the stack; others have to stay in it.")]


class StackDecisionRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    decision: Annotated[AlertDecision, about("The decision on each of its alerts.")]
    narrative: Annotated[Prose, about("Why, in words: it goes on the record with each of the alerts.")]
    alert_ids: Annotated[
        AlertIds | None, about("Those of its alerts that were looked at; without it, the worst 200 that wait.")
    ] = None


STACK: Final[dict[str, Any]] = {
    "id": STACK_ID,
    "programId": ALERT["programId"],
    "kind": "entity",
    "key": ALERT["subjectId"],
    "words": f"same entity {ALERT['subjectId']}",
    "who": {"type": "entity", "id": ALERT["subjectId"], "name": "Ada Example"},
    "size": 2,
    "waiting": 2,
    "dueAt": ALERT["dueAt"],
    "band": "review",
    "score": 35,
    "severity": "high",
    "hardSignal": False,
    "sentence": ALERT["evidence"]["finding"],
    "detectors": {"structuring_pattern": 1, "velocity_spike": 1},
    "statuses": {"open": 2},
    "heldCents": "0",
    "firstOpenedAt": ALERT["openedAt"],
    "lastOpenedAt": ALERT["openedAt"],
    "alertIds": [ALERT["id"], "0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"],
    "assignees": ["ann"],
    "unassigned": 1,
}
STACK_DETAIL: Final[dict[str, Any]] = {
    "stack": STACK,
    "alerts": [ALERT_SUMMARY],
}
SPLIT_REQUEST: Final = {"alertIds": ["0a4b1d2c-7e0f-5b7a-8d3e-4f1a6c9b2e11"]}
SPLIT: Final[dict[str, Any]] = STACK | {
    "id": "6a1d8e4f-1c1d-5f66-9d66-6e4a3c2baf21",
    "kind": "split",
    "key": STACK_ID,
    "words": f"taken out of stack {STACK_ID}",
    "who": {"type": "entity", "id": ALERT["subjectId"], "name": "Ada Example"},
    "size": 1,
    "waiting": 1,
    "detectors": {"velocity_spike": 1},
    "statuses": {"open": 1},
    "alertIds": SPLIT_REQUEST["alertIds"],
    "assignees": [],
}
STACK_DECISION_REQUEST: Final = {"decision": "close", "narrative": "One invoice, paid in parts; the contract was seen."}
