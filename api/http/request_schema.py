"""Reading untrusted bytes into closed Structs, in two steps.

A valid body is decoded once by msgspec, which is fast and stops at the first failure. Only a refused body is validated
against the JSON Schema of the same Struct, which lists every failing path (of very many parts the first). For the
schema 14.0 is an integer, so a body without failures there is decoded again with such numbers as integers. Then follow
the checks that neither makes: repeated keys, NUL characters, ids in another form than that of paths, and rules between
fields.

Limits  a body has ``MOST_VALUES``, so that none holds the event loop
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, Final, Generic, TypeVar

import msgspec

from clearhold.api.http.fields import MUST_BE_UUID, is_uuid
from clearhold.api.http.validation import BODY, MOST_FAILURES, Failure, failures_of, path_of, refusal, validator_of
from clearhold.features.core.errors import ErrorCode, FieldCode, FieldError, InvalidRequestError

S = TypeVar("S", bound=msgspec.Struct)
Rules = Callable[[Mapping[str, Any]], Iterable[Failure]]

MOST_VALUES: Final = 8_000

_ESCAPED_NUL: Final = b"\\u0000"
_TOO_MANY: Final = Failure("", f"must have at most {MOST_VALUES:,} values, by its commas", FieldCode.TOO_LARGE)
_TOO_DEEP: Final = Failure("", "must not nest so deeply", FieldCode.TOO_LARGE)
_NUMBER: Final = Failure("", "must have no number outside the range of a 64-bit float or integer", FieldCode.TOO_LARGE)
_LONGEST_NUMBER: Final = 310
_LONGEST_WHOLE: Final = 32
_LARGEST_WHOLE: Final = 2**53
_DIGITS: Final = re.compile(r"-?[0-9]{1,9}", re.ASCII)
_BOOLEANS: Final = {"true": True, "false": False}
_FAULT_AT: Final = re.compile(r"\(byte ([0-9]+)\)")
_FAILING_AT: Final = re.compile(r"at `\$\.?(.*)`$")


def no_rules(_: Mapping[str, Any]) -> Iterable[Failure]:
    return ()


class RequestSchema(Generic[S]):
    """One closed Struct, with its decoder and with the validator that lists the failures of an invalid value."""

    def __init__(self, struct: type[S], *, rules: Rules = no_rules) -> None:
        self.struct = struct
        self._rules = rules
        self._decoder = msgspec.json.Decoder(struct)
        schema = msgspec.json.schema(struct)
        self.properties: Mapping[str, Any] = schema["$defs"][struct.__name__]["properties"]
        self._ids = [name for name, each in self.properties.items() if '"uuid"' in json.dumps(each)]
        self._schema = schema
        self._validator = validator_of(schema)

    def decode(self, raw: bytes) -> tuple[S, dict[str, Any]]:
        """The body as its Struct and as submitted; InvalidRequestError lists every failing path."""
        typed, plain, failures = self._taken(raw)
        if typed is None or failures:
            raise refusal(failures)
        return typed, plain

    def failures(self, raw: bytes) -> list[Failure]:
        """The faults of a body; empty when ``decode`` accepts it."""
        return self._taken(raw)[2]

    def read_query(self, pairs: Iterable[tuple[str, str]]) -> S:
        """Query parameters as their Struct. Lists take repeats and commas; other parameters occur once."""
        plain: dict[str, Any] = {}
        failures: list[Failure] = []
        for name, text in pairs:
            kind = _kind_of(self.properties.get(name, {}))
            if kind == "array":
                plain.setdefault(name, []).extend(text.split(","))
            elif name in plain:
                failures.append(Failure(path_of([name]), "must be given once", FieldCode.REPEATED))
            else:
                plain[name] = _read(kind, text)
            if "\x00" in text or "\ufffd" in text:
                failures.append(Failure(path_of([name]), "must be UTF-8 without NUL characters"))
        failures += failures_of(plain, self._validator, schema=self._schema, noun="parameter")
        failures += self._rules(plain)
        if failures:
            raise refusal(failures)
        return msgspec.convert(plain, self.struct)

    def _taken(self, raw: bytes) -> tuple[S | None, dict[str, Any], list[Failure]]:
        """The body as its Struct and as submitted, and its failures; no Struct without a failure."""
        if has_too_many_values(raw):
            return None, {}, [_TOO_MANY]
        try:
            typed = self._decoder.decode(raw)
            plain, failures = _parsed(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            failures = self._listed(raw)
            return (None, {}, failures) if failures else self._with_whole_numbers(raw, error)
        return typed, plain, [*failures, *self._misspelt_ids(plain), *self._rules(plain)]

    def _misspelt_ids(self, plain: Mapping[str, Any]) -> Iterator[Failure]:
        """The decoder also takes a UUID without hyphens."""
        for name in self._ids:
            value = plain.get(name)
            if isinstance(value, str) and not is_uuid(value):
                yield Failure(name, MUST_BE_UUID)

    def _with_whole_numbers(self, raw: bytes, error: Exception) -> tuple[S | None, dict[str, Any], list[Failure]]:
        """A body that the decoder refused and its schema accepts: only an integer with a point may be the cause. The
        rules get it as that integer.
        """
        whole = json.loads(raw.decode(), parse_float=_number)
        try:
            typed = msgspec.convert(whole, self.struct)
        except msgspec.ValidationError:
            return None, {}, [Failure(_path_in(error), "is not valid")]
        return typed, _parsed(raw)[0], list(self._rules(whole))

    def _listed(self, raw: bytes) -> list[Failure]:
        """The faults of a refused body; empty when its schema accepts it."""
        if not raw.strip():
            return [Failure("", "is required", FieldCode.REQUIRED)]
        try:
            plain = msgspec.json.decode(raw)
            _, failures = _parsed(raw)
            if _NUMBER in failures:
                return [_NUMBER]
            failures += failures_of(plain, self._validator, schema=self._schema, noun="property")
        except RecursionError:
            return [_TOO_DEEP]
        except msgspec.ValidationError:
            return [_NUMBER]
        except (msgspec.DecodeError, UnicodeError) as fault:
            raise _not_json(raw, fault) from None
        except ValueError:  # The validator's own depth limit.
            return [_TOO_DEEP]
        if isinstance(plain, dict):
            failures += self._rules(plain)
        return failures


def has_too_many_values(raw: bytes) -> bool:
    """Whether reading this JSON would take long. A comma is between any two values that are not inside one another."""
    return raw.count(b",") > MOST_VALUES


def _not_json(raw: bytes, fault: Exception) -> InvalidRequestError:
    """The 400 with the position of the first fault in the JSON, by characters of the line if it is text."""
    start = _fault_at(raw, fault)
    where = ""
    if start is not None:
        line = raw.count(b"\n", 0, start) + 1
        column = len(raw[raw.rfind(b"\n", 0, start) + 1 : start].decode("utf-8", "replace")) + 1
        where = f"; its first fault is in line {line}, column {column}"
    field = FieldError(path=BODY, code=FieldCode.MALFORMED)
    sentence = f"Validation failed: body must be valid JSON{where}"
    return InvalidRequestError(sentence, ErrorCode.INVALID_JSON, fields=[field])


def _fault_at(raw: bytes, fault: Exception) -> int | None:
    """The byte of the first fault. The standard library's parser locates it better, and accepts more."""
    try:
        json.loads(raw.decode(), parse_int=str)
    except UnicodeDecodeError as error:
        return error.start
    except json.JSONDecodeError as error:
        return len(error.doc[: error.pos].encode())
    except (RecursionError, ValueError):
        return None
    at = _FAULT_AT.search(str(fault))
    return int(at[1]) if at else None


def _parsed(raw: bytes) -> tuple[dict[str, Any], list[Failure]]:
    """The plain value, with repeated keys and NUL characters as failures: parsers accept both."""
    repeated: list[tuple[dict[str, Any], list[str]]] = []
    failures: list[Failure] = []

    def closed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain_object = dict(pairs)
        if len(plain_object) != len(pairs) and len(repeated) < MOST_FAILURES:
            counts = Counter(name for name, _ in pairs)
            repeated.append((plain_object, [name for name, count in counts.items() if count > 1]))
        return plain_object

    def whole(text: str) -> int:
        if len(text) <= _LONGEST_NUMBER:
            return int(text)
        failures[:] = [_NUMBER]  # To read its digits would take the square of their number.
        return 0

    plain = json.loads(raw.decode(), object_pairs_hook=closed, parse_int=whole)
    if repeated:
        names_of = {id(plain_object): names for plain_object, names in repeated}
        failures += islice(_repeats(plain, [], names_of), MOST_FAILURES)
    if _ESCAPED_NUL in raw:
        failures += islice(_nuls(plain, []), MOST_FAILURES)
    return plain, failures


def _number(text: str) -> int | float:
    """A number with a point or an exponent: an integer if it is short and whole, as 14.0."""
    number = float(text)
    is_short = len(text) <= _LONGEST_WHOLE and abs(number) <= _LARGEST_WHOLE
    return int(number) if is_short and Decimal(text) % 1 == 0 else number


def _repeats(value: Any, path: list[str | int], names_of: Mapping[int, list[str]]) -> Iterator[Failure]:
    """The repeated keys of each object, known by its ``id``, under the object's path."""
    if isinstance(value, dict):
        yield from (
            Failure(path_of([*path, name]), "must not be repeated", FieldCode.REPEATED)
            for name in names_of.get(id(value), ())
        )
    for key, item in _items(value):
        yield from _repeats(item, [*path, key], names_of)


def _nuls(value: Any, path: list[str | int]) -> Iterator[Failure]:
    if isinstance(value, str) and "\x00" in value:
        yield Failure(path_of(path), "must not have NUL characters")
    for key, item in _items(value):
        if isinstance(key, str) and "\x00" in key:
            yield Failure(path_of([*path, key]), "must not have NUL characters")
        yield from _nuls(item, [*path, key])


def _items(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _read(kind: str | None, text: str) -> Any:
    """A parameter as its type; a value of another type stays text, which the validator refuses."""
    if kind == "boolean":
        return _BOOLEANS.get(text, text)
    return int(text) if kind == "integer" and _DIGITS.fullmatch(text) else text


def _kind_of(schema: Mapping[str, Any]) -> str | None:
    branches = schema.get("anyOf", (schema,))
    return next((branch["type"] for branch in branches if branch.get("type") not in {None, "null"}), None)


def _path_in(error: Exception) -> str:
    plain_object = _FAILING_AT.search(str(error))
    return path_of([plain_object[1]]) if plain_object else ""
