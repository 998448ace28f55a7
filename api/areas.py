"""The areas of the interface, one line each, and the routes and services that follow from them."""

from collections.abc import Mapping
from typing import Final

from litestar.types import ControllerRouterHandler

from api.actions.routes import AREA as ACTIONS
from api.admin.routes import AREA as ADMIN
from api.agents.routes import AREA as AGENTS
from api.alerts.routes import AREA as ALERTS
from api.area import Area, Provider, Resources
from api.autonomy.routes import AREA as AUTONOMY
from api.clocks.routes import AREA as CLOCKS
from api.connector.routes import AREA as CONNECTOR
from api.counterparties.routes import AREA as COUNTERPARTIES
from api.dispositions.routes import AREA as DISPOSITIONS
from api.docs_page.routes import AREA as DOCS_PAGE
from api.entities.routes import AREA as ENTITIES
from api.events.routes import AREA as EVENTS
from api.ingest.routes import AREA as INGEST
from api.jwks.routes import AREA as JWKS
from api.keys.routes import AREA as KEYS
from api.kris.routes import AREA as KRIS
from api.labels.routes import AREA as LABELS
from api.ladder.routes import AREA as LADDER
from api.limits.routes import AREA as LIMITS
from api.metrics.routes import AREA as METRICS
from api.policies.routes import AREA as POLICIES
from api.preflight.routes import AREA as PREFLIGHT
from api.programs.routes import AREA as PROGRAMS
from api.proofs.routes import AREA as PROOFS
from api.record.routes import AREA as RECORD
from api.reports.routes import AREA as REPORTS
from api.rescoring.routes import AREA as RESCORING
from api.rules.routes import AREA as RULES
from api.sandbox.routes import AREA as SANDBOX
from api.scorecards.routes import AREA as SCORECARDS
from api.signing_keys.routes import AREA as SIGNING_KEYS
from api.subjects.routes import AREA as SUBJECTS
from api.system.routes import AREA as SYSTEM
from api.transfers.routes import AREA as TRANSFERS
from api.webhooks.routes import AREA as WEBHOOKS

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
    """Every service under the name by which a handler asks for it."""
    return {name: provider(resources) for name, provider in PROVIDERS.items()}
