"""The public keys of the service's signatures, for their verification."""

from typing import Annotated, Final

import msgspec
from litestar import Response, get
from litestar.di import NamedDependency

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.head import ETAG, published
from clearhold.api.http.operation import Access, Operation
from clearhold.features.core.vocabulary import about
from clearhold.store.keys.signing_keys import SigningKeys

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


_READ: Final = Operation(
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
    headers=(ETAG, "Cache-Control"),
    media=(JWKS,),
)


@get("/.well-known/jwks.json", opt=_READ.as_opt)
async def get_jwks(request: ApiRequest, signing_keys: NamedDependency[SigningKeys]) -> Response[bytes | None]:
    keys = Jwks(keys=tuple(Jwk(x=key.x, kid=key.kid) for key in signing_keys.published()))
    return published(request, msgspec.json.encode(keys), media_type=JWKS)


AREA: Final = Area(routes=(get_jwks,), provide={"signing_keys": lambda resources: resources.stores.record.signing_keys})
