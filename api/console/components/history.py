"""What happened, the newest first: money, bands, alerts, decisions, actions and labels, with a mark for each day."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import htpy as h

from clearhold.api.console.components.words import count, outsider
from clearhold.api.console.visit import Visit
from clearhold.api.timeline.routes import TimelineEntry, TimelinePage
from clearhold.features.core.instants import DAY_US, written_instant

HISTORY: Final = "history"
FILTERS: Final[Mapping[str, str]] = {
    "All": "",
    "Money": "money",
    "Score": "score",
    "Alerts": "alert",
    "People": "decision,action,label",
}
_SIGNS: Final[Mapping[str, str]] = {
    "money": "$",
    "score": "◐",
    "alert": "!",
    "decision": "✓",
    "action": "→",
    "label": "#",
}


def history(visit: Visit, path: str, page: TimelinePage) -> h.Element:
    """``path`` is the workspace's own address; each filter is a link to it."""
    chosen = visit.query.get("kind", "")
    older = f"{path}?kind={chosen}&history={page.next_cursor}#{HISTORY}" if page.next_cursor else None
    return h.section(f"#{HISTORY}.history", tabindex="-1")[
        h.h2["What happened"],
        h.nav(".chips", aria_label="Kinds of events")[
            (
                _link(visit, f"{path}?kind={kinds}#{HISTORY}", name, is_current=kinds == chosen)
                for name, kinds in FILTERS.items()
            )
        ],
        h.ol(".days")[_days(page.data)] if page.data else h.p["Nothing of this kind happened."],
        h.p[_link(visit, older, "Older events", is_current=False, key="[")] if older is not None else None,
    ]


def _link(visit: Visit, to: str, name: str, *, is_current: bool, key: str | None = None) -> h.Element:
    attributes = visit.hx(get=to.partition("#")[0], target=f"#{HISTORY}", swap="outerHTML")
    return h.a(attributes, href=to, aria_current="true" if is_current else None, data_key=key)[name]


def _days(rows: Sequence[TimelineEntry]) -> Iterable[h.Element]:
    """A day has its rows; days without any between two of them are said."""
    later: int | None = None
    for day, of_day in groupby(rows, lambda each: each.at[:10]):
        number = written_instant(f"{day}T00:00:00.000Z") // DAY_US
        empty = 0 if later is None else later - number - 1
        if empty > 0:
            yield h.li(".gap")[f"{count(empty, 'day')} without anything"]
        later = number
        yield h.li[h.h3[h.time(datetime=day)[day]], h.ol[(_row(each) for each in of_day)]]


def _row(row: TimelineEntry) -> h.Element:
    return h.li(class_=f"event {row.kind.value}")[
        h.time(datetime=row.at, title=row.at)[row.at[11:16]],
        h.span(".sign", title=row.kind.value)[_SIGNS[row.kind.value]],
        h.span[outsider(row.sentence)],
    ]
