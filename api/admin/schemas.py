"""Requests and answers of the platform's administration. Tokens and secrets are shown once, when made."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import force_setattr

from clearhold.api.http.fields import (
    LIST_LIMIT,
    BankId,
    BankKeyText,
    BankSecretText,
    CentsText,
    CountryCode,
    HeaderName,
    Moment,
    Name,
    PersonName,
    Slug,
)
from clearhold.api.http.validation import Failure, country_failures, moment_failures
from clearhold.api.lists.lists import to_answer
from clearhold.features.core.errors import FieldCode
from clearhold.features.core.plain_text import read_countries
from clearhold.features.core.principal import SIGNATURE_HEADER, Program
from clearhold.features.core.vocabulary import ProgramSource, Rail, about, minted
from clearhold.store.control.credentials import PersonToken
from clearhold.store.control.entries import Tenant

Rails = Annotated[tuple[Rail, ...], msgspec.Meta(max_length=LIST_LIMIT)]
Countries = Annotated[tuple[CountryCode, ...], msgspec.Meta(max_length=LIST_LIMIT)]
OverlapHours = Annotated[int, msgspec.Meta(ge=0, le=24)]

TEST_KEYS: Final = ("test_", "test-")
LIVE_KEYS: Final = ("live_", "live-", "prod_", "prod-")


TAKEN_PREFIXES: Final = ("access-control-", "proxy-", "score-", "sec-", "x-forwarded-")
TAKEN_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-encoding",
        "accept-language",
        "authorization",
        "cache-control",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "cookie",
        "date",
        "expect",
        "forwarded",
        "host",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "keep-alive",
        "origin",
        "referer",
        "te",
        "traceparent",
        "tracestate",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "via",
        "webhook-endpoint-id",
        "x-deadline-ms",
        "x-operator",
        "x-request-id",
    }
)
"""Headers of a connection, of HTTP and of this service: a proxy changes them, or they mean something else."""

_SIGNATURE_HEADER: Final = about("The header in which the bank signs the program's events.")
_ENTITY_ID: Final = about("The bank's id of the entity that owns the account.")


class NewTenant(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    slug: Slug
    name: Name


class NewProgram(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    tenant_id: UUID
    slug: Slug
    name: Name
    source: Annotated[ProgramSource, about("bank: real; simulated: to try out, always labelled.")] = ProgramSource.BANK
    webhook_endpoint_id: BankId | None = None
    signature_header: Annotated[HeaderName, _SIGNATURE_HEADER] = SIGNATURE_HEADER
    declared_monthly_volume_cents: CentsText | None = None
    declared_rails: Rails = ()
    declared_countries: Countries = ("US",)
    program_reserve_account_id: BankId | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "declared_countries", read_countries(self.declared_countries))


class ProgramChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields that are left out keep their value; null empties a field that may be empty."""

    name: Name | UnsetType = UNSET
    webhook_endpoint_id: BankId | UnsetType | None = UNSET
    signature_header: Annotated[HeaderName | UnsetType, _SIGNATURE_HEADER] = UNSET
    declared_monthly_volume_cents: CentsText | UnsetType | None = UNSET
    declared_rails: Rails | UnsetType = UNSET
    declared_countries: Countries | UnsetType = UNSET
    program_reserve_account_id: BankId | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if self.declared_countries is not UNSET:
            force_setattr(self, "declared_countries", read_countries(self.declared_countries))


class Rotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``overlapHours`` is how long the replaced token or secret stays valid."""

    overlap_hours: Annotated[OverlapHours, about("How many hours the replaced token or secret stays valid.")] = 0


class NewIngestSecret(Rotation, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``secret`` is the bank's own; without it a fresh one is made."""

    secret: Annotated[
        BankSecretText | None,
        about("The secret that the bank made itself, whole. It is in no answer. Left out: a fresh one."),
    ] = None

    def __repr__(self) -> str:
        return "NewIngestSecret()"


class NewPersonToken(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``name`` is the person's X-Operator, ``expiresAt`` is within a year."""

    name: Annotated[PersonName, about("The person's name on the record, as X-Operator would have it.")]
    expires_at: Annotated[Moment, about("Until when it is valid: in the future, and at most 366 days ahead.")]


class OperatorToken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operator token that was issued to a person. A revoked or expired one stays listed."""

    id: Annotated[str, minted("token")]
    tenant_id: str
    name: Annotated[str, about("The person's name on the record.")]
    prefix: Annotated[str, about("The first 12 characters of the token, to know it by.")]
    created_at: str
    created_by: Annotated[str, about("The platform admin's X-Operator.")]
    expires_at: Annotated[str, about("Until when it is valid.")]
    revoked_at: Annotated[str | None, about("When it was revoked; null when it was not.")]


class OperatorTokenCreated(OperatorToken, frozen=True, kw_only=True, rename="camel"):
    token: Annotated[str | None, about("The token, shown this once; null in the answer to a repeat.")]


class NewBankKey(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A tenant's key to the bank's API."""

    key: BankKeyText

    def __repr__(self) -> str:
        return "NewBankKey()"


class NewOwner(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    entity_id: Annotated[BankId, _ENTITY_ID]


class AccountOwner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The owner of a program's account, as the platform stated it."""

    program_id: str
    account_id: Annotated[str, about("The bank's id of the account.")]
    entity_id: Annotated[str, _ENTITY_ID]
    told_by: Annotated[str, about("Who told it.")]
    told_at: Annotated[str, about("When it was stated.")]


class TenantCreated(Tenant, frozen=True, kw_only=True, rename="camel"):
    operator_token: Annotated[str | None, about("The operator token, shown this once; null in the answer to a repeat.")]


class ProgramCreated(Program, frozen=True, kw_only=True, rename="camel"):
    ingest_secret: Annotated[
        str | None, about("The key that signs its events, shown this once; null in the answer to a repeat.")
    ]


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    token: Annotated[str | None, about("The new operator token, shown this once; null in the answer to a repeat.")]


class NewSecret(msgspec.Struct, frozen=True, kw_only=True):
    secret: Annotated[
        str | None,
        about("The new ingest secret, shown this once; null in the answer to a repeat, and where the bank made it."),
    ]


def expiry_exists(plain: Mapping[str, Any]) -> Iterable[Failure]:
    yield from moment_failures("expiresAt", plain.get("expiresAt"))


def to_operator_token(token: PersonToken) -> OperatorToken:
    return to_answer(token.entry, OperatorToken, tenant_id=token.tenant_id, revoked_at=token.revoked_at)


def is_test_key(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """This build reaches test banks only, so a live key is refused before it is stored anywhere."""
    key = plain.get("key")
    if not isinstance(key, str) or key.startswith(TEST_KEYS):
        return
    if key.lower().startswith(LIVE_KEYS):
        yield Failure("key", "must be a test key of the bank: live keys are refused")
    else:
        yield Failure("key", f"must be a test key of the bank, which begins with {' or '.join(TEST_KEYS)}")


def program_rules(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """The rules of a program's declaration that no schema says."""
    header = str(plain.get("signatureHeader")).lower()
    if header in TAKEN_HEADERS or header.startswith(TAKEN_PREFIXES):
        words = f"must be a header for the signature alone, as {SIGNATURE_HEADER}: this one has another meaning"
        yield Failure("signatureHeader", words, FieldCode.CONFLICTING)
    items = plain.get("declaredCountries")
    for index, item in enumerate(items[:LIST_LIMIT] if isinstance(items, list) else ()):
        yield from country_failures(f"declaredCountries[{index}]", item)
