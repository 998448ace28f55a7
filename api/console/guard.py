"""The checks of every request to the console, in their order; the first failure is the answer.

host 403 ─▶ body size 413 ─▶ a write: same origin 403 ─▶ session: the sign-in page, or 401 for a part ─▶ rate limit 429
─▶ a write: the session's token 403, not by a read-only session 403 ─▶ the page

A request with the header ``X-Unattended``, which scripts send without a person's doing, does not lengthen the session.

The console reads its cookie alone and never a bearer token, and the API reads bearer tokens alone and never a cookie.
So no page of another site can call either with a person's credentials.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.console.entry import BROWSER, COOKIE, LOGIN
from clearhold.api.console.openid import still_confirmed
from clearhold.api.console.services import ConsoleServices
from clearhold.api.console.visit import VISIT, SignedIn, Visit, principal_of
from clearhold.api.http.auth import OPERATORS_ONLY
from clearhold.api.http.body import BodyBudget, read_body
from clearhold.api.http.envelope import header_values
from clearhold.api.http.gate import PRINCIPAL
from clearhold.api.http.head import Origins, read_ids
from clearhold.api.http.limits import RateLimits
from clearhold.api.http.operation import RateClass
from clearhold.api.http.reading import READS_OF
from clearhold.features.core.errors import (
    ErrorCode,
    ForbiddenError,
    InvalidRequestError,
    UnauthorizedError,
    UnavailableError,
)
from clearhold.features.core.principal import Principal
from clearhold.store.clock import Clock
from clearhold.store.keys import token_digest

SCOPES: Final = "console.scopes"
"""The key in a route's ``opt`` of the scopes that an API key's session needs, as for routes of the interface."""

PUBLIC: Final = "console.public"
"""The key in a route's ``opt`` that lets requests through without a session."""

OPERATOR: Final = "console.operator"
"""The key in a route's ``opt`` that keeps sessions of API keys out, as routes of the interface for operators do."""

BACK_CHANNEL: Final = "console.back_channel"
"""The key in a route's ``opt`` that lets forms through which no browser sends; their content proves the sender."""

ENTRANCE: Final = "console.entrance"
"""The key in a route's ``opt`` that lets forms through without the token of a session: a session begins there."""

UNATTENDED: Final = b"x-unattended"
BODY_LIMIT: Final = 128 * 1024
MOST_FIELDS: Final = 500
NONCE_BYTES: Final = 16
NOT_SIGNED_IN: Final = "The session has ended. Sign in again."
CROSS_SITE: Final = "This form was not sent by a page of the console. Open the page again, and send it from there."
STALE_FORM: Final = "This form belongs to another session. Open the page again, and send it from there."
READ_ONLY: Final = "This session may read and not write. Sign in with the operator token or a person's token."
TOO_MANY_FIELDS: Final = f"A form or query has at most {MOST_FIELDS} fields."

_SAME_ORIGIN: Final = frozenset({b"same-origin"})
_OWN_STEPS: Final = _SAME_ORIGIN | {b"none"}
_OF_PROXIES: Final = (b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"via")
_READS: Final = frozenset({"GET", "HEAD"})


class NotSignedInError(UnauthorizedError):
    """A page needs a session."""

    def __init__(self) -> None:
        super().__init__(NOT_SIGNED_IN, ErrorCode.TOKEN_MISSING)


class Guard(ASGIMiddleware):
    scopes = (ScopeType.HTTP,)

    def __init__(self, services: ConsoleServices, limits: RateLimits, origins: Origins, clock: Clock) -> None:
        self._services, self._limits, self._origins, self._clock = services, limits, origins, clock
        self._bodies = BodyBudget()

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        self._origins.check_host(scope)
        read_ids(scope)
        is_public = bool(scope["route_handler"].opt.get(PUBLIC))
        reads = scope["method"] in _READS  # type: ignore[typeddict-item]  # this middleware is for HTTP alone
        raw = b"" if reads else await read_body(scope, receive, limit=BODY_LIMIT, budget=self._bodies)
        visit = self._visit(scope, raw)
        scope[VISIT] = visit  # type: ignore[typeddict-unknown-key]
        if not reads and not scope["route_handler"].opt.get(BACK_CHANNEL):
            _check_site(scope, self._origins)
        who = await self._signed_in(scope, visit.named)
        if who is None and not is_public:
            raise NotSignedInError
        if is_public:
            visit = msgspec.structs.replace(visit, caller=await self._caller(visit))
            scope[VISIT] = visit  # type: ignore[typeddict-unknown-key]
        if who is None:
            self._limits.take_for_address(scope, RateClass.CONSOLE, visit.caller)
        else:
            self._limits.take(scope, msgspec.structs.replace(who.principal, id=who.session.id), RateClass.CONSOLE)
            scope[PRINCIPAL] = who.principal  # type: ignore[typeddict-unknown-key]
            READS_OF.set(who.principal.tenant_id)
        if not reads:
            _check_write(scope, visit, who)
        if who is not None:
            _check_reach(scope["route_handler"].opt, who.principal)
        scope[VISIT] = msgspec.structs.replace(visit, who=who)  # type: ignore[typeddict-unknown-key]
        await next_app(scope, receive, send)

    def _visit(self, scope: Any, raw: bytes) -> Visit:
        target = header_values(scope, b"hx-target")
        is_part = header_values(scope, b"hx-request") == [b"true"]
        address = scope["client"][0] if scope["client"] else ""
        return Visit(
            services=self._services,
            who=None,
            params=scope["path_params"],
            query=_fields_of(scope["query_string"]),
            form=_fields_of(raw),
            path=scope["path"],
            nonce=secrets.token_urlsafe(NONCE_BYTES),
            target=_id_of(target) if is_part else None,
            address=address,
            caller=address,
            browser=cookie_of(scope, BROWSER),
            login=cookie_of(scope, LOGIN),
            named=self._services.identity.name_in(scope),
            is_here=_is_here(scope),
            now=self._clock.now(),
        )

    async def _caller(self, visit: Visit) -> str:
        """A browser that had a session counts by itself: behind a proxy, an outsider has the address of all others."""
        with suppress(UnavailableError):
            browser = visit.browser
            if browser is not None and await self._services.sessions.last_of_browser(browser) is not None:
                return f"browser {token_digest(browser)}"
        return visit.address

    async def _signed_in(self, scope: Any, named: str | None) -> SignedIn | None:
        """The session of the request's cookie, while it and its credential are valid."""
        secret = cookie_of(scope)
        in_use = not header_values(scope, UNATTENDED)
        session = None if secret is None else await self._services.sessions.of_secret(secret, in_use=in_use)
        if session is None or not self._services.identity.admits(session.signed_in_by, session.name, named):
            return None
        proven = self._services.authenticator.of_credential(session.tenant_id, session.signed_in_by, session.credential)
        if proven is None or not await still_confirmed(self._services.openid, session):
            await self._services.sessions.end(session)
            return None
        return SignedIn(session, principal_of(session, proven))


def _id_of(target: list[bytes]) -> str:
    """The id in ``section#preview``, as htmx names the element that an answer is for."""
    return target[0].decode("ascii", "replace").rpartition("#")[2] if target else ""


def cookie_of(scope: Any, name: str = COOKIE) -> str | None:
    """The secret in a cookie, that of the session; None without exactly one cookie of that name."""
    pairs = [
        pair.strip().partition("=")
        for header in header_values(scope, b"cookie")
        for pair in header.decode("latin-1").split(";")
    ]
    secrets_sent = [value for each, _, value in pairs if each == name]
    return (secrets_sent[0] or None) if len(secrets_sent) == 1 else None


def _is_here(scope: Any) -> bool:
    try:
        on_loopback = ip_address(scope["client"][0] if scope["client"] else "").is_loopback
    except ValueError:
        return False
    passed_on = any(header_values(scope, name) for name in _OF_PROXIES)
    return on_loopback and not passed_on and set(header_values(scope, b"sec-fetch-site")) <= _OWN_STEPS


def _check_site(scope: Any, known: Origins) -> None:
    """A form of another site writes nothing.

    Browsers say where a form comes from in Sec-Fetch-Site. Its Origin is ``null``, since pages send no referrer; it
    counts for a browser that says no site.
    """
    sites = set(header_values(scope, b"sec-fetch-site"))
    hosts = header_values(scope, b"host")
    origins = header_values(scope, b"origin")
    is_own = len(origins) == len(hosts) == 1 and known.is_of(origins[0], hosts[0])
    if sites - _SAME_ORIGIN or (not sites and not is_own):
        raise ForbiddenError(CROSS_SITE, ErrorCode.ORIGIN_REFUSED)


def _check_write(scope: Any, visit: Visit, who: SignedIn | None) -> None:
    """A form of another session, or of a session that may only read, writes nothing."""
    opt = scope["route_handler"].opt
    if who is None or opt.get(ENTRANCE):
        return
    if not compare_digest(visit.form.get("csrf", "").encode(), who.session.csrf.encode()):
        raise ForbiddenError(STALE_FORM, ErrorCode.ORIGIN_REFUSED)
    if who.is_read_only and not opt.get(PUBLIC):
        raise ForbiddenError(READ_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)


def _check_reach(opt: Mapping[str, Any], principal: Principal) -> None:
    """A session of an API key reads what the key may read by the interface."""
    if opt.get(OPERATOR) and principal.mode is not None:
        raise ForbiddenError(OPERATORS_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)
    for each in opt.get(SCOPES, ()):
        principal.require_scope(each)


def _fields_of(raw: bytes) -> dict[str, str]:
    """The fields of a query or form; of a repeated name, the values with commas between them."""
    fields: dict[str, str] = {}
    try:
        pairs = parse_qsl(raw.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise InvalidRequestError(TOO_MANY_FIELDS) from None
    for name, value in pairs:
        fields[name] = f"{fields[name]},{value}" if name in fields else value
    return fields
