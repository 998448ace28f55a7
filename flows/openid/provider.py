"""The bank's OpenID provider: its configuration and keys, and the requests of the authorization code flow with PKCE.

Answers are bounded in size and time; a redirect is not followed. The configuration counts for an hour. Keys are read
again for a token of an unknown key, at most once a minute.

Source  OpenID Connect Core 1.0, Discovery 1.0, RP-Initiated Logout 1.0; RFC 6749, 7636
Errors  OpenIdRefusedError, OpenIdUnreachableError
"""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx
import msgspec
import structlog

from clearhold.features.core.instants import HOUR_US, MINUTE_US, SECOND_US
from clearhold.features.openid.answers import (
    OpenIdClaims,
    OpenIdGrant,
    OpenIdRefusedError,
    OpenIdUnreachableError,
    ProviderConfiguration,
    ProviderFault,
    ProviderKeys,
    ProviderTokens,
)
from clearhold.features.openid.id_token import UnknownKeyError, verified
from clearhold.features.openid.logout_token import LogoutNotice, logout_notice
from clearhold.flows.running.bank_http import body_of
from clearhold.store.clock import Clock

ANSWER_WITHIN_S: Final = 4.0
MOST_BYTES: Final = 256 * 1024
LONGEST_TOKEN: Final = 16 * 1024
LONGEST_HINT: Final = 4 * 1024
"""A longer ID token is not sent in the address at signing out."""

CONFIGURATION_FOR_US: Final = HOUR_US
KEYS_AGAIN_AFTER_US: Final = MINUTE_US
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_REFUSALS: Final = frozenset(
    {"invalid_grant", "access_denied", "login_required", "interaction_required", "consent_required"}
)
"""Errors of the token endpoint that are about the person; others are about the client or the provider."""

log = structlog.get_logger()
A = TypeVar("A")
Keys = tuple[dict[str, Any], ...]


class OpenIdClient(msgspec.Struct, frozen=True, kw_only=True):
    """This service as the provider knows it; ``allow_local``: the provider may be on this machine, without TLS."""

    issuer: str
    client_id: str
    client_secret: str
    scopes: str
    redirect_uri: str
    signed_out_uri: str
    allow_local: bool = False


class OpenIdProvider:
    """Belongs to one event loop."""

    def __init__(self, client: OpenIdClient, http: httpx.AsyncClient, clock: Clock) -> None:
        self._client, self._http, self._clock = client, http, clock
        self._configuration: ProviderConfiguration | None = None
        self._configured_at = 0
        self._keys: Keys | None = None
        self._keys_at = 0

    async def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """The provider's page at which the person signs in."""
        configuration = await self._configured()
        parameters = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": self._client.redirect_uri,
            "scope": self._client.scopes,
            "state": state,
            "nonce": nonce,
            "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        return _with_parameters(configuration.authorization_endpoint, parameters)

    async def redeem(self, code: str, *, nonce: str, verifier: str) -> tuple[OpenIdGrant, OpenIdClaims]:
        """What the provider states about the person who came back with this code."""
        configuration = await self._configured()
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self._client.redirect_uri}
        tokens = await self._tokens(configuration, form | {"code_verifier": verifier})
        if tokens.id_token is None:
            raise OpenIdRefusedError("the provider gave no ID token")
        claims = await self._claims_in(configuration, tokens.id_token, nonce)
        if tokens.refresh_token is None and configuration.userinfo_endpoint is None:
            raise OpenIdRefusedError("the provider has neither refresh tokens nor userinfo")
        grant = OpenIdGrant(
            subject=claims.subject,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            id_token=tokens.id_token if len(tokens.id_token) <= LONGEST_HINT else None,
        )
        return grant, claims

    async def sign_out_url(self, grant: OpenIdGrant) -> str | None:
        """The provider's page at which its session ends; None where it has none."""
        configuration = await self._configured()
        if configuration.end_session_endpoint is None:
            return None
        parameters = {"client_id": self._client.client_id, "post_logout_redirect_uri": self._client.signed_out_uri}
        if grant.id_token is not None:
            parameters["id_token_hint"] = grant.id_token
        return _with_parameters(configuration.end_session_endpoint, parameters)

    async def logout_of(self, token: str) -> LogoutNotice:
        """The person or session that the provider says has ended."""
        now_s = self._clock.now() // SECOND_US
        client = self._client
        return await self._by_keys(
            await self._configured(),
            lambda keys: logout_notice(token, keys, issuer=client.issuer, client_id=client.client_id, now_s=now_s),
        )

    async def renew(self, grant: OpenIdGrant) -> tuple[OpenIdGrant, str | None]:
        """The grant to go on with, which has to be kept at once, and the ID token that came with it."""
        if grant.refresh_token is None:
            return grant, None
        configuration = await self._configured()
        form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
        tokens = await self._tokens(configuration, form)
        renewed = msgspec.structs.replace(
            grant, access_token=tokens.access_token, refresh_token=tokens.refresh_token or grant.refresh_token
        )
        return renewed, tokens.id_token

    async def claims_of(self, grant: OpenIdGrant, id_token: str | None) -> OpenIdClaims | None:
        """What the provider states now; None where a refresh is all that it offers."""
        configuration = await self._configured()
        if id_token is not None:
            claims = await self._claims_in(configuration, id_token, None)
        elif configuration.userinfo_endpoint is not None:
            claims = await self._user_info(configuration.userinfo_endpoint, grant.access_token)
        else:
            return None
        if claims.subject != grant.subject:
            raise OpenIdRefusedError("the provider names another person")
        return claims

    async def _configured(self) -> ProviderConfiguration:
        now = self._clock.now()
        if self._configuration is not None and now - self._configured_at < CONFIGURATION_FOR_US:
            return self._configuration
        url = self._client.issuer.rstrip("/") + _WELL_KNOWN
        read = _decoded(await self._got(url), ProviderConfiguration)
        if read.issuer != self._client.issuer:
            raise OpenIdUnreachableError("the configuration is of another issuer")
        needed = (read.authorization_endpoint, read.token_endpoint, read.jwks_uri)
        if not all(self._is_fit(each) for each in (*needed, *_optional(read)) if each is not None):
            raise OpenIdUnreachableError("the configuration has an address without https://")
        self._configuration, self._configured_at = read, now
        return read

    async def _claims_in(self, configuration: ProviderConfiguration, token: str, nonce: str | None) -> OpenIdClaims:
        client, now_s = self._client, self._clock.now() // SECOND_US
        return await self._by_keys(
            configuration,
            lambda keys: verified(
                token, keys, issuer=client.issuer, client_id=client.client_id, nonce=nonce, now_s=now_s
            ),
        )

    async def _by_keys(self, configuration: ProviderConfiguration, check: Callable[[Keys], A]) -> A:
        """A check of a token by the provider's keys, which are read again for an unknown one."""
        keys = self._keys if self._keys is not None else await self._read_keys(configuration)
        try:
            return check(keys)
        except UnknownKeyError:
            if self._clock.now() - self._keys_at < KEYS_AGAIN_AFTER_US:
                raise
            return check(await self._read_keys(configuration))

    async def _read_keys(self, configuration: ProviderConfiguration) -> Keys:
        self._keys_at = self._clock.now()
        self._keys = _decoded(await self._got(configuration.jwks_uri), ProviderKeys).keys
        return self._keys

    async def _user_info(self, url: str, access_token: str) -> OpenIdClaims:
        status, body = await self._answer("GET", url, headers={"Authorization": f"Bearer {access_token}"})
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise OpenIdRefusedError(f"userinfo answered {status}")
        if status != HTTPStatus.OK:
            raise OpenIdUnreachableError(f"userinfo answered {status}")
        claims = _decoded(body, dict[str, Any])
        subject = claims.get("sub")
        if not isinstance(subject, str):
            raise OpenIdUnreachableError("userinfo names no person")
        return OpenIdClaims(subject=subject, claims=claims, whole=False)

    async def _tokens(self, configuration: ProviderConfiguration, form: Mapping[str, str]) -> ProviderTokens:
        methods = configuration.token_endpoint_auth_methods_supported
        client, sent = self._client, dict(form)
        auth = httpx.BasicAuth(quote_plus(client.client_id), quote_plus(client.client_secret))
        options: dict[str, Any] = {"auth": auth}
        if "client_secret_basic" not in methods and "client_secret_post" in methods:
            sent |= {"client_id": client.client_id, "client_secret": client.client_secret}
            options = {}
        status, body = await self._answer("POST", configuration.token_endpoint, data=sent, **options)
        if status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            fault = _decoded(body, ProviderFault).error
            if fault in _REFUSALS:
                raise OpenIdRefusedError(f"the provider answered {fault}")
            log.error("openid_client_refused", fault=fault[:64])
            raise OpenIdUnreachableError("the provider refused this client")
        if status != HTTPStatus.OK:
            raise OpenIdUnreachableError(f"the token endpoint answered {status}")
        tokens = _decoded(body, ProviderTokens)
        if max(len(tokens.access_token), len(tokens.refresh_token or "")) > LONGEST_TOKEN:
            raise OpenIdUnreachableError("a token is too long")
        return tokens

    async def _got(self, url: str) -> bytes:
        status, body = await self._answer("GET", url)
        if status != HTTPStatus.OK:
            raise OpenIdUnreachableError(f"{urlsplit(url).path[:64]} answered {status}")
        return body

    async def _answer(self, method: str, url: str, **options: Any) -> tuple[int, bytes]:
        try:
            async with (
                asyncio.timeout(ANSWER_WITHIN_S),
                self._http.stream(method, url, **options) as response,
            ):
                body = await body_of(response, most_bytes=MOST_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:  # TimeoutError is an OSError
            raise OpenIdUnreachableError(f"no answer: {type(error).__name__}") from error
        if body is None:
            raise OpenIdUnreachableError("the answer is too large, or compressed")
        return response.status_code, body

    def _is_fit(self, url: str) -> bool:
        """Whether the address is one over TLS, or of this machine where that is allowed."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            return False
        is_plain = url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
        if not is_plain or not host or parts.fragment:
            return False
        return parts.scheme == "https" or (parts.scheme == "http" and self._client.allow_local and _is_here(host))


def _optional(configuration: ProviderConfiguration) -> tuple[str | None, str | None]:
    return configuration.userinfo_endpoint, configuration.end_session_endpoint


def _with_parameters(endpoint: str, parameters: Mapping[str, str]) -> str:
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(parameters)}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _decoded(body: bytes, form: type[A]) -> A:
    try:
        return msgspec.json.decode(body, type=form)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise OpenIdUnreachableError(f"the answer is no {form.__name__}") from error
