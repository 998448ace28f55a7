"""Scorecards, and reports on them: proposed, evaluated, run in shadow, compared, activated by two people, and read.

activation  requested here ─▶ an action that waits ─▶ another's approval ─▶ the executor checks again, and writes it

Errors  NotFoundError for a scorecard or program that is not this tenant's; ConflictError when the card's state forbids
        the step; InvalidRequestError for a report of another card
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
import structlog
from anyio import to_thread

from clearhold.api.actions.schemas import Action
from clearhold.api.actions.service import ActionService, Change
from clearhold.api.area import Resources
from clearhold.api.http.fields import Prose
from clearhold.api.http.validation import MOST_FAILURES, Failure, failures_of, validator_of
from clearhold.api.lists.exports import Concurrency
from clearhold.api.lists.lists import ArrayPart
from clearhold.features.core.entries.actions import ActionType
from clearhold.features.core.errors import FieldCode, invalid
from clearhold.features.core.instants import DAY_US, format_instant
from clearhold.features.core.principal import Principal
from clearhold.features.core.scorecards import Scorecard, ShadowComparison, scorecard_sha256, to_comparison
from clearhold.features.core.vocabulary import about
from clearhold.features.policy.bodies import PolicyVersion, policy_sha256
from clearhold.features.scorers.cards import faults_of, score_version
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER
from clearhold.features.scorers.trs_v1.scorer import VERSION as DEFAULT
from clearhold.store.control.entries import ScorecardReportEntry
from clearhold.store.control.scorecard_registry import ScorecardRegistry, card_in, follows_tenant
from clearhold.store.duck.scorings.labelled import ShadowScores

MAX_CARD_BYTES: Final = 16 * 1024
"""The memory limit of a card, which every program of the tenant gets."""
TOO_LONG: Final = f"must be shorter: a card is at most {MAX_CARD_BYTES} bytes"


class NewScorecard(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` null is every program of the tenant."""

    program_id: Annotated[UUID | None, about("The card's one program; left out or null: the whole tenant.")] = None
    card: Scorecard


class NewScorecardReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A report of ``clearhold calibrate``; it must name its card, its time and its number of labels."""

    report: Annotated[dict[str, Any], msgspec.Meta(title="CalibrationReport")]


class _Judged(msgspec.Struct, frozen=True):
    """The labelled transfers behind a report; both kinds are needed for a comparison."""

    bad: Annotated[int, msgspec.Meta(ge=1)]
    ok: Annotated[int, msgspec.Meta(ge=1)]


class _Data(msgspec.Struct, frozen=True):
    later: _Judged


class _RequiredOfReport(msgspec.Struct, frozen=True, rename="camel"):
    """The part of ``calibrate/report.py`` that an approval needs."""

    card_sha256: str
    generated_at: str
    data: _Data
    rankings: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(min_length=1)]
    findings: tuple[dict[str, Any], ...]


_REPORT_SCHEMA: Final = msgspec.json.schema(_RequiredOfReport)
_REPORTS: Final = validator_of(_REPORT_SCHEMA)


class ScorecardActivation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``programId`` is for trs-v1 and tenant only; other cards have a fixed program since their proposal."""

    program_id: Annotated[
        UUID | None, about("The program that goes back to trs-v1 or to the tenant's card; else left out.")
    ] = None
    note: Annotated[Prose | None, about("Why; it stands on the record.")] = None


class ScorecardReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A report as received; lists of cards leave out ``report``."""

    report_sha256: Annotated[str, about("Digest of the report.")]
    card_sha256: str
    made_at: Annotated[str, about("When the report was made, by its own word; its age counts from here.")]
    received_at: Annotated[str, about("When it was sent in.")]
    sent_by: Annotated[str, about("Who sent it in.")]
    report: Annotated[dict[str, Any], msgspec.Meta(title="CalibrationReport")] | msgspec.UnsetType = msgspec.UNSET


class ScorecardVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A card with its state; lists leave out ``card``."""

    version: Annotated[str, about("scorecard-v and a number, counted by tenant; trs-v1 is the default card.")]
    score_version: Annotated[str, about("What scores of this card have in their scoreVersion.")]
    program_id: Annotated[str | None, about("The one program that the card is for; null: the whole tenant.")]
    name: Annotated[str, about("The author's name for it.")]
    card_sha256: str
    active: Annotated[bool, about("Whether it scores transfers now.")]
    was_active: Annotated[bool, about("Whether it scores transfers or did before; going back to it needs no report.")]
    in_shadow: Annotated[bool, about("Whether it runs beside the card in force.")]
    created_at: Annotated[str | None, about("When it was proposed; null for the default card.")]
    reports: Annotated[tuple[ScorecardReport, ...], about("The newest reports on it, without their content.")]
    card: Scorecard | msgspec.UnsetType = msgspec.UNSET


def card_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """The first failing paths of a card that fits its schema, as submitted."""
    try:
        card = msgspec.convert(plain.get("card"), Scorecard)
    except msgspec.ValidationError:  # listed by the schema
        return
    if card.scorer != SCORER.name:
        yield Failure("card.scorer", "must be trs: only the cards of transfers can be changed", FieldCode.NOT_ONE_OF)
        return
    faults = tuple(islice(faults_of(card), MOST_FAILURES))
    for fault in faults:
        yield Failure(f"card.{fault.path}" if fault.path else "card", fault.sentence, fault.code)
    if not faults and len(msgspec.json.encode(card)) > MAX_CARD_BYTES:
        yield Failure("card", TOO_LONG, FieldCode.TOO_LONG)


def report_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of the parts that an activation needs."""
    report = plain.get("report")
    if isinstance(report, dict):
        for failure in failures_of(report, _REPORTS, schema=_REPORT_SCHEMA, noun="property"):
            yield failure._replace(path=f"report.{failure.path}" if failure.path else "report")


def to_report(stored: ScorecardReportEntry, *, whole: bool = True) -> ScorecardReport:
    return ScorecardReport(
        report_sha256=stored.report_sha256,
        card_sha256=stored.card_sha256,
        made_at=format_instant(stored.made_at),
        received_at=format_instant(stored.at),
        sent_by=stored.by,
        report=msgspec.json.decode(stored.report) if whole else msgspec.UNSET,
    )


log = structlog.get_logger()

TARGET: Final = "scorecard"
MOST_DAYS: Final = 90
"""The longest period of a comparison."""
COMPARISONS_IN_ALL: Final = 4
OF_TENANT: Final = "tenant"
"""The version that returns a program to the tenant's card."""
HAS_ITS_PLACE: Final = "is for trs-v1 and tenant alone: this card has had its place since it was proposed"


class ScorecardService:
    """One for the process; belongs to the API's event loop."""

    def __init__(self, resources: Resources) -> None:
        stores = resources.stores
        self._registry = ScorecardRegistry(stores.registry, clock=stores.clock)
        self._programs, self._actions = resources.programs, ActionService(resources)
        self._shadow_scores, self._clock = ShadowScores(stores.database), stores.clock
        self._under_way = Concurrency(in_all=COMPARISONS_IN_ALL, what="comparisons")

    async def list(self, principal: Principal) -> ArrayPart:
        """Newest first, the default card last."""
        proposed = (each for each in self._registry.all(principal) if card_in(each) is not None)
        listed = (
            *(self._to_version(principal, each, whole=False) for each in proposed),
            self._default(principal, whole=False),
        )
        return ArrayPart(msgspec.json.encode(listed), None)

    async def read(self, principal: Principal, version: str) -> ScorecardVersion:
        if version == DEFAULT:
            return self._default(principal, whole=True)
        return self._to_version(principal, self._registry.read(principal, version), whole=True)

    async def create(self, principal: Principal, request: NewScorecard, effect_id: str | None) -> ScorecardVersion:
        """The card as a new version, not in force."""
        program_id = self._programs.named(principal, request.program_id)
        created = await self._registry.propose(principal, request.card, program_id=program_id, effect_id=effect_id)
        log.info("scorecard_proposed", tenant_id=principal.tenant_id, version=created.version)
        return self._to_version(principal, created, whole=True)

    async def add_report(self, principal: Principal, version: str, request: NewScorecardReport) -> ScorecardReport:
        return to_report(await self._registry.add_report(principal, version, request.report))

    async def reports(self, principal: Principal, version: str) -> tuple[ScorecardReport, ...]:
        """Newest first."""
        self._registry.read(principal, version)
        return tuple(map(to_report, self._registry.of_tenant(principal).reports(version)))

    async def start_shadow(self, principal: Principal, version: str, effect_id: str | None) -> ScorecardVersion:
        await self._registry.start_shadow(principal, version, effect_id)
        return await self.read(principal, version)

    async def end_shadow(self, principal: Principal, version: str, effect_id: str | None) -> ScorecardVersion:
        await self._registry.end_shadow(principal, version, effect_id)
        return await self.read(principal, version)

    async def compare(self, principal: Principal, version: str) -> ShadowComparison:
        """The card's scores since its shadow last began, beside the champion's."""
        policy = self._registry.read(principal, version)
        started, now = self._registry.of_tenant(principal).shadow_start(version), self._clock.now()
        if started is None:
            return to_comparison((), version=version, champions=(), since=None)
        since = max(started, now - MOST_DAYS * DAY_US)
        programs = self._programs.counted(principal, None if policy.program_id is None else [policy.program_id])
        program_ids = tuple(program.id for program in programs)
        with self._under_way.slot(principal):
            counts, champions = await to_thread.run_sync(
                lambda: self._shadow_scores.counts(
                    principal, score_version(SCORER, version), program_ids=program_ids, since=since, now=now
                )
            )
        comparison = to_comparison(counts, version=version, champions=champions, since=format_instant(since))
        return self._programs.marked_of(comparison, programs)

    async def activate(
        self, principal: Principal, version: str, request: ScorecardActivation, effect_id: str | None
    ) -> Action:
        """The action that activates a card, the default one, or for a program the tenant's, once another person
        approves it.
        """
        policy = await self._to_activate(principal, version, request)

        async def change() -> Change:
            return self._change(principal, policy, request.note)

        return await self._actions.request_change(
            principal,
            ActionType.ACTIVATE_SCORECARD,
            program_id=policy.program_id,
            target=(TARGET, policy.version),
            change=change,
            effect_id=effect_id,
        )

    async def _to_activate(self, principal: Principal, version: str, request: ScorecardActivation) -> PolicyVersion:
        if version not in {DEFAULT, OF_TENANT}:
            if request.program_id is not None:
                raise invalid("programId", HAS_ITS_PLACE, FieldCode.CONFLICTING)
            return self._registry.read(principal, version)
        program_id = self._programs.named(principal, request.program_id)
        if program_id is None and version == OF_TENANT:
            raise invalid("programId", "is required: one program follows the tenant again", FieldCode.REQUIRED)
        return await self._registry.without_card(principal, program_id, follows=version == OF_TENANT)

    def _change(self, principal: Principal, policy: PolicyVersion, note: str | None) -> Change:
        """The approver's basis: the exact card, and the report that allows it."""
        report, scores = self._registry.check_activation(principal, policy), self._registry.scores_after(policy)
        card = None if scores is None else card_in(scores)
        return {
            "version": policy.version,
            "bodySha256": policy_sha256(policy.body),
            "cardSha256": scorecard_sha256(card or DEFAULT_CARD),
            "followsTenant": follows_tenant(policy),
            "scoreVersion": DEFAULT if scores is None else score_version(SCORER, scores.version),
            "reportSha256": None if report is None else report.report_sha256,
            "reportMadeAt": None if report is None else format_instant(report.made_at),
            "note": note,
        }

    def _to_version(self, principal: Principal, policy: PolicyVersion, *, whole: bool) -> ScorecardVersion:
        card, known = card_in(policy), self._registry.of_tenant(principal)
        assert card is not None, "only versions with a card are shown"
        return ScorecardVersion(
            version=policy.version,
            score_version=score_version(SCORER, policy.version),
            program_id=policy.program_id,
            name=card.name,
            card_sha256=scorecard_sha256(card),
            active=policy.active,
            was_active=known.has_scored(policy.version),
            in_shadow=known.shadow(policy.program_id) == policy.version and not policy.active,
            created_at=policy.created_at,
            reports=tuple(to_report(each, whole=False) for each in known.reports(policy.version)),
            card=card if whole else msgspec.UNSET,
        )

    def _default(self, principal: Principal, *, whole: bool) -> ScorecardVersion:
        return ScorecardVersion(
            version=DEFAULT,
            score_version=DEFAULT,
            program_id=None,
            name=DEFAULT_CARD.name,
            card_sha256=scorecard_sha256(DEFAULT_CARD),
            active=self._registry.champion(principal.tenant_id, None) is None,
            was_active=True,
            in_shadow=False,
            created_at=None,
            reports=(),
            card=DEFAULT_CARD if whole else msgspec.UNSET,
        )
