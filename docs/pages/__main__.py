"""Writes the generated pages of ``docs/``: ``python -m docs.pages FOLDER``, which ``make docs`` runs.

A test holds each committed page equal to the page that is built here.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from clearhold.api.areas import openapi_text
from docs.pages import detectors, errors, events, features, kris, policies, reasons, rules, sandbox

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "detectors.md": detectors.markdown,
    "errors.md": errors.markdown,
    "events.md": events.markdown,
    "features.md": features.markdown,
    "kris.md": kris.markdown,
    "openapi-admin.json": partial(openapi_text, administration=True),
    "openapi.json": openapi_text,
    "policies.md": policies.markdown,
    "reasons.md": reasons.markdown,
    "rules.md": rules.markdown,
    "sandbox.md": sandbox.markdown,
}


def write_pages(folder: Path) -> None:
    """Write all pages into a folder."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
