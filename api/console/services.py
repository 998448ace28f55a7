"""The services of the areas that pages read and write through: the same objects that answer the REST routes."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from clearhold.api.accounts.routes import AccountService
from clearhold.api.actions.service import ActionService
from clearhold.api.alerts.routes import AlertService
from clearhold.api.assignments.routes import AssignmentService
from clearhold.api.autonomy.routes import AutonomyService
from clearhold.api.bank_keys.routes import BankKeyService
from clearhold.api.config.service import ConfigService
from clearhold.api.console.openid import OpenIdSignIn
from clearhold.api.console.passkeys import PasskeyDesk
from clearhold.api.console.presence import Presence
from clearhold.api.console.tries import SignInTries
from clearhold.api.counts.routes import CountService
from clearhold.api.dispositions.routes import DispositionService
from clearhold.api.events.routes import EventService
from clearhold.api.explain.service import ExplainService
from clearhold.api.graph.service import GraphService
from clearhold.api.http.auth import Authenticator
from clearhold.api.http.proxy_identity import ConsoleIdentity
from clearhold.api.keys.routes import KeyService
from clearhold.api.kris.routes import KriService
from clearhold.api.labels.routes import LabelService
from clearhold.api.limits.service import LimitService
from clearhold.api.lists.exports import Downloads
from clearhold.api.live.routes import LiveService
from clearhold.api.metrics.routes import MetricsService
from clearhold.api.metrics.scores import ScoreMetrics
from clearhold.api.notes.routes import NoteService
from clearhold.api.overview.routes import OverviewService
from clearhold.api.parties.routes import PartyService
from clearhold.api.policies.dry_run import DryRunService
from clearhold.api.policies.service import PolicyService
from clearhold.api.preflight.service import PreflightReads, PreflightService
from clearhold.api.program_service import ProgramService
from clearhold.api.proofs.routes import ProofService
from clearhold.api.record.service import RecordService
from clearhold.api.reports.service import ActorReports, ProgramReports
from clearhold.api.reports.weekly import WeeklyReports
from clearhold.api.rules.service import RuleService
from clearhold.api.scorecards.service import ScorecardService
from clearhold.api.search.routes import SearchService
from clearhold.api.signing_keys.routes import SigningKeyService
from clearhold.api.stacks.routes import StackService
from clearhold.api.subjects.routes import SubjectService
from clearhold.api.timeline.routes import TimelineService
from clearhold.api.transfers.service import TransferService
from clearhold.api.webhooks.routes import WebhookService
from clearhold.store.proven_persons import ProvenPersons
from clearhold.store.sessions import Sessions
from clearhold.store.start_links import StartLinks


class ConsoleServices(NamedTuple):
    """Each is under the name of its area."""

    authenticator: Authenticator
    sessions: Sessions
    start_links: StartLinks
    accounts: AccountService
    tries: SignInTries
    identity: ConsoleIdentity
    openid: OpenIdSignIn | None
    actions: ActionService
    actor_reports: ActorReports
    alerts: AlertService
    assignments: AssignmentService
    autonomy: AutonomyService
    bank_keys: BankKeyService
    config: ConfigService
    counts: CountService
    dispositions: DispositionService
    downloads: Downloads
    dry_runs: DryRunService
    events: EventService
    explanations: ExplainService
    keys: KeyService
    kris: KriService
    graph: GraphService
    labels: LabelService
    limits: LimitService
    metrics: MetricsService
    notes: NoteService
    overview: OverviewService
    parties: PartyService
    policies: PolicyService
    preflight_reads: PreflightReads
    preflights: PreflightService
    program_reports: ProgramReports
    programs: ProgramService
    proofs: ProofService
    record: RecordService
    rules: RuleService
    scorecards: ScorecardService
    score_metrics: ScoreMetrics
    search: SearchService
    signing_key_states: SigningKeyService
    stacks: StackService
    subjects: SubjectService
    timeline: TimelineService
    transfers: TransferService
    webhooks: WebhookService
    weekly_reports: WeeklyReports
    live: LiveService
    presence: Presence
    passkeys: PasskeyDesk
    persons: ProvenPersons

    @classmethod
    def of(cls, services: Mapping[str, Any], **own: Any) -> "ConsoleServices":
        """``services`` are those of the areas, ``own`` the others."""
        of_areas = {name: services[name] for name in cls._fields if name in services}
        return cls(**own, **of_areas)
