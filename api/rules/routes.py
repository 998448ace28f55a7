"""Rules over HTTP. Approvals use the route of actions."""

from functools import partial
from typing import Any, Final

import msgspec
from litestar import Response, get, put
from litestar.di import NamedDependency
from litestar.params import FromPath

from clearhold.api.actions.routes import activation_operation
from clearhold.api.area import Area
from clearhold.api.http.envelope import ApiRequest
from clearhold.api.http.gate import body_of, effect_id_of, principal_of, replaces_of
from clearhold.api.http.head import ETAG, PRIVATE, etag_of, published
from clearhold.api.http.operation import JSON, Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, list_route, read_route, write_route
from clearhold.api.rules.schemas import (
    FIELDS,
    BacktestRequest,
    NewRule,
    RuleChange,
    RuleFields,
    RulesQuery,
    RulesVersion,
    RulesVersionsQuery,
    WrittenRule,
    rule_failures,
)
from clearhold.api.rules.service import RuleService
from clearhold.features.core.errors import ErrorCode
from clearhold.features.core.principal import KeyScope
from clearhold.features.core.rules import Backtest, Rule, ShadowReport

_EXAMPLES: Final = examples_of(__file__)
NEW_RULE: Final[dict[str, Any]] = _EXAMPLES["new_rule"]
RULE: Final[dict[str, Any]] = NEW_RULE | {"status": "draft"}
CHANGE: Final = {"note": "Decided in the weekly meeting."}
RULES_VERSION: Final[dict[str, Any]] = {
    "id": "0c9d1a52-7f4e-5b07-9e3a-6d2b8c1f4a90",
    "version": "rules-v1",
    "rules": [RULE | {"status": "active"}],
    "createdAt": "2026-09-09T14:02:11.000Z",
    "active": True,
    "note": CHANGE["note"],
}
BACKTEST_REQUEST: Final = {"days": 90, "full": False}
BACKTEST: Final[dict[str, Any]] = _EXAMPLES["backtest"]


_TAG: Final = "rules"
_RULE: Final = "/api/rules/{rule_id:str}"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.RULES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)
_ENCODE: Final = msgspec.json.Encoder().encode
_ENCODED_FIELDS: Final = _ENCODE(FIELDS)

_LIST: Final = _operation(
    id="listRules",
    summary="The newest text of each rule, newest first, archived ones too. A rule that was written again after its "
    "activation is a draft, while the activated text stays in force (`GET /api/rules/versions`). A "
    "key sees the rules of its programs and those of the whole tenant; `programId` narrows to rules of that program. A "
    'list of over 4 MiB, or of more than `limit`, continues at `Link: rel="next"`.',
    answers={200: tuple[Rule, ...], 304: None},
    answer_example=[RULE],
    query=RequestSchema(RulesQuery),
)
_FIELDS: Final = _operation(
    id="listRuleFields",
    summary="The fields that conditions may name, each with its type, its operations and the words of a closed list.",
    answers={200: RuleFields, 304: None},
    answer_example={
        "fields": [{"field": "direction", "type": "word", "ops": ["eq", "in"], "values": ["incoming", "outgoing"]}],
        "ops": ["eq", "in"],
    },
)
_VERSIONS: Final = _operation(
    id="listRulesVersions",
    summary="The versions of the rules in force, newest first. Each activation and pause writes one. After the newest "
    '100, `limit` or 4 MiB the list continues at `Link: rel="next"`.',
    answers={200: tuple[RulesVersion, ...], 304: None},
    answer_example=[RULES_VERSION],
    query=RequestSchema(RulesVersionsQuery),
)
_CREATE: Final = _by_operator(
    id="createRule",
    summary="Writes a new rule, a draft. `programId` null is every program of the tenant. It has no effect before it "
    "is backtested (then live shadow counts it) and activated. Its id is never given to another rule.",
    answers={201: Rule},
    refusals=(ErrorCode.RULE_ID_TAKEN, ErrorCode.TOO_MANY_RULES),
    body=RequestSchema(NewRule, rules=rule_failures),
    example=NEW_RULE,
    answer_example=RULE,
)
_READ: Final = _operation(
    id="getRule",
    summary="The newest text of one rule. Its ETag is the If-Match of the next write.",
    answers={200: Rule, 304: None},
    refusals=(ErrorCode.RULE_NOT_FOUND,),
    answer_example=RULE,
)
_REPLACE: Final = _by_operator(
    id="replaceRule",
    summary="Writes a rule again, which makes it a draft; `id` cannot change. The text in force stays in force until "
    "the next activation or a pause. If-Match names the ETag of the replaced rule.",
    answers={200: Rule},
    refusals=(ErrorCode.RULE_NOT_FOUND, ErrorCode.RULE_ARCHIVED, ErrorCode.RULE_CHANGED),
    body=RequestSchema(WrittenRule, rules=rule_failures),
    needs_if_match=True,
    example=RULE,
    answer_example=RULE,
    headers=(ETAG,),
)
_BACKTEST: Final = _by_operator(
    id="backtestRule",
    summary="Evaluates the rule over the stored transfers of the last `days`, with the inputs of their time. A draft "
    "goes into testing: from then on live shadow counts its matches, and it opens no alerts.",
    answers={201: Backtest},
    refusals=(ErrorCode.RULE_NOT_FOUND, ErrorCode.TOO_MANY_AT_ONCE, ErrorCode.TOO_MANY_RULES),
    body=RequestSchema(BacktestRequest),
    body_required=False,
    example=BACKTEST_REQUEST,
    answer_example=BACKTEST,
)
_BACKTESTS: Final = _operation(
    id="listBacktests",
    summary="The newest 100 backtests of a rule, newest first. `ruleSha256` is of the tested text.",
    answers={200: tuple[Backtest, ...]},
    refusals=(ErrorCode.RULE_NOT_FOUND,),
    answer_example=[BACKTEST],
)
_SHADOW: Final = _operation(
    id="getRuleShadow",
    summary="The live matches of a rule in testing, or of one in force that logs, beside alerts and labels.",
    answers={200: ShadowReport},
    refusals=(ErrorCode.RULE_NOT_FOUND, ErrorCode.TOO_MANY_AT_ONCE, ErrorCode.OVERLOADED),
    answer_example=_EXAMPLES["shadow"],
)
_ACTIVATE: Final = activation_operation(
    "activateRule",
    tag=_TAG,
    summary="Requests the activation of the rule's newest text. It needs a backtest of that text over "
    "90 days, less than 24 hours old when it is requested and when it is approved. Another person approves the "
    "action; it fails, and says why, if the rule was written again or archived meanwhile. `change.caught` of the "
    "action is a report of the transfers of those 90 days that the rule would have caught.",
    refusals=(
        ErrorCode.RULE_NOT_FOUND,
        ErrorCode.RULE_NOT_TESTED,
        ErrorCode.RULE_IN_FORCE,
        ErrorCode.RULE_ARCHIVED,
        ErrorCode.TOO_MANY_POLICIES,
        ErrorCode.TOO_MANY_AT_ONCE,
        ErrorCode.OVERLOADED,
    ),
    body=RuleChange,
    example=CHANGE,
    action={"type": "activate_rule", "targetType": "rule", "targetId": RULE["id"], "programId": None},
)
_PAUSE: Final = _by_operator(
    id="pauseRule",
    summary="Takes a rule out of force at once; one person is enough. It is an action `pause_rule` on the "
    "record. A newer draft is paused too.",
    answers={200: Rule},
    refusals=(
        ErrorCode.RULE_NOT_FOUND,
        ErrorCode.RULE_NOT_ACTIVE,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.NOT_CONFIRMED,
    ),
    body=RequestSchema(RuleChange),
    body_required=False,
    example=CHANGE,
    answer_example=RULE | {"status": "paused"},
)
_ARCHIVE: Final = _by_operator(
    id="archiveRule",
    summary="Archives a rule, which is final. A rule in force must be paused first.",
    answers={200: Rule},
    refusals=(ErrorCode.RULE_NOT_FOUND, ErrorCode.RULE_IN_FORCE, ErrorCode.RULE_ARCHIVED),
    body=RequestSchema(RuleChange),
    body_required=False,
    example=CHANGE,
    answer_example=RULE | {"status": "archived"},
)


@get("/api/rules/fields", opt=_FIELDS.as_opt)
async def list_rule_fields(request: ApiRequest) -> Response[bytes | None]:
    return published(request, _ENCODED_FIELDS, media_type=JSON, cache=PRIVATE)


@put(_RULE, opt=_REPLACE.as_opt)
async def replace_rule(
    rule_id: FromPath[str], request: ApiRequest, rules: NamedDependency[RuleService]
) -> Response[bytes]:
    replaces = replaces_of(request.scope)
    rule = await rules.replace(
        principal_of(request.scope),
        rule_id,
        body_of(request.scope, WrittenRule),
        is_current=lambda known: replaces(etag_of(_ENCODE(known))),
        effect_id=effect_id_of(request.scope),
    )
    encoded = _ENCODE(rule)
    return Response(encoded, media_type=JSON, headers={ETAG: etag_of(encoded), "Cache-Control": PRIVATE})


AREA: Final = Area(
    routes=(
        list_route("/api/rules", _LIST, _TAG, RuleService.list),
        read_route(_RULE, _READ, _TAG, RuleService.read),
        write_route("/api/rules", _CREATE, _TAG, RuleService.create),
        write_route(f"{_RULE}/activate", _ACTIVATE, _TAG, RuleService.activate),
        list_rule_fields,
        list_route("/api/rules/versions", _VERSIONS, _TAG, RuleService.versions),
        replace_rule,
        write_route(f"{_RULE}/backtest", _BACKTEST, _TAG, RuleService.backtest),
        answer_route(f"{_RULE}/backtests", _BACKTESTS, _TAG, RuleService.backtests),
        answer_route(f"{_RULE}/shadow", _SHADOW, _TAG, RuleService.shadow),
        write_route(f"{_RULE}/pause", _PAUSE, _TAG, RuleService.pause),
        write_route(f"{_RULE}/archive", _ARCHIVE, _TAG, RuleService.archive),
    ),
    provide={_TAG: RuleService},
)
