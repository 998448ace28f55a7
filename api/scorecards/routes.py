"""Scorecards over HTTP. Approvals use the route of actions."""

from functools import partial
from typing import Any, Final

import msgspec
from litestar import delete

from clearhold.api.actions.routes import activation_operation
from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_route, read_route, write_route
from clearhold.api.scorecards.service import (
    NewScorecard,
    NewScorecardReport,
    ScorecardActivation,
    ScorecardReport,
    ScorecardService,
    ScorecardVersion,
    card_failures,
    report_failures,
)
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.core.scorecards import ShadowComparison, scorecard_sha256
from clearhold.features.scorers.trs_v1.scorer import DEFAULT_CARD, SCORER

_CARD: Final = msgspec.structs.replace(
    DEFAULT_CARD,
    name="Fitted on the first half of 2026",
    signals=tuple(
        each for each in DEFAULT_CARD.signals if SCORER.signals[each.id].hard or each.id.startswith("TRS-AMT-0")
    ),
)
CARD: Final[dict[str, Any]] = msgspec.to_builtins(_CARD)
NEW_SCORECARD: Final[dict[str, Any]] = {"programId": None, "card": CARD}
REPORT: Final[dict[str, Any]] = {
    "reportSha256": "8d0f6b1a2c3e4d5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "cardSha256": scorecard_sha256(_CARD),
    "madeAt": "2026-09-08T16:20:00.000Z",
    "receivedAt": "2026-09-09T08:01:44.000Z",
    "sentBy": "ann",
}
NEW_REPORT: Final[dict[str, Any]] = {
    "report": {
        "cardSha256": REPORT["cardSha256"],
        "generatedAt": REPORT["madeAt"],
        "data": {"source": "tables of the tenant", "later": {"transfers": 16400, "bad": 61, "ok": 230}},
        "rankings": [
            {"name": "the card", "averagePrecision": 0.41},
            {"name": "the champion", "averagePrecision": 0.18},
        ],
        "findings": [],
    }
}
SCORECARD: Final[dict[str, Any]] = {
    "version": "scorecard-v3",
    "scoreVersion": "trs-v1+scorecard-v3",
    "programId": None,
    "name": _CARD.name,
    "cardSha256": REPORT["cardSha256"],
    "active": False,
    "wasActive": False,
    "inShadow": True,
    "createdAt": "2026-09-08T16:25:00.000Z",
    "reports": [REPORT],
}
ACTIVATION: Final = {"note": "Agreed by model risk on 9 September."}


_TAG: Final = "scorecards"
_PATH: Final = "/api/scorecards/{version:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)

_LIST: Final = _operation(
    id="listScorecards",
    summary="The tenant's scorecards, newest first, and the default one, trs-v1, last. Cards are left out.",
    answers={200: tuple[ScorecardVersion, ...], 304: None},
    answer_example=[SCORECARD],
)
_READ: Final = _operation(
    id="getScorecard",
    summary="One scorecard with its card; trs-v1 is the default one, which a new card can start from.",
    answers={200: ScorecardVersion, 304: None},
    refusals=(ErrorCode.SCORECARD_NOT_FOUND,),
    answer_example=SCORECARD | {"card": CARD},
)
_PROPOSE: Final = _by_operator(
    id="proposeScorecard",
    summary="Proposes a card for transfers as the next version. It takes effect once its activation is "
    "approved, and is never edited: a change is a new card. Of signals whose points are "
    "not fitted at most 40 give points, and the card has all hard ones.",
    answers={201: ScorecardVersion},
    refusals=(ErrorCode.TOO_MANY_POLICIES,),
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
    answer_example=examples_of(__file__)["comparison"],
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
        ErrorCode.SCORECARD_NOT_REPORTED,
        ErrorCode.SCORECARD_IN_FORCE,
        ErrorCode.TOO_MANY_POLICIES,
    ),
    body=ScorecardActivation,
    example=ACTIVATION,
    action={"type": "activate_scorecard", "targetType": "scorecard", "targetId": "scorecard-v3", "programId": None},
)


AREA: Final = Area(
    routes=(
        list_route("/api/scorecards", _LIST, _TAG, ScorecardService.list),
        read_route(_PATH, _READ, _TAG, ScorecardService.read),
        write_route("/api/scorecards", _PROPOSE, _TAG, ScorecardService.create),
        write_route(f"{_PATH}/activate", _ACTIVATE, _TAG, ScorecardService.activate),
        write_route(f"{_PATH}/reports", _REPORT, _TAG, ScorecardService.add_report),
        answer_route(f"{_PATH}/reports", _REPORTS, _TAG, ScorecardService.reports),
        write_route(f"{_PATH}/shadow", _START_SHADOW, _TAG, ScorecardService.start_shadow),
        write_route(f"{_PATH}/shadow", _END_SHADOW, _TAG, ScorecardService.end_shadow, delete),
        answer_route(f"{_PATH}/shadow", _COMPARE, _TAG, ScorecardService.compare),
    ),
    provide={_TAG: ScorecardService},
)
