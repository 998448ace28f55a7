"""The time that is left of the session, for the warning before its end."""

from typing import Final

import htpy as h

from clearhold.api.console.visit import Answer, HtmlAnswer, Visit
from clearhold.api.console.way_back import SIGN_IN
from clearhold.features.core.instants import SECOND_US

PATH: Final = "/console/session"
LEFT: Final = "Session-Left"
"""The header with the seconds until the session's end without a further request."""
MORE: Final = "Session-More"
"""The header with the seconds that a request now could add at most."""


async def show(visit: Visit) -> Answer:
    return HtmlAnswer("Session", None, headers={LEFT: str(_left_s(visit)), MORE: str(_more_s(visit))})


def warning(visit: Visit) -> h.Element:
    """The dialog before the session's end, which ``session.js`` opens."""
    return h.dialog(
        "#session-end",
        aria_labelledby="session-end-title",
        aria_describedby="session-end-words",
        data_left=str(_left_s(visit)),
        data_more=str(_more_s(visit)),
    )[
        h.h2("#session-end-title")["Your session ends soon"],
        h.p("#session-end-words", role="status"),
        h.p[
            h.button("#session-stay.main", type="button", autofocus=True)["Stay signed in"],
            h.a("#session-again.button", href=SIGN_IN, hidden=True)["Sign in again"],
        ],
    ]


def _left_s(visit: Visit) -> int:
    return max(0, (visit.signed_in.session.ends_at() - visit.now) // SECOND_US)


def _more_s(visit: Visit) -> int:
    session = visit.signed_in.session
    return max(0, (session.last_end() - session.ends_at()) // SECOND_US)
