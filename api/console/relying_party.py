"""The service as the relying party of WebAuthn: what authenticators are asked for, and whether their answers are right.

A browser binds a passkey to the name of a host, so the id of the relying party is the host of the service's base URL;
for a loopback address it is ``localhost``, and there are no passkeys under any other address without a name. The person
has to be verified by the authenticator. No attestation is asked for: any maker's authenticator counts.

Errors  UnauthorizedError for an answer of an authenticator that is not right
"""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from importlib import import_module
from ipaddress import ip_address
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec
import structlog

from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.errors import ErrorCode, UnauthorizedError

NAME: Final = "Clearhold"
NOT_ACCEPTED: Final = "The passkey was not accepted. Try again."
_LOCAL: Final = "localhost"
_USUAL_PORTS: Final = {"http": 80, "https": 443}

log = structlog.get_logger()


class _SentResponse(msgspec.Struct, frozen=True, rename="camel"):
    client_data: str = msgspec.field(name="clientDataJSON")
    user_handle: str | None = None


class SentCredential(msgspec.Struct, frozen=True):
    """The parts of an authenticator's answer that say what to compare it with."""

    id: str
    response: _SentResponse


class _ClientData(msgspec.Struct, frozen=True):
    challenge: str


class Registered(NamedTuple):
    """``credential_id`` and ``public_key`` are base64url."""

    credential_id: str
    public_key: str
    sign_count: int


class RelyingParty(NamedTuple):
    id: str
    origin: str

    @classmethod
    def of(cls, base_url: str) -> Self | None:
        """None where browsers have no passkeys."""
        url = urlsplit(base_url)
        host, scheme = url.hostname or "", url.scheme
        try:
            is_local = ip_address(host).is_loopback
        except ValueError:
            is_local = False
        else:
            if not is_local:
                return None
        name = _LOCAL if is_local else host
        port = "" if url.port in {None, _USUAL_PORTS.get(scheme)} else f":{url.port}"
        return cls(name, f"{scheme}://{name}{port}") if name else None

    async def creation_options(self, challenge: str, *, user_id: bytes, name: str, known: list[str]) -> msgspec.Raw:
        """For ``navigator.credentials.create``, as JSON; ``known`` are ids of the person's present passkeys."""
        webauthn = await _webauthn()
        structs = webauthn.helpers.structs
        options = webauthn.generate_registration_options(
            rp_id=self.id,
            rp_name=NAME,
            user_id=user_id,
            user_name=name,
            challenge=challenge.encode(),
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
            exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=_bytes(each)) for each in known],
        )
        return msgspec.Raw(webauthn.options_to_json(options).encode())

    async def request_options(self, challenge: str) -> msgspec.Raw:
        """For ``navigator.credentials.get``, as JSON: any passkey of this service that the person has."""
        webauthn = await _webauthn()
        options = webauthn.generate_authentication_options(
            rp_id=self.id,
            challenge=challenge.encode(),
            user_verification=webauthn.helpers.structs.UserVerificationRequirement.REQUIRED,
        )
        return msgspec.Raw(webauthn.options_to_json(options).encode())

    async def registered(self, sent: str, challenge: str) -> Registered:
        """The new passkey."""
        webauthn = await _webauthn()
        verified = _checked(
            webauthn.verify_registration_response,
            credential=sent,
            expected_challenge=challenge.encode(),
            expected_rp_id=self.id,
            expected_origin=self.origin,
            require_user_verification=True,
        )
        return Registered(
            _text(verified.credential_id), _text(verified.credential_public_key), int(verified.sign_count)
        )

    async def counter(self, sent: str, challenge: str, *, public_key: str, counter: int) -> int:
        """The authenticator's counter, after its signature was checked; ``counter`` is the highest before."""
        webauthn = await _webauthn()
        verified = _checked(
            webauthn.verify_authentication_response,
            credential=sent,
            expected_challenge=challenge.encode(),
            expected_rp_id=self.id,
            expected_origin=self.origin,
            credential_public_key=_bytes(public_key),
            credential_current_sign_count=counter,
            require_user_verification=True,
        )
        return int(verified.new_sign_count)


def sent_credential(sent: str) -> tuple[SentCredential, str]:
    """An authenticator's answer, and the challenge that it says it answers."""
    try:
        credential = msgspec.json.decode(sent, type=SentCredential)
        client = msgspec.json.decode(_bytes(credential.response.client_data), type=_ClientData)
        return credential, _bytes(client.challenge).decode()
    except (ValueError, RecursionError):  # msgspec's, base64's and UTF-8's
        raise not_accepted() from None


def user_id_of(tenant_id: str, name: str) -> bytes:
    """The id of a person for authenticators, which does not say the name; the same for each passkey of the person."""
    return sha256(f"passkeys/{tenant_id}/{person_key(name)}".encode()).digest()


def is_user_of(handle: str | None, tenant_id: str, name: str) -> bool:
    return handle == _text(user_id_of(tenant_id, name))


def not_accepted() -> UnauthorizedError:
    return UnauthorizedError(NOT_ACCEPTED, ErrorCode.TOKEN_UNKNOWN)


def _checked(verify: Any, **parts: Any) -> Any:
    try:
        return verify(**parts)
    except Exception as error:
        # The library also fails in other ways than its own on bytes that no authenticator makes.
        log.info("passkey_not_accepted", error=f"{type(error).__name__}: {error}"[:200])  # the log blanks its values
        raise not_accepted() from error


async def _webauthn() -> Any:
    """The library, loaded by the first ceremony: a start does not wait for it."""
    return await asyncio.to_thread(import_module, "webauthn")


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
