"""Applications without services, kept for the next test: building the routes costs more than most tests do."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

from litestar import Litestar
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.areas import PROVIDERS, ROUTES, http_app
from clearhold.api.console import app as composition
from clearhold.api.console.app import console_app
from clearhold.api.http.gate import Gate
from clearhold.api.lists.handlers import SERVICES
from clearhold.api.openapi.document import document_of


class _GateOfTheDay(ASGIMiddleware):
    """Passes everything to the gate that it has at the moment."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, gate: ASGIMiddleware) -> None:
        self.gate = gate

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        await self.gate.handle(scope, receive, send, next_app)


_Shell = tuple[Litestar, _GateOfTheDay]

_idle: Final[list[_Shell]] = []
_idle_consoles: Final[list[_Shell]] = []


def lent_app(opened: ExitStack, services: Mapping[str, object], gate: Gate, *, base_url: str) -> Litestar:
    """The application of all routes over these services, until ``opened`` closes; always of the same ``base_url``."""
    if _idle:
        app, slot = _idle.pop()
        app.state[SERVICES], slot.gate = services, gate
    else:
        slot = _GateOfTheDay(gate)
        app = http_app(ROUTES, services, gate=slot, base_url=base_url)
    opened.callback(_idle.append, (app, slot))
    return app


def lent_console(opened: ExitStack, guard: ASGIMiddleware) -> Litestar:
    """The application of the console's pages behind this guard, until ``opened`` closes."""
    if _idle_consoles:
        app, slot = _idle_consoles.pop()
        slot.gate = guard
    else:
        slot = _GateOfTheDay(guard)
        app = console_app(slot)
    opened.callback(_idle_consoles.append, (app, slot))
    return app


def built_before(base_url: str = "http://127.0.0.1") -> None:
    """Keep an application of each kind for the service that a fork of this process becomes."""
    with ExitStack() as opened:
        lent_app(opened, dict.fromkeys(PROVIDERS), _Closed(), base_url=base_url)
        lent_console(opened, _Closed())


class _Closed(Gate):
    """Before there is a service."""

    def __init__(self) -> None:
        pass


def taken_by_the_service() -> None:
    """This process becomes a service, whose applications are those of ``built_before``."""

    def api(_routes: object, services: Mapping[str, object], *, gate: Gate, base_url: str) -> Litestar:
        app = lent_app(_until_the_end, services, gate, base_url=base_url)
        app.state.openapi = document_of(app, base_url=base_url)
        return app

    def console(guard: ASGIMiddleware) -> Litestar:
        return lent_console(_until_the_end, guard)

    vars(composition).update(http_app=api, console_app=console)


_until_the_end: Final = ExitStack()
