"""Writes the generated pages of ``docs/``: ``python -m clearhold.api.cli.docs FOLDER``, which ``make docs`` runs.

Each page is built by the room that it describes; a test per page holds the committed file equal to what is built.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from clearhold.api.areas import PROVIDERS, ROUTES
from clearhold.api.http_app import routes_document
from clearhold.api.openapi import errors_page
from clearhold.features.bank import docs_page as events_page
from clearhold.features.catalogue import docs_page as features_page
from clearhold.features.detectors import docs_page as detectors_page
from clearhold.features.kris import docs_page as kris_page
from clearhold.features.policy import docs_page as policies_page
from clearhold.features.rules import docs_page as rules_page
from clearhold.features.sandbox import docs_page as sandbox_page
from clearhold.features.scorers import docs_page as reasons_page

LOCAL_URL: Final = "http://127.0.0.1:8080"


def openapi_text(*, administration: bool = False) -> str:
    """The OpenAPI document of this version, as it is served here at /openapi.json, or the administration's."""
    document = routes_document(ROUTES, PROVIDERS, base_url=LOCAL_URL, administration=administration)
    return msgspec.json.format(document, indent=2).decode() + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "detectors.md": detectors_page.markdown,
    "errors.md": errors_page.markdown,
    "events.md": events_page.markdown,
    "features.md": features_page.markdown,
    "kris.md": kris_page.markdown,
    "openapi-admin.json": partial(openapi_text, administration=True),
    "openapi.json": openapi_text,
    "policies.md": policies_page.markdown,
    "reasons.md": reasons_page.markdown,
    "rules.md": rules_page.markdown,
    "sandbox.md": sandbox_page.markdown,
}


def write_pages(folder: Path) -> None:
    for name, page in PAGES.items():
        (folder / name).write_text(page(), "utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
