"""Where a person goes on after signing in: a page of the console, and nowhere else."""

import re
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from clearhold.api.http.envelope import header_values

SIGN_IN: Final = "/console/sign-in"
ENTRANCES: Final = (SIGN_IN, "/console/openid/")
"""Paths of pages that begin a session."""

HOME: Final = "/console/today"
INVITATION: Final = "/console/invitation"

_OWN: Final = re.compile(r"/console/[A-Za-z0-9._~%@:+,;=/-]{1,512}(\?[\x21-\x7E]{0,1024})?", re.ASCII)
START: Final = "/console/start"
"""Where a link that signs in leads."""

_NO_PAGES: Final = (*ENTRANCES, INVITATION, START, "/console/sign-out", "/console/static/")
_DOTS: Final = frozenset({".", ".."})


def way_back(wanted: str) -> str:
    """The page that was wanted, if it is one of the console; else the first page."""
    return wanted if is_own_page(wanted) else HOME


def is_own_page(wanted: str) -> bool:
    """Whether this is a path of the console, without segments that lead out of it."""
    if not _OWN.fullmatch(wanted) or wanted.startswith(_NO_PAGES):
        return False
    return not _DOTS & set(unquote(wanted.partition("?")[0]).replace("\\", "/").split("/"))


def sign_in_for(scope: Any) -> str:
    """The sign-in page, which leads back to the page of this request: for a part, to the page around it."""
    sent = scope["query_string"]
    own = scope["path"] + (f"?{sent.decode('ascii', 'replace')}" if sent else "")
    return f"{SIGN_IN}?next={quote(_page_around(scope) or own, safe='')}"


def _page_around(scope: Any) -> str | None:
    """The path of the page around a part, as htmx names it; None without one, or for an unreadable address."""
    sent = header_values(scope, b"hx-current-url")
    try:
        parts = urlsplit(sent[0].decode("ascii", "replace")) if sent else None
    except ValueError:
        return None
    return None if parts is None else parts.path + (f"?{parts.query}" if parts.query else "")
