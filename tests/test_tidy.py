"""What no linter holds: sizes, docstrings, names, empty package files, tests that can fail, a lock of no addresses."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.conftest import LONGEST

ROOT: Final = Path(__file__).parent.parent
SHIPPED: Final = ("features", "store", "flows", "api", "calibrate", "client")
ROOMS: Final = (*SHIPPED, "tests", "demo", "bench", "docs/pages")
STYLE: Final = ROOT / "docs" / "style.md"
MAX_MODULE_LINES: Final = 400
MAX_SHIPPED_LINES: Final = 350
MAX_FUNCTION_LINES: Final = 50
BANNED: Final = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error")))

SOURCES: Final = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
PUBLIC: Final = ROOT / "client" / "__init__.py"  # names what a program may import
MODULES: Final = [path for path in SOURCES if path.name != "__init__.py"]
TEST_MODULES: Final = [path for path in MODULES if path.name.startswith("test_")]


class PrivateWord(NamedTuple):
    """A row of the table in ``docs/style.md``: a word that is not defined outside of the exempt files."""

    word: str
    exempt: frozenset[str]


def private_words(page: str) -> list[PrivateWord]:
    """The rows marked held; a row marked open still occurs somewhere."""
    rows = re.findall(
        r"^\| `([\w*]+)` \|.*\| (held|open)(.*)\|$", page.split("## Words that are not used")[1], re.MULTILINE
    )
    return [
        PrivateWord(word, frozenset(re.findall(r"`([\w/]+\.py)`", rest)))
        for word, state, rest in rows
        if state == "held"
    ]


def defined_names(tree: ast.Module) -> set[str]:
    """Names of classes, functions, arguments, variables and attributes, without leading underscores."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return {name.lstrip("_") for name in names}


def imported_names(tree: ast.Module) -> list[str]:
    """Modules that are imported by name, in the order of their lines."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names.append(node.module)
    return names


def private_names(tree: ast.Module, path: str, words: list[PrivateWord]) -> list[str]:
    names = sorted(defined_names(tree))
    return [name for name in names for each in words if fnmatchcase(name, each.word) and path not in each.exempt]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@lru_cache(maxsize=1)  # what looks at one module twice parses it once
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_of(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def asserting(path: Path) -> set[str]:
    """Functions of this module, and of the helpers it shares, that assert something themselves or through another."""
    return closed(list(functions_of(path)), helpers_that_assert())


@cache
def helpers_that_assert() -> frozenset[str]:
    shared = [each for each in MODULES if {"support", "checks"} & set(each.parts)]
    return frozenset(closed([function for each in shared for function in functions_of(each)], frozenset()))


def closed(functions: list[ast.FunctionDef | ast.AsyncFunctionDef], known: frozenset[str]) -> set[str]:
    """The known names, and those of the functions that assert or use one that does."""
    names = set(known)
    while True:
        more = {function.name for function in functions if asserts(function, names)} - names
        if not more:
            return names
        names |= more


def asserts(function: ast.FunctionDef | ast.AsyncFunctionDef, helpers: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in {"raises", "fail"} or name in helpers - {function.name}:
                return True
    return False


def test_given_the_rooms_then_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 20
    assert Path(__file__) in TEST_MODULES


def test_given_the_tests_that_begin_first_then_each_is_a_file_of_tests() -> None:
    assert set(LONGEST) <= {path.name for path in TEST_MODULES}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_given_a_module_then_it_is_one_idea_long_and_says_what_it_is(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    long = [f.name for f in functions_of(path) if (f.end_lineno or f.lineno) - f.lineno >= MAX_FUNCTION_LINES]

    is_short = path.relative_to(ROOT).parts[0] in SHIPPED
    assert len(lines) <= (MAX_SHIPPED_LINES if is_short else MAX_MODULE_LINES)
    assert ast.get_docstring(tree_of(path))
    assert not [number for number, line in enumerate(lines, 1) if BANNED.search(line)]
    assert not long


def test_given_the_shipped_rooms_then_a_name_is_of_one_class() -> None:
    modules: dict[str, list[str]] = {}
    for path in MODULES:
        if path.relative_to(ROOT).parts[0] in SHIPPED:
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules.setdefault(node.name, []).append(named(path))

    assert len(modules) > 700
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}


def test_given_package_files_then_they_are_empty_and_every_folder_has_one() -> None:
    folders = {path.parent for path in MODULES} - {ROOT}
    shipped = [folder for folder in folders if folder.relative_to(ROOT).parts[0] not in {"demo", "bench"}]

    assert [path for path in SOURCES if path.name == "__init__.py" and path.read_bytes()] == [PUBLIC]
    assert not [named(folder) for folder in shipped if not (folder / "__init__.py").exists()]


@pytest.mark.parametrize("path", TEST_MODULES, ids=named)
def test_given_a_test_then_it_can_fail_and_its_name_is_a_sentence(path: Path) -> None:
    can_fail = asserting(path)
    tests = [function.name for function in functions_of(path) if function.name.startswith("test_")]

    assert tests
    assert not [name for name in tests if name not in can_fail]
    assert not [name for name in tests if not re.fullmatch(r"test_(given|when)_\w+?_then_\w+", name)]


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements.runtime.lock"])
def test_given_a_lock_then_everything_is_pinned_by_hash_and_no_address_is_in_it(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==\S+.*$", text, flags=re.MULTILINE)

    assert len(pins) > 30
    assert all(pin.endswith("\\") for pin in pins), "a pin without a hash"
    assert not re.search(r"://|^-", text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in MODULES if path.relative_to(ROOT).parts[0] in SHIPPED], ids=named)
def test_given_a_shipped_module_then_it_defines_no_private_word(path: Path) -> None:
    words = private_words(STYLE.read_text(encoding="utf-8"))

    assert not private_names(tree_of(path), named(path), words)


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_given_a_module_then_it_imports_rooms_in_the_namespace_alone(path: Path) -> None:
    assert not [name for name in imported_names(tree_of(path)) if name.partition(".")[0] in {*SHIPPED, "demo"}]


def test_given_imports_of_every_form_then_their_modules_are_named() -> None:
    tree = ast.parse("import features.core\nfrom store import ids\nfrom . import near\nimport clearhold.api as api\n")

    assert imported_names(tree) == ["features.core", "store", "clearhold.api"]


def test_given_private_words_then_definitions_of_every_kind_are_refused_and_exempt_files_are_not() -> None:
    rows = ("| `law` | x | held |", "| `the_*` | x | held, but for `a/b.py` |", "| `told` | x | open |")
    words = private_words("\n".join(("## Words that are not used", *rows, "")))
    source = "class law:\n  def _law(self, the_actor):\n    self.law = told = 1\n    other.law()\n"
    tree = ast.parse(source)

    assert [each.word for each in words] == ["law", "the_*"]
    assert private_names(tree, "a/c.py", words) == ["law", "the_actor"]
    assert private_names(tree, "a/b.py", words) == ["law"]
    assert len(private_words(STYLE.read_text(encoding="utf-8"))) > 20
