"""Who is calling: bearer tokens prove a tenant or the platform, X-Operator names the person.

X-Operator is asserted by the bank and not authenticated here. It is ASCII, because look-alike letters would defeat the
two-person rule, and may not look like another kind of actor.

Errors  UnauthorizedError, one sentence for a missing, unknown or repeated bearer; InvalidRequestError for X-Operator
"""

import re
from enum import StrEnum
from hmac import compare_digest
from typing import Any, Final

import msgspec

from api.envelope import header_values
from api.operation import Access
from features.errors import InvalidRequestError, UnauthorizedError
from store.clock import Clock
from store.secrets import token_digest
from store.tenancy import Tenancy

UNKNOWN_BEARER: Final = "The bearer token is missing or unknown."
OTHER_TENANT: Final = "The bearer token does not belong to this tenant."
FORBIDDEN_PREFIXES: Final = ("key:", "policy:", "operator:")

_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7E]{1,512})")
_OPERATOR: Final = re.compile(rb"[\x20-\x7E]{1,128}")
_SPACES: Final = re.compile(r" +")


class CallerKind(StrEnum):
    OPERATOR = "operator"
    ADMIN = "admin"


class Caller(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The principal of a request. The platform's admin has no tenant: both tenant fields are empty."""

    kind: CallerKind
    tenant_id: str
    tenant: str
    operator: str


class Authenticator:
    """Finds the principal of a request's headers."""

    def __init__(self, *, tenancy: Tenancy, admin_token: str, clock: Clock) -> None:
        self._tenancy, self._clock = tenancy, clock
        self._admin_digest = token_digest(admin_token)

    def principal(self, scope: Any, access: Access, tenant: str | None) -> Caller:
        """The caller without its operator; ``tenant`` is the query parameter, which can only confirm the token."""
        token = _bearer(scope)
        if access is Access.ADMIN:
            if not compare_digest(token_digest(token), self._admin_digest):
                raise UnauthorizedError(UNKNOWN_BEARER)
            return Caller(kind=CallerKind.ADMIN, tenant_id="", tenant="", operator="")
        found = self._tenancy.tenant_of_token(token, at=self._clock.now())
        if found is None:
            raise UnauthorizedError(UNKNOWN_BEARER)
        if tenant is not None and tenant != found.slug:
            raise UnauthorizedError(OTHER_TENANT)
        return Caller(kind=CallerKind.OPERATOR, tenant_id=found.id, tenant=found.slug, operator="")


def operator_of(scope: Any) -> str:
    """The X-Operator header, trimmed and with runs of spaces folded."""
    sent = header_values(scope, b"x-operator")
    if not sent:
        raise InvalidRequestError("The header X-Operator is required: it names who is acting.")
    if len(sent) > 1 or not _OPERATOR.fullmatch(sent[0]):
        raise InvalidRequestError("The header X-Operator must be given once, as 1-128 printable ASCII characters.")
    name = _SPACES.sub(" ", sent[0].decode("ascii")).strip()
    if not name:
        raise InvalidRequestError("The header X-Operator must not be blank.")
    if name.casefold().startswith(FORBIDDEN_PREFIXES):
        raise InvalidRequestError("The header X-Operator must not start with " + ", ".join(FORBIDDEN_PREFIXES) + ".")
    return name


def _bearer(scope: Any) -> str:
    sent = header_values(scope, b"authorization")
    found = _BEARER.fullmatch(sent[0]) if len(sent) == 1 else None
    if found is None:
        raise UnauthorizedError(UNKNOWN_BEARER)
    return found[1].decode("ascii")
