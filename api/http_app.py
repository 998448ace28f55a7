"""The Litestar application: routes, the gate, the one error handler, the headers. It starts nothing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.di import Provide
from litestar.middleware import ASGIMiddleware
from litestar.types import ControllerRouterHandler

from clearhold.api.http.envelope import stamp_headers
from clearhold.api.http.errors import render_error
from clearhold.api.http.fast_route import SERVICES
from clearhold.api.http.paths import split_as_sent
from clearhold.api.openapi.document import document_of


def http_app(
    routes: Sequence[ControllerRouterHandler], services: Mapping[str, object], *, gate: ASGIMiddleware, base_url: str
) -> Litestar:
    """The application; its state holds the services by name, for handlers and fast routes."""
    app = Litestar(
        route_handlers=routes,
        dependencies={name: _service(name) for name in services},
        middleware=[gate],
        exception_handlers={Exception: render_error},
        before_send=[stamp_headers],
        openapi_config=None,
        logging_config=None,
        debug=False,
        state=State({SERVICES: services}),
    )
    app.state.openapi = document_of(app, base_url=base_url)
    app.asgi_handler = split_as_sent(app.asgi_handler)
    return app


def routes_document(
    routes: Sequence[ControllerRouterHandler],
    service_names: Iterable[str],
    *,
    base_url: str,
    administration: bool = False,
) -> bytes:
    """The OpenAPI document of the public or the administrative routes, without a running application."""
    named = {name: _service(name) for name in service_names}
    app = Litestar(route_handlers=routes, dependencies=named, openapi_config=None)
    return document_of(app, base_url=base_url, administration=administration)


def _service(name: str) -> Provide:
    """The service of this name in the handler's application."""

    def provide(request: Request[Any, Any, Any]) -> object:
        service: object = request.app.state[SERVICES][name]
        return service

    return Provide(provide, sync_to_thread=False)
