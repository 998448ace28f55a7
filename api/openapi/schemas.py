"""The component schemas of the API document, from the Structs, with descriptions, for code generators.

A request's schema is closed and shows no defaults: a generator would make an optional property with a default required.
The words of the description say the default instead.

Parts that operations share are components, written once and referenced. The refusals of an operation are named by their
codes, with ``unmetered`` for answers without headers of a rate limit. Of the parameters and headers of one name, the
most frequent form is shared; rarer forms, and forms that occur once, stay in their operation.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from clearhold.api.http.envelope import ErrorEnvelope
from clearhold.api.http.error_table import ERRORS
from clearhold.api.http.fields import DAY_BOUND, MOMENT, URL
from clearhold.api.http.operation import Operation
from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.openapi.glossary import PROPERTIES
from clearhold.api.openapi.texts import RATE_HEADERS
from clearhold.features.core.errors import ErrorCode

REFS: Final = "#/components/schemas/{name}"
_TEXT: Final = {"type": "string"}
_NAME: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_TOP_NAME: Final = "[a-z]([a-z0-9-]{0,61}[a-z0-9])?"
_PORT: Final = (
    "443|102[4-9]|10[3-9][0-9]|1[1-9][0-9]{2}|[2-9][0-9]{3}|[1-5][0-9]{4}"
    "|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
)
_SHOWN: Final[Mapping[str, dict[str, Any]]] = {
    MOMENT: {"anyOf": [_TEXT | {"format": "date-time"}, _TEXT | {"format": "date"}]},
    DAY_BOUND: {"anyOf": [_TEXT | {"format": "date"}, _TEXT | {"format": "date-time"}]},
    URL: _TEXT | {"maxLength": 2_048, "pattern": rf"^https://({_NAME}\.)+{_TOP_NAME}(:({_PORT}))?(/[!\"$-\[\]-~]*)?$"},
}
"""Public patterns in place of patterns that admit values which a later check refuses.

Such values: a 31st of February, an address that is not public. The service accepts all
values that the public patterns allow.
"""

_INSTANTS_END_IN: Final = "At"
_INSTANTS: Final = frozenset({"asOf", "at"})
_UUIDS: Final = frozenset({"tenantId", "programId", "alertId", "preflightId"})
_MINTED: Final = "minted here"


class Schemas(msgspec.Struct, frozen=True):
    """The component schemas, and the reference to each type's schema."""

    of_type: Mapping[Any, dict[str, Any]]
    components: dict[str, Any]

    def name_of(self, shape: RequestSchema[Any]) -> str:
        reference: str = self.of_type[shape.struct]["$ref"]
        return reference.rsplit("/", 1)[-1]

    def of_raw_body(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The schema; its parts with a title become components, and references to them."""
        described: dict[str, Any] = self._with_references(dict(schema))
        return described

    def _with_references(self, node: Any) -> Any:
        if isinstance(node, list | tuple):
            return [self._with_references(each) for each in node]
        if not isinstance(node, dict):
            return node
        schema = {name: self._with_references(each) for name, each in node.items()}
        title = schema.get("title")
        if not isinstance(title, str):
            return schema
        assert self.components.setdefault(title, schema) == schema, f"two components are called {title}"
        return {"$ref": REFS.format(name=title)}

    def without(self, names: Iterable[str]) -> dict[str, Any]:
        """The shown components except these."""
        left = {name: schema for name, schema in self.components.items() if name not in set(names)}
        return {name: _untitled(name, simplified(_described(schema))) for name, schema in left.items()}


def schemas_of(operations: Iterable[Operation]) -> Schemas:
    """The schemas of every type in requests and answers."""
    types: list[Any] = [ErrorEnvelope]
    for operation in operations:
        types += [answer for answer in operation.answers.values() if answer is not None]
        types += [shape.struct for shape in (operation.body, operation.query) if shape is not None]
        types += [each for event in operation.events.values() for each in event if each is not None]
    known = list(dict.fromkeys(types))
    schemas, components = msgspec.json.schema_components(known, ref_template=REFS)
    components["ErrorCode"] |= {
        "description": "The kind of error. The list grows; a code never changes its meaning.",
        "x-enumDescriptions": {code: f"{entry.status}. {entry.meaning} {entry.cure}" for code, entry in ERRORS.items()},
        "enum": list(ErrorCode),
    }
    return Schemas(dict(zip(known, schemas, strict=True)), components)


def simplified(schema: Any) -> Any:
    """The schema for the document: public patterns, ``T or null`` as one type, types of values."""
    if isinstance(schema, list):
        return [simplified(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("pattern") in _SHOWN:
        words = {name: text for name, text in schema.items() if name == "description"}
        return _SHOWN[schema["pattern"]] | words
    short = {name: simplified(each) for name, each in schema.items()}
    match short.get("anyOf"):
        case [{"type": str(kind)} as this, {"type": "null"}]:
            del short["anyOf"]
            short |= this | {"type": [kind, "null"]}
        case [{"anyOf": list(choices)}, {"type": "null"} as null]:
            short["anyOf"] = [*choices, null]
    if isinstance(short.get("enum"), list):
        short["type"] = "boolean" if short["enum"] == [True] else "string"
    return short


def _untitled(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without a title that says its name once more."""
    return {key: value for key, value in schema.items() if (key, value) != ("title", name)}


def in_words(value: Any) -> str:
    """A default as a reader writes it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """A Struct's schema with a description of each property; an enumeration's schema unchanged."""
    if "properties" not in schema:
        return schema
    is_request = schema.get("additionalProperties") is False
    properties = {name: _property(name, value, is_request=is_request) for name, value in schema["properties"].items()}
    return schema | {"properties": properties}


def _property(name: str, schema: dict[str, Any], *, is_request: bool) -> dict[str, Any]:
    """Its words are beside its field, or those of its name: KeyError for a property that has neither.

    A reference stands beside its description: OpenAPI 3.1 allows it.
    """
    described = dict(schema)
    words = schema.get("description") or PROPERTIES[name]
    if is_request and "default" in described:
        default = described.pop("default")
        words += "" if default is None else f" Left out: {in_words(default)}."
    described["description"] = words
    return described if is_request else _with_format(name, described)


def _with_format(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    is_instant = name.endswith(_INSTANTS_END_IN) or name in _INSTANTS
    is_uuid = name in _UUIDS or (name == "id" and _MINTED in schema["description"])
    format_ = "date-time" if is_instant else "uuid" if is_uuid else None
    if format_ is None:
        return schema
    if "anyOf" in schema:
        branches = [each | {"format": format_} if each.get("type") == "string" else each for each in schema["anyOf"]]
        return schema | {"anyOf": branches}
    return schema | {"format": format_} if schema.get("type") == "string" else schema


Described = dict[str, Any]
Components = dict[str, dict[str, Any]]

UNMETERED: Final = "unmetered"
_OFTEN: Final = 2


def with_components(paths: Mapping[str, Mapping[str, Described]]) -> tuple[dict[str, dict[str, Described]], Components]:
    """The paths with references, and the components that they refer to."""
    operations = [*_each(paths)]
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


def with_shared_examples(
    paths: Mapping[str, Mapping[str, Described]],
) -> tuple[dict[str, dict[str, Described]], Described]:
    """The paths with references to examples of answers that several operations have, and these by the first of them."""
    forms = Counter(
        msgspec.json.encode(content["example"])
        for operation in _each(paths)
        for answer in operation["responses"].values()
        for content in answer.get("content", {}).values()
        if "example" in content
    )
    names: dict[bytes, str] = {}

    def content_of(operation: Described, content: Described) -> Described:
        form = msgspec.json.encode(content.get("example"))
        if forms[form] < _OFTEN:
            return content
        name = names.setdefault(form, operation["operationId"])
        left = {key: value for key, value in content.items() if key != "example"}
        return left | {"examples": {name: _reference("examples", name)}}

    def answer_of(operation: Described, answer: Described) -> Described:
        if "content" not in answer:
            return answer
        return answer | {
            "content": {media: content_of(operation, content) for media, content in answer["content"].items()}
        }

    shared = {
        path: {
            method: operation
            | {"responses": {status: answer_of(operation, each) for status, each in operation["responses"].items()}}
            for method, operation in methods.items()
        }
        for path, methods in paths.items()
    }
    return shared, {name: {"value": msgspec.json.decode(form)} for form, name in names.items()}


def _each(paths: Mapping[str, Mapping[str, Described]]) -> Iterator[Described]:
    return (operation for methods in paths.values() for operation in methods.values())


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
