"""The control streams in memory: tenants, programs, operator tokens, passkeys, ingest secrets, API keys, keys to
the bank's API, policies, rules, scorecards, endpoints and configurations, a projection each.

Entries are applied in log order, new and replayed ones alike. A further kind of entry is a row in the table of
``Tenancy``. Reads are dictionary look-ups on the API's event loop.

Errors  ``ForbiddenError`` for a program of the tenant out of the principal's reach
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from clearhold.features.core.entries.actions import person_key
from clearhold.features.core.instants import written_instant
from clearhold.features.core.principal import Principal, Program
from clearhold.features.core.vocabulary import ProgramSource
from clearhold.store.control.configs import TenantConfigs
from clearhold.store.control.credentials import ApiKeys, BankKeys, IngestTargets, OperatorTokens, PersonTokens
from clearhold.store.control.entries import (
    ApiKeyEntry,
    ApiKeyRevokedEntry,
    BankKeyEntry,
    BankKeyRemovedEntry,
    ChallengerEntry,
    ConfigAppliedEntry,
    ConfigEntry,
    ControlEntry,
    ControlKind,
    Effect,
    PasskeyEntry,
    PasskeyRevokedEntry,
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
from clearhold.store.control.passkeys import Passkeys
from clearhold.store.control.policies import TenantPolicies
from clearhold.store.control.rules import Rules, TenantScorecards
from clearhold.store.control.webhooks import WebhookEndpoints
from clearhold.store.keys import SecretBox

UNKNOWN_PROGRAM: Final = "Unknown program on this tenant. GET /api/programs lists them."


class Programs:
    def __init__(self) -> None:
        self._programs: dict[str, Program] = {}
        self._id_by_slug: dict[tuple[str, str], str] = {}
        self._ids_by_source: dict[tuple[str, ProgramSource], frozenset[str]] = {}

    def add(self, entry: ProgramEntry) -> str | None:
        """Add a program; returns the id of an unconfirmed one with the same slug, which is removed, as with tenants."""
        fields = msgspec.structs.asdict(entry)
        del fields["sealed_ingest_secret"]
        unconfirmed = self._id_by_slug.get((entry.tenant_id, entry.slug))
        if unconfirmed == entry.id:
            unconfirmed = None
        if unconfirmed is not None:
            del self._programs[unconfirmed]
            self._ids_by_source.clear()
        self.put(Program(**fields))
        return unconfirmed

    def put(self, program: Program) -> None:
        """Add a program, or replace it."""
        self._programs[program.id] = program
        self._ids_by_source.pop((program.tenant_id, program.source), None)
        self._id_by_slug[program.tenant_id, program.slug] = program.id

    def of_principal(self, principal: Principal, *, source: ProgramSource | None = None) -> tuple[Program, ...]:
        """The tenant's programs within the principal's reach, newest first."""
        programs = [
            program
            for program in self._programs.values()
            if program.tenant_id == principal.tenant_id
            and source in {None, program.source}
            and principal.reaches(program.id)
        ]
        return tuple(sorted(programs, key=lambda program: (program.created_at, program.id), reverse=True))

    def find(self, principal: Principal, program_id: str) -> Program | None:
        """The tenant's program with that id, in upper or lower case."""
        return _within_reach(principal, self._programs.get(program_id.lower()))

    def find_by_slug(self, principal: Principal, slug: str) -> Program | None:
        program_id = self._id_by_slug.get((principal.tenant_id, slug))
        return None if program_id is None else _within_reach(principal, self._programs[program_id])

    def of_tenant(self, tenant_id: str, *, program_id: str | None, slug: str | None) -> Program | None:
        """The tenant's program with that id, or with that slug when no id is given; for authorization, before the
        principal's reach is known.
        """
        key = program_id.lower() if program_id is not None else self._id_by_slug.get((tenant_id, slug or ""))
        program = None if key is None else self._programs.get(key)
        return program if program is not None and program.tenant_id == tenant_id else None

    def ids(self, tenant_id: str, source: ProgramSource) -> frozenset[str]:
        """The ids of the tenant's programs of one source; cached until a program is added or changed."""
        ids = self._ids_by_source.get((tenant_id, source))
        if ids is None:
            ids = self._ids_by_source[tenant_id, source] = frozenset(
                program.id
                for program in self._programs.values()
                if program.tenant_id == tenant_id and program.source is source
            )
        return ids

    def ids_of_tenant(self, tenant_id: str) -> tuple[str, ...]:
        """The ids of all programs of a tenant, in the order of their creation."""
        return tuple(program.id for program in self._programs.values() if program.tenant_id == tenant_id)

    def with_slug(self, slug: str) -> tuple[Program, ...]:
        """The programs of all tenants with that slug, for the platform's own work."""
        return tuple(self._programs[id_] for (_, each), id_ in self._id_by_slug.items() if each == slug)

    def has_slug(self, tenant_id: str, slug: str) -> bool:
        return (tenant_id, slug) in self._id_by_slug

    def source_of(self, program_id: str) -> ProgramSource | None:
        """For any thread; None for an unknown program."""
        program = self._programs.get(program_id)
        return None if program is None else program.source

    def is_simulated(self, program_id: str) -> bool:
        """For any thread; False for an unknown program."""
        return self.source_of(program_id) is ProgramSource.SIMULATED

    def of_any_tenant(self, program_id: str) -> Program | None:
        """For the platform's own administration only."""
        return self._programs.get(program_id)


def _within_reach(principal: Principal, program: Program | None) -> Program | None:
    if program is None or program.tenant_id != principal.tenant_id:
        return None
    principal.require_program(program.id)
    return program


class Tenants:
    def __init__(self) -> None:
        self._tenants: dict[str, Tenant] = {}
        self._id_by_slug: dict[str, str] = {}

    def add(self, entry: TenantEntry) -> str | None:
        """Add a tenant; returns the id of the tenant that had its slug, which is removed.

        A slug is given out once. So an older tenant with the same slug was answered 503 although its entry had reached
        the log, and its token was never returned.
        """
        unconfirmed = self._id_by_slug.get(entry.slug)
        if unconfirmed == entry.id:
            unconfirmed = None
        if unconfirmed is not None:
            del self._tenants[unconfirmed]
        self._tenants[entry.id] = Tenant(id=entry.id, slug=entry.slug, name=entry.name, created_at=entry.created_at)
        self._id_by_slug[entry.slug] = entry.id
        return unconfirmed

    def find(self, tenant_id: str) -> Tenant | None:
        return self._tenants.get(tenant_id)

    def has_slug(self, slug: str) -> bool:
        return slug in self._id_by_slug

    def find_by_slug(self, slug: str) -> Tenant | None:
        return self._tenants.get(self._id_by_slug.get(slug, ""))

    def list_all(self) -> tuple[Tenant, ...]:
        """All tenants, newest first."""
        return tuple(sorted(self._tenants.values(), key=lambda tenant: (tenant.created_at, tenant.id), reverse=True))


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
        self.passkeys = Passkeys()
        self.ingest_targets = IngestTargets(box=box, shards=shards)
        self.keys = ApiKeys()
        self.bank_keys = BankKeys(box=box)
        self.policies: dict[str, TenantPolicies] = {}  # by tenant, as the scorecards
        self.rules = Rules()
        self.scorecards: dict[str, TenantScorecards] = defaultdict(TenantScorecards)
        self.webhooks = WebhookEndpoints(box=box)
        self.configs: dict[str, TenantConfigs] = defaultdict(TenantConfigs)
        self._effects: set[str] = set()
        self._ends: dict[str, int] = {}
        self._projected: Mapping[str, Callable[[str, bytes], None]] = {
            ControlKind.TENANT: _Projected(TenantEntry, self._add_tenant),
            ControlKind.PROGRAM: _Projected(ProgramEntry, self._add_program),
            ControlKind.PROGRAM_CHANGED: _Projected(Program, self._change_program),
            ControlKind.OPERATOR_TOKEN: _Projected(TokenEntry, self.operator_tokens.rotate),
            ControlKind.PERSON_TOKEN: _Projected(PersonTokenEntry, self.person_tokens.add),
            ControlKind.PERSON_TOKEN_REVOKED: _Projected(PersonTokenRevokedEntry, self.person_tokens.revoke),
            ControlKind.PASSKEY: _Projected(PasskeyEntry, self.passkeys.add),
            ControlKind.PASSKEY_REVOKED: _Projected(PasskeyRevokedEntry, self.passkeys.revoke),
            ControlKind.INGEST_SECRET: _Projected(SecretEntry, self.ingest_targets.rotate),
            ControlKind.API_KEY: _Projected(ApiKeyEntry, self.keys.add),
            ControlKind.API_KEY_REVOKED: _Projected(ApiKeyRevokedEntry, self.keys.revoke),
            ControlKind.BANK_KEY: _Projected(BankKeyEntry, self.bank_keys.put),
            ControlKind.BANK_KEY_REMOVED: _Projected(BankKeyRemovedEntry, self.bank_keys.remove),
            ControlKind.POLICY: _Projected(PolicyCreatedEntry, self._add_policy),
            ControlKind.POLICY_ACTIVATED: _Projected(PolicyActivatedEntry, self._activate_policy),
            ControlKind.RULE: _Projected(RuleEntry, self._put_rule),
            ControlKind.SCORECARD: _Projected(PolicyCreatedEntry, self._add_policy),
            ControlKind.SCORECARD_REPORT: _Projected(ScorecardReportEntry, self._add_report),
            ControlKind.CHALLENGER: _Projected(ChallengerEntry, self._put_challenger),
            ControlKind.WEBHOOK: _Projected(WebhookEntry, self.webhooks.add),
            ControlKind.WEBHOOK_CHANGED: _Projected(WebhookChangedEntry, self.webhooks.change),
            ControlKind.WEBHOOK_SECRET: _Projected(WebhookSecretEntry, self.webhooks.rotate),
            ControlKind.CONFIG: _Projected(ConfigEntry, self._add_config),
            ControlKind.CONFIG_APPLIED: _Projected(ConfigAppliedEntry, self._apply_config),
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

    def persons_with_credentials(self, tenant_id: str, *, at: int) -> set[str]:
        """The keys (``person_key``) of persons of the tenant who have valid tokens or passkeys."""
        names = [each.entry.name for each in self.person_tokens.valid_of_tenant(tenant_id, at=at)]
        names += [each.entry.name for each in self.passkeys.valid_of_tenant(tenant_id)]
        return {person_key(name) for name in names}

    def _add_tenant(self, _tenant_id: str, entry: TenantEntry) -> None:
        unconfirmed = self.tenants.add(entry)
        if unconfirmed is not None:
            self.operator_tokens.remove(unconfirmed)
        self.operator_tokens.add(entry)
        self.policies[entry.id] = TenantPolicies(entry.id, written_instant(entry.created_at))

    def _add_program(self, _tenant_id: str, entry: ProgramEntry) -> None:
        unconfirmed = self.programs.add(entry)
        if unconfirmed is not None:
            self.ingest_targets.remove(unconfirmed)
        self.ingest_targets.add(entry, sealed_secret=entry.sealed_ingest_secret)

    def _change_program(self, _tenant_id: str, program: Program) -> None:
        self.programs.put(program)
        self.ingest_targets.change(program)

    def _add_policy(self, tenant_id: str, entry: PolicyCreatedEntry) -> None:
        self.policies[tenant_id].add(entry)

    def _activate_policy(self, tenant_id: str, entry: PolicyActivatedEntry) -> None:
        self.policies[tenant_id].activate(entry)
        self.scorecards[tenant_id].note_activation(entry)

    def _add_report(self, tenant_id: str, entry: ScorecardReportEntry) -> None:
        self.scorecards[tenant_id].add_report(entry)

    def _put_challenger(self, tenant_id: str, entry: ChallengerEntry) -> None:
        self.policies[tenant_id].add(entry.created)
        self.policies[tenant_id].activate(entry.activated)
        self.scorecards[tenant_id].put_challenger(entry)

    def _put_rule(self, tenant_id: str, entry: RuleEntry) -> None:
        self.rules.of_tenant(tenant_id).put(entry)
        for version in entry.versions:
            self.policies[tenant_id].add(version.created)
            self.policies[tenant_id].activate(version.activated)

    def _add_config(self, tenant_id: str, entry: ConfigEntry) -> None:
        self.configs[tenant_id].add(entry)

    def _apply_config(self, tenant_id: str, entry: ConfigAppliedEntry) -> None:
        """All effects of a configuration; one that an unconfirmed write repeats counts once."""
        if not self.configs[tenant_id].put_applied(entry):
            return
        for rule in entry.rules:
            self._put_rule(tenant_id, rule)
        for version in entry.versions:
            self._add_policy(tenant_id, version.created)
            self._activate_policy(tenant_id, version.activated)
        for endpoint in entry.webhooks:
            self.webhooks.add(tenant_id, endpoint)
        for change in entry.webhook_changes:
            self.webhooks.change(tenant_id, change)
