"""Rows of the queue: one stack each, a link to its workspace, in groups by when it is due.

A row has few elements: the window of the list holds hundreds. Rows are ``#stack-ID``; ``data-alerts`` has the first
letters of the ids of its alerts, by which a script knows the row that an event is about. The id of a party with a name
is for the eye alone: a reader of screens says the name.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final

import htpy as h

from clearhold.api.console.components.wide import wide_table
from clearhold.api.console.components.words import (
    NO_VALUE,
    SENTENCE_LETTERS,
    SHAPES,
    count,
    moment,
    money,
    outsider,
    outsider_prose,
    time_left,
)
from clearhold.api.stacks.schemas import Stack
from clearhold.features.core.instants import DAY_US, written_instant
from clearhold.features.core.vocabulary import AlertStatus, Band, StackKind, SubjectType

ID_LETTERS: Final = 8
_US_PER_S: Final = 1_000_000
_NO_NAME: Final[Mapping[SubjectType, str]] = {
    SubjectType.ACCOUNT: "owner not known",
    SubjectType.TRANSFER: "transfer",
    SubjectType.PROGRAM: "program",
}


class DueGroup(StrEnum):
    """When a stack is due: in the past, before the end of the UTC day, or after it or without a clock."""

    LATE = "late"
    TODAY = "today"
    LATER = "later"


def day_end(now: int) -> int:
    return now - now % DAY_US + DAY_US


def group_of(stack: Stack, now: int) -> DueGroup:
    if stack.due_at is None:
        return DueGroup.LATER
    due_at = written_instant(stack.due_at)
    if due_at < now:
        return DueGroup.LATE
    return DueGroup.TODAY if due_at < day_end(now) else DueGroup.LATER


def grouped_rows(
    stacks: Sequence[Stack],
    programs: Mapping[str, str],
    now: int,
    *,
    after: str | None,
    numbers: Mapping[DueGroup, int] | None,
) -> Iterator[h.Element]:
    """Rows in order of their due time, each group with its head; ``after`` is the group of the row before the first."""
    last = after
    for stack in stacks:
        group = group_of(stack, now)
        if group != last:
            number = f" · {numbers[group]:,}" if numbers is not None else ""
            yield h.li(f".group.{group.value}")[h.span(role="heading", aria_level="2")[f"{group.value}{number}"]]
            last = group
        yield row(stack, programs, now)


def row(stack: Stack, programs: Mapping[str, str], now: int) -> h.Element:
    """One stack of the list. ``programs`` are their names by id."""
    return h.li[
        h.a(
            ".stack" if stack.waiting else ".stack.decided",
            id=f"stack-{stack.id}",
            href=f"/console/stacks/{stack.id}",
            data_alerts=" ".join(each[:ID_LETTERS] for each in stack.alert_ids),
        )[
            due(stack, now),
            band_points(stack),
            h.span(".size", role="img", aria_label=count(stack.size, "alert"))[str(stack.size)]
            if stack.size > 1
            else None,
            who(stack, programs),
            h.code(aria_hidden="true" if name_of(stack, programs) else None)[stack.who.id],
            outsider(programs.get(stack.program_id)),
            h.span(".sentence")[_marks(stack), outsider(stack.sentence, most=SENTENCE_LETTERS)],
        ]
    ]


def who(stack: Stack, programs: Mapping[str, str]) -> h.Element:
    """The name of the person, firm or program that a stack is about."""
    return outsider(name_of(stack, programs), _NO_NAME.get(stack.who.type, "name not known"))


def name_of(stack: Stack, programs: Mapping[str, str]) -> str | None:
    """The name, if it is known; ``programs`` are their names by id."""
    return programs.get(stack.who.id) if stack.who.type is SubjectType.PROGRAM else stack.who.name


def due(stack: Stack, now: int) -> h.Element:
    """Time left; a script counts it down by ``data-due``, in seconds."""
    if not stack.waiting:
        return h.span(".due")["decided"]
    at = None if stack.due_at is None else written_instant(stack.due_at) // _US_PER_S
    style = ".due.late" if group_of(stack, now) is DueGroup.LATE else ".due"
    return h.span(style, data_due=at, title=stack.due_at)[time_left(stack.due_at, now)]


def band_points(stack: Stack) -> h.Element:
    """The band by shape, and points; its word is in the title and for screen readers."""
    band = stack.band or Band.UNSCORED
    points = NO_VALUE if stack.score is None else str(stack.score)
    return h.span(f".band.{band.value}", title=band.value, role="img", aria_label=f"{band.value} {points}")[
        f"{SHAPES[band]} {points}"
    ]


def _marks(stack: Stack) -> str:
    """Further words on a row, before its sentence."""
    words = []
    if stack.held_cents != "0":
        words.append(f"{money(stack.held_cents)} held")
    elif AlertStatus.HELD in stack.statuses:
        words.append("held")
    if AlertStatus.ESCALATED in stack.statuses:
        words.append("escalated")
    if stack.hard_signal:
        words.append("hard signal")
    if stack.kind is StackKind.APPEAL:
        words.append("appeal")
    if stack.simulated is True:
        words.append("simulated")
    if stack.assignees:
        words.append(f"with {', '.join(stack.assignees)}")
    return "".join(f"{each} · " for each in words)


def stack_table(stacks: Sequence[Stack], programs: Mapping[str, str], now: int) -> h.Element:
    """The same as a table: one tab stop a row, nothing by script."""
    heads = ("Due", "Band", "Alerts", "Who", "What", "Program", "Held", "Opened")
    return wide_table("Stacks", heads, (_line(each, programs, now) for each in stacks), style="stack-table")


def _line(stack: Stack, programs: Mapping[str, str], now: int) -> h.Element:
    return h.tr[
        h.td[due(stack, now)],
        h.td[band_points(stack)],
        h.td(".number")[f"{stack.size:,}"],
        h.th(scope="row")[
            h.a(id=f"stack-{stack.id}", href=f"/console/stacks/{stack.id}")[who(stack, programs)],
            " ",
            h.code[stack.who.id],
        ],
        h.td[outsider_prose(stack.sentence)],
        h.td[outsider(programs.get(stack.program_id)), " simulated" if stack.simulated is True else None],
        h.td(".number")[money(stack.held_cents) if stack.held_cents != "0" else NO_VALUE],
        h.td[moment(stack.first_opened_at)],
    ]
