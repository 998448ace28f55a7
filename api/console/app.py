"""The console: a second application beside the API: its routes, its guard, its errors as pages.

It is served by the same process under ``/console`` and calls the same services. Its routes are not in the OpenAPI
document: they are for browsers.
"""

import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import htpy as h
import structlog
from litestar import Litestar, Response
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.area import Resources, Stores
from clearhold.api.areas import ROUTES, Checks, http_app, services_of, wired_gate
from clearhold.api.console.frame import framed, headers_of, plain_page
from clearhold.api.console.guard import NONCE_BYTES, Guard, NotSignedInError
from clearhold.api.console.openid import OpenIdSignIn
from clearhold.api.console.pages import sign_in
from clearhold.api.console.pages.errors import RefusalView, refused
from clearhold.api.console.passkeys import PasskeyDesk
from clearhold.api.console.presence import Presence
from clearhold.api.console.relying_party import RelyingParty
from clearhold.api.console.routes import CONSOLE_ROUTES
from clearhold.api.console.services import ConsoleServices
from clearhold.api.console.tries import SignInTries
from clearhold.api.console.visit import VISIT, Visit
from clearhold.api.console.way_back import sign_in_for
from clearhold.api.http.envelope import INTERNAL, ApiRequest, refusal_of, request_id, retry_headers, stamp_headers
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.head import split_as_sent
from clearhold.api.http.proxy_identity import TOKENS_ALONE, ConsoleIdentity
from clearhold.store.control.passkey_registry import PasskeyRegistry
from clearhold.store.invitations import Challenges, Invitations
from clearhold.store.proven_persons import ProvenPersons
from clearhold.store.sessions import Sessions
from clearhold.store.start_links import StartLinks

ROOT: Final = "/console"

log = structlog.get_logger()


def application(
    resources: Resources,
    checks: Checks,
    *,
    base_url: str,
    identity: ConsoleIdentity = TOKENS_ALONE,
    openid: OpenIdSignIn | None = None,
) -> ASGIApp:
    """The API and the console, with the same services."""
    services, stores = services_of(resources), resources.stores
    api = http_app(ROUTES, services, gate=wired_gate(stores, checks), base_url=base_url)
    return beside(api, wired_console(stores, services, checks, identity, openid, base_url=base_url))


def wired_console(
    stores: Stores,
    services: Mapping[str, object],
    checks: Checks,
    identity: ConsoleIdentity = TOKENS_ALONE,
    openid: OpenIdSignIn | None = None,
    *,
    base_url: str,
    guarded: Callable[[ASGIMiddleware], Litestar] | None = None,
) -> Litestar:
    """``services`` are those of the areas by name; ``guarded`` makes the application of a guard, as ``console_app``."""
    clock = stores.clock
    persons = ProvenPersons(stores.registry.tenancy, stores.hot, clock)
    of_areas = ConsoleServices.of(
        services,
        authenticator=checks.authenticator,
        sessions=Sessions(stores.hot, clock),
        start_links=StartLinks(stores.hot),
        tries=SignInTries(clock),
        identity=identity,
        openid=openid,
        presence=Presence(),
        passkeys=PasskeyDesk(
            RelyingParty.of(base_url),
            stores.registry.tenancy,
            PasskeyRegistry(stores.registry, clock=clock),
            Invitations(stores.hot, clock),
            Challenges(stores.hot, clock),
            persons,
        ),
        persons=persons,
    )
    return (guarded or console_app)(Guard(of_areas, checks.limits, checks.origins, clock))


def console_app(guard: ASGIMiddleware) -> Litestar:
    """The pages; each gets its services from the visit that ``guard`` has checked."""
    app = Litestar(
        route_handlers=CONSOLE_ROUTES,
        middleware=[guard],
        exception_handlers={Exception: render_error},
        before_send=[stamp_headers],
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    app.asgi_handler = split_as_sent(app.asgi_handler)
    return app


def beside(api: ASGIApp, console: ASGIApp) -> ASGIApp:
    """Both as one application: the console has all paths below ``/console``."""

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        await (console if path == ROOT or path.startswith(f"{ROOT}/") else api)(scope, receive, send)

    return handle


def render_error(request: ApiRequest, exc: Exception) -> Response[bytes]:
    """A failure as a page, or as a part of one: the sentence, the code, the id of the request."""
    scope: Any = request.scope
    visit: Visit | None = scope.get(VISIT)
    refusal = refusal_of(exc)
    status = ERRORS[refusal.code].status
    if refusal is INTERNAL:
        log.error("request_failed", request_id=request_id(scope), status=status, exc_info=exc)
    is_part = visit is not None and visit.target is not None
    nonce = secrets.token_urlsafe(NONCE_BYTES) if visit is None else visit.nonce
    headers = headers_of(nonce) | retry_headers(refusal)
    if isinstance(exc, NotSignedInError) and visit is not None and not is_part:
        if not visit.form:
            headers |= {"Location": sign_in_for(scope)}
            return Response(b"", status_code=HTTPStatus.SEE_OTHER, headers=headers)
        page = plain_page(nonce, "Sign in", sign_in.interrupted(visit))
        return Response(str(page).encode(), status_code=status, media_type="text/html", headers=headers)
    view = RefusalView(
        sentence=str(refusal), code=refusal.code, request_id=request_id(scope), sign_in=_sign_in_after(exc, scope)
    )
    page = refused(view, is_part=True) if is_part else _refusal_page(visit, nonce, view)
    return Response(str(page).encode(), status_code=status, media_type="text/html", headers=headers)


def _refusal_page(visit: Visit | None, nonce: str, view: RefusalView) -> h.Element:
    """In the frame of every page, for a person who is signed in."""
    return plain_page(nonce, "Refused", refused(view)) if visit is None else framed(visit, "Refused", refused(view))


def _sign_in_after(exc: Exception, scope: Any) -> str | None:
    """The sign-in page, for a part that was asked for without a session."""
    return sign_in_for(scope) if isinstance(exc, NotSignedInError) else None
