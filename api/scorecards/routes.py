"""Scorecards over HTTP. Approvals use the route of actions."""

from functools import partial
from typing import Final

from litestar import delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.routes import activation_operation, versioned_routes
from clearhold.api.actions.service import ActionService
from clearhold.api.area import Area, Resources
from clearhold.api.http.conditional import ETAG
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, principal_of
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import write_route
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
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.core.scorecards import ShadowComparison
from clearhold.store.control.scorecard_registry import ScorecardRegistry
from clearhold.store.duck.scorings.labelled import ShadowScores

_TAG: Final = "scorecards"
_PATH: Final = "/api/scorecards/{version:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)

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
_ACTIVATE: Final = activation_operation(
    "activateScorecard",
    tag=_TAG,
    summary="Requests the activation of a scorecard, which another person approves. It needs a report of "
    "this exact card that is less than seven days old when it is requested and when it is approved; one that "
    "was in force before, and trs-v1, need none. `tenant` with a program returns it to the tenant's card. "
    "Scored transfers keep their score until they are rescored.",
    refusals=(
        ErrorCode.SCORECARD_NOT_FOUND,
        ErrorCode.PROGRAM_NOT_FOUND,
        ErrorCode.SCORECARD_NOT_REPORTED,
        ErrorCode.SCORECARD_IN_FORCE,
        ErrorCode.TOO_MANY_POLICIES,
    ),
    body=ScorecardActivation,
    example=ACTIVATION,
    action={"type": "activate_scorecard", "targetType": "scorecard", "targetId": "scorecard-v3", "programId": None},
)


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


@get("/api/scorecards/{version:str}/shadow", opt=_COMPARE.as_opt)
async def get_scorecard_shadow(
    version: FromPath[str], request: ApiRequest, scorecards: NamedDependency[ScorecardService]
) -> ShadowComparison:
    return await scorecards.compare(principal_of(request.scope), version)


def _scorecards(resources: Resources) -> ScorecardService:
    stores = resources.stores
    return ScorecardService(
        registry=ScorecardRegistry(stores.registry, clock=stores.clock),
        programs=resources.programs,
        actions=ActionService(resources),
        shadow_scores=ShadowScores(stores.database),
        clock=stores.clock,
    )


AREA: Final = Area(
    routes=(
        *versioned_routes(
            _PATH, _TAG, ScorecardService, listed=_LIST, read=_READ, created=_PROPOSE, activated=_ACTIVATE
        ),
        send_scorecard_report,
        list_scorecard_reports,
        write_route(f"{_PATH}/shadow", _START_SHADOW, _TAG, ScorecardService.start_shadow),
        write_route(f"{_PATH}/shadow", _END_SHADOW, _TAG, ScorecardService.end_shadow, delete),
        get_scorecard_shadow,
    ),
    provide={_TAG: _scorecards},
)
