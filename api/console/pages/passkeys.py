"""Invitations and passkeys: invite a person, register a passkey by the link, sign in with one, revoke one.

A link's secret is in its fragment, which browsers send nowhere; ``passkeys.js`` sends it in a form. Refused answers of
authenticators and unknown invitations count as refused tries to sign in.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import htpy as h

from clearhold.api.console.components.passkeys import CODE, CREDENTIAL, ceremony, without_scripts
from clearhold.api.console.entry import enter
from clearhold.api.console.pages import people, sign_in
from clearhold.api.console.passkeys import CeremonyOptions
from clearhold.api.console.visit import Answer, HtmlAnswer, JsonAnswer, RedirectAnswer, Visit
from clearhold.api.console.way_back import HOME, INVITATION
from clearhold.api.http.auth import person_named
from clearhold.features.core.errors import RateLimitedError, RiskError, UnavailableError

CREATION_OPTIONS: Final = f"{INVITATION}/challenge"
REQUEST_OPTIONS: Final = f"{sign_in.PASSKEY}/challenge"

T = TypeVar("T")


async def invite(visit: Visit) -> Answer:
    """The page of people, with the link: it is there this once."""
    desk = visit.services.passkeys
    try:
        name = person_named(visit.form.get("name", "").encode(), "The name")
        code = await desk.invite(visit.principal, name)
    except UnavailableError:
        raise
    except RiskError as error:
        return await people.page(visit, refusal=str(error))
    assert desk.party is not None, "an invitation needs one"
    return await people.page(visit, link=(name, f"{desk.party.origin}{INVITATION}#{code}"))


async def revoke(visit: Visit) -> Answer:
    await visit.services.passkeys.revoke(visit.principal, visit.form.get("passkey", ""))
    return RedirectAnswer(people.PATH)


async def uninvite(visit: Visit) -> Answer:
    await visit.services.passkeys.uninvite(visit.principal, visit.form.get("invitation", ""))
    return RedirectAnswer(people.PATH)


async def show_invitation(visit: Visit) -> Answer:
    return _invitation(visit)


async def creation_options(visit: Visit) -> Answer:
    return await _options(visit, lambda: visit.services.passkeys.creation_options(visit.form.get(CODE, "")))


async def accept_invitation(visit: Visit) -> Answer:
    """Register the passkey, and begin the person's session."""
    desk, form = visit.services.passkeys, visit.form
    try:
        start = await _tried(visit, lambda: desk.create(form.get(CODE, ""), form.get(CREDENTIAL, "")))
    except UnavailableError:
        raise
    except RiskError as error:
        return _invitation(visit, str(error), status=_status(error))
    return await enter(visit, start, HOME)


async def request_options(visit: Visit) -> Answer:
    return await _options(visit, visit.services.passkeys.request_options)


async def use(visit: Visit) -> Answer:
    """Begin the session of the person whose passkey signed."""
    wanted = visit.form.get("next", "")
    try:
        start = await _tried(visit, lambda: visit.services.passkeys.use(visit.form.get(CREDENTIAL, "")))
    except UnavailableError:
        raise
    except RiskError as error:
        return sign_in.page(visit, wanted, str(error), status=_status(error))
    return await enter(visit, start, wanted)


async def _options(visit: Visit, step: Callable[[], Awaitable[CeremonyOptions]]) -> Answer:
    try:
        return JsonAnswer(await _tried(visit, step))
    except RiskError as error:
        return JsonAnswer({"refusal": str(error)}, _status(error))


async def _tried(visit: Visit, step: Callable[[], Awaitable[T]]) -> T:
    """The step, unless its address had too many refused tries; a refusal is one."""
    tries = visit.services.tries
    tries.check(visit.caller)
    try:
        return await step()
    except UnavailableError:
        raise
    except RiskError:
        tries.note_refusal(visit.caller)
        raise


def _status(error: RiskError) -> int:
    if isinstance(error, UnavailableError):
        return 503
    return 429 if isinstance(error, RateLimitedError) else 401


def _invitation(visit: Visit, refusal: str | None = None, *, status: int = 200) -> HtmlAnswer:
    content = h.section(".sign-in")[
        h.h1["You are invited"],
        h.p(".refusal", role="alert")[refusal, " Then open the link again."] if refusal is not None else None,
        h.p[
            "A passkey is a key in your phone, computer or security key. It signs you in with a touch and stays there."
        ],
        ceremony(
            visit,
            kind="create",
            action=INVITATION,
            options=CREATION_OPTIONS,
            words="Create a passkey",
            fields=h.input(type="hidden", name=CODE, value=""),
        ),
        without_scripts("To accept the invitation, allow scripts in this browser."),
    ]
    return HtmlAnswer("You are invited", content, status)
