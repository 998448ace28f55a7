"""A timeline as a list of days, the newest first: a line for each thing that happened, and gaps said in days."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final
from urllib.parse import quote

import htpy as h

from clearhold.api.console.components.words import count, outsider_prose
from clearhold.api.timeline.routes import TimelineEntry
from clearhold.features.core.instants import DAY_US, written_instant
from clearhold.store.duck.party_timeline import TimelineKind

SIGNS: Final[Mapping[TimelineKind, str]] = {
    TimelineKind.MONEY: "$",
    TimelineKind.SCORE: "◐",
    TimelineKind.ALERT: "!",
    TimelineKind.DECISION: "✓",
    TimelineKind.ACTION: "→",
    TimelineKind.LABEL: "#",
    TimelineKind.NOTE: "✎",
    TimelineKind.ASSIGNED: "@",
}


def timeline(entries: Sequence[TimelineEntry]) -> h.Node:
    """Each entry leads to its alert or transfer."""
    return h.ol(".days")[_days(entries)] if entries else h.p["Nothing of this kind happened."]


def _days(entries: Sequence[TimelineEntry]) -> Iterable[h.Element]:
    """A day has its entries; days without any between two of them are said."""
    later: int | None = None
    for day, of_day in groupby(entries, lambda each: each.at[:10]):
        number = written_instant(f"{day}T00:00:00.000Z") // DAY_US
        empty = 0 if later is None else later - number - 1
        if empty > 0:
            yield h.li(".gap")[f"{count(empty, 'day')} without anything"]
        later = number
        yield h.li[h.h3[h.time(datetime=day)[day]], h.ol[(_line(each) for each in of_day)]]


def _line(entry: TimelineEntry) -> h.Element:
    return h.li(class_=f"event {entry.kind.value}")[
        h.time(datetime=entry.at, title=entry.at)[entry.at[11:16]],
        h.span(".sign", title=entry.kind.value, aria_hidden="true")[SIGNS[entry.kind]],
        h.div[outsider_prose(entry.sentence), " ", _link(entry)],
    ]


def _link(entry: TimelineEntry) -> h.Node:
    ids = entry.ids
    if ids.alert_id is not None:
        return h.a(href=f"/console/alerts/{ids.alert_id}")["alert"]
    if ids.transfer_id is not None:
        return h.a(href=thing_path("transfer", ids.transfer_id, entry.program_id))[h.code[ids.transfer_id]]
    return None


def thing_path(kind: str, id_: str, program_id: str | None = None) -> str:
    """The page of a transfer, party or account; an id is the bank's own text, and escaped."""
    query = "" if program_id is None else f"?programId={program_id}"
    return f"/console/things/{kind}/{quote(id_, safe='')}{query}"
