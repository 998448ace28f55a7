"""What happened, the newest first: money, bands, alerts, decisions, actions and labels, with a mark for each day."""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.timeline import timeline
from clearhold.api.console.components.words import hint
from clearhold.api.console.visit import Visit
from clearhold.api.timeline.routes import TimelinePage

HISTORY: Final = "history"
FILTERS: Final[Mapping[str, str]] = {
    "All": "",
    "Money": "money",
    "Score": "score",
    "Alerts": "alert",
    "People": "decision,action,label,note,assigned",
}


def history(visit: Visit, path: str, page: TimelinePage) -> h.Element:
    """``path`` is the workspace's own address; each filter is a link to it."""
    chosen = visit.query.get("kind", "")
    older = f"{path}?kind={chosen}&history={page.next_cursor}#{HISTORY}" if page.next_cursor else None
    newest = f"{path}?kind={chosen}#{HISTORY}" if visit.query.get("history") else None
    return h.section(f"#{HISTORY}.history", tabindex="-1")[
        h.h2["What happened"],
        h.nav(".chips", aria_label="Kinds of events")[
            (
                _link(visit, f"{path}?kind={kinds}#{HISTORY}", name, is_current=kinds == chosen)
                for name, kinds in FILTERS.items()
            )
        ],
        timeline(page.data),
        h.p(".pages")[
            _link(visit, newest, "Newest events", is_current=False, letter="]") if newest is not None else None,
            _link(visit, older, "Older events", is_current=False, letter="[") if older is not None else None,
        ]
        if newest is not None or older is not None
        else None,
    ]


def _link(visit: Visit, to: str, name: str, *, is_current: bool, letter: str | None = None) -> h.Element:
    attributes = visit.hx(get=to.partition("#")[0], target=f"#{HISTORY}", swap="outerHTML")
    return h.a(
        attributes, href=to, aria_current="true" if is_current else None, data_key=letter, aria_keyshortcuts=letter
    )[name, hint(letter) if letter is not None else None]
