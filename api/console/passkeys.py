"""Invitations, and registering and using passkeys: the steps between a browser, Redis and the control streams.

A claim of a name under the bank's token may invite while fewer than two persons are proven (``ProvenPersons``). From
then on only such a person may, and a claim may revoke nothing: it could be one person under two names.

Errors  UnauthorizedError for a passkey that is not right; NotFoundError for a used or expired invitation;
        ForbiddenError for a name or an inviter that may not; UnavailableError when Redis or the log does not answer
"""

from typing import Final, NamedTuple

import msgspec
import structlog

from clearhold.api.console.relying_party import (
    RelyingParty,
    is_user_of,
    not_accepted,
    sent_credential,
    user_id_of,
)
from clearhold.features.core.canonical import derived_id
from clearhold.features.core.entries.actions import same_person
from clearhold.features.core.errors import ErrorCode, ForbiddenError, NotFoundError, UnauthorizedError
from clearhold.features.core.principal import OperatorIdentity, Principal
from clearhold.store.control.passkey_registry import HAS_CREDENTIAL, PasskeyRegistry
from clearhold.store.control.passkeys import Passkey
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.invitations import Challenges, Invitation, Invitations
from clearhold.store.keys import token_digest
from clearhold.store.proven_persons import ProvenPersons
from clearhold.store.sessions import SignedInBy
from clearhold.store.start_links import SessionStart

SIGN_IN: Final = "sign in"
USED: Final = "This invitation was used, replaced, or is older than a day. Ask for a further one."
NOT_PENDING: Final = "This invitation was used, ended or is too old. Open the page again for the present ones."
UNKNOWN: Final = "This passkey is not known here, or was revoked. Sign in in another way, or ask for an invitation."
NO_NAME: Final = (
    "Browsers bind a passkey to a name, and this service has only an address. Its operator sets CLEARHOLD_BASE_URL."
)
PERSONS_ALONE: Final = (
    "Two persons have passkeys or tokens, so only such a person invites and revokes. Sign in with yours."
)

log = structlog.get_logger()


class CeremonyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser's own module needs for a ceremony; ``name`` is that of the invited person."""

    options: msgspec.Raw
    name: str | None = None


class PasskeyDesk(NamedTuple):
    """``party`` is None where browsers have no passkeys."""

    party: RelyingParty | None
    tenancy: Tenancy
    registry: PasskeyRegistry
    invitations: Invitations
    challenges: Challenges
    persons: ProvenPersons

    async def invite(self, principal: Principal, name: str) -> str:
        """The secret of an invitation for a person."""
        self._require_party()
        await self._require_person(principal)
        is_own = same_person(name, principal.operator)
        by_person = principal.identity is OperatorIdentity.PERSON
        name = principal.operator if is_own else name
        await self._require_free(principal.tenant_id, name, is_own=is_own and by_person)
        self.registry.check_name(principal.tenant_id, name, invited_by=principal.operator, by_person=by_person)
        code = await self.invitations.create(
            tenant_id=principal.tenant_id, name=name, invited_by=principal.operator, by_person=by_person
        )
        log.info("console_invited", name=name, invited_by=principal.operator)
        return code

    async def pending(self, tenant_id: str) -> list[Invitation]:
        """The invitations that wait for their persons, the newest first."""
        return await self.invitations.of_tenant(tenant_id) if self.party is not None else []

    async def uninvite(self, principal: Principal, invitation_id: str) -> None:
        """End an invitation before its person uses it."""
        await self._require_person(principal)
        invitation = await self.invitations.end(principal.tenant_id, invitation_id)
        if invitation is None:
            raise NotFoundError(NOT_PENDING, ErrorCode.PATH_NOT_FOUND)
        log.info("console_uninvited", name=invitation.name, ended_by=principal.operator)

    async def creation_options(self, code: str) -> CeremonyOptions:
        party, invitation = self._require_party(), await self._invitation(code)
        tenant_id, name = invitation.tenant_id, invitation.name
        known = [
            each.entry.credential_id
            for each in self.tenancy.passkeys.valid_of_tenant(tenant_id)
            if same_person(each.entry.name, name)
        ]
        challenge = await self.challenges.create(invitation.id)
        user_id = user_id_of(tenant_id, name)
        return CeremonyOptions(
            options=await party.creation_options(challenge, user_id=user_id, name=name, known=known), name=name
        )

    async def create(self, code: str, sent: str) -> SessionStart:
        """Register the passkey, which uses the invitation up; the session that it begins."""
        party = self._require_party()
        _, challenge = sent_credential(sent)
        if not await self.challenges.take(challenge, token_digest(code)):
            raise not_accepted()
        registered = await party.registered(sent, challenge)
        invitation = await self.invitations.take(code)
        if invitation is None:
            raise _used()
        is_own = invitation.by_person and same_person(invitation.name, invitation.invited_by)
        await self._require_free(invitation.tenant_id, invitation.name, is_own=is_own)
        passkey = await self.registry.register(
            invitation.tenant_id,
            passkey_id=derived_id("passkey", invitation.id),
            name=invitation.name,
            credential_id=registered.credential_id,
            public_key=registered.public_key,
            sign_count=registered.sign_count,
            invited_by=invitation.invited_by,
            by_person=invitation.by_person,
        )
        log.info("passkey_registered", name=passkey.entry.name, invited_by=passkey.entry.invited_by)
        return _start_of(passkey)

    async def request_options(self) -> CeremonyOptions:
        party = self._require_party()
        return CeremonyOptions(options=await party.request_options(await self.challenges.create(SIGN_IN)))

    async def use(self, sent: str) -> SessionStart:
        """The session that a signed answer begins."""
        party = self._require_party()
        credential, challenge = sent_credential(sent)
        if not await self.challenges.take(challenge, SIGN_IN):
            raise not_accepted()
        passkey = self.tenancy.passkeys.of_credential(credential.id)
        if passkey is None or passkey.revoked_at is not None:
            raise UnauthorizedError(UNKNOWN, ErrorCode.TOKEN_UNKNOWN)
        entry = passkey.entry
        if not is_user_of(credential.response.user_handle, passkey.tenant_id, entry.name):
            raise not_accepted()
        highest = max(entry.sign_count, await self.challenges.counter_of(entry.id))
        counter = await party.counter(sent, challenge, public_key=entry.public_key, counter=highest)
        if not await self.challenges.raise_counter(entry.id, counter):
            raise not_accepted()
        return _start_of(passkey)

    async def revoke(self, principal: Principal, passkey_id: str) -> Passkey:
        await self._require_person(principal)
        passkey = await self.registry.revoke(principal.tenant_id, passkey_id, operator=principal.operator)
        log.info("passkey_revoked", name=passkey.entry.name, revoked_by=principal.operator)
        return passkey

    def _require_party(self) -> RelyingParty:
        if self.party is None:
            raise ForbiddenError(NO_NAME, ErrorCode.ORIGIN_REFUSED)
        return self.party

    async def _require_free(self, tenant_id: str, name: str, *, is_own: bool) -> None:
        """A name that the bank's own sign-in proves gets a passkey by that person alone."""
        if not is_own and await self.persons.is_proven(tenant_id, name):
            raise ForbiddenError(HAS_CREDENTIAL, ErrorCode.PERSON_TOKEN_REQUIRED)

    async def _require_person(self, principal: Principal) -> None:
        is_claim = principal.identity is not OperatorIdentity.PERSON
        if is_claim and await self.persons.has_two(principal.tenant_id):
            raise ForbiddenError(PERSONS_ALONE, ErrorCode.PERSON_TOKEN_REQUIRED)

    async def _invitation(self, code: str) -> Invitation:
        invitation = await self.invitations.find(code)
        if invitation is None:
            raise _used()
        return invitation


def _used() -> NotFoundError:
    return NotFoundError(USED, ErrorCode.PATH_NOT_FOUND)


def _start_of(passkey: Passkey) -> SessionStart:
    return SessionStart(passkey.tenant_id, passkey.entry.name, SignedInBy.PASSKEY, passkey.entry.id)
