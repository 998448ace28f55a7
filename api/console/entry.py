"""Beginning and ending a session: its cookies, the way back, and the form that a session's end interrupted."""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import htpy as h
import msgspec
from litestar.datastructures import Cookie

from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, SignedIn, Visit, principal_of
from clearhold.api.console.way_back import ENTRANCES, HOME, SIGN_IN, is_own_page, way_back
from clearhold.features.core.instants import DAY_US, SECOND_US
from clearhold.store.ids import new_token
from clearhold.store.openid_logins import LASTS_S
from clearhold.store.sessions import OF_THE_BANK, Session, SignedInBy
from clearhold.store.start_links import SessionStart

COOKIE: Final = "__Host-clearhold"
BROWSER: Final = "__Host-clearhold-browser"
"""A random secret of the browser; it opens nothing."""

LOGIN: Final = "__Host-clearhold-openid"
"""Binds a sign-in at the bank's provider to the browser in which it began."""

CLEARED: Final = "Clear-Site-Data"
_BROWSER_S: Final = 365 * DAY_US // SECOND_US
_OF_SESSION: Final = frozenset({"csrf"})
_LONG: Final = 80


async def enter(
    visit: Visit,
    start: SessionStart,
    wanted: str,
    *,
    on_begin: Callable[[Session], Awaitable[None]] | None = None,
) -> Answer:
    """Begin the session. The same name as before in this browser goes on where it was; another name starts clean."""
    services, browser = visit.services, visit.browser or new_token("")
    last = await services.sessions.last_of_browser(browser)
    if visit.who is not None:
        await services.sessions.end(visit.who.session)
    secret, session = await services.sessions.begin(
        tenant_id=start.tenant_id,
        name=start.name,
        signed_in_by=start.signed_in_by,
        credential=start.credential,
        address=visit.address,
        browser=browser,
        reads_only=start.reads_only,
        account=start.account,
        provider_session=start.provider_session,
    )
    if start.signed_in_by in OF_THE_BANK and not start.reads_only:
        await services.persons.note(start.tenant_id, start.name, start.account)
    if on_begin is not None:
        await on_begin(session)
    cookies = (_cookie(COOKIE, secret), _cookie(BROWSER, browser, max_age=_BROWSER_S))
    if last is not None and last != (start.tenant_id, start.name):
        return RedirectAnswer(HOME, {CLEARED: '"cache", "storage"'}, cookies)
    kept = visit.form.get("kept")
    principal = services.authenticator.of_credential(start.tenant_id, start.signed_in_by, start.credential)
    if last is not None and principal is not None and kept and is_own_page(visit.form.get("action", "")):
        who = SignedIn(session, principal_of(session, principal))
        again = msgspec.structs.replace(visit, who=who)
        content = _interrupted(again, visit.form["action"], dict(parse_qsl(kept, keep_blank_values=True)))
        return HtmlAnswer("Signed in again", content, cookies=cookies, visit=again)
    return RedirectAnswer(way_back(wanted), cookies=cookies)


async def leave(visit: Visit) -> Answer:
    """End the session; one by the bank's provider ends there too, where it has a page for that."""
    openid, at_provider = visit.services.openid, None
    if visit.who is not None:
        session = visit.who.session
        if openid is not None and session.signed_in_by is SignedInBy.OPENID:
            at_provider = await openid.sign_out_url(session)
        await visit.services.sessions.end(session)
    headers, cookies = {CLEARED: '"cache", "storage"'}, (_cookie(COOKIE, "", max_age=0),)
    if at_provider is None:
        return RedirectAnswer(SIGN_IN, headers, cookies)
    page = onward(visit, "Signing out", "Sign out at your bank too", at_provider, cookies)
    return page._replace(headers={**page.headers, **headers})


def onward(visit: Visit, title: str, words: str, url: str, cookies: tuple[Cookie, ...] = ()) -> HtmlAnswer:
    """A page that leads on by itself. A form may not send the browser to another site."""
    content = h.section(".sign-in")[h.h1[title], h.p[h.a(".button", href=url)[words]]]
    outside = msgspec.structs.replace(visit, who=None)
    return HtmlAnswer(title, content, headers={"Refresh": f"0;url={url}"}, cookies=cookies, visit=outside)


def kept_fields(visit: Visit) -> h.Node:
    """Hidden fields with the form that could not be sent, to go on with after signing in."""
    kept, action = begun_form(visit)
    if not kept or not action:
        return None
    return h.input(type="hidden", name="kept", value=kept), h.input(type="hidden", name="action", value=action)


def begun_form(visit: Visit) -> tuple[str, str]:
    """The fields of the form that could not be sent, as one text, and its path; empty without one."""
    if visit.form and not visit.path.startswith(ENTRANCES):
        kept = urlencode([each for each in visit.form.items() if each[0] not in _OF_SESSION])
        return kept, visit.path
    return visit.form.get("kept", ""), visit.form.get("action", "")


def login_cookie(secret: str) -> Cookie:
    """It comes back from another site, with the provider's redirect."""
    return _cookie(LOGIN, secret, max_age=LASTS_S, samesite="lax")


def _interrupted(visit: Visit, action: str, fields: dict[str, str]) -> h.Element:
    """The same form with its own id of the attempt: one that was sent before is the same write."""
    fields |= {"csrf": visit.signed_in.session.csrf}
    texts = {name for name, value in fields.items() if len(value) > _LONG and " " in value}
    return h.section(".interrupted")[
        h.h1["Signed in again"],
        h.p["The session had ended before this was sent. Nothing was done yet, and nothing is lost."],
        h.form(method="post", action=action)[
            (_field(name, value, is_text=name in texts) for name, value in fields.items()),
            h.button(".main", type="submit")["Send it now"],
            " ",
            h.a(".button", href=HOME)["Leave it"],
        ],
    ]


def _field(name: str, value: str, *, is_text: bool) -> h.Node:
    if not is_text:
        return h.input(type="hidden", name=name, value=value)
    return h.label(for_=f"kept-{name}")[name.capitalize()], h.textarea(id=f"kept-{name}", name=name, rows="12")[value]


def _cookie(name: str, value: str, **over: Any) -> Cookie:
    options: dict[str, Any] = {"samesite": "strict"} | over
    return Cookie(name, value=value, secure=True, httponly=True, path="/", **options)
