"""The effects of a configuration that comes into force: the entries of each changed file, with the checks of its
kind's own route.

Errors  ConflictError for a change that the settings in force do not allow
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from clearhold.features.configuration.changes import ChangeKind, FileChange
from clearhold.features.configuration.files import (
    NO_LIMITS,
    EndpointSettings,
    FileKind,
    body_of,
    endpoint_file,
    endpoint_of,
    place_of,
    rule_of,
)
from clearhold.features.core.entries.actions import PolicyEntry, Signers
from clearhold.features.core.errors import ConflictError, ErrorCode
from clearhold.features.core.instants import format_instant, written_instant
from clearhold.features.core.rules import Backtest, Rule, RuleStatus, rule_hash
from clearhold.features.core.scorecards import scorecard_sha256
from clearhold.features.policy.bodies import (
    LIMITS,
    RULES,
    SCORECARD,
    SHADOW,
    Body,
    LimitsBody,
    RulesBody,
    ScorecardBody,
)
from clearhold.features.policy.seeds import policy_id_of
from clearhold.features.webhooks.delivery import SECRET_BYTES, secret_of
from clearhold.store.control.entries import (
    AppliedLimits,
    ConfigEntry,
    PolicyActivatedEntry,
    RuleEntry,
    VersionInForceEntry,
    WebhookChangedEntry,
    WebhookEntry,
)
from clearhold.store.control.policies import VERSION_KINDS, number_of, version_created
from clearhold.store.control.registry import Registry
from clearhold.store.control.rule_registry import (
    ARCHIVED,
    BACKTEST_VALID_US,
    MOST_RULE_IDS,
    MOST_RULES,
    TOO_MANY,
    TOO_MANY_IDS,
)
from clearhold.store.control.rules import rules_in
from clearhold.store.control.scorecard_registry import NOT_REPORTED, REPORT_VALID_US, card_in
from clearhold.store.control.webhook_registry import MOST_ENDPOINTS, TOO_MANY_ENDPOINTS
from clearhold.store.control.webhooks import Endpoint
from clearhold.store.ids import IdFactory, random_bytes
from clearhold.store.redis_log.writes import ToProgram

UNTESTED: Final = (
    "A rule of this configuration had no backtest less than 24 hours old when it was approved, so nothing was applied. "
    "Request it again, which makes new ones."
)


class Approval(NamedTuple):
    """The persons and the time of an approved application; ``approved_by`` is None where one person was enough."""

    action_id: str
    requested_by: str
    approved_by: str | None
    approved_at: int
    note: str | None


Endpoints = Sequence[tuple[EndpointSettings, Endpoint]]
"""The enabled endpoints of a tenant, each with its settings as a file has them."""


class ConfigEffects:
    """Collects the effects of changes, in the order of their paths."""

    def __init__(
        self,
        registry: Registry,
        tenant_id: str,
        entry: ConfigEntry,
        approval: Approval,
        *,
        slugs: Mapping[str, str],
        endpoints: Endpoints,
        at: int,
        new_id: IdFactory,
    ) -> None:
        """``slugs`` are of the tenant's programs, by id."""
        self._registry, self._tenant_id, self._approval, self._at = registry, tenant_id, approval, at
        self._endpoints, self._new_id = endpoints, new_id
        self._tenancy = registry.tenancy
        self._policies = self._tenancy.policies[tenant_id]
        self._known_rules = self._tenancy.rules.of_tenant(tenant_id)
        self._backtests = {each.rule_id: each for each in entry.backtests}
        self._ids = {slug: program_id for program_id, slug in slugs.items()}
        in_force = self._policies.in_force(RULES)
        self._active = {rule.id: rule for rule in (() if in_force is None else rules_in(in_force))}
        self._testing = {rule.id: rule for rule in self._known_rules.testing()}
        self._numbers = Counter[str]()
        self._enabled = len(endpoints)
        self.rules: list[RuleEntry] = []
        self.versions: list[VersionInForceEntry] = []
        self.webhooks: list[WebhookEntry] = []
        self.webhook_changes: list[WebhookChangedEntry] = []
        self.limits: list[AppliedLimits] = []
        self.to_programs: list[ToProgram] = []

    def add(self, change: FileChange, value: Mapping[str, Any] | None) -> None:
        """The effect of one change; ``value`` is of the file afterwards."""
        place = place_of(change.path)
        assert place is not None, "a change is of a file of a configuration"
        program_id = None if place.slug is None else self._ids[place.slug]
        if change.kind is FileKind.RULE:
            self._put_rule(place.name, value)
        elif change.kind is FileKind.WEBHOOK:
            self._put_endpoint(place.name, change.change, value)
        elif change.kind is FileKind.LIMITS:
            assert program_id is not None, "limits are of a program"
            self._put_limits(program_id, value)
        elif change.kind is FileKind.SCORECARD:
            self._put_card(program_id, value)
        else:
            assert value is not None, "a policy is never removed"
            version = self._next_version(place.name)
            self._put_version(version, body_of(place.name, value, version), program_id)

    def add_rules_in_force(self) -> None:
        """The versions of the rules in force and in testing, where a rule has changed."""
        if not self.rules:
            return
        ids = {each.rule.id for each in self.rules}
        known = self._known_rules.all()
        new = ids - {each.rule.id for each in known}
        if sum(each.rule.status is not RuleStatus.ARCHIVED for each in known) + len(new) > MOST_RULES:
            raise ConflictError(TOO_MANY, ErrorCode.TOO_MANY_RULES)
        if len(known) + len(new) > MOST_RULE_IDS:
            raise ConflictError(TOO_MANY_IDS, ErrorCode.TOO_MANY_RULES)
        self._put_version(self._next_version(RULES), _rules_body(self._active.values()), None)
        rest = {rule_id: rule for rule_id, rule in self._testing.items() if rule_id not in ids}
        if rest != self._testing:
            self._put_version(self._next_version(SHADOW), _rules_body(rest.values()), None)

    def _put_rule(self, rule_id: str, value: Mapping[str, Any] | None) -> None:
        stored = self._known_rules.find(rule_id)
        if stored is not None and stored.rule.status is RuleStatus.ARCHIVED:
            raise ConflictError(f"{ARCHIVED} Its id is {rule_id}.", ErrorCode.RULE_ARCHIVED)
        backtest = None
        if value is None:
            assert stored is not None, "a rule in force is stored"
            rule = replace(stored.rule, status=RuleStatus.PAUSED)
            self._active.pop(rule_id, None)
        else:
            slug = value.get("program")
            rule = rule_of(value, None if slug is None else self._ids[slug])
            backtest = self._backtests.get(rule_id)
            self._check_backtest(rule, backtest)
            self._active[rule_id] = rule
        entry = RuleEntry(
            rule=rule,
            at=self._at,
            by=self._approval.approved_by or self._approval.requested_by,
            note=self._approval.note,
            backtest=backtest,
        )
        self.rules.append(entry)

    def _check_backtest(self, rule: Rule, backtest: Backtest | None) -> None:
        is_fresh = (
            backtest is not None
            and backtest.rule_sha256 == rule_hash(rule)
            and self._approval.approved_at - written_instant(backtest.at) < BACKTEST_VALID_US
        )
        if not is_fresh:
            raise ConflictError(UNTESTED, ErrorCode.RULE_NOT_TESTED)

    def _put_card(self, program_id: str | None, value: Mapping[str, Any] | None) -> None:
        """Bring a card into force; a removed file is the default card, or a program that follows the tenant."""
        if value is None:
            body = ScorecardBody(card=None, follows_tenant=program_id is not None)
        else:
            decoded = body_of(SCORECARD, value, SCORECARD)
            assert isinstance(decoded, ScorecardBody), "the prefix says which body it is"
            body = decoded
        if body.card is not None:
            self._check_report(scorecard_sha256(body.card))
        self._put_version(self._next_version(SCORECARD), body, program_id)

    def _check_report(self, card_sha256: str) -> None:
        """A report of exactly this card on any of its versions, or a version of it that has scored."""
        scorecards = self._tenancy.scorecards[self._tenant_id]
        for version in self._policies.of_prefix(SCORECARD):
            card = card_in(version)
            if card is None or scorecard_sha256(card) != card_sha256:
                continue
            recent = (
                self._approval.approved_at - each.made_at < REPORT_VALID_US
                for each in scorecards.reports(version.version)
                if each.card_sha256 == card_sha256
            )
            if scorecards.has_scored(version.version) or any(recent):
                return
        raise ConflictError(NOT_REPORTED, ErrorCode.SCORECARD_NOT_REPORTED)

    def _put_limits(self, program_id: str, value: Mapping[str, Any] | None) -> None:
        body = NO_LIMITS if value is None else body_of(LIMITS, value, LIMITS)
        assert isinstance(body, LimitsBody), "the prefix says which body it is"
        self.limits.append(AppliedLimits(program_id=program_id, body=body))
        approval = self._approval
        entry = PolicyEntry(
            tenant_id=self._tenant_id,
            version=LIMITS,
            body=msgspec.to_builtins(body),
            action_id=approval.action_id,
            of_program=True,
            signers=Signers(
                requested_by=approval.requested_by, approved_by=approval.approved_by or "", note=approval.note
            ),
        )
        self.to_programs += self._registry.to_places(entry, program_id)

    def _put_endpoint(self, name: str, change: ChangeKind, value: Mapping[str, Any] | None) -> None:
        at, by = format_instant(self._at), self._approval.requested_by
        if change is ChangeKind.ADDED:
            assert value is not None, "an added file has a value"
            self._enabled += 1
            if self._enabled > MOST_ENDPOINTS:
                raise ConflictError(TOO_MANY_ENDPOINTS, ErrorCode.TOO_MANY_WEBHOOKS)
            wanted = endpoint_of(value)
            entry = WebhookEntry(
                id=self._new_id(),
                program_id=None if wanted.slug is None else self._ids[wanted.slug],
                url=wanted.url,
                events=wanted.events,
                description=wanted.description,
                created_at=at,
                created_by=by,
                sealed_secret=self._registry.sealed(secret_of(random_bytes(SECRET_BYTES))),
            )
            self.webhooks.append(entry)
            return
        endpoint = next(
            known for settings, known in self._endpoints if endpoint_file(settings).path == f"webhooks/{name}.yaml"
        )
        if value is None:
            self._enabled -= 1
        wanted = endpoint_of(value or {"url": endpoint.url})
        self.webhook_changes.append(
            WebhookChangedEntry(
                id=endpoint.id,
                url=endpoint.url,
                events=endpoint.events if value is None else wanted.events,
                description=endpoint.description if value is None else wanted.description,
                enabled=value is not None,
                changed_at=at,
                changed_by=by,
            )
        )

    def _next_version(self, prefix: str) -> str:
        """The next version of a kind, counted with those of this entry."""
        kind = VERSION_KINDS[prefix]
        if kind.most is not None and self._policies.count(kind) + self._numbers[kind.entry] >= kind.most:
            raise ConflictError(kind.too_many, ErrorCode.TOO_MANY_POLICIES)
        self._numbers[kind.entry] += 1
        self._numbers[prefix] += 1
        return f"{prefix}-v{number_of(self._policies.next_version(prefix)) + self._numbers[prefix] - 1}"

    def _put_version(self, version: str, body: Body, program_id: str | None) -> None:
        by = self._approval.approved_by or self._approval.requested_by
        created = version_created(self._tenant_id, version, body, program_id=program_id, at=self._at, by=by)
        activated = PolicyActivatedEntry(
            version=version,
            action_id=policy_id_of(self._tenant_id, f"{version}/{self._approval.action_id}"),
            at=self._at,
        )
        self.versions.append(VersionInForceEntry(created=created, activated=activated))


def _rules_body(rules: Iterable[Rule]) -> RulesBody:
    return RulesBody(rules=tuple(sorted(rules, key=attrgetter("id"))))
