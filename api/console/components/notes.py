"""Notes on the alert that stands for a stack, and the persons that its alerts are assigned to."""

import htpy as h

from clearhold.api.assignments.schemas import AssignedAlerts
from clearhold.api.console.components.words import count, moment, outsider, outsider_prose
from clearhold.api.console.pages.workspace_view import WorkspaceView
from clearhold.api.console.visit import Visit


def notes(visit: Visit, view: WorkspaceView) -> h.Element:
    """A note decides nothing, and an assignment keeps no other person from deciding."""
    written = view.worst.notes
    return h.section("#notes.also", tabindex="-1")[
        h.h2["Notes and persons"],
        h.p(".small")[_assigned(view)],
        _assign_form(visit, view) if view.waiting and not visit.signed_in.is_read_only else None,
        h.ul(".notes")[
            (
                h.li[
                    outsider_prose(each.note),
                    h.span(".small")[" ", outsider(each.written_by), " ", moment(each.created_at)],
                ]
                for each in written
            )
        ]
        if written
        else None,
        _note_form(visit, view) if not visit.signed_in.is_read_only else None,
    ]


def _assigned(view: WorkspaceView) -> h.Node:
    names = view.stack.assignees
    if not names:
        return "Assigned to no person."
    rest = f"; {count(view.stack.unassigned, 'alert')} unassigned" if view.stack.unassigned else ""
    return ("Assigned to ", [(outsider(name), ", " if name != names[-1] else None) for name in names], f"{rest}.")


def assigned_notice(answer: AssignedAlerts) -> h.Element:
    """How many alerts were assigned, and which were not, each with the reason."""
    person = "no person" if answer.assignee is None else outsider(answer.assignee)
    if not answer.refused:
        return h.p("#notice.note", role="status")[f"{count(answer.assigned, 'alert')} assigned to ", person, "."]
    outcome = f"{count(answer.assigned, 'alert')}, {answer.refused:,} not assigned" if answer.assigned else "no alert"
    return h.section("#results.results", role="alert")[
        h.h2["Assigned to ", person, f": {outcome}"],
        h.ul[(h.li[h.code[each.alert_id], " ", each.error.error] for each in answer.results if each.error is not None)],
    ]


def _assign_form(visit: Visit, view: WorkspaceView) -> h.Element:
    """To oneself, or to no person where it is one's already."""
    name = visit.signed_in.session.name
    is_mine = name in view.stack.assignees and not view.stack.unassigned
    return visit.form_of(
        f"/console/stacks/{view.stack.id}/assign",
        h.input(type="hidden", name="alertIds", value=",".join(each.id for each in view.waiting)),
        h.input(type="hidden", name="assignee", value="" if is_mine else name),
        h.button(type="submit")["Give it back" if is_mine else "Assign to me"],
    )


def _note_form(visit: Visit, view: WorkspaceView) -> h.Element:
    return h.details[
        h.summary["Write a note"],
        visit.form_of(
            f"/console/stacks/{view.stack.id}/note",
            h.input(type="hidden", name="alertId", value=view.worst.alert.id),
            h.label(for_="note")["Note"],
            h.textarea("#note", name="note", required=True, rows="3", maxlength="8000"),
            h.p(".small")["It goes on the record and cannot be changed."],
            h.button(type="submit")["Record the note"],
            keep=f"{view.stack.id}.note",
        ),
    ]
