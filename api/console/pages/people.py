"""People and sessions: who is signed in, since when, by which credential and from where; and ending sessions."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import htpy as h
import structlog

from clearhold.api.console.components.passkeys import invitation_form, invitation_table, passkey_table
from clearhold.api.console.components.settings import PEOPLE, settings_frame
from clearhold.api.console.components.wide import unseen, wide_table
from clearhold.api.console.components.words import count, marked, moment, outsider, span
from clearhold.api.console.visit import Answer, HtmlAnswer, RedirectAnswer, Visit
from clearhold.features.core.entries.actions import same_person
from clearhold.features.core.errors import ErrorCode, NotFoundError
from clearhold.features.core.instants import format_instant
from clearhold.store.invitations import Invitation
from clearhold.store.sessions import Session, SignedInBy

PATH: Final = PEOPLE
END: Final = f"{PATH}/end"
INVITE: Final = f"{PATH}/invite"
REVOKE: Final = f"{PATH}/revoke"
UNINVITE: Final = f"{PATH}/uninvite"
UNKNOWN_SESSION: Final = "There is no such session; it may have ended. Open the page again for the present ones."
CREDENTIALS: Final[Mapping[SignedInBy, str]] = {
    SignedInBy.TOKEN: "the bank's operator token and a typed name",
    SignedInBy.PERSON: "a token that was issued to this person",
    SignedInBy.PASSKEY: "a passkey that this person registered",
    SignedInBy.KEY: "an API key, to read",
    SignedInBy.PROXY: "the bank's own sign-in, by its proxy",
    SignedInBy.OPENID: "the bank's account",
}

log = structlog.get_logger()


async def show(visit: Visit) -> Answer:
    return await page(visit)


async def page(visit: Visit, *, refusal: str | None = None, link: tuple[str, str] | None = None) -> HtmlAnswer:
    """``refusal`` and ``link`` are the answer to an invitation, with the invited name and the link."""
    status = HTTPStatus.OK if refusal is None else HTTPStatus.CONFLICT
    pending = [] if visit.signed_in.is_read_only else await visit.services.passkeys.pending(visit.principal.tenant_id)
    content = _content(visit, await _sessions(visit), pending, refusal, link)
    return HtmlAnswer("People and sessions", settings_frame(visit, content), status)


async def end(visit: Visit) -> Answer:
    """End one session, or all of a name."""
    session_id, name = visit.form.get("session"), visit.form.get("name")
    wanted = [
        each
        for each in await _sessions(visit)
        if each.id == session_id or (name is not None and same_person(each.name, name))
    ]
    if not wanted:
        raise NotFoundError(UNKNOWN_SESSION, ErrorCode.PATH_NOT_FOUND)
    for each in wanted:
        await visit.services.sessions.end(each)
        log.info("console_session_ended", name=each.name, ended_by=visit.signed_in.session.name)
    return RedirectAnswer(PATH)


async def _sessions(visit: Visit) -> list[Session]:
    """The tenant's; of a session that only reads, itself alone."""
    who = visit.signed_in
    sessions = await visit.services.sessions.of_tenant(who.session.tenant_id)
    return [each for each in sessions if not who.is_read_only or each.id == who.session.id]


def _content(
    visit: Visit,
    sessions: list[Session],
    pending: list[Invitation],
    refusal: str | None,
    link: tuple[str, str] | None,
) -> h.Element:
    writes, desk = not visit.signed_in.is_read_only, visit.services.passkeys
    by_name: dict[str, list[Session]] = {}
    for each in sessions:
        by_name.setdefault(each.name.casefold(), []).append(each)
    return h.section(".people")[
        h.h1["People and sessions"],
        h.p[f"{count(len(by_name), 'person', 'persons')} with {count(len(sessions), 'session')}."],
        (_person(visit, of_name) for of_name in by_name.values()),
        passkey_table(visit, desk.tenancy.passkeys.of_tenant(visit.principal.tenant_id), REVOKE) if writes else None,
        invitation_table(visit, pending, UNINVITE),
        invitation_form(visit, INVITE, refusal, link) if writes and desk.party is not None else None,
    ]


def _person(visit: Visit, sessions: list[Session]) -> h.Element:
    name, writes = sessions[0].name, not visit.signed_in.is_read_only
    end_all = visit.form_of(
        END,
        h.input(type="hidden", name="name", value=name),
        h.button(type="submit")[f"End all {len(sessions)}"],
    )
    return h.section(".person")[
        h.header[h.h2[outsider(name)], end_all if writes and len(sessions) > 1 else None],
        wide_table(
            f"Sessions of {marked(name)}",
            ("Since", "Last request", "Signed in by", "Address", unseen("End")),
            (_row(visit, each, writes=writes) for each in sessions),
        ),
    ]


def _row(visit: Visit, session: Session, *, writes: bool) -> h.Element:
    form = visit.form_of(
        END,
        h.input(type="hidden", name="session", value=session.id),
        h.button(type="submit", aria_label=f"End the session of {session.name} from {session.address}")["End"],
    )
    is_own = session.id == visit.signed_in.session.id
    return h.tr[
        h.td(data_label="Since")[moment(format_instant(session.created_at))],
        h.td(data_label="Used")[f"{span(max(0, visit.now - session.seen_at))} ago"],
        h.td(data_label="By")[CREDENTIALS[session.signed_in_by]],
        h.td(data_label="From")[h.code[session.address], " ", h.span(".mark")["this one"] if is_own else None],
        h.td[form if writes else None],
    ]
