"""A tenant's configuration as a whole over HTTP: the same files that ``clearhold config`` writes as YAML."""

from functools import partial
from typing import Any, Final

from clearhold.api.actions.schemas import ACTION
from clearhold.api.area import Area
from clearhold.api.config.files import request_failures
from clearhold.api.config.schemas import AppliedConfig, Config, ConfigApplication, ConfigPlan, NewConfig
from clearhold.api.config.service import ConfigService
from clearhold.api.http.operation import Access, Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.lists.handlers import answer_route, write_route
from clearhold.api.programs.routes import TENANT_ID
from clearhold.features.configuration.files import SCHEMA
from clearhold.features.core.errors import ErrorCode

CONFIG_BODY_LIMIT: Final = 512 * 1024
_DIGEST: Final = "3f0c1b2a4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8"
_BASE: Final = "8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f"
_CLOCK: Final[dict[str, Any]] = {
    "path": "policies/clock.yaml",
    "value": {"autoHours": 1, "standardHours": 8, "complexHours": 48, "appealHours": 48},
}
NEW_CONFIG: Final[dict[str, Any]] = {"schema": SCHEMA, "tenant": "first-bank", "files": [_CLOCK]}
CONFIG: Final[dict[str, Any]] = NEW_CONFIG | {"sha256": _BASE}
PLAN: Final[dict[str, Any]] = {
    "tenant": "first-bank",
    "baseSha256": _BASE,
    "configSha256": _DIGEST,
    "needsSecondPerson": True,
    "changes": [
        {
            "path": "policies/clock.yaml",
            "kind": "policy",
            "change": "changed",
            "needsSecondPerson": True,
            "fields": [{"field": "standardHours", "before": 24, "after": 8}],
            "backtest": None,
        }
    ],
}
_NOTE: Final = "The board wants standard alerts decided within a working day."
APPLICATION: Final[dict[str, Any]] = NEW_CONFIG | {"baseSha256": _BASE, "note": _NOTE}
APPLIED: Final[dict[str, Any]] = PLAN | {
    "action": ACTION
    | {
        "programId": None,
        "alertId": None,
        "type": "apply_config",
        "targetType": "tenant",
        "targetId": TENANT_ID,
        "status": "requested",
        "bankResponse": None,
        "executedAt": None,
    }
}

_TAG: Final = "config"
_operation: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR, tenant_wide=True)
_EXPORT: Final = _operation(
    id="exportConfig",
    summary="The configuration in force: rules, policies, cards, limits and webhook endpoints, without secrets.",
    answers={200: Config},
    answer_example=CONFIG,
)
_PLAN: Final = _operation(
    id="planConfig",
    summary="The changes from the configuration in force to this one, field by field. Nothing is written. "
    "Rules that are added or changed are backtested over 90 days.",
    answers={200: ConfigPlan},
    refusals=(ErrorCode.TOO_MANY_AT_ONCE, ErrorCode.OVERLOADED),
    body=RequestSchema(NewConfig, rules=request_failures),
    body_limit=CONFIG_BODY_LIMIT,
    example=NEW_CONFIG,
    answer_example=PLAN,
)
_APPLY: Final = _operation(
    id="applyConfig",
    summary="Applies a configuration as one action on the record. It waits for another person if one of its changes "
    "needs a second person, and takes effect as a whole or not at all.",
    answers={200: AppliedConfig},
    refusals=(
        ErrorCode.CONFIG_CHANGED,
        ErrorCode.CHANGE_PENDING,
        ErrorCode.RULE_ARCHIVED,
        ErrorCode.RULE_NOT_TESTED,
        ErrorCode.SCORECARD_NOT_REPORTED,
        ErrorCode.TOO_MANY_POLICIES,
        ErrorCode.TOO_MANY_RULES,
        ErrorCode.TOO_MANY_WEBHOOKS,
        ErrorCode.TOO_MANY_AT_ONCE,
        ErrorCode.NOT_CONFIRMED,
        ErrorCode.OVERLOADED,
    ),
    body=RequestSchema(ConfigApplication, rules=request_failures),
    body_limit=CONFIG_BODY_LIMIT,
    example=APPLICATION,
    answer_example=APPLIED,
)

AREA: Final = Area(
    routes=(
        answer_route("/api/config", _EXPORT, _TAG, ConfigService.export),
        write_route("/api/config/plan", _PLAN, _TAG, ConfigService.plan),
        write_route("/api/config/apply", _APPLY, _TAG, ConfigService.apply),
    ),
    provide={_TAG: ConfigService},
)
