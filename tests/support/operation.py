"""What an operation of the service is: who may call it, what it names, a call that is right."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import msgspec

from tests.support.callers import Ids, World


class Access(StrEnum):
    """Who may call, in the letters of the route table."""

    PUBLIC = "P"
    SIGNATURE = "S"
    BEARER = "B"
    BEARER_ALONE = "T"
    OPERATOR = "O"
    OWNER = "W"
    ADMIN = "A"


class Place(StrEnum):
    PATH = "path"
    QUERY = "query"
    BODY = "body"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One way to call one route; ``path`` has ``{}`` for each id, filled with ``fills`` in order."""

    method: str
    path: str
    access: Access
    success: int = 200
    scope: str | None = None
    fills: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()  # parameter, and the id that it takes
    body: Callable[[World, Ids], dict[str, Any]] | None = None
    body_ids: tuple[str, ...] = ()
    names: str = ""
    body_optional: bool = False
    needs_person: bool = False  # a key that names nobody is refused
    tenant_wide: bool = False  # what it names belongs to no program
    whole_tenant: bool = False  # not for keys of one program, nor for test keys
    sandbox: bool = False  # for test keys, on the simulated program
    asks: str = ""  # a query that needs no id
    sends: tuple[tuple[str, str], ...] = ()  # further headers
    template: str = ""  # the route's path, where this one fills more than ids into it

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}{' naming ' + self.names if self.names else ''}"

    @property
    def route(self) -> tuple[str, str]:
        return self.method, self.template or self.path

    @property
    def ids(self) -> list[tuple[str, Place]]:
        """Every id that the call names, and where."""
        return [
            *((name, Place.PATH) for name in self.fills),
            *((name, Place.QUERY) for _, name in self.query),
            *((name, Place.BODY) for name in self.body_ids),
        ]

    def url(self, ids: Ids) -> str:
        url = self.path.format(*(ids[name] for name in self.fills))
        named = [f"{parameter}={ids[name]}" for parameter, name in self.query]
        asked = "&".join([*named, self.asks] if self.asks else named)
        return f"{url}{'&' if '?' in url else '?'}{asked}" if asked else url
