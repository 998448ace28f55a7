"""What no linter holds: sizes, docstrings, names, empty package files, tests that can fail, a lock of no addresses."""

import ast
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
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


def defined_names(nodes: list[ast.AST]) -> set[str]:
    """Names of classes, functions, arguments, variables and attributes, without leading underscores."""
    names: set[str] = set()
    for node in nodes:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return {name.lstrip("_") for name in names}


def imported_names(nodes: list[ast.AST]) -> list[str]:
    """Modules that are imported by name, in the order of their lines."""
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            names.append(node.module)
    return names


def private_names(names: set[str], path: str, words: list[PrivateWord]) -> list[str]:
    return [
        name for name in sorted(names) for each in words if fnmatchcase(name, each.word) and path not in each.exempt
    ]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_shipped(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] in SHIPPED


def most_lines(path: Path) -> int:
    return MAX_SHIPPED_LINES if is_shipped(path) else MAX_MODULE_LINES


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


class Facts(NamedTuple):
    """What the checks ask of a module. ``can_fail`` has the functions of a test module that assert something,
    directly or through a function that they call.
    """

    documented: bool
    long: list[str]
    classes: list[str]
    functions: list[str]
    defined: set[str]
    imported: list[str]
    can_fail: set[str]


@cache  # the tests come in any order, and each asks of another module
def facts_of(path: Path) -> Facts:
    tree = tree_of(path)
    nodes = list(ast.walk(tree))
    functions = functions_of(nodes)
    return Facts(
        documented=bool(ast.get_docstring(tree)),
        long=[each.name for each in functions if (each.end_lineno or each.lineno) - each.lineno >= MAX_FUNCTION_LINES],
        classes=[each.name for each in tree.body if isinstance(each, ast.ClassDef)],
        functions=[each.name for each in functions],
        defined=defined_names(nodes),
        imported=imported_names(nodes),
        can_fail=closed(functions, helpers_that_assert()) if path.name.startswith("test_") else set(),
    )


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_of(nodes: Iterable[ast.AST]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


@cache
def helpers_that_assert() -> frozenset[str]:
    shared = [each for each in MODULES if {"support", "checks"} & set(each.parts)]
    return frozenset(
        closed([function for each in shared for function in functions_of(ast.walk(tree_of(each)))], frozenset())
    )


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


def test_given_a_module_then_it_is_one_idea_long_and_says_what_it_is() -> None:
    sizes = {named(path): size for path in MODULES if (size := len(lines_of(path))) > most_lines(path)}
    banned = [
        f"{named(path)}:{number}"
        for path in MODULES
        for number, line in enumerate(lines_of(path), 1)
        if BANNED.search(line)
    ]

    assert sizes == {}
    assert banned == []
    assert [named(path) for path in MODULES if not facts_of(path).documented] == []
    assert {named(path): long for path in MODULES if (long := facts_of(path).long)} == {}


def test_given_the_shipped_rooms_then_a_name_is_of_one_class() -> None:
    modules: dict[str, list[str]] = {}
    for path in MODULES:
        if is_shipped(path):
            for name in facts_of(path).classes:
                if not name.startswith("_"):
                    modules.setdefault(name, []).append(named(path))

    assert len(modules) > 700
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}


def test_given_package_files_then_they_are_empty_and_every_folder_has_one() -> None:
    folders = {path.parent for path in MODULES} - {ROOT}
    shipped = [folder for folder in folders if folder.relative_to(ROOT).parts[0] not in {"demo", "bench"}]

    assert [path for path in SOURCES if path.name == "__init__.py" and path.read_bytes()] == [PUBLIC]
    assert not [named(folder) for folder in shipped if not (folder / "__init__.py").exists()]


def test_given_a_test_then_it_can_fail_and_its_name_is_a_sentence() -> None:
    tests = {path: [name for name in facts_of(path).functions if name.startswith("test_")] for path in TEST_MODULES}

    assert [named(path) for path, names in tests.items() if not names] == []
    for path, names in tests.items():
        assert (named(path), [name for name in names if name not in facts_of(path).can_fail]) == (named(path), [])
        unlike = [name for name in names if not re.fullmatch(r"test_(given|when)_\w+?_then_\w+", name)]
        assert (named(path), unlike) == (named(path), [])


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements.runtime.lock"])
def test_given_a_lock_then_everything_is_pinned_by_hash_and_no_address_is_in_it(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pins = re.findall(r"^\S+==\S+.*$", text, flags=re.MULTILINE)

    assert len(pins) > 30
    assert all(pin.endswith("\\") for pin in pins), "a pin without a hash"
    assert not re.search(r"://|^-", text, flags=re.MULTILINE)


def test_given_a_shipped_module_then_it_defines_no_private_word() -> None:
    words = private_words(STYLE.read_text(encoding="utf-8"))
    shipped = [path for path in MODULES if is_shipped(path)]

    assert {
        named(path): names for path in shipped if (names := private_names(facts_of(path).defined, named(path), words))
    } == {}


def test_given_a_module_then_it_imports_rooms_in_the_namespace_alone() -> None:
    outside = {
        named(path): [name for name in facts_of(path).imported if name.partition(".")[0] in {*SHIPPED, "demo"}]
        for path in SOURCES
    }

    assert {path: names for path, names in outside.items() if names} == {}


def test_given_imports_of_every_form_then_their_modules_are_named() -> None:
    tree = ast.parse("import features.core\nfrom store import ids\nfrom . import near\nimport clearhold.api as api\n")

    assert imported_names([*ast.walk(tree)]) == ["features.core", "store", "clearhold.api"]


def test_given_private_words_then_definitions_of_every_kind_are_refused_and_exempt_files_are_not() -> None:
    rows = ("| `law` | x | held |", "| `the_*` | x | held, but for `a/b.py` |", "| `told` | x | open |")
    words = private_words("\n".join(("## Words that are not used", *rows, "")))
    source = "class law:\n  def _law(self, the_actor):\n    self.law = told = 1\n    other.law()\n"
    names = defined_names([*ast.walk(ast.parse(source))])

    assert [each.word for each in words] == ["law", "the_*"]
    assert private_names(names, "a/c.py", words) == ["law", "the_actor"]
    assert private_names(names, "a/b.py", words) == ["law"]
    assert len(private_words(STYLE.read_text(encoding="utf-8"))) > 20
