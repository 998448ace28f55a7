"""Sign in and out: a token and a name become a session; the token is not kept."""

from typing import Final
from urllib.parse import urlsplit

import htpy as h

from clearhold.api.console.guard import COOKIE, SIGN_IN
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.http.auth import confirmed_name, person_named
from clearhold.api.http.operation import Access
from clearhold.features.core.errors import RiskError
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.store.keys import token_digest
from clearhold.store.sessions import SignedInBy
from clearhold.store.start_links import SessionStart

HOME: Final = "/console/today"
_ATTRIBUTES: Final = "Secure; HttpOnly; SameSite=Strict; Path=/"
_NAME: Final = "The name"


async def show(visit: Visit) -> Answer:
    if visit.who is not None:
        return RedirectAnswer(_next_of(visit.query.get("next", "")))
    return _page(visit.query.get("next", ""), name="", refusal=None)


async def sign_in(visit: Visit) -> Answer:
    """Begin a session for the holder of a token. A key's session has the key's name and reads only."""
    wanted = visit.form.get("next", "")
    try:
        start = start_of(visit)
    except RiskError as error:
        return _page(wanted, name=visit.form.get("name", ""), refusal=str(error))
    return await begun(visit, start, _next_of(wanted))


def start_of(visit: Visit) -> SessionStart:
    """The session that token and name of a form may begin; the refusal of a token or name."""
    token = visit.form.get("token", "").strip()
    proven = visit.services.authenticator.of_token(token, Access.BEARER)
    signed_in_by, credential = _credential_of(proven, token)
    name = proven.operator if signed_in_by is SignedInBy.KEY else _name_of(proven, visit.form.get("name", ""))
    return SessionStart(proven.tenant_id, name, signed_in_by, credential)


async def begun(visit: Visit, start: SessionStart, wanted: str) -> RedirectAnswer:
    """To the wanted page, in a new session."""
    secret, _ = await visit.services.sessions.begin(
        tenant_id=start.tenant_id,
        name=start.name,
        signed_in_by=start.signed_in_by,
        credential=start.credential,
        address=visit.address,
    )
    return RedirectAnswer(wanted, {"Set-Cookie": f"{COOKIE}={secret}; {_ATTRIBUTES}"})


async def sign_out(visit: Visit) -> Answer:
    if visit.who is not None:
        await visit.services.sessions.end(visit.who.session)
    gone = {"Set-Cookie": f"{COOKIE}=; Max-Age=0; {_ATTRIBUTES}", "Clear-Site-Data": '"cache", "storage"'}
    return RedirectAnswer(SIGN_IN, gone)


def _credential_of(proven: Principal, token: str) -> tuple[SignedInBy, str]:
    if proven.kind is PrincipalKind.KEY:
        return SignedInBy.KEY, proven.id
    if proven.has_own_token:
        return SignedInBy.PERSON, proven.id
    return SignedInBy.TOKEN, token_digest(token)


def _name_of(proven: Principal, given: str) -> str:
    """The name for the record; a person's own token may leave it out."""
    if not given and proven.has_own_token:
        return proven.operator
    return confirmed_name(proven, person_named(given.encode("utf-8"), _NAME), _NAME)


def _next_of(wanted: str) -> str:
    """A path of the console alone: no link can lead elsewhere after signing in."""
    parts = urlsplit(wanted.replace("\\", "/"))
    is_own = not parts.scheme and not parts.netloc and parts.path.startswith("/console/")
    return wanted if is_own and wanted.isprintable() else HOME


def _page(wanted: str, *, name: str, refusal: str | None) -> HtmlAnswer:
    content = h.section(".sign-in")[
        h.h1["Sign in"],
        h.p(".refusal", role="alert")[refusal] if refusal is not None else None,
        h.form(method="post", action=SIGN_IN)[
            h.input(type="hidden", name="next", value=wanted),
            h.label(for_="token")["Token"],
            h.input("#token", type="password", name="token", required=True, autocomplete="current-password"),
            h.p(".small")["The bank's operator token, a token that was issued to you, or an API key to read."],
            h.label(for_="name")["Your name"],
            h.input("#name", name="name", value=name, autocomplete="username", maxlength="128"),
            h.p(".small")["It goes on the record with each decision, as in ann@bank.example."],
            h.button(".main", type="submit")["Sign in"],
        ],
    ]
    return HtmlAnswer("Sign in", content, status=200 if refusal is None else 401)
