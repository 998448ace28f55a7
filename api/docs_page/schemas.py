"""JSON Schemas in words and links."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from clearhold.api.http.auth import OPERATOR_NAME
from clearhold.api.http.fields import RULE_OF_PATTERN
from clearhold.api.http.html import Html, joined, node, prose, table

Schema = Mapping[str, Any]

MAX_DEPTH: Final = 6
VALUES: Final = "x-enumDescriptions"

_LIMITS: Final[Mapping[str, str]] = {
    "format": "format {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "default": "default {}",
}
_ONE: Final = {"minLength": "not empty", "minItems": "not empty"}
_RULES: Final[Mapping[str, str]] = {
    **RULE_OF_PATTERN,
    OPERATOR_NAME: "printable ASCII characters that do not begin with key:, policy: or operator:",
    "^[ -~]+$": "printable ASCII characters",
}


def anchor(name: str) -> str:
    return f"schema-{name}"


def value_anchor(value: str) -> str:
    """Where a value of an enumeration is described."""
    return f"value-{value}"


def type_of(schema: Schema, depth: int = 0) -> Html:
    """What a value is: the name of its type, or a link to the schema that says so."""
    if depth > MAX_DEPTH:
        return joined(["any"])
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return node("a", name, href=f"#{anchor(name)}")
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return joined(dict.fromkeys(type_of(each, depth + 1) for each in schema[choice]), " or ")
    if "enum" in schema:
        return joined(["one of ", joined((node("code", _text(value)) for value in schema["enum"]), ", ")])
    kinds = schema.get("type", "any")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return joined((_kind(kind, schema, depth) for kind in kinds), " or ")


def limits_of(schema: Schema) -> str:
    """The further rules of a value in words."""
    rules = [
        _ONE[rule] if rule in _ONE and schema[rule] == 1 else words.format(_text(schema[rule]))
        for rule, words in _LIMITS.items()
        if rule in schema
    ]
    if "pattern" in schema:
        rules.append(_RULES.get(schema["pattern"], f"pattern {schema['pattern']}"))
    text = "; ".join(rules)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def about(schema: Schema) -> Html:
    """Description and limits, those of a list's items included."""
    items = schema.get("items")
    parts = [str(schema.get("description", "")), limits_of(schema)]
    if isinstance(items, Mapping) and limits_of(items):
        parts.append(f"Each: {limits_of(items)}")
    return prose(" ".join(part for part in parts if part))


def section_of(name: str, schema: Schema) -> Html:
    """A component schema with its properties, or with its values where they are described."""
    required = frozenset(schema.get("required", ()))
    closed = schema.get("additionalProperties") is False
    values = schema.get(VALUES, {})
    parts = [
        node("h3", node("a", name, href=f"#{anchor(name)}"), id=anchor(name)),
        node("p", prose(str(schema["description"]))) if "description" in schema else Html(),
        node("p", "No other properties are taken.") if closed else Html(),
        node("p", type_of(schema)) if "properties" not in schema and not values else Html(),
        table(("Property", "Type", "", "About"), _properties(schema, required)),
        table(
            ("Value", "Meaning"), ((node("code", each, id=value_anchor(each)), prose(values[each])) for each in values)
        ),
    ]
    return node("section", *parts)


def _properties(schema: Schema, required: frozenset[str]) -> Iterator[tuple[str, str, str, str]]:
    for name, value in schema.get("properties", {}).items():
        yield node("code", name), type_of(value), "required" if name in required else "optional", about(value)


def _kind(kind: str, schema: Schema, depth: int) -> Html:
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return joined(["array of ", type_of(schema["items"], depth + 1)])
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return joined(["object of ", type_of(schema["additionalProperties"], depth + 1)])
    return joined([kind])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
