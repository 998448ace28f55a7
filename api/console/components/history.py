"""What happened, the newest first: money, bands, alerts, decisions, actions and labels, with a mark for each day."""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.console.components.timeline import timeline
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
    return h.section(f"#{HISTORY}.history", tabindex="-1")[
        h.h2["What happened"],
        h.nav(".chips", aria_label="Kinds of events")[
            (
                _link(visit, f"{path}?kind={kinds}#{HISTORY}", name, is_current=kinds == chosen)
                for name, kinds in FILTERS.items()
            )
        ],
        timeline(page.data),
        h.p[_link(visit, older, "Older events", is_current=False, key="[")] if older is not None else None,
    ]


def _link(visit: Visit, to: str, name: str, *, is_current: bool, key: str | None = None) -> h.Element:
    attributes = visit.hx(get=to.partition("#")[0], target=f"#{HISTORY}", swap="outerHTML")
    return h.a(attributes, href=to, aria_current="true" if is_current else None, data_key=key)[name]
