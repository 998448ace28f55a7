"""A document of YAML with the line of each of its parts.

YAML    is read as YAML 1.2 reads it, so that NO is Norway. Anchors, aliases, tags, repeated keys and several documents
        are refused: no rule and no setting needs them.
Errors  ``FaultyFileError`` with its line
"""

import re
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Final, NamedTuple

import yaml

MAX_DEPTH: Final = 9
MAX_KEY: Final = 64
"""Both bound the memory for paths: every value of a file keeps its path."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
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


class FaultyFileError(Exception):
    """The faults of a file, at least one."""

    def __init__(self, *faults: FileFault) -> None:
        super().__init__(faults[0].sentence)
        self.faults = faults


def read_yaml(text: str, *, longest_key: int = MAX_KEY) -> tuple[Any, Mapping[str, int]]:
    """The value of a YAML document, and the line of each part of it by path."""
    document = _Document(longest_key)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            document.take(event)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = None if mark is None else mark.line + 1
        raise FaultyFileError(
            FileFault("", f"The file is not YAML: {problem or 'a character is not allowed'}.", line)
        ) from error
    return document.value, document.lines


class _Document:
    """A value built from YAML events, without recursion and without the refused parts of YAML."""

    def __init__(self, longest_key: int) -> None:
        self._longest_key = longest_key
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
                raise FaultyFileError(FileFault("", "The file has more than one document.", line))
        elif isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise FaultyFileError(FileFault("", "Anchors and aliases are not allowed.", line))
        elif isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise FaultyFileError(FileFault("", "Tags are not allowed.", line))
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
                raise FaultyFileError(FileFault("", f"The key {event.value!a} stands twice in one mapping.", line))
            if len(event.value) > self._longest_key:
                raise FaultyFileError(FileFault("", "A key is longer than any of a rule or setting.", line))
            self._key[-1] = event.value
        else:
            self._add(plain_scalar(event.value) if event.implicit[0] else event.value, line)

    def _begin(self, container: Any, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise FaultyFileError(FileFault("", "The file is nested deeper than any rule or setting is.", line))
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
                    raise FaultyFileError(FileFault("", "A key must be a text.", line))
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
