"""The bank's OpenID provider as the settings name it, and the persons in its claims: their name and role."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from clearhold.api.http.auth import person_named
from clearhold.features.core.errors import ErrorCode, ForbiddenError, InvalidRequestError
from clearhold.store.errors import StartupError
from clearhold.store.keys import token_digest

SECRET_FILE: Final = "The file in CLEARHOLD_CONSOLE_OIDC_CLIENT_SECRET_FILE"  # noqa: S105 - names a file
CA_FILE: Final = "The file in CLEARHOLD_CONSOLE_OIDC_CA_FILE"
SCOPES: Final = "openid profile email"
NO_NAME: Final = "Your bank's account names no {claim}. The bank's provider has to send this claim."
NOT_VERIFIED: Final = "Your bank's account has an e-mail address that was not verified."
NO_GROUP: Final = "Your bank's account is in no group that may use this console. An administrator of the bank adds it."


class ClaimedPerson(NamedTuple):
    name: str
    reads_only: bool


class OpenIdConfig(msgspec.Struct, frozen=True, kw_only=True):
    """``tenant`` is the slug of the persons' bank. Members of ``operate_group`` read and write, those of
    ``read_group`` read; at least one of both is set. ``name_claim`` is the name for the record. ``ca_file`` has the
    certificates of the authorities that may sign the provider's, None for the usual ones.
    """

    issuer: str
    client_id: str
    secret_file: Path
    tenant: str
    operate_group: str | None = None
    read_group: str | None = None
    groups_claim: str = "groups"
    name_claim: str = "email"
    scopes: str = SCOPES
    ca_file: Path | None = None

    @property
    def credential(self) -> str:
        """Of the sessions that this provider begins: with another provider or client they open nothing."""
        return token_digest(f"openid {self.issuer} {self.client_id}")

    def account_of(self, subject: str) -> str:
        """The digest of a person's account, by the provider's id of the person."""
        return token_digest(f"openid {self.issuer} account {subject}")

    def provider_session_of(self, session: object) -> str:
        """The digest of a session at the provider, by its id; empty without one."""
        is_named = isinstance(session, str) and session
        return token_digest(f"openid {self.issuer} session {session}") if is_named else ""

    def authorities(self) -> ssl.SSLContext | None:
        """Those of ``ca_file`` alone, None for the usual ones. StartupError for a file without certificates."""
        if self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ValueError) as error:  # an ssl.SSLError is an OSError
            raise StartupError(f"{CA_FILE} has no readable certificate: {type(error).__name__}.") from error

    def client_secret(self) -> str:
        """StartupError for a file that cannot be read, or has no secret."""
        try:
            secret = self.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise StartupError(f"{SECRET_FILE} cannot be read: {type(error).__name__}.") from error
        if not secret:
            raise StartupError(f"{SECRET_FILE} has no secret.")
        return secret

    def person_in(self, claims: Mapping[str, Any]) -> ClaimedPerson:
        """ForbiddenError for a person without a role, InvalidRequestError for a name that may not be on the record."""
        name = claims.get(self.name_claim)
        if not isinstance(name, str):
            raise InvalidRequestError(NO_NAME.format(claim=self.name_claim), ErrorCode.OPERATOR_INVALID)
        if self.name_claim == "email" and claims.get("email_verified", True) not in {True, "true"}:
            raise InvalidRequestError(NOT_VERIFIED, ErrorCode.OPERATOR_INVALID)
        reads_only = not self._is_in(self.operate_group, claims)
        if reads_only and not self._is_in(self.read_group, claims):
            raise ForbiddenError(NO_GROUP, ErrorCode.SCOPE_MISSING)
        return ClaimedPerson(
            person_named(name.encode("utf-8", "surrogatepass"), f"The claim {self.name_claim}"), reads_only
        )

    def states_groups(self, claims: Mapping[str, Any]) -> bool:
        """Whether the claims have the name and the groups, which userinfo may leave out."""
        return self.groups_claim in claims and self.name_claim in claims

    def _is_in(self, group: str | None, claims: Mapping[str, Any]) -> bool:
        listed = claims.get(self.groups_claim)
        groups = [listed] if isinstance(listed, str) else listed
        return group is not None and isinstance(groups, list) and group in groups
