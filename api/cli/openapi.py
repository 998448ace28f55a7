"""``clearhold openapi``: the OpenAPI document of this version, on standard output."""

from typing import Annotated, Final

import msgspec
import typer

from clearhold.api.areas import PROVIDERS, ROUTES
from clearhold.api.http_app import routes_document

LOCAL_URL: Final = "http://127.0.0.1:8080"


def openapi(
    *,
    admin: Annotated[bool, typer.Option("--admin", help="The document of the administrative routes instead.")] = False,
) -> None:
    """Print the OpenAPI document of this version, as served at /openapi.json."""
    print(openapi_text(administration=admin), end="")


def openapi_text(*, administration: bool = False) -> str:
    """The OpenAPI document of this version, public or administrative, as text."""
    document = routes_document(ROUTES, PROVIDERS, base_url=LOCAL_URL, administration=administration)
    return msgspec.json.format(document, indent=2).decode() + "\n"
