"""The document as a reader sees it, without references."""

from collections.abc import Mapping
from typing import Any


def without_references(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with its parameters, headers and answers in place; references to schemas and examples stay."""
    components = document.get("components", {})

    def in_place(described: dict[str, Any]) -> dict[str, Any]:
        _, _, kind, name = described.get("$ref", "#/components//").split("/", 3)
        described = components[kind][name] if name else described
        if "headers" not in described:
            return described
        return described | {"headers": {name: in_place(each) for name, each in described["headers"].items()}}

    def operation_of(operation: dict[str, Any]) -> dict[str, Any]:
        return operation | {
            "parameters": [in_place(each) for each in operation["parameters"]],
            "responses": {status: in_place(answer) for status, answer in operation["responses"].items()},
        }

    paths = {
        path: {method: operation_of(operation) for method, operation in methods.items()}
        for path, methods in document["paths"].items()
    }
    return {**document, "paths": paths}
