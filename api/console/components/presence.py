"""The places on a workspace that scripts fill: who else looks at the stack, and what happened since it was opened."""

from collections.abc import Sequence

import htpy as h

from clearhold.api.console.components.words import outsider
from clearhold.api.stacks.schemas import Stack


def presence_slot(stack: Stack) -> h.Element:
    """``#presence``: "bob@bank.example is looking at this too"."""
    return h.p("#presence.presence", data_stack=stack.id)


def opened_slot(stack: Stack) -> h.Element:
    """``#opened``: "3 transfers since you opened this", with a link that reads the workspace again."""
    return h.p("#opened.note.since-opened", hidden=True, data_subject=stack.who.id)[
        h.span(".words"), " · ", h.a(href=f"/console/stacks/{stack.id}")["show"]
    ]


def others(names: Sequence[str]) -> h.Node:
    """The names of the people who look at the same stack."""
    if not names:
        return None
    *first, last = (outsider(each) for each in names)
    listed: list[h.Node] = []
    for each in first:
        listed += [each, ", "] if each is not first[-1] else [each, " and "]
    return *listed, last, " is looking at this too" if len(names) == 1 else " are looking at this too"
