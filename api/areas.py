"""The areas of the interface, one line each, and the application made of them. Nothing is opened or started here.

The application is their routes and services, the gate, the one error handler and the headers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar, Request
from litestar.datastructures import State
from litestar.di import Provide
from litestar.middleware import ASGIMiddleware
from litestar.types import ControllerRouterHandler

from clearhold.api.accounts.routes import AREA as ACCOUNTS
from clearhold.api.actions.routes import AREA as ACTIONS
from clearhold.api.admin.routes import AREA as ADMIN
from clearhold.api.agents.routes import AREA as AGENTS
from clearhold.api.alerts.routes import AREA as ALERTS
from clearhold.api.area import Area, Provider, Resources, Stores
from clearhold.api.assignments.routes import AREA as ASSIGNMENTS
from clearhold.api.autonomy.routes import AREA as AUTONOMY
from clearhold.api.bank_keys.routes import AREA as BANK_KEYS
from clearhold.api.clocks.routes import AREA as CLOCKS
from clearhold.api.config.routes import AREA as CONFIG
from clearhold.api.connector.routes import AREA as CONNECTOR
from clearhold.api.counts.routes import AREA as COUNTS
from clearhold.api.dispositions.routes import AREA as DISPOSITIONS
from clearhold.api.docs_page.routes import AREA as DOCS_PAGE
from clearhold.api.events.routes import AREA as EVENTS
from clearhold.api.explain.routes import AREA as EXPLAIN
from clearhold.api.graph.routes import AREA as GRAPH
from clearhold.api.http.auth import Authenticator
from clearhold.api.http.envelope import render_error, stamp_headers
from clearhold.api.http.gate import Gate
from clearhold.api.http.head import Origins, split_as_sent
from clearhold.api.http.idempotency import Idempotency
from clearhold.api.http.limits import Floods, RateLimits
from clearhold.api.http.operation import RateClass
from clearhold.api.ingest.routes import AREA as INGEST
from clearhold.api.keys.routes import AREA as KEYS
from clearhold.api.kris.routes import AREA as KRIS
from clearhold.api.labels.routes import AREA as LABELS
from clearhold.api.ladder.routes import AREA as LADDER
from clearhold.api.limits.routes import AREA as LIMITS
from clearhold.api.lists.handlers import SERVICES
from clearhold.api.live.routes import AREA as LIVE
from clearhold.api.metrics.routes import AREA as METRICS
from clearhold.api.metrics.scores import AREA as SCORE_METRICS
from clearhold.api.notes.routes import AREA as NOTES
from clearhold.api.openapi.document import document_of
from clearhold.api.overview.routes import AREA as OVERVIEW
from clearhold.api.parties.routes import AREA as PARTIES
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
from clearhold.api.search.routes import AREA as SEARCH
from clearhold.api.signing_keys.routes import AREA as SIGNING_KEYS
from clearhold.api.stacks.routes import AREA as STACKS
from clearhold.api.subjects.routes import AREA as SUBJECTS
from clearhold.api.system.routes import AREA as SYSTEM
from clearhold.api.timeline.routes import AREA as TIMELINE
from clearhold.api.transfers.routes import AREA as TRANSFERS
from clearhold.api.webhooks.routes import AREA as WEBHOOKS
from clearhold.store.idempotency import IdempotencyClaims

LOCAL_URL: Final = "http://127.0.0.1:8080"
AREAS: Final[tuple[Area, ...]] = (
    ACCOUNTS,
    ACTIONS,
    ADMIN,
    AGENTS,
    ALERTS,
    ASSIGNMENTS,
    AUTONOMY,
    BANK_KEYS,
    CLOCKS,
    CONFIG,
    CONNECTOR,
    COUNTS,
    DISPOSITIONS,
    DOCS_PAGE,
    EVENTS,
    EXPLAIN,
    GRAPH,
    INGEST,
    KEYS,
    KRIS,
    LABELS,
    LADDER,
    LIMITS,
    LIVE,
    METRICS,
    SCORE_METRICS,
    NOTES,
    OVERVIEW,
    PARTIES,
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
    SEARCH,
    SIGNING_KEYS,
    STACKS,
    SUBJECTS,
    SYSTEM,
    TIMELINE,
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


def http_app(
    routes: Sequence[ControllerRouterHandler], services: Mapping[str, object], *, gate: ASGIMiddleware, base_url: str
) -> Litestar:
    """The application; its state holds the services by name, for handlers and fast routes."""
    app = Litestar(
        route_handlers=routes,
        dependencies={name: _service(name) for name in services},
        middleware=[gate],
        exception_handlers={Exception: render_error},
        before_send=[stamp_headers],
        openapi_config=None,
        logging_config=None,
        debug=False,
        state=State({SERVICES: services}),
    )
    app.state.openapi = document_of(app, base_url=base_url)
    app.asgi_handler = split_as_sent(app.asgi_handler)
    return app


def openapi_text(*, administration: bool = False) -> str:
    """The OpenAPI document of this version, public or administrative, without a running application."""
    dependencies = {name: _service(name) for name in PROVIDERS}
    app = Litestar(route_handlers=ROUTES, dependencies=dependencies, openapi_config=None)
    document = document_of(app, base_url=LOCAL_URL, administration=administration)
    return msgspec.json.format(document, indent=2).decode() + "\n"


class Checks(NamedTuple):
    """What checks the requests of the API and of the console: the callers, and their rates."""

    authenticator: Authenticator
    limits: RateLimits
    origins: Origins


def wired_checks(stores: Stores, origins: Origins, *, admin_token: str, limits: Mapping[RateClass, int]) -> Checks:
    """``limits`` are requests a second."""
    authenticator = Authenticator(
        tenancy=stores.registry.tenancy, admin_token=admin_token, usage=stores.key_usage, clock=stores.clock
    )
    return Checks(authenticator, RateLimits(limits, stores.clock), origins)


def wired_gate(stores: Stores, checks: Checks) -> Gate:
    """The request checks of the API in their order."""
    claims = IdempotencyClaims(stores.hot, box=stores.box, process=stores.process, memory=stores.memory)
    return Gate(checks.authenticator, checks.limits, Idempotency(claims), stores.clock, Floods(), checks.origins)


def _service(name: str) -> Provide:
    """The service of this name in the handler's application."""

    def provide(request: Request[Any, Any, Any]) -> object:
        service: object = request.app.state[SERVICES][name]
        return service

    return Provide(provide, sync_to_thread=False)
