"""Persons that a proxy in front of the service has proven: their name in a header, from the proxy's address alone."""

from typing import Any, Final

import msgspec

from clearhold.api.http.auth import person_named
from clearhold.api.http.envelope import header_values
from clearhold.features.core.errors import ErrorCode, ForbiddenError
from clearhold.store.sessions import SignedInBy
from clearhold.store.start_links import SessionStart

NOT_THE_PROXY: Final = "The header that names a person is taken from the proxy alone, and once."
CREDENTIAL: Final = "identity-proxy"


class ConsoleIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """``header`` None: no proxy names persons. ``peer`` is its address, ``tenant`` the slug of the persons' bank.
    ``token_sign_in`` False: the tenant's operator token begins no session.
    """

    header: str | None = None
    peer: str | None = None
    tenant: str | None = None
    token_sign_in: bool = True

    def name_in(self, scope: Any) -> str | None:
        """The person that the proxy names; ForbiddenError for the header of another peer."""
        sent = [] if self.header is None else header_values(scope, self.header.lower().encode())
        if not sent:
            return None
        peer = scope["client"][0] if scope["client"] else None
        if len(sent) > 1 or peer != self.peer:
            raise ForbiddenError(NOT_THE_PROXY, ErrorCode.OPERATOR_TOKEN_REQUIRED)
        return person_named(sent[0], f"The header {self.header}")

    def start_of(self, tenant_id: str, name: str) -> SessionStart:
        return SessionStart(tenant_id, name, SignedInBy.PROXY, CREDENTIAL)

    def admits(self, signed_in_by: SignedInBy, name: str, named: str | None) -> bool:
        """Whether a session goes on with a request in which the proxy names ``named``: with its own name alone."""
        if signed_in_by is SignedInBy.PROXY:
            return named == name
        return named is None and (self.token_sign_in or signed_in_by is not SignedInBy.TOKEN)


TOKENS_ALONE: Final = ConsoleIdentity()
