"""Sign-in by the bank's OpenID provider: the begin and end of a sign-in, and the checks of its sessions.

browser ── start ──▶ provider ── code, state ──▶ callback ──▶ finish: code for tokens, claims for a name and a role

A session's person is checked at the provider with the first request after ``CHECK_EVERY_US``: by the refresh token,
else by userinfo. A refusal, another name or another role ends the session. While the provider does not answer, the
session goes on until ``UNREACHABLE_US`` after its last confirmation; the provider is asked again after
``AGAIN_AFTER_US``.

Errors  OpenIdRefusedError, OpenIdUnreachableError, RiskError of a claim, UnavailableError when Redis does not answer
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
import structlog

from clearhold.api.http.openid import ClaimedPerson, OpenIdConfig
from clearhold.features.core.errors import RiskError
from clearhold.features.core.instants import MINUTE_US, SECOND_US
from clearhold.features.openid.answers import (
    OpenIdClaims,
    OpenIdGrant,
    OpenIdRefusedError,
    OpenIdUnreachableError,
)
from clearhold.features.openid.logout_token import LogoutNotice
from clearhold.store.clock import Clock
from clearhold.store.ids import new_token
from clearhold.store.keys import token_digest
from clearhold.store.openid_logins import KeptGrant, OpenIdLogin, OpenIdLogins
from clearhold.store.sessions import Session, SignedInBy
from clearhold.store.start_links import SessionStart

CALLBACK: Final = "/console/openid/callback"
CHECK_EVERY_US: Final = 45 * SECOND_US
CHECK_WITHIN_S: Final = 1.5
AGAIN_AFTER_US: Final = 20 * SECOND_US
UNREACHABLE_US: Final = 10 * MINUTE_US
NOT_THIS_BROWSER: Final = "there is no such sign-in of this browser"

log = structlog.get_logger()


class IdentityProvider(Protocol):
    """The bank's provider."""

    async def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str: ...

    async def redeem(self, code: str, *, nonce: str, verifier: str) -> tuple[OpenIdGrant, OpenIdClaims]: ...

    async def renew(self, grant: OpenIdGrant) -> tuple[OpenIdGrant, str | None]: ...

    async def claims_of(self, grant: OpenIdGrant, id_token: str | None) -> OpenIdClaims | None: ...

    async def sign_out_url(self, grant: OpenIdGrant) -> str | None: ...

    async def logout_of(self, token: str) -> LogoutNotice: ...


class FinishedLogin(NamedTuple):
    """A person that the provider proved, the means to check the session, the sign-in as it began, and the digest of the
    session at the provider.
    """

    person: ClaimedPerson
    grant: KeptGrant
    login: OpenIdLogin
    provider_session: str


class OpenIdSignIn:
    """Belongs to the API's event loop."""

    def __init__(self, config: OpenIdConfig, provider: IdentityProvider, logins: OpenIdLogins, clock: Clock) -> None:
        self._config, self._provider, self._logins, self._clock = config, provider, logins, clock
        self._checks: dict[str, asyncio.Task[bool]] = {}

    @property
    def tenant(self) -> str:
        """The slug of the persons' bank."""
        return self._config.tenant

    async def begin(self, browser: str, *, wanted: str, kept: str, action: str) -> str:
        """The provider's page for this person; ``browser`` is the secret of the cookie that binds the sign-in."""
        nonce, verifier = new_token(""), new_token("")
        login = OpenIdLogin(
            browser=token_digest(browser),
            nonce=nonce,
            verifier=verifier,
            begun_at=self._clock.now(),
            wanted=wanted,
            kept=kept,
            action=action,
        )
        state = await self._logins.begin(login)
        return await self._provider.authorization_url(state=state, nonce=nonce, verifier=verifier)

    async def finish(self, *, code: str, state: str, browser: str, issuer: str | None) -> FinishedLogin:
        """The person of a sign-in that comes back; ``issuer`` is the provider's name for itself, if it sent one."""
        login = await self._logins.take(state, browser)
        if login is None:
            raise OpenIdRefusedError(NOT_THIS_BROWSER)
        if issuer is not None and issuer != self._config.issuer:
            raise OpenIdRefusedError("another issuer sent the browser back")
        if not code:
            raise OpenIdRefusedError("the provider sent no code")
        grant, stated = await self._provider.redeem(code, nonce=login.nonce, verifier=login.verifier)
        now = self._clock.now()
        person = self._config.person_in(stated.claims)
        kept = KeptGrant(grant=grant, checked_at=now, tried_at=now)
        return FinishedLogin(person, kept, login, self._config.provider_session_of(stated.claims.get("sid")))

    def start_of(self, tenant_id: str, ended: FinishedLogin) -> SessionStart:
        return SessionStart(
            tenant_id,
            ended.person.name,
            SignedInBy.OPENID,
            self._config.credential,
            ended.person.reads_only,
            self._config.account_of(ended.grant.grant.subject),
            ended.provider_session,
        )

    async def keep(self, session: Session, grant: KeptGrant) -> None:
        """Of a session that has begun; without a grant it opens nothing."""
        await self._logins.keep(session, grant, is_new=True)

    async def sign_out_url(self, session: Session) -> str | None:
        """The provider's page at which its session ends too; None where it has none, or does not answer."""
        kept = await self._logins.grant_of(session)
        if kept is None:
            return None
        try:
            async with asyncio.timeout(CHECK_WITHIN_S):
                return await self._provider.sign_out_url(kept.grant)
        except (OpenIdUnreachableError, TimeoutError) as error:
            log.warning("openid_sign_out_failed", cause=str(error) or "no answer in time")
            return None

    async def ended_by(self, logout_token: str, sessions: Sequence[Session]) -> list[Session]:
        """Those of the sessions that the provider says have ended; the token counts once."""
        notice = await self._provider.logout_of(logout_token)
        if await self._logins.was_taken(notice.id):
            raise OpenIdRefusedError("the logout token was used")
        config = self._config
        account = None if notice.subject is None else config.account_of(notice.subject)
        at_provider = None if notice.session is None else config.provider_session_of(notice.session)
        return [
            each
            for each in sessions
            if each.credential == config.credential
            and account in {None, each.account}
            and at_provider in {None, each.provider_session}
        ]

    async def admits(self, session: Session) -> bool:
        """Whether the session goes on. Requests at the same time share one check, which goes on without them."""
        kept = None
        if session.credential == self._config.credential:
            kept = await self._logins.grant_of(session)
        if kept is None:
            return False
        now = self._clock.now()
        if now - kept.checked_at < CHECK_EVERY_US:
            return True
        if kept.tried_at > kept.checked_at and now - kept.tried_at < AGAIN_AFTER_US:
            return now - kept.checked_at < UNREACHABLE_US
        check = self._checks.get(session.id)
        if check is None:
            check = asyncio.create_task(self._check(session, kept))
            self._checks[session.id] = check
            check.add_done_callback(lambda _: self._checks.pop(session.id, None))
        return await asyncio.shield(check)

    async def _check(self, session: Session, kept: KeptGrant) -> bool:
        now = self._clock.now()
        kept = msgspec.structs.replace(kept, tried_at=now)
        try:
            async with asyncio.timeout(CHECK_WITHIN_S):
                grant, id_token = await self._provider.renew(kept.grant)
            kept = msgspec.structs.replace(kept, grant=grant)
            await self._logins.keep(session, kept)  # at once: a refresh token that was used is often void
            async with asyncio.timeout(CHECK_WITHIN_S):
                stated = await self._provider.claims_of(grant, id_token)
            self._compare(session, stated)
        except (OpenIdRefusedError, RiskError) as error:
            log.info("openid_session_ended", name=session.name, cause=str(error))
            await self._logins.forget(session)
            return False
        except (OpenIdUnreachableError, TimeoutError) as error:
            goes_on = now - kept.checked_at < UNREACHABLE_US
            log.warning("openid_check_failed", cause=str(error) or "no answer in time", session_goes_on=goes_on)
            await self._logins.keep(session, kept)
            return goes_on
        await self._logins.keep(session, msgspec.structs.replace(kept, checked_at=now))
        return True

    def _compare(self, session: Session, stated: OpenIdClaims | None) -> None:
        """OpenIdRefusedError when the person has another name or role now."""
        if stated is None or not (stated.whole or self._config.states_groups(stated.claims)):
            return
        person = self._config.person_in(stated.claims)
        if (person.name, person.reads_only) != (session.name, session.reads_only):
            raise OpenIdRefusedError("the person has another name or role now")


async def still_confirmed(openid: OpenIdSignIn | None, session: Session) -> bool:
    """Whether the provider confirms the session's person; True for a session of another credential."""
    if session.signed_in_by is not SignedInBy.OPENID:
        return True
    return openid is not None and await openid.admits(session)
