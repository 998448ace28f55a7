"""Logout tokens of an OpenID provider: it says by one that a person, or one session of a person, has ended there.

A logout token is no ID token: it has no nonce and names its event, so neither counts as the other.

Unit    seconds since 1970
Source  OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6
Errors  OpenIdRefusedError for a token that proves nothing; UnknownKeyError for a key that is not among the keys
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from clearhold.features.openid.answers import OpenIdRefusedError
from clearhold.features.openid.id_token import check_times, signed_claims

EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_REQUIRED: Final = ("iss", "aud", "iat", "jti", "events")


class LogoutNotice(msgspec.Struct, frozen=True, kw_only=True):
    """The person or the session that ended at the provider; ``id`` is that of the token. One of both is not None."""

    id: str
    subject: str | None
    session: str | None


def logout_notice(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client_id: str, now_s: int
) -> LogoutNotice:
    claims = signed_claims(token, keys, issuer=issuer, client_id=client_id, required=_REQUIRED)
    check_times(claims, now_s)
    events = claims["events"]
    if not isinstance(events, dict) or not isinstance(events.get(EVENT), dict) or "nonce" in claims:
        raise OpenIdRefusedError("the token is no logout token")
    subject, session = claims.get("sub"), claims.get("sid")
    if not all(isinstance(each, str) for each in (claims["jti"], subject or "", session or "")):
        raise OpenIdRefusedError("the logout token's names are no texts")
    if not subject and not session:
        raise OpenIdRefusedError("the logout token names neither a person nor a session")
    return LogoutNotice(id=claims["jti"], subject=subject or None, session=session or None)
