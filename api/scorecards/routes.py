"""Scorecards over HTTP. Approvals use the route of actions."""

from functools import partial
from typing import Final

import msgspec
from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.examples import ACTION
from clearhold.api.actions.routes import action_service
from clearhold.api.actions.schemas import Action
from clearhold.api.area import Area, Resources
from clearhold.api.http.conditional import ETAG, PRIVATE, published
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, optional_body_of, principal_of
from clearhold.api.http.operation import JSON, Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.programs.service import ProgramService
from clearhold.api.scorecards.examples import ACTIVATION, CARD, COMPARISON, NEW_REPORT, NEW_SCORECARD, REPORT, SCORECARD
from clearhold.api.scorecards.schemas import (
    NewScorecard,
    NewScorecardReport,
    ScorecardActivation,
    ScorecardReport,
    ScorecardVersion,
    card_failures,
    report_failures,
)
from clearhold.api.scorecards.service import ScorecardService
from clearhold.features.core.comparisons import ShadowComparison
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.store.control.scorecard_registry import ScorecardRegistry
from clearhold.store.duck.scorings.shadow_scores import ShadowScores

_TAG: Final = "scorecards"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)
_ENCODE: Final = msgspec.json.Encoder().encode

_LIST: Final = _operation(
    id="listScorecards",
    summary="The tenant's scorecards, newest first, and the default one, trs-v1, last. Cards are left out.",
    answers={200: tuple[ScorecardVersion, ...], 304: None},
    answer_example=[SCORECARD],
    headers=(ETAG,),
)
_READ: Final = _operation(
    id="getScorecard",
    summary="One scorecard with its card; trs-v1 is the default one, which a new card can start from.",
    answers={200: ScorecardVersion, 304: None},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND,),
    answer_example=SCORECARD | {"card": CARD},
    headers=(ETAG,),
)
_PROPOSE: Final = _by_operator(
    id="proposeScorecard",
    summary="Proposes a card for transfers as the next version. It takes effect once its activation is "
    "approved, and is never edited: a change is a new card. Of signals whose points are "
    "not fitted at most 40 give points, and the card has all hard ones.",
    answers={201: ScorecardVersion},
    refusals=(ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.TOO_MANY_POLICIES),
    body=RequestSchema(NewScorecard, rules=card_failures),
    example=NEW_SCORECARD,
    answer_example=SCORECARD | {"inShadow": False, "reports": [], "card": CARD},
)
_REPORT: Final = _by_operator(
    id="sendScorecardReport",
    summary="Stores the report of `clearhold calibrate` on exactly this card (`cardSha256`). The newest "
    "two of a card are shown; all stay in the log.",
    answers={201: ScorecardReport},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND,),
    body=RequestSchema(NewScorecardReport, rules=report_failures),
    example=NEW_REPORT,
    answer_example=REPORT | NEW_REPORT,
)
_REPORTS: Final = _operation(
    id="listScorecardReports",
    summary="The newest reports on a scorecard, newest first.",
    answers={200: tuple[ScorecardReport, ...]},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND,),
    answer_example=[REPORT | NEW_REPORT],
)
_START_SHADOW: Final = _by_operator(
    id="startScorecardShadow",
    summary="Runs a scorecard in shadow from now on, in place of the previous one. Each scored transfer "
    "also gets this card's score, for the comparison only.",
    answers={200: ScorecardVersion},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND, ErrorCode.SCORECARD_IN_FORCE),
    answer_example=SCORECARD | {"card": CARD},
)
_END_SHADOW: Final = _by_operator(
    id="endScorecardShadow",
    summary="Ends the shadow of a scorecard: from now on it scores no transfer. Its earlier "
    "scores stay; a program whose shadow ends has that of the tenant.",
    answers={200: ScorecardVersion},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND,),
    answer_example=SCORECARD | {"inShadow": False, "card": CARD},
)
_COMPARE: Final = _operation(
    id="getScorecardShadow",
    summary="A scorecard's scores of transfers since its shadow last began, at most 90 days, beside the "
    "champion. Precision and McNemar's test are over labels of transfers that are 60 days old, recall over all bad "
    "ones.",
    answers={200: ShadowComparison},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND, ErrorCode.TOO_MANY_AT_ONCE),
    answer_example=COMPARISON,
)
_ACTIVATE: Final = _by_operator(
    id="activateScorecard",
    summary="Requests the activation of a scorecard, which another person approves. It needs a report of "
    "this exact card that is less than seven days old when it is requested and when it is approved; one that "
    "was in force before, and trs-v1, need none. `tenant` with a program returns it to the tenant's card. "
    "Scored transfers keep their score until they are rescored.",
    answers={201: Action},
    refusals=(
        ErrorCode.SCORECARD_NOT_FOUND,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.SCORECARD_NOT_REPORTED,
        ErrorCode.SCORECARD_IN_FORCE,
        ErrorCode.TOO_MANY_POLICIES,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(ScorecardActivation),
    body_required=False,
    example=ACTIVATION,
    answer_example=ACTION
    | {"type": "activate_scorecard", "targetType": "scorecard", "targetId": "scorecard-v3", "programId": None},
)


@get("/api/scorecards", opt=_LIST.as_opt)
async def list_scorecards(request: ApiRequest, scorecards: NamedDependency[ScorecardService]) -> Response[bytes | None]:
    listed = scorecards.list(principal_of(request.scope))
    return published(request, _ENCODE(listed), media_type=JSON, cache=PRIVATE)


@post("/api/scorecards", opt=_PROPOSE.as_opt)
async def propose_scorecard(request: ApiRequest, scorecards: NamedDependency[ScorecardService]) -> ScorecardVersion:
    body = body_of(request.scope, NewScorecard)
    return await scorecards.propose(principal_of(request.scope), body, effect_id_of(request.scope))


@get("/api/scorecards/{version:str}", opt=_READ.as_opt)
async def get_scorecard(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> Response[bytes | None]:
    read = scorecards.read(principal_of(request.scope), version)
    return published(request, _ENCODE(read), media_type=JSON, cache=PRIVATE)


@post("/api/scorecards/{version:str}/reports", opt=_REPORT.as_opt)
async def send_scorecard_report(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> ScorecardReport:
    report = body_of(request.scope, NewScorecardReport).report
    return await scorecards.add_report(principal_of(request.scope), version, report)


@get("/api/scorecards/{version:str}/reports", opt=_REPORTS.as_opt)
async def list_scorecard_reports(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> tuple[ScorecardReport, ...]:
    return scorecards.reports(principal_of(request.scope), version)


@post("/api/scorecards/{version:str}/shadow", opt=_START_SHADOW.as_opt, status_code=200)
async def start_scorecard_shadow(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> ScorecardVersion:
    return await scorecards.start_shadow(principal_of(request.scope), version, effect_id_of(request.scope))


@delete("/api/scorecards/{version:str}/shadow", opt=_END_SHADOW.as_opt, status_code=200)
async def end_scorecard_shadow(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> ScorecardVersion:
    return await scorecards.end_shadow(principal_of(request.scope), version, effect_id_of(request.scope))


@get("/api/scorecards/{version:str}/shadow", opt=_COMPARE.as_opt)
async def get_scorecard_shadow(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> ShadowComparison:
    return await scorecards.compare(principal_of(request.scope), version)


@post("/api/scorecards/{version:str}/activate", opt=_ACTIVATE.as_opt)
async def activate_scorecard(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> Action:
    body = optional_body_of(request.scope, ScorecardActivation)
    return await scorecards.activate(principal_of(request.scope), version, body, effect_id_of(request.scope))


def _scorecards(resources: Resources) -> ScorecardService:
    stores = resources.stores
    return ScorecardService(
        registry=ScorecardRegistry(stores.registry, clock=stores.clock),
        programs=ProgramService(stores.registry.tenancy),
        actions=action_service(resources),
        shadow_scores=ShadowScores(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(
    routes=(
        list_scorecards,
        propose_scorecard,
        get_scorecard,
        send_scorecard_report,
        list_scorecard_reports,
        start_scorecard_shadow,
        end_scorecard_shadow,
        get_scorecard_shadow,
        activate_scorecard,
    ),
    provide={"scorecards": _scorecards},
)
