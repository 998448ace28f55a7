"""Files of rules, as a bank keeps them in its own git: YAML or JSON, ``rules:`` with a list, or the list alone.

YAML    is read as YAML 1.2 reads it, so that NO is Norway. Anchors, aliases, tags, repeated keys and several documents
        are refused: none of them says anything that a rule needs.
Errors  ``RuleFileError`` with everything that is wrong, each with its line, or in JSON its path alone
"""

import json
import re
from collections.abc import Iterator, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import yaml

from clearhold.api.http.request_schema import RequestSchema
from clearhold.api.rules.schemas import WrittenRule, rule_failures
from clearhold.features.core.rules import Rule, RuleStatus
from clearhold.store.given_files import MOST_GIVEN_BYTES, TooLargeError, read_given

MAX_RULES: Final = 200
MAX_DEPTH: Final = 8
MAX_KEY: Final = 64
"""Both bound the memory for paths: every value of a file keeps its path."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCHEMA: Final = RequestSchema(WrittenRule, rules=rule_failures)
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class FileFault(NamedTuple):
    """``path`` is within the file, as ``rules[2].when[0].op``; ``line`` is None in JSON and for the file as a whole."""

    path: str
    sentence: str
    line: int | None = None


class RuleFileError(Exception):
    """The faults of a file, at least one."""

    def __init__(self, *faults: FileFault) -> None:
        super().__init__(faults[0].sentence)
        self.faults = faults


def read_rules(file: Path) -> tuple[Rule, ...]:
    """The valid rules of a file; their status is draft, whatever the file says."""
    value, lines = _read(file)
    rules, path = _rules_in(value)
    faults = list(_faults(rules, path))
    if faults:
        raise RuleFileError(*(fault._replace(line=line_of(fault.path, lines)) for fault in faults))
    drafts = ({**rule, "status": RuleStatus.DRAFT} for rule in rules)
    return tuple(msgspec.convert(msgspec.json.decode(msgspec.json.encode(rule)), Rule) for rule in drafts)


def _read(file: Path) -> tuple[Any, Mapping[str, int]]:
    try:
        text = read_given(file).decode("utf-8-sig")
    except TooLargeError as error:
        raise RuleFileError(FileFault("", f"The file is over {MOST_GIVEN_BYTES:,} bytes.")) from error
    except UnicodeDecodeError as error:
        raise RuleFileError(FileFault("", "The file is not UTF-8 text.")) from error
    return (_json(text), {}) if file.suffix.lower() == ".json" else read_yaml(text)


def _rules_in(value: Any) -> tuple[list[Any], str]:
    """The list of rules, and its path."""
    is_wrapped = isinstance(value, dict) and value.keys() == {"rules"}
    rules = value["rules"] if is_wrapped else value
    if not isinstance(rules, list):
        raise RuleFileError(
            FileFault("", "The file must be a list of rules, or have one under rules and nothing else.")
        )
    if len(rules) > MAX_RULES:
        raise RuleFileError(FileFault("", f"The file has {len(rules)} rules; a bank has at most {MAX_RULES}."))
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
        raise RuleFileError(FileFault("", f"The file is not JSON: {error.msg}.", error.lineno)) from error
    except (RecursionError, ValueError) as error:
        raise RuleFileError(FileFault("", "The file has a number or a depth that no rule has.")) from error


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
            raise RuleFileError(FileFault("", f"The key {name!a} stands twice in one object."))
        names.add(name)
    return dict(pairs)


def read_yaml(text: str) -> tuple[Any, Mapping[str, int]]:
    """The value of a YAML document, and the line of each part of it by path."""
    document = _Document()
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            document.take(event)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = None if mark is None else mark.line + 1
        raise RuleFileError(
            FileFault("", f"The file is not YAML: {problem or 'a character is not allowed'}.", line)
        ) from error
    return document.value, document.lines


class _Document:
    """A value built from YAML events, without recursion and without the refused parts of YAML."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[str, int] = {}
        self._open: list[tuple[Any, str]] = []  # containers that are not complete, each with its path
        self._key: list[str | None] = []  # the key of each of them that waits for its value
        self._documents = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise RuleFileError(FileFault("", "The file has more than one document.", line))
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise RuleFileError(FileFault("", "Anchors and aliases are not allowed.", line))
        elif isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise RuleFileError(FileFault("", "Tags are not allowed.", line))
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event, line)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._key.pop()

    def _take_scalar(self, event: Any, line: int) -> None:
        if self._open and isinstance(self._open[-1][0], dict) and self._key[-1] is None:
            if event.value in self._open[-1][0]:
                raise RuleFileError(FileFault("", f"The key {event.value!a} stands twice in one mapping.", line))
            if len(event.value) > MAX_KEY:
                raise RuleFileError(FileFault("", "A key is longer than any of a rule.", line))
            self._key[-1] = event.value
        else:
            self._add(plain_scalar(event.value) if event.implicit[0] else event.value, line)

    def _begin(self, container: Any, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise RuleFileError(FileFault("", "The file is nested deeper than any rule is.", line))
        path = self._add(container, line)
        self._open.append((container, path))
        self._key.append(None)

    def _add(self, value: Any, line: int) -> str:
        """Add a value to the open container; returns its path."""
        if not self._open:
            self.value, path = value, ""
        else:
            container, around = self._open[-1]
            if isinstance(container, list):
                path = f"{around}[{len(container)}]"
                container.append(value)
            else:
                key = self._key[-1]
                if key is None:
                    raise RuleFileError(FileFault("", "A key must be a text.", line))
                path = f"{around}.{key}" if around else key
                container[key] = value
                self._key[-1] = None
        self.lines[path] = line
        return path


def plain_scalar(text: str) -> Any:
    """A scalar without quotes, by the core schema of YAML 1.2."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) is not None:
        return int(text)
    number = float(text) if _NUMBER.fullmatch(text) is not None else inf
    return number if isfinite(number) else text
