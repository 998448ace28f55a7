"""The feed for a browser: the events that ``GET /api/live`` has, for the session of the cookie.

An answer ends once its session does: at a sign-out, after its longest time, and when the credential loses its right.
Scripts ask for it as unattended, so that it does not keep a session from ending.
"""

from typing import Final

import anyio
import msgspec
from litestar import get
from litestar.types import ASGIApp, Receive, Scope, Send

from clearhold.api.console.guard import SCOPES, NotSignedInError
from clearhold.api.console.openid import still_confirmed
from clearhold.api.console.visit import Visit, visit_of
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.live.routes import LiveQuery
from clearhold.features.core.errors import RiskError, UnavailableError
from clearhold.features.core.principal import KeyScope, Principal

CHECK_EVERY_S: Final = 5.0
_ALL: Final = LiveQuery()


class SessionStream:
    """One answer, as an ASGI application."""

    def __init__(self, visit: Visit) -> None:
        self._visit, self._has_ended = visit, False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._visit.services.live.answer_to(scope, self._visit.principal, _ALL, self._renewed)
        refusal: RiskError | None = None
        async with anyio.create_task_group() as running:
            running.start_soon(self._watch)
            try:
                await answer(scope, receive, send)
            except RiskError as error:  # outside the group, which would wrap it
                refusal = error
            running.cancel_scope.cancel()
        if refusal is not None:
            raise refusal

    def _renewed(self) -> Principal:
        """The caller, proven again."""
        session, services = self._visit.signed_in.session, self._visit.services
        proven = services.authenticator.of_credential(session.tenant_id, session.signed_in_by, session.credential)
        if self._has_ended or proven is None:
            raise NotSignedInError
        return msgspec.structs.replace(proven, operator=session.name)

    async def _watch(self) -> None:
        while not self._has_ended:
            await anyio.sleep(CHECK_EVERY_S)
            try:
                self._has_ended = not await self._is_open()
            except UnavailableError:
                continue  # Redis is away: the next look follows.

    async def _is_open(self) -> bool:
        services, session = self._visit.services, self._visit.signed_in.session
        return await services.sessions.is_open(session) and await still_confirmed(services.openid, session)


@get("/console/live", opt={SCOPES: (KeyScope.ALERTS_READ,)})
async def follow_live(request: ApiRequest) -> ASGIApp:
    return SessionStream(visit_of(request.scope))
