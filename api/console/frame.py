"""The frame of every page: head, navigation, footer; and the headers of every answer."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import htpy as h
import msgspec
from rjsmin import jsmin

from clearhold.api.console.components.proposal import PREFLIGHTS
from clearhold.api.console.components.quality import QUALITY
from clearhold.api.console.components.record import RECORD
from clearhold.api.console.components.rules import RULES
from clearhold.api.console.components.settings import PEOPLE, SETTINGS
from clearhold.api.console.components.words import cut, hint, marked
from clearhold.api.console.pages.session import warning
from clearhold.api.console.visit import Visit
from clearhold.api.html.page import document
from clearhold.features.core.principal import KeyScope, Principal

STATIC: Final = Path(__file__).parent / "static"
STATIC_PATH: Final = "/console/static"
MEDIA_TYPES: Final[Mapping[str, str]] = {".css": "text/css", ".js": "text/javascript"}
TITLE_LETTERS: Final = 60
_DIGEST_LETTERS: Final = 12

SHEET: Final = "console.css"
FILES: Final[Mapping[str, bytes]] = {
    **{path.name: path.read_bytes() for path in sorted((STATIC / "vendor").glob("*.js"))},
    **{path.name: jsmin(path.read_text(encoding="utf-8")).encode() for path in sorted(STATIC.glob("*.js"))},
    SHEET: b"".join(path.read_bytes() for path in sorted((STATIC / "css").glob("*.css"))),
}
"""The files that pages refer to, by name: scripts, own ones without comments and indents, and one sheet, which is made
of the sheets in ``static/css``.
"""

_DIGEST: Final = sha256(b"".join(each for _, each in sorted(FILES.items()))).hexdigest()[:_DIGEST_LETTERS]


def address_of(name: str) -> str:
    """The address of a file, with a digest of all of them: a script finds the modules that it imports beside it."""
    return f"{STATIC_PATH}/{_DIGEST}/{name}"


HTMX: Final = "htmx-4.0.1.min.js"
HTMX_CSP: Final = "hx-csp-4.0.1.min.js"
EARLY: Final = "early.js"
SCRIPT: Final = "console.js"
_MOVES: Final[Mapping[str, str]] = {"j": "next", "k": "previous", "o": "open", "x": "take out of the stack"}
_HTMX_CONFIG: Final = msgspec.json.encode(
    {"extensions": "hx-csp", "history": False, "transitions": False, "includeIndicatorCSS": False}
).decode()


class NavigationEntry(NamedTuple):
    """An entry of the navigation; ``key`` goes there after ``g``; a key's session needs ``scope``, if it is set."""

    name: str
    path: str
    key: str
    scope: KeyScope | None


PLACES: Final = (
    NavigationEntry("Today", "/console/today", "t", KeyScope.REPORTS),
    NavigationEntry("Queue", "/console/queue", "q", KeyScope.ALERTS_READ),
    NavigationEntry("Approvals", "/console/approvals", "a", KeyScope.ACTIONS),
    NavigationEntry("Programs", "/console/programs", "p", KeyScope.REPORTS),
    NavigationEntry("Pre-flight", PREFLIGHTS, "f", KeyScope.PREFLIGHT),
    NavigationEntry("Quality", QUALITY, "m", KeyScope.REPORTS),
    NavigationEntry("Rules", RULES, "u", KeyScope.RULES),
    NavigationEntry("Record", RECORD, "r", KeyScope.RECORD),
    NavigationEntry("Settings", SETTINGS, "s", None),
)


def places_of(principal: Principal) -> list[NavigationEntry]:
    return [place for place in PLACES if place.scope is None or principal.has_scope(place.scope)]


def policy_of(nonce: str) -> str:
    """The Content-Security-Policy of an answer: own files alone, no inline script or style, HTML by htmx alone."""
    return (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types htmx"
    )


def headers_of(nonce: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy_of(nonce),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Frame-Options": "DENY",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Vary": "HX-Request, HX-Target, Cookie",
    }


def framed(visit: Visit, title: str, content: h.Node) -> h.Element:
    """The whole page, for a person who is signed in."""
    if visit.who is None:
        return plain_page(visit.nonce, title, content)
    return plain_page(visit.nonce, title, content, top=_header(visit), end=(_footer(visit), warning(visit)))


def plain_page(nonce: str, title: str, content: h.Node, *, top: h.Node = None, end: h.Node = None) -> h.Element:
    head = (
        h.title[f"{cut(marked(title[: 2 * TITLE_LETTERS]), TITLE_LETTERS)} · Clearhold"],
        h.meta(name="htmx-config", content=_HTMX_CONFIG),
        h.link(rel="icon", href="data:,"),
        h.link(rel="stylesheet", href=address_of(SHEET)),
        h.script(src=address_of(EARLY), nonce=nonce),
        h.script(src=address_of(HTMX), nonce=nonce, defer=True),
        h.script(src=address_of(HTMX_CSP), nonce=nonce, defer=True),
        h.script(src=address_of(SCRIPT), nonce=nonce, type="module"),
    )
    body = (
        h.a(".skip", href="#main")["Skip to the content"],
        top if top is not None else h.header(".gate")["Clearhold"],
        h.main("#main", tabindex="-1")[content],
        h.div("#status.hidden", role="status", aria_live="polite"),
        h.div("#sending.sending", role="status"),
        end,
    )
    return document(head, body)


def _footer(visit: Visit) -> h.Element:
    """The main keys, each as a button or a link; the moves where there are stacks."""
    has_stacks = visit.path.startswith(("/console/queue", "/console/stacks/"))
    return h.footer(".foot")[
        h.div(".moves")[
            (
                h.button(type="button", data_press=letter, aria_keyshortcuts=letter)[hint(letter), f" {words}"]
                for letter, words in _MOVES.items()
            )
        ]
        if has_stacks
        else None,
        h.div(".sheets")[
            h.a(href="/console/commands", data_opens="commands", aria_keyshortcuts="Control+K")[
                hint("Ctrl", "K"), " commands"
            ],
            h.a(href="/console/keys", data_opens="keys-sheet", aria_keyshortcuts="?")[hint("?"), " all keys"],
        ],
    ]


def _header(visit: Visit) -> h.Element:
    return h.header(".top")[
        h.a(".brand", href="/console/today")["Clearhold"],
        h.nav(aria_label="Main")[
            h.ul[
                (
                    h.li[
                        h.a(
                            href=place.path,
                            aria_current="page" if _is_present(visit.path, place) else None,
                            data_key=place.key,
                        )[place.name]
                    ]
                    for place in places_of(visit.principal)
                )
            ]
        ],
        _search() if visit.principal.has_scope(KeyScope.ALERTS_READ) else None,
        h.span("#live.light")["not live"],
        h.span(".zone")["UTC"],
        h.a(".name", href=PEOPLE, title="People and sessions")[h.bdi[visit.signed_in.session.name]],
        visit.form_of("/console/sign-out", h.button(".plain", type="submit")["Sign out"]),
    ]


def _is_present(path: str, place: NavigationEntry) -> bool:
    """People and sessions are a section of the settings, under the address that they always had."""
    return path.startswith(place.path) or (place.path == SETTINGS and path.startswith(PEOPLE))


def _search() -> h.Element:
    return h.form(class_="search", action="/console/search", method="get", role="search")[
        h.input("#search", type="search", name="q", aria_label="Search", placeholder="Search id, name, amount")
    ]
