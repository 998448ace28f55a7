"""Signing keys: their public halves, for the verification of the service's signatures; and their administration.

Keys are replaced in steps, or at once when one is compromised. The private half is never shown. The routes of the
administration take the admin token and X-Operator, and are left out of the public document.

Errors  NotFoundError for an unknown kid; ConflictError while a new key of the purpose is announced
"""

from functools import partial
from typing import Annotated, Final

import msgspec
import structlog
from anyio import to_thread
from litestar import Response, delete, get
from litestar.di import NamedDependency

from clearhold.api.area import Area, Resources
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.head import published
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.lists.lists import to_answer
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.instants import format_instant
from clearhold.features.core.principal import KeyScope, Principal
from clearhold.features.core.vocabulary import about
from clearhold.store.keys import KeyPurpose, KeyState, SigningKey, SigningKeys


class NewSigningKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    purpose: Annotated[KeyPurpose, about("What the key is to sign.")]


class SigningKeyState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Until ``signsFrom`` the key is announced."""

    kid: str
    purpose: Annotated[KeyPurpose, about("What the key signs; never both.")]
    state: Annotated[
        KeyState,
        about("announced: published, not used yet; signing; retired: published for what it signed; expired; removed."),
    ]
    created_at: str
    signs_from: Annotated[str, about("From when on the key signs.")]


class PublicKey(SigningKeyState, frozen=True, kw_only=True, rename="camel"):
    """A signing key without its private half."""

    x: Annotated[str, about("The public key, in base64url.")]


def to_signing_key(key: SigningKey, state: KeyState) -> SigningKeyState:
    return to_answer(key, SigningKeyState, state=state, signs_from=format_instant(key.signs_from))


log = structlog.get_logger()


class SigningKeyService:
    def __init__(self, resources: Resources) -> None:
        self._keys = resources.stores.record.signing_keys

    async def list(self, _principal: Principal) -> tuple[SigningKeyState, ...]:
        """Every past and present key, newest first."""
        return tuple(to_signing_key(key, state) for key, state in self._keys.states())

    async def public(self, _principal: Principal) -> tuple[PublicKey, ...]:
        """The same with the public halves, for readers of the record."""
        return tuple(
            to_answer(key, PublicKey, state=state, signs_from=format_instant(key.signs_from))
            for key, state in self._keys.states()
        )

    async def announce(self, principal: Principal, request: NewSigningKey) -> SigningKeyState:
        key = await to_thread.run_sync(self._keys.announce, request.purpose)
        log.info("signing_key_announced", kid=key.kid, purpose=key.purpose, operator=principal.operator)
        return to_signing_key(key, KeyState.ANNOUNCED)

    async def remove(self, principal: Principal, kid: str) -> SigningKeyState:
        key = await to_thread.run_sync(self._keys.remove, kid)
        log.warning("signing_key_removed", kid=key.kid, purpose=key.purpose, operator=principal.operator)
        return to_signing_key(key, KeyState.REMOVED)


_SERVICE: Final = "signing_key_states"
_PUBLIC: Final = Operation(
    id="listPublicKeys",
    tag="record",
    summary="Every key that signs or ever signed, newest first, with its state. Only announced, signing and retired "
    "keys verify.",
    access=Access.BEARER,
    scope=KeyScope.RECORD,
    answers={200: tuple[PublicKey, ...]},
    answer_example=[
        {
            "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
            "purpose": "checkpoint",
            "state": "signing",
            "createdAt": "2026-03-02T09:00:00.000Z",
            "signsFrom": "2026-03-02T09:30:00.000Z",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }
    ],
)
_by_admin: Final = partial(Operation, tag="administration", access=Access.ADMIN)

_LIST: Final = _by_admin(
    id="listSigningKeys",
    summary="Every key that signs proofs or checkpoints, or ever did, newest first.",
    answers={200: tuple[SigningKeyState, ...]},
)
_ANNOUNCE: Final = _by_admin(
    id="announceSigningKey",
    summary="A new key, published now, which signs in place of the present one in 30 minutes. "
    "The present key stays published: a proof key for 25 hours, a checkpoint key permanently.",
    answers={201: SigningKeyState},
    refusals=(ErrorCode.ROTATION_PENDING,),
    body=RequestSchema(NewSigningKey),
)
_REMOVE: Final = _by_admin(
    id="removeSigningKey",
    summary="Takes a compromised key out of use and out of the published keys at once. "
    "If it signed, the announced key signs from now on, else a new one. Its signatures no longer count.",
    answers={200: SigningKeyState},
    refusals=(ErrorCode.SIGNING_KEY_NOT_FOUND,),
)


JWKS: Final = "application/jwk-set+json"


class Jwk(msgspec.Struct, frozen=True, kw_only=True):
    """An Ed25519 key (RFC 8037); ``kid`` is its thumbprint (RFC 7638), ``x`` the public key in base64url."""

    kty: Annotated[str, about("Key type (RFC 7517).")] = "OKP"
    crv: Annotated[str, about("The curve.")] = "Ed25519"
    x: Annotated[str, about("The public key, in base64url.")]
    kid: str
    use: Annotated[str, about("What the key is for.")] = "sig"
    alg: Annotated[str, about("The algorithm of the signature.")] = "EdDSA"


class Jwks(msgspec.Struct, frozen=True, kw_only=True):
    keys: Annotated[tuple[Jwk, ...], about("The keys, newest first.")]


_JWKS: Final = Operation(
    id="getJwks",
    tag="record",
    summary="The public keys that verify the service's signatures.",
    access=Access.PUBLIC,
    answers={200: Jwks, 304: None},
    answer_example={
        "keys": [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
                "kid": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
                "use": "sig",
                "alg": "EdDSA",
            }
        ]
    },
    headers=("Cache-Control",),
    media=(JWKS,),
)


@get("/.well-known/jwks.json", opt=_JWKS.as_opt)
async def get_jwks(request: ApiRequest, signing_keys: NamedDependency[SigningKeys]) -> Response[bytes | None]:
    keys = Jwks(keys=tuple(Jwk(x=key.x, kid=key.kid) for key in signing_keys.published()))
    return published(request, msgspec.json.encode(keys), media_type=JWKS)


AREA: Final = Area(
    routes=(
        get_jwks,
        answer_route("/api/signing-keys", _PUBLIC, _SERVICE, SigningKeyService.public),
        answer_route("/api/admin/signing-keys", _LIST, _SERVICE, SigningKeyService.list),
        write_route("/api/admin/signing-keys", _ANNOUNCE, _SERVICE, SigningKeyService.announce),
        write_route("/api/admin/signing-keys/{kid:str}", _REMOVE, _SERVICE, SigningKeyService.remove, delete),
    ),
    provide={
        _SERVICE: SigningKeyService,
        "signing_keys": lambda resources: resources.stores.record.signing_keys,
    },
)
