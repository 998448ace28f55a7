"""Routes of the signing keys: the admin token and X-Operator. Left out of the public document."""

from functools import partial
from typing import Final

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.signing_keys.schemas import NewSigningKey, SigningKeyState
from clearhold.api.signing_keys.service import SigningKeyService
from clearhold.features.core.errors import ErrorCode

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


@get("/api/admin/signing-keys", opt=_LIST.as_opt)
async def list_signing_keys(signing_key_states: NamedDependency[SigningKeyService]) -> tuple[SigningKeyState, ...]:
    return signing_key_states.list()


@post("/api/admin/signing-keys", opt=_ANNOUNCE.as_opt)
async def announce_signing_key(
    request: ApiRequest, signing_key_states: NamedDependency[SigningKeyService]
) -> SigningKeyState:
    return await signing_key_states.announce(principal_of(request.scope), body_of(request.scope, NewSigningKey))


@delete("/api/admin/signing-keys/{kid:str}", status_code=200, opt=_REMOVE.as_opt)
async def remove_signing_key(
    kid: FromPath[str], request: ApiRequest, signing_key_states: NamedDependency[SigningKeyService]
) -> SigningKeyState:
    return await signing_key_states.remove(principal_of(request.scope), kid)


AREA: Final = Area(
    routes=(list_signing_keys, announce_signing_key, remove_signing_key),
    provide={"signing_key_states": lambda resources: SigningKeyService(resources.stores.record.signing_keys)},
)
