"""The entries of the control streams, one stream a tenant: their kinds and bodies."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from clearhold.features.configuration.files import ConfigFile
from clearhold.features.core.principal import KeyMode, KeyScope, Program
from clearhold.features.core.rules import Backtest, Rule
from clearhold.features.core.vocabulary import minted
from clearhold.features.policy.bodies import LimitsBody
from clearhold.features.webhooks.payloads import EventType

ControlEntry = tuple[str, int, str, int, bytes]
"""Tenant id, offset, kind, appended_at, body, as ``LogReader.control()`` yields them."""


class ControlKind(StrEnum):
    TENANT = "tenant"
    PROGRAM = "program"
    PROGRAM_CHANGED = "program_changed"
    OPERATOR_TOKEN = "operator_token"  # noqa: S105 - the name of an entry, not a token
    PERSON_TOKEN = "person_token"  # noqa: S105 - as above
    PERSON_TOKEN_REVOKED = "person_token_revoked"  # noqa: S105 - as above
    PASSKEY = "passkey"
    PASSKEY_REVOKED = "passkey_revoked"
    INGEST_SECRET = "ingest_secret"  # noqa: S105 - as above
    API_KEY = "api_key"
    API_KEY_REVOKED = "api_key_revoked"
    BANK_KEY = "bank_key"
    BANK_KEY_REMOVED = "bank_key_removed"
    POLICY = "policy"
    POLICY_ACTIVATED = "policy_activated"
    RULE = "rule"
    SCORECARD = "scorecard"
    SCORECARD_REPORT = "scorecard_report"
    CHALLENGER = "challenger"
    WEBHOOK = "webhook"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_SECRET = "webhook_secret"  # noqa: S105 - as above
    CONFIG = "config"
    CONFIG_APPLIED = "config_applied"


class Tenant(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A bank."""

    id: Annotated[str, minted("tenant")]
    slug: str
    name: str
    created_at: str


class TenantEntry(Tenant, frozen=True, kw_only=True, rename="camel"):
    """A tenant as created, with the digest of its first operator token."""

    operator_token_sha256: str


class ProgramEntry(Program, frozen=True, kw_only=True, rename="camel"):
    """A program as created, with its first ingest secret."""

    sealed_ingest_secret: str


class ProgramChangedEntry(Program, frozen=True, kw_only=True, rename="camel"):
    """A program after a change. ``effect_id`` is set when the request had an idempotency key."""

    effect_id: str | None = None


class Effect(msgspec.Struct, frozen=True, rename="camel"):
    """The part of an entry that names the idempotent request behind it."""

    effect_id: str | None = None


class TokenEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new operator token. The former one stays valid until ``others_until`` (microseconds), older ones end.

    It names the former token because an unconfirmed entry may lie between the two.
    """

    operator_token_sha256: str
    replaced_sha256: str
    others_until: int
    effect_id: str | None = None


class PersonTokenEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An operator token as issued to one person, whose name is on the record; valid until ``expires_at``."""

    id: str
    name: str
    prefix: str
    created_at: str
    created_by: str
    expires_at: int
    token_sha256: str


class PersonTokenRevokedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    token_id: str
    revoked_at: str
    revoked_by: str


class PasskeyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A passkey as registered by one person, whose name is on the record. The id that the authenticator gave and the
    public key are base64url; ``sign_count`` is the authenticator's counter, 0 where it has none.
    """

    id: str
    name: str
    credential_id: str
    public_key: str
    sign_count: int
    created_at: str
    invited_by: str


class PasskeyRevokedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    passkey_id: str
    revoked_at: str
    revoked_by: str


class SecretEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new ingest secret. The former one stays valid until ``others_until`` (microseconds), older ones end."""

    program_id: str
    sealed_ingest_secret: str
    sealed_replaced: str
    others_until: int
    effect_id: str | None = None


class ApiKeyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A key as created. ``program_id`` None: every program of the mode; no scopes: everything the mode allows."""

    id: str
    name: str
    mode: KeyMode
    prefix: str
    program_id: str | None
    scopes: tuple[KeyScope, ...]
    created_at: str
    created_by: str
    secret_sha256: str


class ApiKeyRevokedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    key_id: str
    revoked_at: str
    revoked_by: str


class BankKeyEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The tenant's key to the bank's API, sealed. It replaces the former one."""

    sealed_key: str
    set_at: str
    set_by: str
    effect_id: str | None = None


class BankKeyRemovedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    removed_at: str
    removed_by: str
    effect_id: str | None = None


class PolicyCreatedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A policy as created, in force nowhere yet. ``program_id`` None: for the whole tenant."""

    id: str
    tenant_id: str
    program_id: str | None
    version: str
    body: dict[str, Any]
    created_at: str
    created_by: str
    effect_id: str | None = None


class PolicyActivatedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version brought into force by an approved action, from the instant ``at`` (microseconds) on."""

    version: str
    action_id: str
    at: int


class VersionInForceEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A version, created and at once in force: in its program, or in every program of the tenant."""

    created: PolicyCreatedEntry
    activated: PolicyActivatedEntry


class RuleEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A rule after a change, with all its effects in one entry, so that none can be missing.

    ``action_id`` is that of an activation or a pause, ``backtest`` a new backtest, ``at`` in microseconds.
    """

    rule: Rule
    at: int
    by: str
    note: str | None = None
    action_id: str | None = None
    backtest: Backtest | None = None
    versions: tuple[VersionInForceEntry, ...] = ()
    effect_id: str | None = None


class ScorecardReportEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of ``clearhold calibrate`` on one exact card, as sent in; instants in microseconds.

    ``made_at`` is stated by the report; its age counts from it. ``report`` stays JSON, a fraction of its decoded size.
    """

    version: str
    card_sha256: str
    report_sha256: str
    report: msgspec.Raw
    made_at: int
    at: int
    by: str


class ChallengerEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The scorecard in shadow from now on, None for no scorecard: the version that brings it into programs, created and
    in force.
    """

    scorecard: str | None
    created: PolicyCreatedEntry
    activated: PolicyActivatedEntry
    effect_id: str | None = None


class WebhookEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An endpoint as registered. ``program_id`` None: every program of the tenant; no events: all of them."""

    id: str
    program_id: str | None
    url: str
    events: tuple[EventType, ...]
    description: str | None
    created_at: str
    created_by: str
    sealed_secret: str


class WebhookChangedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An endpoint after a change. ``changed_by`` is ``policy:platform`` when the service disabled it."""

    id: str
    url: str
    events: tuple[EventType, ...]
    description: str | None
    enabled: bool
    changed_at: str
    changed_by: str
    effect_id: str | None = None


class WebhookSecretEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A new secret. The former one also signs until ``others_until`` (microseconds), older ones end."""

    endpoint_id: str
    sealed_secret: str
    sealed_replaced: str
    others_until: int
    effect_id: str | None = None


class ConfigEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A configuration as requested, in force nowhere yet, with the backtests of its rules.

    ``base_sha256`` is the digest of the configuration that it was planned against.
    """

    id: str
    sha256: str
    base_sha256: str
    files: tuple[ConfigFile, ...]
    backtests: tuple[Backtest, ...]
    at: int
    by: str


class AppliedLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The limits of one program, as a configuration sets them."""

    program_id: str
    body: LimitsBody


class ConfigAppliedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A configuration that came into force by an action, with all its effects in one entry: none can be missing.

    ``version`` counts the applied configurations of a tenant. ``sha256`` is of the configuration then in force.
    """

    version: str
    sha256: str
    action_id: str
    at: int
    rules: tuple[RuleEntry, ...]
    versions: tuple[VersionInForceEntry, ...]
    webhooks: tuple[WebhookEntry, ...]
    webhook_changes: tuple[WebhookChangedEntry, ...]
    limits: tuple[AppliedLimits, ...]
