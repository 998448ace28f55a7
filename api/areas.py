"""The areas of the interface, one line each, and the routes and services that follow from them."""

from collections.abc import Mapping
from typing import Final

from litestar.types import ControllerRouterHandler

from clearhold.api.actions.routes import AREA as ACTIONS
from clearhold.api.admin.routes import AREA as ADMIN
from clearhold.api.agents.routes import AREA as AGENTS
from clearhold.api.alerts.routes import AREA as ALERTS
from clearhold.api.area import Area, Provider, Resources
from clearhold.api.autonomy.routes import AREA as AUTONOMY
from clearhold.api.clocks.routes import AREA as CLOCKS
from clearhold.api.connector.routes import AREA as CONNECTOR
from clearhold.api.counterparties.routes import AREA as COUNTERPARTIES
from clearhold.api.dispositions.routes import AREA as DISPOSITIONS
from clearhold.api.docs_page.routes import AREA as DOCS_PAGE
from clearhold.api.entities.routes import AREA as ENTITIES
from clearhold.api.events.routes import AREA as EVENTS
from clearhold.api.ingest.routes import AREA as INGEST
from clearhold.api.jwks.routes import AREA as JWKS
from clearhold.api.keys.routes import AREA as KEYS
from clearhold.api.kris.routes import AREA as KRIS
from clearhold.api.labels.routes import AREA as LABELS
from clearhold.api.ladder.routes import AREA as LADDER
from clearhold.api.limits.routes import AREA as LIMITS
from clearhold.api.metrics.routes import AREA as METRICS
from clearhold.api.policies.routes import AREA as POLICIES
from clearhold.api.preflight.routes import AREA as PREFLIGHT
from clearhold.api.programs.routes import AREA as PROGRAMS
from clearhold.api.proofs.routes import AREA as PROOFS
from clearhold.api.record.routes import AREA as RECORD
from clearhold.api.reports.routes import AREA as REPORTS
from clearhold.api.rescoring.routes import AREA as RESCORING
from clearhold.api.rules.routes import AREA as RULES
from clearhold.api.sandbox.routes import AREA as SANDBOX
from clearhold.api.scorecards.routes import AREA as SCORECARDS
from clearhold.api.signing_keys.routes import AREA as SIGNING_KEYS
from clearhold.api.subjects.routes import AREA as SUBJECTS
from clearhold.api.system.routes import AREA as SYSTEM
from clearhold.api.transfers.routes import AREA as TRANSFERS
from clearhold.api.webhooks.routes import AREA as WEBHOOKS

AREAS: Final[tuple[Area, ...]] = (
    ACTIONS,
    ADMIN,
    AGENTS,
    ALERTS,
    AUTONOMY,
    CLOCKS,
    CONNECTOR,
    COUNTERPARTIES,
    DISPOSITIONS,
    DOCS_PAGE,
    ENTITIES,
    EVENTS,
    INGEST,
    JWKS,
    KEYS,
    KRIS,
    LABELS,
    LADDER,
    LIMITS,
    METRICS,
    POLICIES,
    PREFLIGHT,
    PROGRAMS,
    PROOFS,
    RECORD,
    REPORTS,
    RESCORING,
    RULES,
    SANDBOX,
    SCORECARDS,
    SIGNING_KEYS,
    SUBJECTS,
    SYSTEM,
    TRANSFERS,
    WEBHOOKS,
)

ROUTES: Final[tuple[ControllerRouterHandler, ...]] = tuple(route for area in AREAS for route in area.routes)
PROVIDERS: Final[Mapping[str, Provider]] = {
    "downloads": lambda resources: resources.downloads,
    **{name: provider for area in AREAS for name, provider in area.provide.items()},
}


def services_of(resources: Resources) -> Mapping[str, object]:
    """Every service under the name by which handlers request it."""
    return {name: provider(resources) for name, provider in PROVIDERS.items()}
