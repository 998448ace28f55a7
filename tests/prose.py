"""Finds the phrases that ``docs/style.md`` lists in the prose of this repository: ``python -m tests.prose [PATH...]``.

Prose is the text of the documents without their code, and of a module its docstrings, its comments and every string of
at least four words: help texts, error sentences, texts of the OpenAPI document. Each finding is printed as
``file:line: phrase: the line``. ``python -m tests.prose --record`` writes the counts into ``tests/prose.toml`` once
they have fallen.
"""

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
STYLE: Final = ROOT / "docs" / "style.md"
RECORD: Final = ROOT / "tests" / "prose.toml"
SECTION: Final = "## Phrases that are not used"
ROOMS: Final = ("features", "store", "flows", "api", "calibrate", "client", "demo", "bench")
PAGES: Final = "docs"
DECISIONS: Final = "docs/decisions"
FOLDERS: Final = (*ROOMS, PAGES, DECISIONS)
FEWEST_WORDS: Final = 4
WIDTH: Final = 120
CODE_MARK: Final = "\0"

_STRING_ENDS: Final = re.compile(r"^[rbfuRBFU]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")
_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_CODE_SPAN: Final = re.compile(r"(`+)(?!`)(?:(?!\n *\n).)+?(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGET: Final = re.compile(r"\]\([^)\s]*\)")


class Finding(NamedTuple):
    path: Path
    line: int
    phrase: str
    text: str


def phrase_pattern(page: str) -> re.Pattern[str]:
    """One expression of the table: words with alternatives, ``what is/was``, over a line's end as well."""
    rows = re.findall(r"^\| (`.+?`) \|", page.split(SECTION)[1], re.MULTILINE)
    phrases = [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]
    return re.compile(rf"\b(?:{'|'.join(map(_spelled, phrases))})\b")


def _spelled(phrase: str) -> str:
    """The first word in either case; the others as they are listed, since ``is None`` is Python."""
    first, *others = [f"(?:{word.replace('/', '|')})" for word in phrase.split()]
    return r"\s+".join((f"(?i:{first})", *others))


def prose_of_module(source: str) -> str:
    """The source with its places kept, in which everything but comments and long strings is marked as code."""
    kept = [CODE_MARK if char != "\n" else char for char in source]
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    strings: list[tuple[int, int]] = []
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        begin, end = starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":  # from Python 3.12 on
            opened.append(begin)
        elif kind == "FSTRING_END" and len(opened) > 1:
            opened.pop()
        elif kind in {"STRING", "FSTRING_END"} and (kind == "FSTRING_END" or not opened):
            strings.append((opened.pop() if opened else begin, end))
        elif kind == "COMMENT":
            kept[begin:end] = source[begin:end].replace("#", " ")
        elif kind != "NL" and not opened:
            _keep_strings(kept, source, strings)
            strings = []
    return "".join(kept)


def _keep_strings(kept: list[str], source: str, strings: list[tuple[int, int]]) -> None:
    """Keep literals that follow each other as one text, if it has enough words."""
    texts = [_STRING_ENDS.sub(lambda ends: " " * len(ends[0]), source[begin:end]) for begin, end in strings]
    if sum(len(text.split()) for text in texts) < FEWEST_WORDS:  # no string at all, a key, a name
        return
    first, last = strings[0][0], strings[-1][1]
    kept[first:last] = [" " if char == CODE_MARK else char for char in kept[first:last]]
    for (begin, end), text in zip(strings, texts, strict=True):
        kept[begin:end] = _without_code(text)


def _without_code(text: str) -> str:
    """The text with its places kept, in which spans of code are marked as such."""
    for code in (_FENCE, _CODE_SPAN, _LINK_TARGET):
        text = code.sub(lambda span: re.sub(r"[^\n]", CODE_MARK, span[0]), text)
    return text


def prose_of(path: Path) -> str:
    source = path.read_text(encoding="utf-8")
    return prose_of_module(source) if path.suffix == ".py" else _without_code(source)


def findings(path: Path, pattern: re.Pattern[str]) -> Iterator[Finding]:
    prose = prose_of(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for match in pattern.finditer(prose):
        number = prose.count("\n", 0, match.start()) + 1
        yield Finding(path, number, " ".join(match[0].split()), lines[number - 1].strip())


def files_of(folder: str) -> list[Path]:
    """The modules of a room, or the documents of a folder; front pages, notebooks and scripts belong to ``docs``."""
    if folder in ROOMS:
        return sorted((ROOT / folder).rglob("*.py"))
    beside = (*ROOT.glob("*.md"), *(ROOT / folder).rglob("*.py")) if folder == PAGES else ()
    return sorted([*beside, *(ROOT / folder).glob("*.md")])


def wide_lines(page: str) -> list[int]:
    """The numbers of lines over the width of prose; tables, headings and blocks of code may be wider."""
    lines = _FENCE.sub(lambda block: "\n" * block[0].count("\n"), page).split("\n")
    return [number for number, line in enumerate(lines, 1) if len(line) > WIDTH and not line.startswith(("|", "#"))]


def counts() -> dict[str, int]:
    pattern = phrase_pattern(STYLE.read_text(encoding="utf-8"))
    return {folder: sum(1 for path in files_of(folder) for _ in findings(path, pattern)) for folder in FOLDERS}


def recorded() -> dict[str, int]:
    return {str(folder): int(most) for folder, most in tomllib.loads(RECORD.read_text(encoding="utf-8")).items()}


def record() -> None:
    """Write today's counts, which may not be more than before in all."""
    now = counts()
    if sum(now.values()) > sum(recorded().values()):
        sys.exit(f"More than recorded: {now}, recorded {recorded()}. See python -m tests.prose.")
    lines = ["# The most phrases that each folder has; `python -m tests.prose --record` writes it."]
    RECORD.write_text("\n".join((*lines, *(f'"{folder}" = {most}' for folder, most in now.items()), "")), "utf-8")


def main(arguments: list[str]) -> None:
    if arguments == ["--record"]:
        record()
        return
    pattern = phrase_pattern(STYLE.read_text(encoding="utf-8"))
    named = [Path(argument).resolve() for argument in arguments]
    inside = [file for path in named for file in ([path] if path.is_file() else sorted(path.rglob("*.*")))]
    paths = [file for file in inside if file.suffix in {".py", ".md"}] if named else _all_files()
    found = [finding for path in paths for finding in findings(path, pattern)]
    for path, line, phrase, text in found:
        place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        sys.stdout.write(f"{place}:{line}: {phrase}: {text}\n")
    sys.stdout.write(f"{len(found)} in {len(paths)} files\n")


def _all_files() -> list[Path]:
    return [path for folder in FOLDERS for path in files_of(folder)]


if __name__ == "__main__":
    main(sys.argv[1:])
