"""Values as people read them: money, time left, bands as a shape with a word, and texts of outsiders.

Unit    instants are microseconds since 1970 in UTC; money is integer cents, in a string of digits
"""

from collections.abc import Mapping
from typing import Final

import htpy as h

from clearhold.api.html.outsiders import runs
from clearhold.features.core.instants import DAY_US, HOUR_US, MINUTE_US, written_instant
from clearhold.features.core.vocabulary import Band

SHAPES: Final[Mapping[Band, str]] = {Band.HOLD: "■", Band.REVIEW: "▲", Band.CLEAR: "●", Band.UNSCORED: "○"}
NO_VALUE: Final = "\N{EN DASH}"
NAME_LETTERS: Final = 120
SENTENCE_LETTERS: Final = 400
PROSE_LETTERS: Final = 600
_CENTS: Final = 100


def money(cents: str | int, currency: str | None = "USD") -> str:
    """``"3188539"`` as 31,885.39 USD."""
    amount = int(cents)
    whole, rest = divmod(abs(amount), _CENTS)
    return f"{'-' if amount < 0 else ''}{whole:,}.{rest:02d} {currency or ''}".rstrip()


def band_mark(band: Band | None, score: int | None) -> h.Element:
    """The band by shape, word and points; colour is never alone."""
    return _band(band or Band.UNSCORED, f" {NO_VALUE if score is None else score}")


def band_name(band: Band | None) -> h.Element:
    """The band by shape and word, where its points are not known."""
    return _band(band or Band.UNSCORED, None)


def _band(band: Band, points: str | None) -> h.Element:
    return h.span(f".band.{band.value}")[h.span(aria_hidden="true")[SHAPES[band]], h.span(".word")[band.value], points]


def time_left(due_at: str | None, now: int) -> str:
    """Time until a moment, as ``4h 12m``; ``late 2h 05m`` after it."""
    if due_at is None:
        return "no clock"
    left = written_instant(due_at) - now
    return span(left) if left >= 0 else f"late {span(-left)}"


def span(us: int) -> str:
    """A length of time with its two largest units."""
    if us >= DAY_US:
        return f"{us // DAY_US}d {us % DAY_US // HOUR_US}h"
    if us >= HOUR_US:
        return f"{us // HOUR_US}h {us % HOUR_US // MINUTE_US:02d}m"
    return f"{us // MINUTE_US}m"


def moment(at: str | None) -> h.Node:
    """An instant of the record, to the minute; the whole of it in the title."""
    if at is None:
        return NO_VALUE
    return h.time(datetime=at, title=at)[f"{at[:10]} {at[11:16]}"]


def cut(text: str, most: int) -> str:
    """The text with at most ``most`` letters; the last is an ellipsis where some are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def outsider(text: str | None, missing: str = "", *, most: int | None = NAME_LETTERS) -> h.Element:
    """A text that outsiders wrote: each letter that shows nothing, or turns the others round, as a mark.

    It is cut at ``most`` letters, which suits a name within a link or a line; None shows the whole.
    """
    inner = cut(text, most) if text and most is not None else text
    if not inner or (inner.isascii() and inner.isprintable()):
        return h.bdi[inner or missing]
    return h.bdi[(_run(visible, code) for visible, code in runs(inner))]


def outsider_prose(text: str | None, missing: str = "", *, most: int = PROSE_LETTERS) -> h.Node:
    """The same for sentences, where a block may stand: a long text is cut, and the whole of it is folded below."""
    begin = outsider(text, missing, most=most)
    if not text or len(text) <= most:
        return begin
    return (
        begin,
        h.details(".whole")[
            h.summary[f"All {len(text):,} characters"],
            h.div(".prose", tabindex="0", role="region", aria_label="The whole text")[outsider(text, most=None)],
        ],
    )


def _run(text: str, code: str | None) -> h.Node:
    return text if code is None else h.span(".invisible", title="a letter that shows nothing")[code]


def marked(text: str) -> str:
    """A text of outsiders for a place without elements: each letter that shows nothing as a mark."""
    return "".join(visible if code is None else code for visible, code in runs(text))


def key(name: str) -> h.Element:
    """A key within a sentence."""
    return h.kbd[name]


def hint(*names: str) -> h.Element:
    """The keys of a control, which tells them to readers of screens by its ``aria-keyshortcuts``."""
    return h.span(".keys", aria_hidden="true")[((" ", h.kbd[each]) for each in names)]


def count(number: int, one: str, several: str | None = None) -> str:
    """``1 alert``, ``27 alerts``."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"
