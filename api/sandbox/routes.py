"""The sandbox over HTTP: for test keys, on simulated programs."""

from typing import Final

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from api.area import Area, Resources
from api.http.envelope import ApiRequest
from api.http.gate import body_of, effect_id_of, principal_of
from api.http.operation import Access, Operation
from api.http.request_schema import RequestSchema
from api.ingest.routes import ingest_service
from api.programs.service import ProgramService
from api.sandbox.examples import LISTING, RESULT, SCENARIO_REQUEST
from api.sandbox.schemas import SandboxResult, ScenarioListing, ScenarioRequest
from api.sandbox.service import SandboxLog, SandboxService
from features.core.errors import ErrorCode
from features.core.principal import KeyScope
from store.duck.events import Events
from store.duck.transfers import Transfers
from store.redis_log.commit_waiter import CommitWaiter

_TAG: Final = "sandbox"

_LIST: Final = Operation(
    id="listScenarios",
    tag=_TAG,
    summary="Every scenario, and the detectors of the alerts that it must open: exactly these, or none.",
    access=Access.BEARER,
    scope=KeyScope.SANDBOX,
    sandbox=True,
    answers={200: list[ScenarioListing]},
    answer_example=[LISTING],
)
_RUN: Final = Operation(
    id="runScenario",
    tag=_TAG,
    summary="Runs a scenario: sends the program what the bank would send. The answer waits until that is committed, at "
    "most 5 seconds; `committed` is false if that took longer, and what it led to can be read later.",
    access=Access.BEARER,
    scope=KeyScope.SANDBOX,
    sandbox=True,
    answers={201: SandboxResult},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.UNAVAILABLE, ErrorCode.OVERLOADED, ErrorCode.STARTING),
    body=RequestSchema(ScenarioRequest),
    example=SCENARIO_REQUEST,
    answer_example=RESULT,
)


@get("/api/sandbox/scenarios", opt=_LIST.as_opt)
async def list_scenarios(sandbox: NamedDependency[SandboxService]) -> list[ScenarioListing]:
    return sandbox.scenarios()


@post("/api/sandbox/{program_id:str}/scenario", opt=_RUN.as_opt)
async def run_scenario(
    program_id: FromPath[str], request: ApiRequest, sandbox: NamedDependency[SandboxService]
) -> SandboxResult:
    body = body_of(request.scope, ScenarioRequest)
    return await sandbox.run(principal_of(request.scope), program_id, body, effect_id_of(request.scope))


def _sandbox(resources: Resources) -> SandboxService:
    stores = resources.stores
    return SandboxService(
        programs=ProgramService(stores.registry.tenancy),
        sandbox_log=SandboxLog(
            ingest=ingest_service(resources),
            owner=stores.owner,
            appender=stores.appender,
            progress=stores.progress,
            waiter=CommitWaiter(stores.progress.committed_offset),
        ),
        events=Events(stores.database),
        transfers=Transfers(stores.database),
        clock=stores.clock,
        new_id=stores.new_id,
    )


AREA: Final = Area(routes=(list_scenarios, run_scenario), provide={"sandbox": _sandbox})
