"""Paragraphs that a page puts together are wrapped like all prose."""

import textwrap
from typing import Final

_WIDTH: Final = 120


def paragraph(text: str, indent: str = "") -> str:
    """A paragraph of a page; its lines after the first are indented."""
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
