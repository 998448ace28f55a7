"""A timeline as a list: one line for each thing that happened, a mark for each day, and the gaps said in days."""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

import htpy as h

from clearhold.api.console.components.words import count
from clearhold.api.timeline.routes import TimelineEntry
from clearhold.features.core.instants import DAY_US, written_instant
from clearhold.store.duck.party_timeline import TimelineKind

SHAPES: Final = {
    TimelineKind.MONEY: "$",
    TimelineKind.SCORE: "▲",
    TimelineKind.ALERT: "!",
    TimelineKind.DECISION: "✓",
    TimelineKind.ACTION: "→",
    TimelineKind.LABEL: "#",
    TimelineKind.NOTE: "✎",
    TimelineKind.ASSIGNED: "@",
}
OTHER: Final = "·"
_GAP_DAYS: Final = 2


def timeline(entries: Sequence[TimelineEntry]) -> h.Node:
    """Newest first."""
    if not entries:
        return h.p["Nothing of this kind happened."]
    return h.ol(".timeline")[_lines(entries)]


def _lines(entries: Sequence[TimelineEntry]) -> Iterable[h.Element]:
    earlier: TimelineEntry | None = None
    for entry in entries:
        day = entry.at[:10]
        if earlier is None or earlier.at[:10] != day:
            days = 0 if earlier is None else (written_instant(earlier.at) - written_instant(entry.at)) // DAY_US
            if days >= _GAP_DAYS:
                yield h.li(".gap")[f"{count(days, 'day')} without anything"]
            yield h.li(".day")[h.h3[day]]
        earlier = entry
        yield _line(entry)


def _line(entry: TimelineEntry) -> h.Element:
    ids = entry.ids
    link = _link(entry.program_id, ids.transfer_id, ids.alert_id)
    return h.li(f".{entry.kind.value}")[
        h.time(datetime=entry.at, title=entry.at)[entry.at[11:16]],
        h.span(".kind")[h.span(aria_hidden="true")[SHAPES.get(entry.kind, OTHER)], h.span(".hidden")[entry.kind.value]],
        h.span[h.bdi[entry.sentence], " ", link],
    ]


def _link(program_id: str, transfer_id: str | None, alert_id: str | None) -> h.Node:
    if alert_id is not None:
        return h.a(href=f"/console/alerts/{alert_id}")["alert"]
    if transfer_id is not None:
        return h.a(href=thing_path("transfer", transfer_id, program_id))[h.code[transfer_id]]
    return None


def thing_path(kind: str, id_: str, program_id: str) -> str:
    """The page of a transfer, party or account; an id is the bank's own text, and escaped."""
    return f"/console/things/{kind}/{quote(id_, safe='')}?programId={program_id}"
