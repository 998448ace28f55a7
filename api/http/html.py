"""HTML by functions: everything that is not yet markup is escaped, so that no text becomes markup by mistake."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

_SPANS: Final = re.compile(r"``?([^`]+)``?|\*\*([^*]+)\*\*")


class Html(str):
    """Text that is markup."""

    __slots__ = ()


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Parts one after the other; plain text is escaped."""
    return Html(escape(between).join(part if isinstance(part, Html) else escape(part) for part in parts))


def node(name: str, *parts: str, **attributes: str) -> Html:
    """An element; an underscore in an attribute stands for a hyphen, a last one for nothing."""
    markup = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{markup}>{joined(parts)}</{name}>")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    """A table, or nothing when it has no rows."""
    lines = [node("tr", *(node("td", cell) for cell in row)) for row in rows]
    if not lines:
        return Html()
    head = node("tr", *(node("th", each, scope="col") for each in heads))
    return node("table", node("thead", head), node("tbody", *lines))


def prose(text: str) -> Html:
    """A line of Markdown, of which code and strong spans are known."""
    return joined(_spans(text))


def paragraphs(text: str) -> Html:
    """Lines of Markdown, parted by empty ones."""
    return joined(node("p", prose(each)) for each in text.split("\n\n") if each)


def _spans(text: str) -> Iterator[str]:
    end = 0
    for span in _SPANS.finditer(text):
        yield text[end : span.start()]
        yield node("code", span[1]) if span[1] else node("strong", span[2])
        end = span.end()
    yield text[end:]
