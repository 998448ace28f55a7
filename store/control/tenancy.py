"""The control streams in memory: tenants, programs, operator tokens, ingest secrets, API keys, keys to the bank's API,
policies, rules, scorecards and endpoints, a projection each.

Entries are applied in log order, new and replayed ones alike. A further kind of entry is a row in
the table of ``Tenancy``. Reads are dictionary look-ups on the API's event loop.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from clearhold.features.core.instants import parse_instant
from clearhold.features.core.program import Program
from clearhold.store.control.bank_keys import BankKeys
from clearhold.store.control.credentials import IngestTargets, OperatorTokens
from clearhold.store.control.entries import (
    ApiKeyEntry,
    ApiKeyRevokedEntry,
    BankKeyEntry,
    BankKeyRemovedEntry,
    ChallengerEntry,
    ControlEntry,
    ControlKind,
    Effect,
    PersonTokenEntry,
    PersonTokenRevokedEntry,
    PolicyActivatedEntry,
    PolicyCreatedEntry,
    ProgramEntry,
    RuleEntry,
    ScorecardReportEntry,
    SecretEntry,
    Tenant,
    TenantEntry,
    TokenEntry,
    WebhookChangedEntry,
    WebhookEntry,
    WebhookSecretEntry,
)
from clearhold.store.control.keys import ApiKeys
from clearhold.store.control.person_tokens import PersonTokens
from clearhold.store.control.policies import Policies
from clearhold.store.control.programs import Programs
from clearhold.store.control.rules import Rules
from clearhold.store.control.scorecards import Scorecards
from clearhold.store.control.tenants import Tenants
from clearhold.store.control.webhooks import WebhookEndpoints
from clearhold.store.keys.secrets import SecretBox

Body = TypeVar("Body", bound=msgspec.Struct)

_EFFECT: Final = msgspec.json.Decoder(Effect)


class _Projected(Generic[Body]):
    """Decodes the body of one kind of entry and applies it."""

    def __init__(self, body_type: type[Body], apply: Callable[[str, Body], None]) -> None:
        self._decoder, self._apply = msgspec.json.Decoder(body_type), apply

    def __call__(self, tenant_id: str, body: bytes) -> None:
        self._apply(tenant_id, self._decoder.decode(body))


class Tenancy:
    """The projections, and the table that maps kinds of entries to them."""

    def __init__(self, *, box: SecretBox, shards: int) -> None:
        self.tenants = Tenants()
        self.programs = Programs()
        self.operator_tokens = OperatorTokens()
        self.person_tokens = PersonTokens()
        self.ingest_targets = IngestTargets(box=box, shards=shards)
        self.keys = ApiKeys()
        self.bank_keys = BankKeys(box=box)
        self.policies = Policies()
        self.rules = Rules()
        self.scorecards = Scorecards()
        self.webhooks = WebhookEndpoints(box=box)
        self._effects: set[str] = set()
        self._ends: dict[str, int] = {}
        self._projected: Mapping[str, Callable[[str, bytes], None]] = {
            ControlKind.TENANT: _Projected(TenantEntry, self._add_tenant),
            ControlKind.PROGRAM: _Projected(ProgramEntry, self._add_program),
            ControlKind.PROGRAM_CHANGED: _Projected(Program, self._change_program),
            ControlKind.OPERATOR_TOKEN: _Projected(TokenEntry, self.operator_tokens.rotate),
            ControlKind.PERSON_TOKEN: _Projected(PersonTokenEntry, self.person_tokens.add),
            ControlKind.PERSON_TOKEN_REVOKED: _Projected(PersonTokenRevokedEntry, self.person_tokens.revoke),
            ControlKind.INGEST_SECRET: _Projected(SecretEntry, self._rotate_secret),
            ControlKind.API_KEY: _Projected(ApiKeyEntry, self.keys.add),
            ControlKind.API_KEY_REVOKED: _Projected(ApiKeyRevokedEntry, self.keys.revoke),
            ControlKind.BANK_KEY: _Projected(BankKeyEntry, self.bank_keys.put),
            ControlKind.BANK_KEY_REMOVED: _Projected(BankKeyRemovedEntry, self.bank_keys.remove),
            ControlKind.POLICY: _Projected(PolicyCreatedEntry, self.policies.add),
            ControlKind.POLICY_ACTIVATED: _Projected(PolicyActivatedEntry, self._activate_policy),
            ControlKind.RULE: _Projected(RuleEntry, self._put_rule),
            ControlKind.SCORECARD: _Projected(PolicyCreatedEntry, self.policies.add),
            ControlKind.SCORECARD_REPORT: _Projected(ScorecardReportEntry, self.scorecards.add_report),
            ControlKind.CHALLENGER: _Projected(ChallengerEntry, self._put_challenger),
            ControlKind.WEBHOOK: _Projected(WebhookEntry, self.webhooks.add),
            ControlKind.WEBHOOK_CHANGED: _Projected(WebhookChangedEntry, self.webhooks.change),
            ControlKind.WEBHOOK_SECRET: _Projected(WebhookSecretEntry, self.webhooks.rotate),
        }

    def load(self, entries: Iterable[ControlEntry]) -> None:
        """Replay the control streams, in log order."""
        for tenant_id, offset, kind, _, body in sorted(entries, key=lambda entry: entry[1]):
            self.apply(tenant_id, kind, body, offset=offset)

    def apply(self, tenant_id: str, kind: str, body: bytes, *, offset: int) -> None:
        """Apply one entry. Kinds without a projection share the streams and are skipped."""
        self._ends[tenant_id] = max(offset, self.end_of(tenant_id))
        effect_id = _EFFECT.decode(body).effect_id
        if effect_id is not None:
            self._effects.add(effect_id)
        project = self._projected.get(kind)
        if project is not None:
            project(tenant_id, body)

    def end_of(self, tenant_id: str) -> int:
        """The highest applied offset of a tenant's stream, 0 without one."""
        return self._ends.get(tenant_id, 0)

    def has_effect(self, effect_id: str | None) -> bool:
        """Whether the idempotent request with this effect id has already been carried out."""
        return effect_id is not None and effect_id in self._effects

    def tenant_of_token(self, token: str, *, at: int) -> Tenant | None:
        """The tenant of this operator token, if it is valid at that instant."""
        tenant_id = self.operator_tokens.tenant_of(token, at=at)
        return None if tenant_id is None else self.tenants.find(tenant_id)

    def has_two_persons(self, tenant_id: str, *, at: int) -> bool:
        """Whether two persons of the tenant have valid tokens, so that dual control can count those alone."""
        valid = self.person_tokens.valid_of_tenant(tenant_id, at=at)
        return len({token.entry.name.casefold() for token in valid}) > 1

    def _add_tenant(self, _tenant_id: str, entry: TenantEntry) -> None:
        unconfirmed = self.tenants.add(entry)
        if unconfirmed is not None:
            self.operator_tokens.remove(unconfirmed)
        self.operator_tokens.add(entry)
        created_at = parse_instant(entry.created_at)
        assert created_at is not None, "a tenant was created at an instant"
        self.policies.add_tenant(entry.id, created_at)

    def _add_program(self, _tenant_id: str, entry: ProgramEntry) -> None:
        unconfirmed = self.programs.add(entry)
        if unconfirmed is not None:
            self.ingest_targets.remove(unconfirmed)
        self.ingest_targets.add(entry, sealed_secret=entry.sealed_ingest_secret)

    def _change_program(self, _tenant_id: str, program: Program) -> None:
        self.programs.put(program)
        self.ingest_targets.change(program)

    def _rotate_secret(self, _tenant_id: str, entry: SecretEntry) -> None:
        self.ingest_targets.rotate(entry)

    def _activate_policy(self, tenant_id: str, entry: PolicyActivatedEntry) -> None:
        self.policies.activate(tenant_id, entry)
        self.scorecards.of_tenant(tenant_id).note_activation(entry)

    def _put_challenger(self, tenant_id: str, entry: ChallengerEntry) -> None:
        self.policies.add(tenant_id, entry.created)
        self.policies.activate(tenant_id, entry.activated)
        self.scorecards.of_tenant(tenant_id).put_challenger(entry)

    def _put_rule(self, tenant_id: str, entry: RuleEntry) -> None:
        self.rules.put(tenant_id, entry)
        for version in entry.versions:
            self.policies.add(tenant_id, version.created)
            self.policies.activate(tenant_id, version.activated)
