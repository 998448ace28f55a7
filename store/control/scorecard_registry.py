"""Writes and changes scorecards, as entries of the tenant's control stream.

proposed ─▶ reported on ─▶ in shadow, or not ─▶ activated by two people ─▶ in force ─▶ replaced, or activated again

A card is written once and never edited; a change is a new proposal. A version without a card stands for the default
card, in one program or in all, or makes a program follow the tenant.

Errors  ConflictError for a change that the card's state does not allow; NotFoundError for an unknown card;
        InvalidRequestError for a report of another card; UnavailableError when the log cannot be written
"""

from typing import Any, Final, cast

import msgspec

from clearhold.features.core.canonical import digest_of
from clearhold.features.core.errors import ConflictError, ErrorCode, FieldCode, NotFoundError, invalid
from clearhold.features.core.instants import DAY_US, MINUTE_US, parse_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.scorecards import Scorecard, scorecard_sha256
from clearhold.features.policy.bodies import CHALLENGER, SCORECARD, ChallengerBody, PolicyVersion, ScorecardBody
from clearhold.store.clock import Clock
from clearhold.store.control.entries import ChallengerEntry, ControlKind, ScorecardReportEntry
from clearhold.store.control.registry import MOST_WRITTEN_BYTES, Registry, Versions
from clearhold.store.control.rules import TenantScorecards

REPORT_VALID_US: Final = 7 * DAY_US
CLOCKS_APART_US: Final = 5 * MINUTE_US
"""How far the clock of the machine that wrote a report may be ahead."""

UNKNOWN_SCORECARD: Final = "Unknown scorecard on this tenant. GET /api/scorecards lists them."
TOO_LARGE: Final = f"must be smaller: in all programs of the tenant together it is over {MOST_WRITTEN_BYTES} bytes"
IN_FORCE: Final = "This scorecard is in force already."
NOT_REPORTED: Final = (
    "Activation needs a report of this exact card that is less than seven days old. clearhold calibrate writes one, "
    "and POST /api/scorecards/{version}/reports takes it."
)
NO_LONGER_REPORTED: Final = (
    "When the activation was approved, there was no report of this exact card that was less than seven days old, so "
    "nothing was activated."
)
OF_ANOTHER_CARD: Final = "must be the digest of this exact card: an edited card needs a new report"


class ScorecardRegistry:
    """Writes what ``Tenancy.scorecards`` shows. Belongs to the event loop of its ``Registry``."""

    def __init__(self, registry: Registry, *, clock: Clock) -> None:
        self._registry, self._clock, self._versions = registry, clock, Versions(registry, clock=clock)
        self._policies, self._scorecards = registry.tenancy.policies, registry.tenancy.scorecards

    def all(self, principal: Principal) -> tuple[PolicyVersion, ...]:
        """The versions that the principal reaches, newest first, including those without a card."""
        return self._policies[principal.tenant_id].of_principal(principal, SCORECARD)

    def read(self, principal: Principal, version: str) -> PolicyVersion:
        """A version with a card."""
        for each in self.all(principal):
            if each.version == version and card_in(each) is not None:
                return each
        raise NotFoundError(UNKNOWN_SCORECARD, ErrorCode.SCORECARD_NOT_FOUND)

    def of_tenant(self, principal: Principal) -> TenantScorecards:
        return self._scorecards[principal.tenant_id]

    async def propose(
        self, principal: Principal, card: Scorecard, *, program_id: str | None, effect_id: str | None
    ) -> PolicyVersion:
        """The card as a version, in force nowhere. The same ``effect_id`` gives the same one."""

        def check() -> None:
            programs = self._registry.tenancy.programs.ids_of_tenant(principal.tenant_id)
            places = len(programs) if program_id is None else 1
            if len(msgspec.json.encode(card)) * places > MOST_WRITTEN_BYTES:
                raise invalid("card", TOO_LARGE, FieldCode.TOO_LARGE)

        body = ScorecardBody(card=card)
        return await self._versions.create(
            principal, SCORECARD, body, program_id=program_id, effect_id=effect_id, check=check
        )

    async def without_card(
        self, principal: Principal, program_id: str | None, *, follows: bool = False
    ) -> PolicyVersion:
        """The version for the default card in a program or in all, or for a program that follows the tenant. It is
        created at first use, whatever the number of versions: going back is never refused for that.
        """
        body = ScorecardBody(card=None, follows_tenant=follows)
        async with self._versions.writing(principal.tenant_id, SCORECARD):
            for each in self.all(principal):
                if each.program_id == program_id and each.body == body:
                    return each
            if self._is_scored_so(principal.tenant_id, program_id, by_tenant=follows):
                raise ConflictError(IN_FORCE, ErrorCode.SCORECARD_IN_FORCE)
            return await self._versions.write(principal, SCORECARD, body, program_id=program_id)

    async def add_report(self, principal: Principal, version: str, report: dict[str, Any]) -> ScorecardReportEntry:
        """Add a report on a card; a repeated one changes nothing."""
        async with self._registry.writing:
            card, at = card_in(self.read(principal, version)), self._clock.now()
            assert card is not None, "only a version with a card is read"
            if report.get("cardSha256") != scorecard_sha256(card):
                raise invalid("report.cardSha256", OF_ANOTHER_CARD, FieldCode.CONFLICTING)
            made_at = _instant_in(report)
            if made_at > at + CLOCKS_APART_US:
                raise invalid("report.generatedAt", "must not be in the future", FieldCode.TOO_LARGE)
            encoded = msgspec.json.encode(report, order="sorted")
            sha256 = digest_of(encoded)
            for known in self.of_tenant(principal).reports(version):
                if known.report_sha256 == sha256:
                    return known
            entry = ScorecardReportEntry(
                version=version,
                card_sha256=scorecard_sha256(card),
                report_sha256=sha256,
                report=msgspec.Raw(encoded),
                made_at=made_at,
                at=at,
                by=principal.operator,
            )
            await self._registry.write(principal.tenant_id, ControlKind.SCORECARD_REPORT, entry)
            return entry

    async def start_shadow(self, principal: Principal, version: str, effect_id: str | None) -> None:
        """Run a card in shadow from now on, in place of the former one."""
        async with self._versions.writing(principal.tenant_id, CHALLENGER):
            policy = self.read(principal, version)
            if self._registry.tenancy.has_effect(effect_id):
                return
            if policy.active:
                raise ConflictError(IN_FORCE, ErrorCode.SCORECARD_IN_FORCE)
            if self.of_tenant(principal).shadow(policy.program_id) != version:
                body = ChallengerBody(version=version, card=card_in(policy))
                await self._put_challenger(principal, policy, body, effect_id)

    async def end_shadow(self, principal: Principal, version: str, effect_id: str | None) -> None:
        """Take a card out of shadow, if it is there."""
        async with self._versions.writing(principal.tenant_id, CHALLENGER):
            policy = self.read(principal, version)
            is_done = self._registry.tenancy.has_effect(effect_id)
            if not is_done and self.of_tenant(principal).shadow(policy.program_id) == version:
                await self._put_challenger(principal, policy, ChallengerBody(version=None, card=None), effect_id)

    def check_activation(self, principal: Principal, policy: PolicyVersion) -> ScorecardReportEntry | None:
        """The report that allows the activation now; None for a card that needs none; ConflictError otherwise."""
        return self._check(principal.tenant_id, policy, self._clock.now(), NOT_REPORTED)

    async def activate(self, tenant_id: str, version: str, *, action_id: str, approved_at: int) -> str:
        """Bring a card into force, once for each approved action; returns its version.

        Raises ConflictError when it is in force, or when its report was too old at the approval.
        """

        def check(policy: PolicyVersion) -> None:
            self._check(tenant_id, policy, approved_at, NO_LONGER_REPORTED)

        return await self._versions.activate(tenant_id, version, action_id=action_id, check=check)

    def champion(self, tenant_id: str, program_id: str | None) -> PolicyVersion | None:
        """The version with the card that scores a program, or all without a separate one; None for the default."""
        policies = self._policies[tenant_id]
        own = None if program_id is None else policies.in_force(SCORECARD, program_id)
        in_force = policies.in_force(SCORECARD) if own is None or follows_tenant(own) else own
        return None if in_force is None or card_in(in_force) is None else in_force

    def scores_after(self, policy: PolicyVersion) -> PolicyVersion | None:
        """The version whose card scores after this version's activation; None for the default card."""
        if follows_tenant(policy):
            return self.champion(policy.tenant_id, None)
        return None if card_in(policy) is None else policy

    def _is_scored_so(self, tenant_id: str, program_id: str | None, *, by_tenant: bool) -> bool:
        """Whether a program follows the tenant, or else is scored by the default card."""
        if not by_tenant:
            return self.champion(tenant_id, program_id) is None
        own = self._policies[tenant_id].in_force(SCORECARD, program_id)
        return own is None or follows_tenant(own)

    def _check(self, tenant_id: str, policy: PolicyVersion, at: int, refusal: str) -> ScorecardReportEntry | None:
        card, scorecards = card_in(policy), self._scorecards[tenant_id]
        by_tenant = follows_tenant(policy)
        if policy.active or (card is None and self._is_scored_so(tenant_id, policy.program_id, by_tenant=by_tenant)):
            raise ConflictError(IN_FORCE, ErrorCode.SCORECARD_IN_FORCE)
        if card is None:
            return None
        sha256 = scorecard_sha256(card)
        for report in scorecards.reports(policy.version):
            if report.card_sha256 == sha256 and at - report.made_at < REPORT_VALID_US:
                return report
        if scorecards.has_scored(policy.version):
            return None
        raise ConflictError(refusal, ErrorCode.SCORECARD_NOT_REPORTED)

    async def _put_challenger(
        self, principal: Principal, policy: PolicyVersion, body: ChallengerBody, effect_id: str | None
    ) -> None:
        """Write the card in shadow from now on, or None, where a card counts."""
        tenant_id, at = principal.tenant_id, self._clock.now()
        new = self._versions.next_in_force(
            tenant_id, CHALLENGER, body, at=at, by=principal.operator, mark=str(at), program_id=policy.program_id
        )
        entry = ChallengerEntry(
            scorecard=body.version, created=new.created, activated=new.activated, effect_id=effect_id
        )
        await self._registry.write(tenant_id, ControlKind.CHALLENGER, entry, self._versions.to_programs(new))


def card_in(policy: PolicyVersion) -> Scorecard | None:
    """The card of a version; None stands for the default card, or for that of the tenant."""
    return cast(ScorecardBody, policy.body).card


def follows_tenant(policy: PolicyVersion) -> bool:
    """Whether a version makes a program follow the tenant's card."""
    return cast(ScorecardBody, policy.body).follows_tenant


def _instant_in(report: dict[str, Any]) -> int:
    stated = report.get("generatedAt")
    at = parse_instant(stated) if isinstance(stated, str) else None
    if at is None:
        raise invalid("report.generatedAt", "must be the date-time at which the report was made", FieldCode.MALFORMED)
    return at
