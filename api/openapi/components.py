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
