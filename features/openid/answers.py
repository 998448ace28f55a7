"""The answers of an OpenID provider: its configuration, keys and tokens; and the ways in which it may fail.

Source  OpenID Connect Core 1.0 and Discovery 1.0; RFC 6749, 7517
"""

from typing import Any

import msgspec


class OpenIdRefusedError(Exception):
    """The provider does not confirm the person, or its answer proves nothing. The text is for the log."""


class OpenIdUnreachableError(Exception):
    """The provider did not answer, or not as a provider does. The text is for the log."""


class ProviderConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of ``/.well-known/openid-configuration``."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class ProviderKeys(msgspec.Struct, frozen=True):
    keys: tuple[dict[str, Any], ...]


class ProviderTokens(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the token endpoint; at a refresh it may have no ID token, and no new refresh token."""

    access_token: str
    id_token: str | None = None
    refresh_token: str | None = None


class ProviderFault(msgspec.Struct, frozen=True):
    """An error of the token endpoint."""

    error: str


class OpenIdGrant(msgspec.Struct, frozen=True, kw_only=True):
    """The means to ask the provider about a person again; ``subject`` is the provider's id of the person.
    ``id_token`` tells the provider at signing out which session it is about.
    """

    subject: str
    access_token: str
    refresh_token: str | None = None
    id_token: str | None = None


class OpenIdClaims(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's statements about a person. ``whole`` is False where claims may be left out: absence means
    nothing.
    """

    subject: str
    claims: dict[str, Any]
    whole: bool = True
