"""The caller: a bearer token proves a tenant or the platform, X-Operator names the person.

Under the tenant's shared token and under API keys X-Operator is a claim of the bank; under an operator token that was
issued to a person it is that person, and any other name is refused. It is ASCII, because look-alike letters would
defeat the two-person rule, and it must not have the form of another kind of actor.

Errors  UnauthorizedError, which says whether the bearer is missing, unknown, revoked, replaced or of another kind;
        ForbiddenError for an operation that a known caller may not use; InvalidRequestError for X-Operator
"""

import re
from hmac import compare_digest
from typing import Any, Final

import msgspec

from clearhold.api.http.envelope import header_values
from clearhold.api.http.fields import PERSON, is_uuid
from clearhold.api.http.operation import Access, Operation
from clearhold.features.core.entries.actions import same_person
from clearhold.features.core.errors import (
    ErrorCode,
    FieldCode,
    FieldError,
    ForbiddenError,
    InvalidRequestError,
    UnauthorizedError,
)
from clearhold.features.core.principal import (
    KEY_OPERATOR_PREFIX,
    OUT_OF_REACH,
    SOURCE_OF_MODE,
    KeyMode,
    Principal,
    PrincipalKind,
    Program,
)
from clearhold.store.clock import Clock
from clearhold.store.control.credentials import KeyUsage, PersonToken, StoredKey
from clearhold.store.control.entries import Tenant
from clearhold.store.control.tenancy import Tenancy
from clearhold.store.keys import token_digest
from clearhold.store.sessions import OF_THE_BANK, SignedInBy

MISSING_BEARER: Final = "The bearer token is missing. Send it as Authorization: Bearer TOKEN; no other header is read."
UNREADABLE_BEARER: Final = "The bearer token is not readable. Send one header, as Authorization: Bearer TOKEN."
UNKNOWN_BEARER: Final = "The bearer token is unknown to this service. Is it whole, and of this service?"
ADMIN_BEARER: Final = (
    "The bearer token is the platform's admin token, which is for /api/admin alone. "
    "Use the tenant's operator token or an API key."
)
OPERATOR_BEARER: Final = (
    "The bearer token is a tenant's operator token. Routes under /api/admin take the platform's admin token."
)
KEY_BEARER_FOR_ADMIN: Final = "The bearer token is an API key. Routes under /api/admin take the platform's admin token."
KEY_BEARER_FOR_OWNER: Final = (
    "The bearer token is an API key. This route takes the operator token of the tenant that owns the program."
)
REVOKED_BEARER: Final = "The bearer token is an API key that was revoked. POST /api/keys creates another."
EXPIRED_BEARER: Final = "The bearer token was issued to a person and has expired."
REVOKED_TOKEN: Final = "The bearer token was issued to a person and was revoked."  # noqa: S105 - a sentence
ANOTHER_PERSON: Final = "The bearer token was issued to another person than {header} names."
REPLACED_BEARER: Final = "The bearer token is an operator token that was replaced by a newer one."
NOT_OWNED: Final = "The bearer token's tenant has no such program."
OTHER_TENANT: Final = "The bearer token does not belong to the tenant that the parameter tenant names."
OPERATORS_ONLY: Final = "This needs the tenant's operator token; an API key is not enough."
TEST_KEYS_ONLY: Final = "The sandbox needs a test key."
FORBIDDEN_PREFIXES: Final = (KEY_OPERATOR_PREFIX, "policy:", "operator:")
OPERATOR_NAME: Final = PERSON.removesuffix(r"(?!\n)")
"""The rule of ``operator_of``, for the OpenAPI document."""
OPERATOR_ID: Final = "operator"
_HEADER: Final = "The header X-Operator"

_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] +([\x21-\x7E]{1,512})")
_OPERATOR: Final = re.compile(rb"[\x20-\x7E]{1,128}")
_SPACES: Final = re.compile(r" +")
_KEY_PREFIXES: Final = tuple(f"{mode}_" for mode in KeyMode)


class NamedPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """The programs in a request's path, query or body, before validation."""

    program_ids: tuple[str, ...] = ()
    program_slug: str | None = None


class Authenticator:
    """Authenticates the principal of a request by its headers, and authorizes it."""

    def __init__(self, *, tenancy: Tenancy, admin_token: str, usage: KeyUsage, clock: Clock) -> None:
        self._tenancy, self._usage, self._clock = tenancy, usage, clock
        self._admin_digest = token_digest(admin_token)

    def principal(self, scope: Any, access: Access, tenant: str | None) -> Principal:
        """The principal, without its operator; the query parameter ``tenant`` can only confirm the token."""
        token = bearer_of(scope)
        if access is Access.ADMIN:
            if not self._is_admin(token):
                raise self._refusal(token, access)
            return Principal(kind=PrincipalKind.ADMIN, id=PrincipalKind.ADMIN, tenant_id="", tenant="")
        principal = self.of_token(token, access)
        if tenant is not None and tenant != principal.tenant:
            raise UnauthorizedError(OTHER_TENANT, ErrorCode.TENANT_MISMATCH)
        return principal

    def of_token(self, token: str, access: Access) -> Principal:
        """The principal of a tenant's token or of an API key, without its operator."""
        principal = self._operator(token) or (self._key(token) if access is not Access.OWNER else None)
        if principal is None:
            raise self._refusal(token, access)
        return principal

    def of_credential(self, tenant_id: str, signed_in_by: SignedInBy, credential: str) -> Principal | None:
        """The principal of a credential that was proven at the begin of a session, while it is valid."""
        tenancy, now = self._tenancy, self._clock.now()
        tenant = tenancy.tenants.find(tenant_id)
        if tenant is None:
            return None
        if signed_in_by in OF_THE_BANK:
            return msgspec.structs.replace(_operator_of(tenant), id=credential, has_own_token=True)
        if signed_in_by is SignedInBy.PERSON:
            issued = tenancy.person_tokens.find(tenant_id, credential)
            return self._person(issued) if issued is not None and issued.is_valid(now) else None
        if signed_in_by is SignedInBy.PASSKEY:
            passkey = tenancy.passkeys.find(tenant_id, credential)
            is_valid = passkey is not None and passkey.revoked_at is None
            return (
                msgspec.structs.replace(_operator_of(tenant), id=credential, has_own_token=True) if is_valid else None
            )
        if signed_in_by is SignedInBy.KEY:
            key = tenancy.keys.find(tenant_id, credential)
            return self._key_principal(key, tenant) if key is not None and key.revoked_at is None else None
        return _operator_of(tenant) if tenancy.operator_tokens.is_valid(tenant_id, credential, at=now) else None

    def tenant_id_of(self, slug: str) -> str | None:
        """The id of the tenant with this slug, for persons that the bank's proxy or provider names."""
        tenant = self._tenancy.tenants.find_by_slug(slug)
        return None if tenant is None else tenant.id

    def _is_admin(self, token: str) -> bool:
        return compare_digest(token_digest(token), self._admin_digest)

    def _refusal(self, token: str, access: Access) -> UnauthorizedError:
        """The reason why a token does not open a route. Only a caller with the whole token learns its kind."""
        tenancy = self._tenancy
        if self._is_admin(token):
            return UnauthorizedError(ADMIN_BEARER, ErrorCode.TOKEN_OF_ANOTHER_KIND)
        if self._operator(token) is not None:
            return UnauthorizedError(OPERATOR_BEARER, ErrorCode.TOKEN_OF_ANOTHER_KIND)
        if tenancy.keys.of_secret(token) is not None:
            sentence = KEY_BEARER_FOR_ADMIN if access is Access.ADMIN else KEY_BEARER_FOR_OWNER
            return UnauthorizedError(sentence, ErrorCode.TOKEN_OF_ANOTHER_KIND)
        return self._ended(token) or UnauthorizedError(UNKNOWN_BEARER, ErrorCode.TOKEN_UNKNOWN)

    def _ended(self, token: str) -> UnauthorizedError | None:
        """The reason why a token that this service made opens nothing any more."""
        tenancy, issued = self._tenancy, self._tenancy.person_tokens.of_secret(token)
        if issued is not None and issued.revoked_at is None:
            return UnauthorizedError(EXPIRED_BEARER, ErrorCode.TOKEN_EXPIRED)
        if issued is not None:
            return UnauthorizedError(REVOKED_TOKEN, ErrorCode.TOKEN_REVOKED)
        if tenancy.keys.is_revoked(token):
            return UnauthorizedError(REVOKED_BEARER, ErrorCode.KEY_REVOKED)
        if tenancy.operator_tokens.is_replaced(token):
            return UnauthorizedError(REPLACED_BEARER, ErrorCode.TOKEN_REPLACED)
        return None

    def _operator(self, token: str) -> Principal | None:
        if token.startswith(_KEY_PREFIXES):
            return None
        now = self._clock.now()
        issued = self._tenancy.person_tokens.of_secret(token)
        if issued is not None:
            return self._person(issued) if issued.is_valid(now) else None
        tenant = self._tenancy.tenant_of_token(token, at=now)
        if tenant is None:
            return None
        return _operator_of(tenant)

    def _person(self, issued: PersonToken) -> Principal | None:
        tenant = self._tenancy.tenants.find(issued.tenant_id)
        if tenant is None:
            return None
        return Principal(
            kind=PrincipalKind.OPERATOR,
            id=issued.entry.id,
            tenant_id=tenant.id,
            tenant=tenant.slug,
            operator=issued.entry.name,
            has_own_token=True,
        )

    def _key(self, token: str) -> Principal | None:
        key = self._tenancy.keys.of_secret(token)
        tenant = None if key is None else self._tenancy.tenants.find(key.tenant_id)
        if key is None or tenant is None:
            return None
        self._usage.note(key.entry.id, self._clock.now())
        return self._key_principal(key, tenant)

    def _key_principal(self, key: StoredKey, tenant: Tenant) -> Principal:
        entry = key.entry
        of_mode = self._tenancy.programs.ids(tenant.id, SOURCE_OF_MODE[entry.mode])
        return Principal(
            kind=PrincipalKind.KEY,
            id=entry.id,
            tenant_id=tenant.id,
            tenant=tenant.slug,
            operator=f"{KEY_OPERATOR_PREFIX}{entry.prefix}",
            mode=entry.mode,
            of_mode=of_mode,
            program_ids=of_mode if entry.program_id is None else of_mode & {entry.program_id},
            tenant_wide=entry.program_id is None and entry.mode is KeyMode.LIVE,
            scopes=frozenset(entry.scopes),
        )

    def authorize(self, principal: Principal, operation: Operation, named: NamedPrograms) -> None:
        """Raise ForbiddenError for an operation or a named program outside the principal's reach."""
        if operation.access is Access.OWNER and self._is_unknown(principal.tenant_id, named):
            raise UnauthorizedError(NOT_OWNED, ErrorCode.PROGRAM_NOT_OWNED)
        if operation.sandbox and principal.mode is not KeyMode.TEST:
            raise ForbiddenError(TEST_KEYS_ONLY, ErrorCode.TEST_KEY_REQUIRED)
        if principal.kind is not PrincipalKind.KEY:
            return
        if operation.access is Access.OPERATOR:
            raise ForbiddenError(OPERATORS_ONLY, ErrorCode.OPERATOR_TOKEN_REQUIRED)
        if operation.scope is not None:
            principal.require_scope(operation.scope)
        if operation.tenant_wide:
            principal.require_tenant_wide()
        if not all(principal.reaches(program.id) for program in self._programs(principal.tenant_id, named)):
            raise ForbiddenError(OUT_OF_REACH, ErrorCode.PROGRAM_OUT_OF_REACH)

    def _is_unknown(self, tenant_id: str, named: NamedPrograms) -> bool:
        """Whether the tenant has no such program; validation reports an id that is no UUID."""
        return all(map(is_uuid, named.program_ids)) and not self._programs(tenant_id, named)

    def _programs(self, tenant_id: str, named: NamedPrograms) -> list[Program]:
        """The tenant's programs among the named ones; a slug counts only without an id."""
        find = self._tenancy.programs.of_tenant
        if named.program_ids:
            programs = [find(tenant_id, program_id=each, slug=None) for each in named.program_ids]
        else:
            programs = [find(tenant_id, program_id=None, slug=named.program_slug)]
        return [program for program in programs if program is not None]


def _operator_of(tenant: Tenant) -> Principal:
    return Principal(kind=PrincipalKind.OPERATOR, id=OPERATOR_ID, tenant_id=tenant.id, tenant=tenant.slug)


def operator_of(scope: Any, principal: Principal) -> str:
    """The X-Operator header, trimmed and with runs of spaces folded. A key without one is its own operator.

    Under a person's token it is that person, whose name it may leave out.
    """
    sent = header_values(scope, b"x-operator")
    if not sent:
        if principal.operator:
            return principal.operator
        raise _bad_operator("is required: it names who is acting.", FieldCode.REQUIRED, ErrorCode.OPERATOR_REQUIRED)
    if len(sent) > 1:
        raise _bad_operator("must be given once.", FieldCode.REPEATED)
    return confirmed_name(principal, person_named(sent[0], _HEADER), "X-Operator")


def person_named(sent: bytes, place: str) -> str:
    """A person's name as it goes on the record; ``place`` is where it was sent, for the refusal."""
    if not _OPERATOR.fullmatch(sent):
        raise _bad_operator(
            "must be 1-128 printable ASCII characters: a login name or an e-mail address, as in jose@bank.example. "
            "Other letters are refused, because two that look alike would be two persons.",
            FieldCode.MALFORMED,
            place=place,
        )
    name = folded_name(sent.decode("ascii"))
    if not name:
        raise _bad_operator("must not be blank.", FieldCode.TOO_SHORT, place=place)
    if name.casefold().startswith(FORBIDDEN_PREFIXES):
        sentence = "must not start with " + ", ".join(FORBIDDEN_PREFIXES) + "."
        raise _bad_operator(sentence, FieldCode.MALFORMED, place=place)
    return name


def confirmed_name(principal: Principal, name: str, place: str) -> str:
    """A person's name for the record: under a person's own token only that name."""
    if not principal.has_own_token:
        return name
    if not same_person(name, principal.operator):
        raise ForbiddenError(ANOTHER_PERSON.format(header=place), ErrorCode.OPERATOR_MISMATCH)
    return principal.operator


def folded_name(name: str) -> str:
    """A person's name for the record: trimmed, and with runs of spaces folded."""
    return _SPACES.sub(" ", name).strip()


def _bad_operator(
    rule: str, field: FieldCode, code: ErrorCode = ErrorCode.OPERATOR_INVALID, *, place: str = _HEADER
) -> InvalidRequestError:
    return InvalidRequestError(
        f"{place} {rule}", code, fields=[FieldError(path=place.rsplit(maxsplit=1)[-1], code=field)]
    )


def bearer_of(scope: Any) -> str:
    sent = header_values(scope, b"authorization")
    if not sent:
        raise UnauthorizedError(MISSING_BEARER, ErrorCode.TOKEN_MISSING)
    bearer = _BEARER.fullmatch(sent[0]) if len(sent) == 1 else None
    if bearer is None:
        raise UnauthorizedError(UNREADABLE_BEARER, ErrorCode.TOKEN_MISSING)
    return bearer[1].decode("ascii")
