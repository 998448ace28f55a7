"""One description a component: shared parts of operations are written once and referenced.

The refusals of an operation are named by their codes, with ``unmetered`` for answers without headers of a rate limit.
Of the parameters and headers of one name, the most frequent form is shared; rarer forms, and forms that occur once,
stay in their operation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from clearhold.api.openapi.texts import RATE_HEADERS

Described = dict[str, Any]
Components = dict[str, dict[str, Any]]

_ERROR_FROM: Final = "4"
UNMETERED: Final = "unmetered"


def with_components(paths: Mapping[str, Mapping[str, Described]]) -> tuple[dict[str, dict[str, Described]], Components]:
    """The paths with references, and the components that they refer to."""
    operations = [operation for methods in paths.values() for operation in methods.values()]
    answers = [answer for operation in operations for answer in operation["responses"].values()]
    headers = _usual((name, header) for answer in answers for name, header in answer["headers"].items())
    parameters = _usual((_parameter_name(each), each) for operation in operations for each in operation["parameters"])
    responses: dict[str, Described] = {}

    def answer_of(answer: Described) -> Described:
        described = answer | {
            "headers": {name: _shared("headers", headers, name, each) for name, each in answer["headers"].items()}
        }
        name = _refusal_name(answer)
        if name is None:
            return described
        responses[name] = described
        return _reference("responses", name)

    def operation_of(operation: Described) -> Described:
        return operation | {
            "parameters": [
                _shared("parameters", parameters, _parameter_name(each), each) for each in operation["parameters"]
            ],
            "responses": {status: answer_of(answer) for status, answer in operation["responses"].items()},
        }

    shared = {
        path: {method: operation_of(operation) for method, operation in methods.items()}
        for path, methods in paths.items()
    }
    return shared, {"parameters": parameters, "headers": headers, "responses": dict(sorted(responses.items()))}


def without_references(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its parameters, headers and answers in place; references to schemas and examples stay."""
    components = document.get("components", {})

    def in_place(described: Described) -> Described:
        _, _, kind, name = described.get("$ref", "#/components//").split("/", 3)
        described = components[kind][name] if name else described
        if "headers" not in described:
            return described
        return described | {"headers": {name: in_place(each) for name, each in described["headers"].items()}}

    def operation_of(operation: Described) -> Described:
        return operation | {
            "parameters": [in_place(each) for each in operation["parameters"]],
            "responses": {status: in_place(answer) for status, answer in operation["responses"].items()},
        }

    paths = {
        path: {method: operation_of(operation) for method, operation in methods.items()}
        for path, methods in document["paths"].items()
    }
    return {**document, "paths": paths}


def _usual(named: Iterable[tuple[str, Described]]) -> dict[str, Described]:
    """The most frequent form of each name, if it occurs more than once."""
    counts = Counter((name, msgspec.json.encode(each, order="sorted")) for name, each in named)
    usual: dict[str, Described] = {}
    for (name, form), count in counts.most_common():
        if count > 1 and name not in usual:
            usual[name] = msgspec.json.decode(form)
    return dict(sorted(usual.items()))


def _shared(kind: str, components: Mapping[str, Described], name: str, described: Described) -> Described:
    return _reference(kind, name) if components.get(name) == described else described


def _reference(kind: str, name: str) -> Described:
    return {"$ref": f"#/components/{kind}/{name}"}


def _parameter_name(parameter: Described) -> str:
    return f"{parameter['in']}.{parameter['name']}"


def _refusal_name(answer: Described) -> str | None:
    """The codes of a refusal; None for any other answer."""
    codes = [code for content in answer.get("content", {}).values() for code in content.get("examples", ())]
    if not codes:
        return None
    return ".".join(codes if RATE_HEADERS.keys() <= answer["headers"].keys() else (*codes, UNMETERED))


LIST_SUFFIX: Final = "[]"
DAY_SUFFIX: Final = " (day)"
PARAMETERS: Final[Mapping[str, str]] = {
    "tenant": "The tenant's slug; it can only confirm the token's own tenant.",
    "accountId": "The bank's id of the account.",
    "actionId": "The action's id.",
    "actorId": "The bank's id of the actor.",
    "actorType": "What the actor is: entity, counterparty or agent.",
    "tokenId": "The token's id.",
    "tenantId": "The tenant's id.",
    "alertId": "The alert's id.",
    "dispositionId": "The disposition's id.",
    "snapshotId": "The snapshot's id.",
    "keyId": "The key's id, not its secret.",
    "kid": "The signing key's kid, as in the published keys.",
    "policyId": "The policy's id.",
    "ruleId": "The rule's id, as its author gave it.",
    "version": "The scorecard's version, as in scorecard-v3; trs-v1 is the default card. To activate, also tenant.",
    "webhookId": "The endpoint's id.",
    "deliveryId": "The delivery's id.",
    "preflightId": "The pre-flight's id.",
    "programId": "The program's id.",
    "transferId": "The bank's id of the transfer.",
    "entityId": "The bank's id of the entity.",
    "counterpartyId": "The bank's id of the counterparty.",
    "programId[]": "Only of these programs.",
    "alertId[]": "Only on these alerts.",
    "transferId[]": "Only of these transfers.",
    "entityId[]": "Only of these entities.",
    "counterpartyId[]": "Only with these counterparties.",
    "subjectId[]": "Only about these subjects.",
    "decidedBy[]": "Only by these.",
    "active": "true: only those in force; false: only the others.",
    "band[]": "Only in these bands.",
    "chain": "The chain; where it may be left out: both.",
    "chain[]": "Only of these chains.",
    "cursor": "The last page's nextCursor, with the same filters.",
    "days": "How many days back to look.",
    "decision[]": "Only these decisions.",
    "detector[]": "Only of these detectors.",
    "format": "ndjson: an object a line; csv: a row under a row of names; html: a page.",
    "from": "From this instant on: a date-time with an offset, or a date (its midnight in UTC).",
    "to": "Up to, without, this instant after `from`: a date-time with an offset, or a date (its midnight in UTC).",
    "from (day)": "From the midnight in UTC at which this day begins; of a date-time its day counts whole.",
    "to (day)": "Up to the midnight in UTC at which this day begins; of a later date-time its day counts whole.",
    "fromHistory": "false leaves out alerts that delivered history opened; true leaves only these.",
    "kinds[]": "Only lines of these kinds.",
    "label[]": "Only these labels.",
    "limit": "Items a page.",
    "before": "The id of the last delivery of a page: the list goes on behind it.",
    "overdue": "Only undecided alerts past their due time, or only the others.",
    "overturned": "true: only decisions that differ from the draft; false: only the others.",
    "prefix[]": "Only of these kinds.",
    "eventId": "The event's id, as the bank sent it.",
    "result[]": "Only with these results.",
    "route[]": "Only on these routes.",
    "seq": "Position of the link in the chain, from 0.",
    "cause[]": "Only snapshots of these causes.",
    "severity[]": "Only of these severities.",
    "size": "How many links, from the first; left out: all that there are.",
    "slaTier[]": "Only of these tiers.",
    "source[]": "Only of these sources.",
    "status[]": "Only in these states.",
    "subjectType[]": "Only about subjects of these types.",
    "week": "An ISO week, as in 2026-W37. Left out: the last one that is over.",
    "type[]": "Only of these types.",
}
