"""The items of the queue in words: stacks of alerts, or single alerts of a service that has no stacks."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from clearhold.features.core.vocabulary import words

STACKS: Final = "stacks"
ALERTS: Final = "alerts"
_MINUTES: Final = 16  # of an instant's text
_WAITING: Final = frozenset({"open", "held", "escalated"})


class QueueItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item. ``whole`` is the service's answer."""

    kind: str
    id: str
    program_id: str
    due_at: str | None
    band: str | None
    score: int | None
    is_hard: bool
    severity: str
    size: int
    who: str
    sentence: str
    whole: dict[str, Any]

    def line(self) -> str:
        """The item on one line, the most urgent facts first."""
        due = "no clock        " if self.due_at is None else f"{self.due_at[:_MINUTES]}Z"
        points = "unscored" if self.score is None else f"{self.band} {self.score}"
        hard = ", hard" if self.is_hard else ""
        several = f", {self.size} alerts" if self.size > 1 else ""
        return f"due {due}  {points}{hard}, {self.severity}{several}  {self.who}: {self.sentence}"


def item_of(kind: str, answer: dict[str, Any]) -> QueueItem:
    """One item of a list."""
    is_stack = kind == STACKS
    finding = (answer.get("evidence") or {}).get("finding")
    who = answer["who"] if is_stack else {"type": answer["subjectType"], "id": answer["subjectId"], "name": None}
    name = f" ({who['name']})" if who.get("name") else ""
    return QueueItem(
        kind=kind,
        id=answer["id"],
        program_id=answer["programId"],
        due_at=answer["dueAt"],
        band=answer["band"] if is_stack else answer["bandAtAlert"],
        score=answer["score"] if is_stack else answer["scoreAtAlert"],
        is_hard=answer["hardSignal"],
        severity=answer["severity"],
        size=answer["waiting"] if is_stack else 1,
        who=f"{who['type']} {who['id']}{name}",
        sentence=answer["sentence"] if is_stack else finding or answer["summary"],
        whole=answer,
    )


def alerts_in(detail: dict[str, Any]) -> list[dict[str, Any]]:
    """The waiting alerts of a stack's detail, the worst first."""
    return [alert for alert in detail["alerts"] if alert["status"] in _WAITING]


def stack_lines(detail: dict[str, Any]) -> Iterator[str]:
    """A stack: what its alerts share, and each waiting one."""
    stack, waiting = detail["stack"], alerts_in(detail)
    yield f"Stack {stack['id']}: {stack['words']}, {len(waiting)} waiting"
    for alert in waiting:
        points = "unscored" if alert["scoreAtAlert"] is None else f"{alert['scoreAtAlert']} points"
        subject = f"{words(alert['detector'])} on {alert['subjectType']} {alert['subjectId']}"
        yield f"  {subject}, {points}, alert {alert['id']}"


def alert_lines(detail: dict[str, Any]) -> Iterator[str]:
    """An alert with its reasons, its transfer, its draft and the decisions so far."""
    alert = detail["alert"]
    state = f"{words(alert['detector'])}, {words(alert['status'])}"
    yield f"Alert {alert['id']}: {state}, since {alert['openedAt'][:_MINUTES]}Z"
    yield f"  {alert['summary']}"
    transfer = detail["transfer"]
    if transfer is not None:
        yield (
            f"  Transfer {transfer['id']}: {transfer['amountCents']} cents {transfer['currency']}, {transfer['rail']}, "
            f"{transfer['direction']}, {transfer['status']}, created {transfer['bankCreatedAt'][:_MINUTES]}Z"
        )
    for reason in detail["reasons"]:
        yield f"  {reason['weight']:+d}{' hard' if reason['hard'] else ''}  {reason['sentence']}"
    draft = detail["draft"]
    if draft is not None:
        yield f"  Draft: {draft['recommendation']}. {draft['narrative']}"
    for disposition in detail["dispositions"]:
        yield f"  Decided {disposition['decision']} by {disposition['decidedBy']}: {disposition['narrative']}"


def explanation_lines(answer: dict[str, Any]) -> Iterator[str]:
    """How the score of a transfer would have been in a lower band."""
    yield f"  Recomputed: {'the same' if answer['isSame'] else answer['difference']}"
    if answer["goesToPerson"] is not None:
        yield f"  {answer['goesToPerson']}"
    for each in answer["wouldBeLower"]:
        yield f"  {each['sentence']}"
