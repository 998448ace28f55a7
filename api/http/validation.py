"""From the failures that a JSON Schema validator lists to the one sentence that the caller reads; and the values that a
schema cannot check: countries, numbers of accounts, instants.

The sentence is built from the failing keyword, because the validator's own message quotes the submitted value. Only
names of unknown properties are shown, cut and in ASCII. Paths are dotted, ``[i]`` for list items; a missing or unknown
property is named under its parent.

Countries, numbers and instants are read as the events of the bank are: by the readers of ``features/core``.
``read_as_meant`` is for the ``__post_init__`` of a Struct. A value that cannot be read stays, and the rule refuses it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, NamedTuple

import jsonschema_rs
import msgspec

from clearhold.api.http.fields import ACCOUNT, CENTS, COUNTRY, MOMENT, MUST_BE_UUID, ROUTING, RULE_OF_PATTERN
from clearhold.features.core.errors import FieldCode, FieldError, InvalidRequestError
from clearhold.features.core.instants import parse_instant
from clearhold.features.core.plain_text import country_of, last_four, routing_number

BODY: Final = "body"  # The path of the body itself.
MOST_PARTS: Final = 2_000
MOST_FAILURES: Final = 100
FIRST_ITEMS: Final = 100
SHOWN_FAILURES: Final = 20
SHOWN_OPTIONS: Final = 20
SHOWN_NAME_LENGTH: Final = 64
ALIKE: Final = 0.6  # of 1: how like a known name an unknown one must be
MONEY_ENDS_IN: Final = "Cents"

_TYPE_WORDS: Final[Mapping[str, str]] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_FORMAT_WORDS: Final[Mapping[str, str]] = {
    "uuid": MUST_BE_UUID,
    "date": "must be a date (YYYY-MM-DD)",
    "date-time": "must be a date-time with an offset",
}
_CODES: Final[Mapping[str, FieldCode]] = {
    "type": FieldCode.WRONG_TYPE,
    "enum": FieldCode.NOT_ONE_OF,
    "minLength": FieldCode.TOO_SHORT,
    "maxLength": FieldCode.TOO_LONG,
    "minimum": FieldCode.TOO_SMALL,
    "maximum": FieldCode.TOO_LARGE,
    "minItems": FieldCode.TOO_SHORT,
    "maxItems": FieldCode.TOO_LONG,
    "uniqueItems": FieldCode.REPEATED,
}
_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": lambda kind: _type_words(kind.types),
    "enum": lambda kind: _enum_words(kind.options),
    "pattern": lambda kind: RULE_OF_PATTERN.get(kind.pattern, "is not well formed"),
    "format": lambda kind: _FORMAT_WORDS.get(kind.format, "is not well formed"),
    "minLength": lambda kind: "must not be empty" if kind.limit == 1 else f"must have at least {kind.limit} characters",
    "maxLength": lambda kind: f"must have at most {kind.limit} characters",
    "minimum": lambda kind: f"must be at least {kind.limit}",
    "maximum": lambda kind: f"must be at most {kind.limit}",
    "minItems": lambda kind: f"must have at least {kind.limit} items",
    "maxItems": lambda kind: f"must have at most {kind.limit} items",
    "uniqueItems": lambda _: "must not repeat an item",
}


class Failure(NamedTuple):
    """A failing path and the rule that it breaks. The empty path is the body itself."""

    path: str
    words: str
    code: FieldCode = FieldCode.MALFORMED


def refusal(failures: Iterable[Failure]) -> InvalidRequestError:
    """The 400 with one failure a path, for the first 20 paths."""
    by_path: dict[str, Failure] = {}
    for failure in failures:
        by_path.setdefault(failure.path or BODY, failure)
    first = list(by_path.items())[:SHOWN_FAILURES]
    listed = [f"{path} {failure.words}" for path, failure in first]
    if len(by_path) >= MOST_FAILURES:
        listed.append("and many more")
    elif len(by_path) > SHOWN_FAILURES:
        listed.append(f"and {len(by_path) - SHOWN_FAILURES} more")
    fields = [FieldError(path=path, code=failure.code) for path, failure in first]
    return InvalidRequestError("Validation failed: " + "; ".join(listed), fields=fields)


def validator_of(schema: dict[str, Any]) -> jsonschema_rs.Validator:
    """The validator of a schema. Its message is masked: nothing reads it, and to write the value into it takes long."""
    return jsonschema_rs.validator_for(schema, validate_formats=True, mask="value")


def failures_of(
    value: Any, validator: jsonschema_rs.Validator, *, schema: Mapping[str, Any], noun: str
) -> Iterator[Failure]:
    """At most ``MOST_FAILURES``; of a value with very many parts the first: the validator makes an object for each.

    ``schema`` is the schema that the value may break, ``noun`` the kind of its names: property or parameter.
    """
    if not _has_many_parts(value):
        yield from islice(_listed(validator.iter_errors(value), schema=schema, noun=noun), MOST_FAILURES)
        return
    branches, defs = _branches(schema, schema["$defs"]), schema["$defs"]
    for most in (FIRST_ITEMS, sys.maxsize):  # a fault among the first items is seen without a look at the others
        try:
            validator.validate(_emptied(value, branches, defs, most))
        except jsonschema_rs.ValidationError as first:
            yield from islice(_listed([first], schema=schema, noun=noun), 1)
            return


def _emptied(value: Any, branches: Iterable[Mapping[str, Any]], defs: Mapping[str, Any], most: int) -> Any:
    """The value without the contents of lists and objects that cannot be where they are, with one unknown name alone,
    and with ``most`` items of a list, or one above the most that it may have: the validator would copy all of them.
    """
    kind = "object" if isinstance(value, dict) else "array"
    fitting = [each for each in branches if each.get("type", kind) == kind and "enum" not in each]
    if len(fitting) != 1:
        return value if fitting else type(value)()
    (fit,) = fitting
    if "items" not in fit and "properties" not in fit:
        return value
    if isinstance(value, list):
        items = _branches(fit["items"], defs)
        kept_items = value[: min(most, fit.get("maxItems", most) + 1)]  # One too many is refused alike.
        return [_emptied(each, items, defs, most) if isinstance(each, dict | list) else each for each in kept_items]
    known = fit["properties"]
    kept = [name for name in known if name in value]
    if fit.get("additionalProperties", True):
        kept = list(value)
    elif len(kept) < len(value):
        kept.append(next(name for name in value if name not in known))
    return {
        name: _emptied(value[name], _branches(known[name], defs), defs, most)
        if name in known and isinstance(value[name], dict | list)
        else value[name]
        for name in kept
    }


def _branches(node: Any, defs: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "$ref" in node:
        return _branches(defs[node["$ref"].rpartition("/")[2]], defs)
    return [each for branch in node["anyOf"] for each in _branches(branch, defs)] if "anyOf" in node else [node]


def _has_many_parts(value: Any) -> bool:
    """Whether its lists and objects have more items in all than are validated one by one."""
    left, waiting = MOST_PARTS, [value]
    while waiting and left >= 0:
        part = waiting.pop()
        if isinstance(part, dict | list):
            left -= len(part)
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return left < 0


def _listed(
    errors: Iterable[jsonschema_rs.ValidationError], *, schema: Mapping[str, Any], noun: str
) -> Iterator[Failure]:
    for error in errors:
        kind: Any = error.kind
        path = path_of(error.instance_path)
        if kind.name == "anyOf":
            branches = _likeliest(kind.context, depth=len(error.instance_path))
            if len(branches) == 1:
                yield from _listed(branches[0], schema=schema, noun=noun)
            else:
                types = dict.fromkeys(name for (only,) in branches for name in only.kind.types)
                yield Failure(path, _type_words(types), FieldCode.WRONG_TYPE)
        elif kind.name == "required":
            yield Failure(_joined(path, kind.property), "is required", FieldCode.REQUIRED)
        elif kind.name == "additionalProperties":
            known = _properties_at(schema, error.schema_path)
            for name in kind.unexpected:
                words = f"is not a known {noun}{_suggestion(name, known)}"
                yield Failure(_joined(path, name), words, FieldCode.UNKNOWN)
        else:
            yield Failure(path, _words_of(kind, path), _CODES.get(kind.name, FieldCode.MALFORMED))


def path_of(segments: Iterable[str | int]) -> str:
    """``transfer.amountCents``, ``when[0].op``."""
    path = ""
    for segment in segments:
        path = f"{path}[{segment}]" if isinstance(segment, int) else _joined(path, segment)
    return path


def _joined(path: str, name: str) -> str:
    printable = "".join(char if char.isascii() and char.isprintable() else "?" for char in name[:SHOWN_NAME_LENGTH])
    return f"{path}.{printable}" if path else printable


def _words_of(kind: Any, path: str) -> str:
    if kind.name == "type" and path.endswith(MONEY_ENDS_IN):
        return RULE_OF_PATTERN[CENTS]
    return _WORDS[kind.name](kind) if kind.name in _WORDS else "is not valid"


def _type_words(types: Iterable[str]) -> str:
    return "must be " + " or ".join(_TYPE_WORDS.get(name, name) for name in types)


def _properties_at(schema: Mapping[str, Any], schema_path: Iterable[str | int]) -> list[str]:
    """The properties of the object whose ``additionalProperties`` is at this path of the schema."""
    *parents, _ = schema_path
    node: Any = schema
    for segment in parents:
        node = node[segment]
    return list(node.get("properties", ()))


def _suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that resembles an unknown one most, whatever its case and underscores."""
    by_letters = {_letters(each): each for each in known}
    alike = get_close_matches(_letters(name[:SHOWN_NAME_LENGTH]), by_letters, n=1, cutoff=ALIKE)
    return f"; did you mean {by_letters[alike[0]]}?" if alike else ""


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _likeliest(branches: list[list[Any]], depth: int) -> list[list[Any]]:
    """The failures of the intended branch: of the sent value's type, and not null, since a value was sent.

    Several branches only when none has the value's type.
    """
    meant = [errors for errors in branches if not _wants_null(errors)] or branches[:1]
    fitting = [errors for errors in meant if not _is_of_another_type(errors, depth)]
    return fitting[:1] or meant


def _wants_null(errors: list[Any]) -> bool:
    return len(errors) == 1 and errors[0].kind.name == "type" and list(errors[0].kind.types) == ["null"]


def _is_of_another_type(errors: list[Any], depth: int) -> bool:
    return len(errors) == 1 and errors[0].kind.name == "type" and len(errors[0].instance_path) == depth


def _enum_words(options: list[Any]) -> str:
    names = [str(option) for option in options if option is not None]
    return "must be one of " + ", ".join(names) if len(names) <= SHOWN_OPTIONS else "is not one of the known values"


Reader = Callable[[str], str | None]
OF_COUNTERPARTY: Final[Mapping[str, Reader]] = {
    "routing_number": routing_number,
    "account_last4": last_four,
    "country_code": country_of,
}


def read_as_meant(request: msgspec.Struct, readers: Mapping[str, Reader]) -> None:
    """Replace each field by the value that it means."""
    for name, reader in readers.items():
        sent = getattr(request, name)
        if isinstance(sent, str):
            msgspec.structs.force_setattr(request, name, reader(sent) or sent)


def moment_failures(path: str, sent: object) -> Iterable[Failure]:
    """Fails for an instant that does not exist, such as a 31st of February."""
    if isinstance(sent, str) and parse_instant(sent) is None:
        yield Failure(path, RULE_OF_PATTERN[MOMENT])


def country_failures(path: str, sent: object) -> Iterable[Failure]:
    """Fails for a code of no country; the schema refuses values that are not text."""
    if isinstance(sent, str) and country_of(sent) is None:
        yield Failure(path, RULE_OF_PATTERN[COUNTRY], FieldCode.NOT_ONE_OF)


def counterparty_failures(path: str, sent: Mapping[str, Any]) -> Iterable[Failure]:
    """Fails for each detail of a counterparty that cannot be read."""
    yield from country_failures(f"{path}.countryCode", sent.get("countryCode"))
    for name, reader, pattern in (("routingNumber", routing_number, ROUTING), ("accountLast4", last_four, ACCOUNT)):
        value = sent.get(name)
        if isinstance(value, str) and reader(value) is None:
            yield Failure(f"{path}.{name}", RULE_OF_PATTERN[pattern])
