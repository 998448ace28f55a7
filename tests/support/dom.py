"""A page read as a browser reads it: its elements, balanced, and the text of each."""

from html.parser import HTMLParser
from typing import Any, Final

import msgspec

VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta"})


class DomElement(msgspec.Struct):
    tag: str
    attributes: dict[str, str | None]
    text: str = ""


class DomPage(HTMLParser):
    """Refuses a closing tag that closes nothing, and an element that stays open."""

    def __init__(self, markup: object) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[DomElement] = []
        self._open: list[DomElement] = []
        self.feed(str(markup).encode().decode())
        self.close()
        assert not self._open, f"left open: {[each.tag for each in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = DomElement(tag, dict(attrs))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for each in self._open:
            each.text += data

    def all(self, tag: str, **attributes: Any) -> list[DomElement]:
        """Those of a tag with these attributes; ``class_`` is one of the classes."""
        return [each for each in self.elements if each.tag == tag and _fits(each, attributes)]

    def one(self, tag: str, **attributes: Any) -> DomElement:
        (element,) = self.all(tag, **attributes)
        return element


def _fits(element: DomElement, attributes: dict[str, Any]) -> bool:
    classes = (element.attributes.get("class") or "").split()
    wanted = attributes.get("class_")
    others = {name: value for name, value in attributes.items() if name != "class_"}
    return (wanted is None or wanted in classes) and all(
        element.attributes.get(name.replace("_", "-")) == value for name, value in others.items()
    )
