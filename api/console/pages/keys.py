"""The keys of the console, and its commands: two pages, which scripts open as dialogs."""

from collections.abc import Sequence
from typing import Final

import htpy as h

from clearhold.api.console.components.settings import sections_of
from clearhold.api.console.frame import places_of
from clearhold.api.console.visit import Answer, HtmlAnswer, Visit

_MOVES: Final = (
    (("j", "k"), "next, previous stack; also the arrows"),
    (("Enter", "o"), "open the stack"),
    (("u", "Esc"), "back"),
    ((".",), "show new stacks"),
    (("x",), "take an alert out of the stack"),
    (("[", "]"), "older, newer in the timeline"),
    (("1",), "first section of the workspace, and so on to 7"),
)
_DECIDES: Final = (
    (("h",), "choose hold"),
    (("e",), "choose escalate"),
    (("c",), "choose close"),
    (("r",), "choose release"),
    (("n",), "choose no action"),
    (("d",), "the draft side by side"),
    (("w",), "how it would have cleared"),
    (("v",), "verify"),
    (("Ctrl", "Enter"), "sign, and open the next stack"),
    (("z",), "take a signature back, within 5 seconds"),
)
_ANYWHERE: Final = (
    (("/",), "search"),
    (("Ctrl", "K"), "commands"),
    (("?",), "this sheet"),
)
_COMMANDS: Final = (
    ("Queue: late stacks", "/console/queue?overdue=true"),
    ("Queue: band hold", "/console/queue?band=hold"),
    ("Queue: most money held", "/console/queue?sort=heldCents"),
    ("Queue: most alerts", "/console/queue?sort=size"),
    ("Queue: escalated", "/console/queue?status=escalated"),
    ("Queue: without history", "/console/queue?fromHistory=false"),
    ("Queue: as a table", "/console/queue?view=table"),
    ("Keys", "/console/keys"),
)
_PRESSES: Final = (
    ("Show new stacks", "."),
    ("Draft side by side", "d"),
    ("How it would have cleared", "w"),
    ("Verify", "v"),
)


async def show_keys(visit: Visit) -> Answer:
    goes = [(("g", letter), name) for name, _, letter, _ in places_of(visit.principal)]
    is_dialog = visit.target is not None
    heading, part = (h.h2, h.h3) if is_dialog else (h.h1, h.h2)
    content = h.div(class_=None if is_dialog else "sheet")[
        h.header[
            heading["Keys"],
            h.button(".plain", type="button", data_close=True)["Close ", h.kbd["Esc"]] if is_dialog else None,
        ],
        h.label(".tick")[
            h.input("#single-keys", type="checkbox", checked=True, disabled=True), " Single keys act in this browser"
        ],
        h.p(".small")["A letter moves, opens or chooses, and never signs. No key acts while you type."],
        part["Stacks"],
        _list(_MOVES),
        part["Decision"],
        _list(_DECIDES),
        part["Go to"],
        _list(goes),
        part["Anywhere"],
        _list(_ANYWHERE),
    ]
    return HtmlAnswer("Keys", content)


def _list(entries: Sequence[tuple[Sequence[str], str]]) -> h.Element:
    return h.dl[((h.dt[((h.kbd[each], " ") for each in keys)], h.dd[words]) for keys, words in entries)]


async def show_commands(visit: Visit) -> Answer:
    """Links and keys by name. Without scripts it is a page of links."""
    is_dialog = visit.target is not None
    content = h.div(class_=None if is_dialog else "commands")[
        h.h1["Commands"] if not is_dialog else None,
        h.input("#command", type="search", aria_label="Command", placeholder="Type a command", autocomplete="off")
        if is_dialog
        else None,
        h.p(".hidden", role="status") if is_dialog else None,
        h.ul[
            (
                h.li[h.a(href=path)[name, h.span(aria_hidden="true")[h.kbd["g"], " ", h.kbd[letter]]]]
                for name, path, letter, _ in places_of(visit.principal)
            ),
            (h.li[h.a(href=path)[words]] for words, path in _COMMANDS),
            (h.li[h.a(href=each.path)[f"Settings: {each.name}"]] for each in sections_of(visit.principal)),
            (
                (
                    h.li[h.button(type="button", data_press=letter)[words, h.span(aria_hidden="true")[h.kbd[letter]]]]
                    for words, letter in _PRESSES
                )
                if is_dialog
                else None
            ),
        ],
    ]
    return HtmlAnswer("Commands", content)
