"""Policies over HTTP. A version is written once, and comes into force when another person approves its activation.

A new policy has rules beyond the schema of its body: a version that a person may write, and known words. The prefix of
the version selects the body's schema, so its failures are listed here under ``body``.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Final

import msgspec

from clearhold.api.actions.routes import activation_operation
from clearhold.api.area import Area
from clearhold.api.http.operation import Access, Operation, examples_of
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.http.validation import Failure, country_failures, failures_of, validator_of
from clearhold.api.lists.handlers import list_route, read_route, write_route
from clearhold.api.policies.dry_run import DryRunRequest, DryRunService, PolicyDryRun
from clearhold.api.policies.service import Activation, NewPolicy, PoliciesQuery, Policy, PolicyService
from clearhold.api.programs.routes import TENANT_ID
from clearhold.features.catalogue.kris import KRIS
from clearhold.features.core.canonical import MAX_INTEGER
from clearhold.features.core.errors import ErrorCode, FieldCode
from clearhold.features.core.money import UNREADABLE_CURRENCY, USD
from clearhold.features.core.principal import KeyScope
from clearhold.features.core.vocabulary import Band
from clearhold.features.detectors.table import DETECTOR_OF
from clearhold.features.policy.bodies import BODIES, CLOCK, FX, KRI, LADDER, POLICY, RETENTION, THRESHOLDS, prefix_of
from clearhold.features.policy.seeds import FLOORS, POLICY_V1

WRITTEN_HERE: Final = (POLICY, CLOCK, LADDER, THRESHOLDS, KRI, RETENTION, FX)
WRITTEN_ELSEWHERE: Final[Mapping[str, str]] = {
    "autonomy": "is written by POST /api/autonomy/{programId}",
    "limits": "is written by POST /api/limits/program/{programId}",
    "rules": "is written by POST /api/rules/{id}/activate",
    "scorecard": "is written by POST /api/scorecards",
    "challenger": "is written by POST /api/scorecards/{version}/shadow",
    "shadow": "is written by POST /api/rules/{id}/backtest",
}
_PREFIXES: Final = f"must begin with one of {', '.join(WRITTEN_HERE)}, and a hyphen"
_SCHEMAS: Final = {prefix: msgspec.json.schema(BODIES[prefix]) for prefix in WRITTEN_HERE}
_VALIDATORS: Final = {prefix: validator_of(schema) for prefix, schema in _SCHEMAS.items()}
_KNOWN_DETECTORS: Final = frozenset(DETECTOR_OF)
_LOWER: Final = frozenset(kri.name.value for kri in KRIS if kri.is_lower)
_REACHED_FIRST: Final = "must be reached before the breach: not above it, and not below it for a coverage"
_WITHOUT_RATE: Final = frozenset({USD, UNREADABLE_CURRENCY})
_ALWAYS_A_PERSONS: Final = frozenset({Band.HOLD.value, Band.UNSCORED.value})


def policy_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of a new policy, as submitted."""
    version, body = plain.get("version"), plain.get("body")
    if not isinstance(version, str):
        return
    prefix = prefix_of(version)
    if prefix in WRITTEN_ELSEWHERE:
        yield Failure("version", f"with the prefix {prefix} {WRITTEN_ELSEWHERE[prefix]}", FieldCode.CONFLICTING)
    elif prefix not in WRITTEN_HERE:
        yield Failure("version", _PREFIXES, FieldCode.NOT_ONE_OF)
    elif prefix == RETENTION and plain.get("programId") is not None:
        yield Failure("programId", "must be null: a file of the lake has rows of all programs", FieldCode.CONFLICTING)
    elif isinstance(body, dict):
        failures = list(failures_of(body, _VALIDATORS[prefix], schema=_SCHEMAS[prefix], noun="property"))
        rules = _RULES.get(prefix)
        for failure in failures or (() if rules is None else rules(version, body)):
            yield failure._replace(path=f"body.{failure.path}" if failure.path else "body")


def dry_run_failures(plain: Mapping[str, Any]) -> Iterator[Failure]:
    """Every failing path of a dry run: a draft is checked as a new policy is."""
    version = plain.get("version")
    if isinstance(version, str) and prefix_of(version) != POLICY:
        yield Failure("version", "must begin with policy-: no other kind routes alerts", FieldCode.NOT_ONE_OF)
    elif plain.get("body") is not None:
        yield from policy_failures(plain)
    elif plain.get("programId") is not None:
        yield Failure("programId", "must be null without a body: a written version names it", FieldCode.CONFLICTING)


def _of_policy(version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    if body["version"] != version:
        yield Failure("version", "must be the policy's own version", FieldCode.CONFLICTING)
    for name in ("autoClosableDetectors", "alwaysReviewed"):
        for place, detector in enumerate(body[name]):
            if detector not in _KNOWN_DETECTORS:
                yield Failure(f"{name}[{place}]", "is not a detector of this service", FieldCode.NOT_ONE_OF)
    for place, detector in enumerate(body["autoClosableDetectors"]):
        if detector in body["alwaysReviewed"]:
            yield Failure(f"autoClosableDetectors[{place}]", "is in alwaysReviewed too", FieldCode.CONFLICTING)
    for place, band in enumerate(body["autoCloseBands"]):
        if band in _ALWAYS_A_PERSONS:
            yield Failure(f"autoCloseBands[{place}]", "must be clear or review", FieldCode.NOT_ONE_OF)


def _of_ladder(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    for actor in ("counterparty", "entity"):
        for band, caps in body[actor].items():
            for name, cents in caps.items():
                yield from _too_large(f"{actor}.{band}.{name}", cents)


def _of_thresholds(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    for place, cents in enumerate(body["structuringThresholdsCents"]):
        path = f"structuringThresholdsCents[{place}]"
        if cents == "0":
            yield Failure(path, "must be more than 0", FieldCode.TOO_SMALL)
        yield from _too_large(path, cents)
    for name in ("callForAction", "comprehensivelySanctioned", "increasedMonitoring"):
        for place, country in enumerate(body[name]["countries"]):
            yield from country_failures(f"{name}.countries[{place}]", country)


def _of_kri(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[str] = set()
    for place, line in enumerate(body["lines"]):
        name, watch, breach = line["kri"], line["watch"], line["breach"]
        if name in seen:
            yield Failure(f"lines[{place}].kri", "must be each indicator once", FieldCode.CONFLICTING)
        seen.add(name)
        if watch < breach if name in _LOWER else watch > breach:
            yield Failure(f"lines[{place}].watch", _REACHED_FIRST, FieldCode.CONFLICTING)


def _of_retention(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[str] = set()
    for place, line in enumerate(body["tables"]):
        table, days, floor = line["table"], line["days"], FLOORS.get(line["table"])
        if table in seen:
            yield Failure(f"tables[{place}].table", "must be each table once", FieldCode.CONFLICTING)
        seen.add(table)
        if floor is None:
            yield Failure(f"tables[{place}].table", "is not a table of the lake (docs/lake.md)", FieldCode.NOT_ONE_OF)
        elif days is not None and floor.days is None:
            yield Failure(f"tables[{place}].days", f"must be null: {floor.why}", FieldCode.CONFLICTING)
        elif days is not None and days < floor.days:
            sentence = f"must be null or at least {floor.days}: {floor.why}"
            yield Failure(f"tables[{place}].days", sentence, FieldCode.TOO_SMALL)


def _of_rates(_version: str, body: Mapping[str, Any]) -> Iterator[Failure]:
    seen: set[tuple[str, str]] = set()
    for place, line in enumerate(body["rates"]):
        currency, day = line["currency"], line["day"]
        if currency in _WITHOUT_RATE:
            yield Failure(f"rates[{place}].currency", "must be another currency than USD or XXX", FieldCode.NOT_ONE_OF)
        if not Fraction(line["rate"]):
            yield Failure(f"rates[{place}].rate", "must be more than 0", FieldCode.TOO_SMALL)
        if (currency, day) in seen:
            yield Failure(f"rates[{place}]", "must be each currency once a day", FieldCode.CONFLICTING)
        seen.add((currency, day))


def _too_large(path: str, cents: str | None) -> Iterator[Failure]:
    if cents is not None and int(cents) > MAX_INTEGER:
        yield Failure(path, f"must be at most {MAX_INTEGER}", FieldCode.TOO_LARGE)


_RULES: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Failure]]]] = {
    POLICY: _of_policy,
    LADDER: _of_ladder,
    THRESHOLDS: _of_thresholds,
    KRI: _of_kri,
    RETENTION: _of_retention,
    FX: _of_rates,
}


POLICY_EXAMPLE: Final[dict[str, Any]] = {
    "id": "b2e7c5d1-0f3a-5e8b-9d4c-6a1f2e7b8c11",
    "tenantId": TENANT_ID,
    "programId": None,
    "version": "clock-v1",
    "body": {"autoHours": 1, "standardHours": 24, "complexHours": 72, "appealHours": 72},
    "active": True,
    "createdAt": "2026-01-05T09:00:00.000Z",
}
NEW_POLICY: Final[dict[str, Any]] = {
    "version": "clock-v2",
    "programId": None,
    "body": {"autoHours": 1, "standardHours": 8, "complexHours": 48, "appealHours": 48},
}
DRY_RUN: Final[dict[str, Any]] = {
    "version": "policy-v2",
    "programId": None,
    "days": 30,
    "body": msgspec.to_builtins(POLICY_V1) | {"version": "policy-v2", "minProgramN": 400},
}
ACTIVATION: Final = {"note": "The board wants standard alerts decided within a working day."}


_TAG: Final = "policies"
_RUNS: Final = "dry_runs"
_operation: Final = partial(Operation, tag=_TAG, access=Access.BEARER, scope=KeyScope.POLICIES)
_by_operator: Final = partial(Operation, tag=_TAG, access=Access.OPERATOR)

_LIST: Final = _operation(
    id="listPolicies",
    summary="The tenant's policies, newest first. The body of a version of the rules is empty here: `GET "
    '/api/policies/{id}` has it. A list of over 4 MiB, or of more than `limit`, continues at `Link: rel="next"`.',
    answers={200: tuple[Policy, ...], 304: None},
    answer_example=[POLICY_EXAMPLE],
    query=RequestSchema(PoliciesQuery),
)
_READ: Final = _operation(
    id="getPolicy",
    summary="One policy of the tenant.",
    answers={200: Policy, 304: None},
    refusals=(ErrorCode.POLICY_NOT_FOUND,),
    answer_example=POLICY_EXAMPLE,
)
_CREATE: Final = _by_operator(
    id="createPolicy",
    summary="Writes a new version of a policy. It takes effect once its activation is approved, and is never "
    "edited or removed. Versions of a kind are counted: policy-v2 follows policy-v1. Those with the prefixes "
    "autonomy, limits, rules and scorecard have separate routes.",
    answers={201: Policy},
    refusals=(ErrorCode.POLICY_VERSION_EXISTS, ErrorCode.POLICY_VERSION_NOT_NEXT, ErrorCode.TOO_MANY_POLICIES),
    body=RequestSchema(NewPolicy, rules=policy_failures),
    example=NEW_POLICY,
    answer_example=POLICY_EXAMPLE | {"version": NEW_POLICY["version"], "body": NEW_POLICY["body"], "active": False},
)
_ACTIVATE: Final = activation_operation(
    "activatePolicy",
    tag=_TAG,
    summary="Requests the activation of a version, on the whole tenant or on its program. It is in force from the "
    "approval of another person on, in place of the one before; nothing that was decided changes.",
    refusals=(ErrorCode.POLICY_NOT_FOUND, ErrorCode.POLICY_IN_FORCE),
    body=Activation,
    body_required=True,
    example=ACTIVATION,
    action={"type": "activate_policy", "targetType": "policy", "targetId": POLICY_EXAMPLE["id"]},
)
_DRY_RUN: Final = _operation(
    id="dryRunPolicy",
    summary="The alerts of the last days that a policy would have routed otherwise. "
    "Each alert is routed again under the version that routed it, which must give the stored answer, and under the "
    "policy. At most 20,000 alerts are read, the newest first. Nothing is written.",
    answers={200: PolicyDryRun},
    refusals=(ErrorCode.POLICY_NOT_FOUND, ErrorCode.PROGRAM_NOT_FOUND, ErrorCode.TOO_MANY_AT_ONCE),
    body=RequestSchema(DryRunRequest, rules=dry_run_failures),
    example=DRY_RUN,
    answer_example=examples_of(__file__)["dryRun"],
)


AREA: Final = Area(
    routes=(
        list_route("/api/policies", _LIST, _TAG, PolicyService.list),
        read_route("/api/policies/{policy_id:str}", _READ, _TAG, PolicyService.read),
        write_route("/api/policies", _CREATE, _TAG, PolicyService.create),
        write_route("/api/policies/dry-run", _DRY_RUN, _RUNS, DryRunService.run),
        write_route("/api/policies/{policy_id:str}/activate", _ACTIVATE, _TAG, PolicyService.activate),
    ),
    provide={_TAG: PolicyService, _RUNS: DryRunService},
)
