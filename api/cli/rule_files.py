"""Files of rules, as a bank keeps them in its own git: YAML or JSON, ``rules:`` with a list, or the list alone.

Errors  ``FaultyFileError`` with everything that is wrong, each with its line, or in JSON its path alone
"""

import json
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.http.yaml_documents import FaultyFileError, FileFault, read_yaml
from clearhold.api.rules.schemas import WrittenRule, rule_failures
from clearhold.features.core.rules import Rule, RuleStatus
from clearhold.store.given_files import MOST_GIVEN_BYTES, TooLargeError, read_given

MAX_RULES: Final = 200
_SCHEMA: Final = RequestSchema(WrittenRule, rules=rule_failures)


def read_rules(file: Path) -> tuple[Rule, ...]:
    """The valid rules of a file; their status is draft, whatever the file says."""
    value, lines = _read(file)
    rules, path = _rules_in(value)
    faults = list(_faults(rules, path))
    if faults:
        raise FaultyFileError(*(fault._replace(line=line_of(fault.path, lines)) for fault in faults))
    drafts = ({**rule, "status": RuleStatus.DRAFT} for rule in rules)
    return tuple(msgspec.convert(msgspec.json.decode(msgspec.json.encode(rule)), Rule) for rule in drafts)


def _read(file: Path) -> tuple[Any, Mapping[str, int]]:
    try:
        text = read_given(file).decode("utf-8-sig")
    except TooLargeError as error:
        raise FaultyFileError(FileFault("", f"The file is over {MOST_GIVEN_BYTES:,} bytes.")) from error
    except UnicodeDecodeError as error:
        raise FaultyFileError(FileFault("", "The file is not UTF-8 text.")) from error
    return (_json(text), {}) if file.suffix.lower() == ".json" else read_yaml(text)


def _rules_in(value: Any) -> tuple[list[Any], str]:
    """The list of rules, and its path."""
    is_wrapped = isinstance(value, dict) and value.keys() == {"rules"}
    rules = value["rules"] if is_wrapped else value
    if not isinstance(rules, list):
        raise FaultyFileError(
            FileFault("", "The file must be a list of rules, or have one under rules and nothing else.")
        )
    if len(rules) > MAX_RULES:
        raise FaultyFileError(FileFault("", f"The file has {len(rules)} rules; a bank has at most {MAX_RULES}."))
    return rules, "rules" if is_wrapped else ""


def _faults(rules: list[Any], path: str) -> Iterator[FileFault]:
    """The service's faults of each rule, and repeated ids."""
    of_id: dict[str, str] = {}
    for index, rule in enumerate(rules):
        place = f"{path}[{index}]"
        try:
            raw = msgspec.json.encode(rule)
        except (UnicodeEncodeError, RecursionError):
            yield FileFault(place, "has a text or a depth that no rule has")
            continue
        for failure in _SCHEMA.failures(raw):
            inner = failure.path and f".{failure.path}"
            yield FileFault(f"{place}{inner}", failure.words)
        rule_id = rule.get("id") if isinstance(rule, dict) else None
        if isinstance(rule_id, str) and of_id.setdefault(rule_id, place) != place:
            yield FileFault(f"{place}.id", f"is the id of {of_id[rule_id]} too")


def line_of(path: str, lines: Mapping[str, int]) -> int | None:
    """The line of a path, or of the nearest enclosing value in the file."""
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return lines.get(path)


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_finite, parse_constant=_refused)
    except json.JSONDecodeError as error:
        raise FaultyFileError(FileFault("", f"The file is not JSON: {error.msg}.", error.lineno)) from error
    except (RecursionError, ValueError) as error:
        raise FaultyFileError(FileFault("", "The file has a number or a depth that no rule has.")) from error


def _refused(_: str) -> NoReturn:
    """NaN and Infinity, which JSON does not have."""
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise FaultyFileError(FileFault("", f"The key {name!a} stands twice in one object."))
        names.add(name)
    return dict(pairs)
