"""Sign-in by the bank's OpenID provider, in three steps: to the provider, back from it, and the session's begin.

The provider's page sends the browser back from another site. Browsers then keep back the cookies of this site that are
``SameSite=Strict``, also after a redirect. So the callback is a page, and leads on by itself; its next request comes
from this site.
"""

from typing import Final
from urllib.parse import urlencode

import structlog

from clearhold.api.console.entry import begun_form, enter, login_cookie, onward
from clearhold.api.console.openid import FinishedLogin, OpenIdSignIn
from clearhold.api.console.pages import sign_in
from clearhold.api.console.visit import Answer, HtmlAnswer, JsonAnswer, Visit
from clearhold.api.console.way_back import is_own_page, way_back
from clearhold.features.core.errors import ErrorCode, NotFoundError, RateLimitedError, RiskError, UnauthorizedError
from clearhold.features.openid.answers import OpenIdRefusedError, OpenIdUnreachableError
from clearhold.store.ids import new_token
from clearhold.store.sessions import Session

ENDED: Final = "/console/openid/ended"
FINISH: Final = "/console/openid/finish"
NOT_SET: Final = "This service has no sign-in by the bank's account."
NOT_PROVEN: Final = (
    "The sign-in at your bank's account did not count: it ended, or did not begin in this browser. Try again."
)
UNREACHABLE: Final = "Your bank's sign-in does not answer. Nothing was done. Try again in a minute."
_LONGEST: Final = 8_192
_BACK: Final = ("code", "state", "iss", "error")

log = structlog.get_logger()


async def start(visit: Visit) -> Answer:
    """The way to the provider. A page leads there, because a form may not send the browser to another site."""
    openid, secret = _openid_of(visit), visit.login or new_token("")
    wanted, (kept, action) = way_back(visit.form.get("next", "")), await _kept_form(visit)
    try:
        url = await openid.begin(secret, wanted=wanted, kept=kept, action=action)
    except OpenIdUnreachableError as error:
        return _unreachable(visit, wanted, error)
    return onward(visit, "To your bank's sign-in", "Go on to your bank's sign-in", url, (login_cookie(secret),))


async def _kept_form(visit: Visit) -> tuple[str, str]:
    """The form that the end of a session interrupted, of a browser that had a session: it is stored until the person
    comes back, and others may begin a sign-in too.
    """
    browser = visit.browser
    if browser is None or await visit.services.sessions.last_of_browser(browser) is None:
        return "", ""
    kept, action = begun_form(visit)
    return (kept, action) if is_own_page(action) else ("", "")


async def callback(visit: Visit) -> Answer:
    """Lead on to ``finish`` with the values that the provider sent."""
    _openid_of(visit)
    sent = {name: visit.query[name] for name in _BACK if len(visit.query.get(name, "")) in range(1, _LONGEST)}
    return onward(visit, "Signing in", "Go on", f"{FINISH}?{urlencode(sent)}")


async def finish(visit: Visit) -> Answer:
    """Begin the session of the person that the provider proved."""
    openid = _openid_of(visit)
    try:
        sign_in.require_try(visit)
        ended = await _finished(visit, openid)
    except OpenIdUnreachableError as error:
        return _unreachable(visit, "", error)
    except OpenIdRefusedError as error:
        log.warning("openid_sign_in_refused", cause=str(error))
        visit.services.tries.note_refusal(visit.caller)
        return sign_in.page(visit, "", NOT_PROVEN, status=401)
    except RateLimitedError as error:
        return sign_in.page(visit, "", str(error), status=429)
    except RiskError as error:
        log.warning("openid_sign_in_refused", cause=str(error))
        return sign_in.page(visit, "", str(error), status=403)
    login = ended.login

    async def keep(session: Session) -> None:
        await openid.keep(session, ended.grant)

    form = {"kept": login.kept, "action": login.action}
    begun = openid.start_of(_tenant_id(visit, openid), ended)
    return await enter(visit.with_form(form), begun, way_back(login.wanted), on_begin=keep)


async def _finished(visit: Visit, openid: OpenIdSignIn) -> FinishedLogin:
    query = visit.query
    _tenant_id(visit, openid)
    return await openid.finish(
        code=query.get("code", ""), state=query.get("state", ""), browser=visit.login or "", issuer=query.get("iss")
    )


async def ended_at_provider(visit: Visit) -> Answer:
    """End the sessions that the provider's logout token is about (OpenID Connect Back-Channel Logout 1.0)."""
    openid, sessions = _openid_of(visit), visit.services.sessions
    try:
        of_tenant = await sessions.of_tenant(_tenant_id(visit, openid))
        ended = await openid.ended_by(visit.form.get("logout_token", ""), of_tenant)
    except OpenIdRefusedError as error:
        log.warning("openid_logout_refused", cause=str(error))
        return JsonAnswer({"error": "invalid_request"}, 400)
    except OpenIdUnreachableError as error:
        log.warning("openid_provider_failed", cause=str(error))
        return JsonAnswer({"error": "temporarily_unavailable"}, 503)
    for each in ended:
        await sessions.end(each)
        log.info("openid_session_ended", name=each.name, cause="the provider ended it")
    return JsonAnswer({"ended": len(ended)})


def _openid_of(visit: Visit) -> OpenIdSignIn:
    if visit.services.openid is None:
        raise NotFoundError(NOT_SET, ErrorCode.PATH_NOT_FOUND)
    return visit.services.openid


def _tenant_id(visit: Visit, openid: OpenIdSignIn) -> str:
    tenant_id = visit.services.authenticator.tenant_id_of(openid.tenant)
    if tenant_id is None:
        raise UnauthorizedError(sign_in.NO_TENANT, ErrorCode.TENANT_MISMATCH)
    return tenant_id


def _unreachable(visit: Visit, wanted: str, error: OpenIdUnreachableError) -> HtmlAnswer:
    log.warning("openid_provider_failed", cause=str(error))
    return sign_in.page(visit, wanted, UNREACHABLE, status=503)
