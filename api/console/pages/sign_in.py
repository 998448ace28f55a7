"""Sign in and out: a token and a name become a session; the token is not kept."""

from typing import Final

import htpy as h

from clearhold.api.console.components.passkeys import ceremony, without_scripts
from clearhold.api.console.entry import enter, kept_fields, leave
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.api.console.way_back import SIGN_IN, way_back
from clearhold.api.http.auth import confirmed_name, person_named
from clearhold.api.http.operation import Access
from clearhold.features.core.errors import ErrorCode, ForbiddenError, RateLimitedError, RiskError, UnauthorizedError
from clearhold.features.core.principal import Principal, PrincipalKind
from clearhold.store.keys import token_digest
from clearhold.store.sessions import SignedInBy
from clearhold.store.start_links import SessionStart

ENDED: Final = "The session has ended. Sign in again: what you sent is kept, and nothing was done yet."
SIGN_IN_OFF: Final = "The operator token does not sign in here. Sign in as the person that you are."
NO_TENANT: Final = "The bank of the persons that the proxy names is not known to this service."
OPENID: Final = "/console/openid/start"
BY_ACCOUNT: Final = "Sign in with your bank's account"
OTHERWISE: Final = "With your own token, or an API key"
PASSKEY: Final = f"{SIGN_IN}/passkey"
TOO_MANY: Final = 429
_NAME: Final = "The name"


async def show(visit: Visit) -> Answer:
    if visit.who is not None:
        return RedirectAnswer(way_back(visit.query.get("next", "")))
    if visit.named is not None:
        return await enter(visit, _named(visit, visit.named), visit.query.get("next", ""))
    return page(visit, visit.query.get("next", ""))


async def sign_in(visit: Visit) -> Answer:
    """Begin a session for the holder of a token. A key's session has the key's name and reads only."""
    wanted = visit.form.get("next", "")
    if visit.named is not None:
        return await enter(visit, _named(visit, visit.named), wanted)
    try:
        start = start_of(visit)
    except RateLimitedError as error:
        return page(visit, wanted, str(error), status=TOO_MANY)
    except RiskError as error:
        return page(visit, wanted, str(error).replace("bearer token", "token"), status=401)
    return await enter(visit, start, wanted)


async def sign_out(visit: Visit) -> Answer:
    return await leave(visit)


def interrupted(visit: Visit) -> h.Node:
    """The sign-in page as the answer to a form that came after the session's end."""
    return page(visit, "", ENDED).content


def start_of(visit: Visit) -> SessionStart:
    """The session that token and name of a form may begin; the refusal of a token or name, which counts as a try."""
    require_try(visit)
    try:
        return _proven(visit)
    except RiskError:
        visit.services.tries.note_refusal(visit.caller)
        raise


def require_try(visit: Visit) -> None:
    """Raise RateLimitedError while the address has to wait for its next try."""
    visit.services.tries.check(visit.caller)


def _proven(visit: Visit) -> SessionStart:
    token = visit.form.get("token", "").strip()
    proven = visit.services.authenticator.of_token(token, Access.BEARER)
    if proven.kind is PrincipalKind.KEY:
        return SessionStart(proven.tenant_id, proven.operator, SignedInBy.KEY, proven.id)
    name = _name_of(proven, visit.form.get("name", ""))
    if not proven.has_own_token and not visit.services.identity.token_sign_in:
        raise ForbiddenError(SIGN_IN_OFF, ErrorCode.PERSON_TOKEN_REQUIRED)
    if proven.has_own_token:
        return SessionStart(proven.tenant_id, name, SignedInBy.PERSON, proven.id)
    return SessionStart(proven.tenant_id, name, SignedInBy.TOKEN, token_digest(token))


def _named(visit: Visit, name: str) -> SessionStart:
    """The session of the person that the bank's proxy names."""
    identity = visit.services.identity
    tenant_id = visit.services.authenticator.tenant_id_of(identity.tenant or "")
    if tenant_id is None:
        raise UnauthorizedError(NO_TENANT, ErrorCode.TENANT_MISMATCH)
    return identity.start_of(tenant_id, name)


def _name_of(proven: Principal, given: str) -> str:
    """The name for the record; a person's own token may leave it out."""
    if not given and proven.has_own_token:
        return proven.operator
    return confirmed_name(proven, person_named(given.encode("utf-8"), _NAME), _NAME)


def page(visit: Visit, wanted: str, refusal: str | None = None, *, status: int = 200) -> HtmlAnswer:
    """The sign-in page, after a refusal with its sentence, and with the time to wait."""
    wait_s = visit.services.tries.wait_s(visit.caller)
    content = h.section(".sign-in")[
        h.h1["Sign in"],
        h.p(".refusal", role="alert")[refusal] if refusal is not None else None,
        _ways(visit, wanted),
        _passkey(visit, wanted),
    ]
    return HtmlAnswer("Sign in", content, status, {"Retry-After": str(wait_s)} if status == TOO_MANY else {})


def _passkey(visit: Visit, wanted: str) -> h.Node:
    """The way in with a passkey, where no proxy names the person."""
    if visit.named is not None or visit.services.passkeys.party is None:
        return None
    fields = h.input(type="hidden", name="next", value=wanted), kept_fields(visit)
    return h.div(".other")[
        ceremony(
            visit,
            kind="get",
            action=PASSKEY,
            options=f"{PASSKEY}/challenge",
            words="Sign in with a passkey",
            fields=fields,
        ),
        without_scripts("Without scripts, sign in with a token."),
    ]


def _ways(visit: Visit, wanted: str) -> h.Node:
    """Where the operator token does not sign in, the bank's account is the usual way, and the other one is folded."""
    services = visit.services
    if services.openid is None or visit.named is not None:
        return _by_token(visit, wanted, is_main=True)
    by_account = h.form(method="post", action=OPENID)[
        h.input(type="hidden", name="next", value=wanted),
        kept_fields(visit),
        h.button(".main", type="submit")[BY_ACCOUNT],
    ]
    if services.identity.token_sign_in:
        return by_account, h.div(".other")[_by_token(visit, wanted, is_main=False)]
    return by_account, h.details(".other")[h.summary[OTHERWISE], _by_token(visit, wanted, is_main=False)]


def _by_token(visit: Visit, wanted: str, *, is_main: bool) -> h.Element:
    return h.form(method="post", action=SIGN_IN)[
        h.input(type="hidden", name="next", value=wanted),
        kept_fields(visit),
        _fields(visit),
        h.button(class_="main" if is_main else None, type="submit")[
            "Sign in" if visit.named is None else f"Go on as {visit.named}"
        ],
    ]


def _fields(visit: Visit) -> h.Node:
    """Token and name; nothing where the bank's proxy names the person."""
    if visit.named is not None:
        return None
    return (
        h.label(for_="token")["Token"],
        h.input("#token", type="password", name="token", required=True, autocomplete="current-password"),
        h.p(".small")[
            "The bank's operator token, a token that was issued to you, or an API key to read."
            if visit.services.identity.token_sign_in
            else "A token that was issued to you, or an API key to read."
        ],
        h.label(for_="name")["Your name"],
        h.input("#name", name="name", value=_name_given(visit), autocomplete="username", maxlength="128"),
        h.p(".small")["It goes on the record with each decision, as in ann@bank.example."],
    )


def _name_given(visit: Visit) -> str:
    return visit.form.get("name", "") if visit.path == SIGN_IN else ""
