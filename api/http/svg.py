"""Parts of inline SVG figures, and the figure itself with its title and words for whoever cannot see it.

Unit    lengths are those of the frame, which the page scales with its text; one digit behind the point is kept
"""

from collections.abc import Sequence

from clearhold.api.http.html import Html, joined, node


def figure(
    name: str,
    title: str,
    words: Sequence[str],
    *,
    width: float,
    height: float,
    parts: Sequence[Html],
    below: Html | None = None,
) -> Html:
    """``name`` begins the ids of title and words."""
    svg = node(
        "svg",
        node("title", title, id=f"{name}-title"),
        node("desc", f"{'; '.join(words) or 'nothing'}.", id=f"{name}-words"),
        joined(parts),
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-words",
    )
    return node("figure", node("figcaption", title), svg, *(() if below is None else (below,)))


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Html:
    return node("line", x1=number(x1), y1=number(y1), x2=number(x2), y2=number(y2), class_=style)


def text(x: float, y: float, words: str, style: str, anchor: str) -> Html:
    return node("text", words, x=number(x), y=number(y), text_anchor=anchor, class_=style)


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
