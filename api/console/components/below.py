"""A link whose page a script puts below it, as a part of the page that is open."""

import htpy as h

from clearhold.api.console.visit import Visit


def link_below(visit: Visit, address: str, part: str, words: str) -> h.Node:
    """``part`` is the id of the place below; without scripts the link leads to the page."""
    return (
        h.p[h.a(visit.hx(get=address, target=f"#{part}", swap="innerHTML"), href=address)[words]],
        h.div(f"#{part}"),
    )


def part_heading(words: str) -> h.Element:
    """The heading of such a part. The focus goes there, so a screen reader reads it, and not the whole part."""
    return h.h3(tabindex="-1", autofocus=True)[words]
