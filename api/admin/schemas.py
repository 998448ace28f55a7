"""Requests and answers of the platform's administration. Tokens and secrets are shown once, when made."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from clearhold.api.http.countries import country_failures
from clearhold.api.http.fields import (
    LIST_LIMIT,
    BankId,
    BankKeyText,
    CentsText,
    CountryCode,
    Name,
    Slug,
)
from clearhold.api.http.validation import Failure
from clearhold.features.core.program import Program
from clearhold.features.core.vocabulary import ProgramSource, Rail
from clearhold.features.core.words import about
from clearhold.store.control.entries import Tenant

Rails = Annotated[tuple[Rail, ...], msgspec.Meta(max_length=LIST_LIMIT)]
Countries = Annotated[tuple[CountryCode, ...], msgspec.Meta(max_length=LIST_LIMIT)]
OverlapHours = Annotated[int, msgspec.Meta(ge=0, le=24)]

TEST_KEYS: Final = ("test_", "test-")
LIVE_KEYS: Final = ("live_", "live-", "prod_", "prod-")


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
    declared_monthly_volume_cents: CentsText | None = None
    declared_rails: Rails = ()
    declared_countries: Countries = ("US",)
    program_reserve_account_id: BankId | None = None


class ProgramChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields that are left out keep their value; null empties a field that may be empty."""

    name: Name | UnsetType = UNSET
    webhook_endpoint_id: BankId | UnsetType | None = UNSET
    declared_monthly_volume_cents: CentsText | UnsetType | None = UNSET
    declared_rails: Rails | UnsetType = UNSET
    declared_countries: Countries | UnsetType = UNSET
    program_reserve_account_id: BankId | UnsetType | None = UNSET


class Rotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``overlapHours`` is how long the replaced token or secret stays valid."""

    overlap_hours: Annotated[OverlapHours, about("How many hours the replaced token or secret stays valid.")] = 0


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
    secret: str | None


def is_test_key(plain: Mapping[str, Any]) -> Iterable[Failure]:
    """This build reaches test banks only, so a live key is refused before it is stored anywhere."""
    key = plain.get("key")
    if not isinstance(key, str) or key.startswith(TEST_KEYS):
        return
    if key.lower().startswith(LIVE_KEYS):
        yield Failure("key", "must be a test key of the bank: live keys are refused")
    else:
        yield Failure("key", f"must be a test key of the bank, which begins with {' or '.join(TEST_KEYS)}")


def countries_exist(plain: Mapping[str, Any]) -> Iterable[Failure]:
    items = plain.get("declaredCountries")
    for index, item in enumerate(items[:LIST_LIMIT] if isinstance(items, list) else ()):
        yield from country_failures(f"declaredCountries[{index}]", item)
