"""The Litestar application: routes, the gate, the one error handler, the headers. It starts nothing."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from api.admin.routes import ROUTES as ADMIN_ROUTES
from api.admin.service import AdminService
from api.alerts.decisions import DecisionService
from api.alerts.routes import ROUTES as ALERT_ROUTES
from api.alerts.service import AlertService
from api.clocks.routes import ROUTES as CLOCK_ROUTES
from api.clocks.service import ClockService
from api.dispositions.routes import ROUTES as DISPOSITION_ROUTES
from api.dispositions.service import DispositionService
from api.docs_page.page import page_of
from api.docs_page.routes import ROUTES as DOCS_ROUTES
from api.http.envelope import stamp_headers
from api.http.errors import render_error
from api.http.fast_route import SERVICES
from api.http.gate import Gate
from api.http.openapi import document_of
from api.ingest.routes import ROUTES as INGEST_ROUTES
from api.ingest.service import IngestService
from api.jwks.routes import ROUTES as JWKS_ROUTES
from api.keys.routes import ROUTES as KEY_ROUTES
from api.keys.service import KeyService
from api.labels.routes import ROUTES as LABEL_ROUTES
from api.labels.service import LabelService
from api.policies.routes import ROUTES as POLICY_ROUTES
from api.policies.service import PolicyService
from api.preflight.routes import ROUTES as PREFLIGHT_ROUTES
from api.preflight.service import PreflightDetails, PreflightService
from api.programs.routes import ROUTES as PROGRAM_ROUTES
from api.programs.service import ProgramService
from api.record.routes import ROUTES as RECORD_ROUTES
from api.record.service import RecordService
from api.rescoring.routes import ROUTES as RESCORING_ROUTES
from api.rescoring.service import RescoringService
from api.system.routes import ROUTES as SYSTEM_ROUTES
from api.system.routes import Readiness
from api.transfers.export import ROUTES as EXPORT_ROUTES
from api.transfers.export import TransferExports
from api.transfers.routes import ROUTES as TRANSFER_ROUTES
from api.transfers.service import TransferService
from store.keys.signing_keys import SigningKeys

ROUTES: Final[tuple[ControllerRouterHandler, ...]] = (
    *ADMIN_ROUTES,
    *ALERT_ROUTES,
    *CLOCK_ROUTES,
    *DISPOSITION_ROUTES,
    *DOCS_ROUTES,
    *INGEST_ROUTES,
    *KEY_ROUTES,
    *JWKS_ROUTES,
    *LABEL_ROUTES,
    *POLICY_ROUTES,
    *PREFLIGHT_ROUTES,
    *PROGRAM_ROUTES,
    *RECORD_ROUTES,
    *RESCORING_ROUTES,
    *SYSTEM_ROUTES,
    *TRANSFER_ROUTES,
    *EXPORT_ROUTES,
)


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that routes call; a field's name is the name a handler asks for it by."""

    admin: AdminService
    alerts: AlertService
    clocks: ClockService
    decisions: DecisionService
    dispositions: DispositionService
    ingest: IngestService
    keys: KeyService
    labels: LabelService
    policies: PolicyService
    preflights: PreflightService
    preflight_details: PreflightDetails
    programs: ProgramService
    readiness: Readiness
    record: RecordService
    signing_keys: SigningKeys
    rescoring: RescoringService
    transfers: TransferService
    transfer_exports: TransferExports


def http_app(services: Services, *, gate: Gate, base_url: str) -> Litestar:
    """The application over its services."""
    app = Litestar(
        route_handlers=ROUTES,
        dependencies=dict(_provided(services)),
        middleware=[gate],
        exception_handlers={Exception: render_error},
        before_send=[stamp_headers],
        openapi_config=None,
        logging_config=None,
        debug=False,
        state=State({SERVICES: services}),
    )
    app.state.openapi = document_of(app, base_url=base_url)
    app.state.docs = page_of(app.state.openapi)
    return app


def public_document(*, base_url: str) -> bytes:
    """The OpenAPI document of the routes, without an application that could answer."""
    named = {name: _constant(None) for name in Services.__struct_fields__}
    return document_of(Litestar(route_handlers=ROUTES, dependencies=named, openapi_config=None), base_url=base_url)


def _provided(services: Services) -> Iterable[tuple[str, Provide]]:
    for name in services.__struct_fields__:
        yield name, _constant(getattr(services, name))


def _constant(service: Any) -> Provide:
    def provide() -> Any:
        return service

    return Provide(provide, sync_to_thread=False)
