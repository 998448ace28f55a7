"""Reads the configuration in force, and brings a requested one into force in one entry of the tenant's control stream.

requested ─▶ kept as an entry ─▶ approved ─▶ compared again with the settings in force ─▶ one entry with all effects

The entries of programs are in the same transaction, so that either all of the configuration is in force or nothing of
it is. The files have no fault: the routes check them, and the programs that they name stay.

Errors  ConflictError where the settings in force have changed since, or no longer allow a change; UnavailableError when
        the log cannot be written
"""

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from clearhold.features.configuration.changes import changes_between
from clearhold.features.configuration.files import (
    ALWAYS_THERE,
    ConfigFile,
    EndpointSettings,
    config_sha256,
    endpoint_file,
    policy_file,
    rule_file,
)
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.principal import Principal
from clearhold.features.core.rules import Backtest
from clearhold.features.policy.bodies import LIMITS, RULES, SCORECARD
from clearhold.store.clock import Clock
from clearhold.store.control.config_effects import Approval, ConfigEffects
from clearhold.store.control.configs import Limits
from clearhold.store.control.entries import ConfigAppliedEntry, ConfigEntry, ControlKind
from clearhold.store.control.registry import MOST_WRITTEN_BYTES, Registry, Versions
from clearhold.store.control.rule_registry import TOO_LARGE
from clearhold.store.control.rules import rules_in
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.ids import IdFactory
from clearhold.store.redis_log.writes import ToProgram

OTHER_BASE: Final = (
    "The configuration in force is not the one that this was planned against: a different change came first, so "
    "nothing was applied. Plan again, and apply that plan."
)
NOT_KEPT: Final = "This configuration is not kept any more, so nothing was applied. Request it again."
NEEDS_SECOND: Final = "This configuration has changes that need a second person, so nothing was applied."
_SETTLED: Final = (
    ControlKind.POLICY,
    ControlKind.POLICY_ACTIVATED,
    ControlKind.RULE,
    ControlKind.SCORECARD,
    ControlKind.WEBHOOK,
    ControlKind.WEBHOOK_CHANGED,
    ControlKind.CONFIG,
)


class ConfigRegistry:
    """Writes configurations. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, clock: Clock, new_id: IdFactory) -> None:
        self._registry, self._clock, self._new_id = registry, clock, new_id
        self._versions, self.tenancy = Versions(registry, clock=clock), registry.tenancy

    async def export(self, tenant_id: str, caps: Limits) -> tuple[ConfigFile, ...]:
        """The configuration in force, with everything that the log has of the last application."""
        async with self._registry.writing_settled(tenant_id, ControlKind.CONFIG_APPLIED):
            return self._in_force(tenant_id, caps)

    def _in_force(self, tenant_id: str, caps: Limits) -> tuple[ConfigFile, ...]:
        """The configuration in force, in the order of its paths."""
        policies, slugs = self.tenancy.policies[tenant_id], self._slugs(tenant_id)
        rules = policies.in_force(RULES)
        files: list[ConfigFile | None] = [
            rule_file(rule, None if rule.program_id is None else slugs[rule.program_id])
            for rule in (() if rules is None else rules_in(rules))
        ]
        for prefix in (*ALWAYS_THERE, SCORECARD):
            for program_id, slug in ((None, None), *slugs.items()):
                version = policies.in_force(prefix, program_id)
                files.append(None if version is None else policy_file(prefix, version.body, slug))
        limits = self.tenancy.configs[tenant_id].limits(caps)
        files += [policy_file(LIMITS, body, slugs[program_id]) for program_id, body in limits.items()]
        files += [endpoint_file(settings) for settings, _ in self._endpoints(tenant_id)]
        return tuple(sorted((file for file in files if file is not None), key=attrgetter("path")))

    def sha256(self, tenant_id: str, files: Iterable[ConfigFile]) -> str:
        return config_sha256(self._registry.known_tenant(tenant_id).slug, files)

    async def request(
        self,
        principal: Principal,
        files: tuple[ConfigFile, ...],
        *,
        base_sha256: str,
        backtests: tuple[Backtest, ...],
        caps: Limits,
    ) -> ConfigEntry:
        """Keep a configuration for its application; ConflictError when it could not be applied now."""
        async with self._registry.writing:
            tenant_id, at = principal.tenant_id, self._clock.now()
            entry = ConfigEntry(
                id=self._new_id(),
                sha256=self.sha256(tenant_id, files),
                base_sha256=base_sha256,
                files=files,
                backtests=backtests,
                at=at,
                by=principal.operator,
            )
            approval = Approval(entry.id, principal.operator, principal.operator, at, None)
            self._effects(tenant_id, entry, approval, self._checked_base(tenant_id, entry, caps), at=at)
            await self._registry.write(tenant_id, ControlKind.CONFIG, entry)
            return entry

    async def apply(self, tenant_id: str, config_id: str, approval: Approval, caps: Limits) -> str:
        """Bring a requested configuration into force, once for each action; returns its version.

        ConflictError when the settings in force have changed since the request, or do not allow it any more.
        """
        for kind in _SETTLED:
            async with self._registry.writing_settled(tenant_id, kind):
                pass
        async with self._registry.writing_settled(tenant_id, ControlKind.CONFIG_APPLIED):
            configs = self.tenancy.configs[tenant_id]
            done = configs.version_of(approval.action_id)
            if done is not None:
                return done
            entry = configs.find(config_id)
            if entry is None:
                raise ConflictError(NOT_KEPT, ErrorCode.CONFIG_CHANGED)
            base = self._checked_base(tenant_id, entry, caps)
            applied, to_programs = self._effects(tenant_id, entry, approval, base, at=self._clock.now())
            await self._registry.write(tenant_id, ControlKind.CONFIG_APPLIED, applied, to_programs)
            return applied.version

    def _checked_base(self, tenant_id: str, entry: ConfigEntry, caps: Limits) -> tuple[ConfigFile, ...]:
        base = self._in_force(tenant_id, caps)
        if self.sha256(tenant_id, base) != entry.base_sha256:
            raise ConflictError(OTHER_BASE, ErrorCode.CONFIG_CHANGED)
        return base

    def _effects(
        self, tenant_id: str, entry: ConfigEntry, approval: Approval, base: tuple[ConfigFile, ...], *, at: int
    ) -> tuple[ConfigAppliedEntry, list[ToProgram]]:
        """The entry of all changes, and the entries of programs with it."""
        changes = changes_between(base, entry.files)
        if approval.approved_by is None and any(each.needs_second_person for each in changes):
            raise ConflictError(NEEDS_SECOND, ErrorCode.CONFIG_CHANGED)
        effects = ConfigEffects(
            self._registry,
            tenant_id,
            entry,
            approval,
            slugs=self._slugs(tenant_id),
            endpoints=self._endpoints(tenant_id),
            at=at,
            new_id=self._new_id,
        )
        values = {file.path: file.value for file in entry.files}
        for change in changes:
            effects.add(change, values.get(change.path))
        effects.add_rules_in_force()
        to_programs = [*effects.to_programs]
        for version in effects.versions:
            to_programs += self._versions.to_programs(version)
        if sum(len(each.body) for each in to_programs) > MOST_WRITTEN_BYTES:
            raise ConflictError(TOO_LARGE, ErrorCode.TOO_MANY_RULES)
        applied = ConfigAppliedEntry(
            version=self.tenancy.configs[tenant_id].next_version,
            sha256=entry.sha256,
            action_id=approval.action_id,
            at=at,
            rules=tuple(effects.rules),
            versions=tuple(effects.versions),
            webhooks=tuple(effects.webhooks),
            webhook_changes=tuple(effects.webhook_changes),
            limits=tuple(effects.limits),
        )
        return applied, to_programs

    def _slugs(self, tenant_id: str) -> dict[str, str]:
        """The slugs of the tenant's programs by id."""
        programs = map(self._registry.known_program, self.tenancy.programs.ids_of_tenant(tenant_id))
        return {program.id: program.slug for program in programs}

    def _endpoints(self, tenant_id: str) -> list[tuple[EndpointSettings, Endpoint]]:
        """The enabled endpoints, the oldest first; those of one program to one address are counted."""
        slugs, ordinals = self._slugs(tenant_id), Counter[tuple[str, str | None]]()
        enabled = self.tenancy.webhooks.enabled.get(tenant_id, ())
        settings: list[tuple[EndpointSettings, Endpoint]] = []
        for each in sorted(enabled, key=lambda endpoint: (endpoint.created_at, endpoint.id)):
            ordinals[each.url, each.program_id] += 1
            slug = None if each.program_id is None else slugs[each.program_id]
            of_kind = EndpointSettings(
                each.url, each.events, slug, each.description, ordinals[each.url, each.program_id]
            )
            settings.append((of_kind, each))
        return settings
