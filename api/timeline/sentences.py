"""The sentence of each row of a timeline, of ids, numbers and the service's own words."""

from collections.abc import Callable, Mapping
from typing import Final

from clearhold.features.core.money import money_in
from clearhold.features.core.vocabulary import words
from clearhold.store.duck.party_timeline import TimelineKind, TimelineRow

_RETURN: Final = "return:"


def sentence_of(row: TimelineRow) -> str:
    """Ends in a full stop; an alert has its own summary."""
    return _SENTENCES[row.kind](row)


def _money(row: TimelineRow) -> str:
    assert row.amount_cents is not None
    amount = money_in(row.currency or "USD", row.amount_cents)
    if row.id.startswith(_RETURN):
        (code,) = row.words
        return f"Transfer of {amount} returned{f' with {code}' if code else ''}."
    direction, rail, kind, status = row.words
    parts = [
        f"{direction} {words(str(rail))}".capitalize(),
        *([kind] if kind else []),
        "transfer of",
        f"{amount}, now {status}.",
    ]
    return " ".join(parts)


def _score(row: TimelineRow) -> str:
    subject, subject_id, former, band, score = row.words
    at = "" if score is None else f" at score {score}"
    came = "" if former is None else f" from {former}"
    return f"Band of {subject} {subject_id} changed{came} to {band}{at}."


def _alert(row: TimelineRow) -> str:
    severity, summary = row.words
    return f"Alert of severity {severity}: {summary}"


def _decision(row: TimelineRow) -> str:
    decision, decided_by = row.words
    return f"Decision {words(str(decision))} by {decided_by}."


def _action(row: TimelineRow) -> str:
    kind, status, target_type, target_id, requested_by, approved_by, ended_by = row.words
    people = [f"requested by {requested_by}"]
    if approved_by is not None:
        people.append(f"approved by {approved_by}")
    if ended_by is not None:
        people.append(f"ended by {ended_by}")
    return f"Action {words(str(kind))} on {target_type} {target_id} {status}, {', '.join(people)}."


def _label(row: TimelineRow) -> str:
    label, source, recorded_by = row.words
    return f"Label {label} recorded by {recorded_by}, source {source}."


def _note(row: TimelineRow) -> str:
    (written_by,) = row.words
    return f"Note by {written_by}."


def _assigned(row: TimelineRow) -> str:
    assignee, assigned_by = row.words
    return (
        f"Alert unassigned by {assigned_by}." if assignee is None else f"Alert assigned to {assignee} by {assigned_by}."
    )


_SENTENCES: Final[Mapping[TimelineKind, Callable[[TimelineRow], str]]] = {
    TimelineKind.MONEY: _money,
    TimelineKind.SCORE: _score,
    TimelineKind.ALERT: _alert,
    TimelineKind.DECISION: _decision,
    TimelineKind.ACTION: _action,
    TimelineKind.LABEL: _label,
    TimelineKind.NOTE: _note,
    TimelineKind.ASSIGNED: _assigned,
}
