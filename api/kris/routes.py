"""Key risk indicators: a snapshot on request."""

from typing import Final

from litestar import post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import effect_id_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.kris.schemas import SnapshotTaken
from clearhold.api.kris.service import KriService
from clearhold.features.core.errors import ErrorCode

_SNAPSHOT: Final = Operation(
    id="takeKriSnapshot",
    tag="kris",
    summary="Measures every key risk indicator of the program now and stores the snapshot. "
    "The detectors of programs run on it, and the Program Risk Score follows from it. The answer comes when all of "
    "this is recorded.",
    access=Access.OWNER,
    answers={200: SnapshotTaken},
    refusals=(ErrorCode.NOT_CONFIRMED,),
    answer_example={"snapshotId": "6f1c7a52-9f0e-4c0b-8a53-0f1d2c3b4a59"},
)


@post("/api/kri/snapshot/{program_id:str}", status_code=200, opt=_SNAPSHOT.as_opt)
async def take_snapshot(
    program_id: FromPath[str], request: ApiRequest, kris: NamedDependency[KriService]
) -> SnapshotTaken:
    return await kris.take_snapshot(principal_of(request.scope), program_id, effect_id_of(request.scope))


AREA: Final = Area(routes=(take_snapshot,), provide={"kris": lambda resources: KriService(resources.command_log)})
