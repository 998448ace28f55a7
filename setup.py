"""The build: what ``pyproject.toml`` says, and the deciding part compiled for those who ask for it.

Nothing is compiled unless ``CLEARHOLD_COMPILED`` is set (``make compiled``). Then mypyc makes one extension of the
modules of ``features`` that do the work; each of them stays what Python reads where the extension is not built.

A module stays interpreted when it makes a class of ``msgspec.Struct`` itself, whose options and field types have to be
there at run time, or writes documentation. Classes made of ``InMemory`` inherit their options and are never decoded.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, setup

COMPILED = Path("features")  # from the folder that is built, which is the one that setuptools runs in
_TOGETHER = "features.compiled"  # the extension that holds them all: features/compiled__mypyc.*.so
_HEADERS = "build/features"  # where mypyc writes those of a group in that package
_C_FILES = Path("build")  # where it writes what is compiled
_MODULES_A_FILE = 26  # that the headers, which all of them share, are read once for: a third of the time
_HOLDS_STRUCTS = re.compile(r"^class \w+\(msgspec\.Struct\b", re.MULTILINE)
# The higher ones take several times as long to compile, and are 3 % faster; the tests take none.
_OPTIMISATION = os.environ.get("CLEARHOLD_OPTIMISATION", "1")


def modules() -> list[str]:
    """The modules that are compiled together, so that they call each other without Python's calling convention."""
    return [str(path) for path in sorted(COMPILED.rglob("*.py")) if _is_compiled(path)]


def _is_compiled(path: Path) -> bool:
    if path.name in {"__init__.py", "docs_page.py"}:
        return False
    return _HOLDS_STRUCTS.search(path.read_text(encoding="utf-8")) is None


def extensions() -> list[Extension]:
    """The modules as one extension, which they load, and a small one each that stands beside its source."""
    from mypyc.build import mypycify  # noqa: PLC0415 - needed by those who compile

    made = mypycify(modules(), group_name=_TOGETHER, opt_level=_OPTIMISATION, debug_level="0", multi_file=True)
    for extension in made:
        extension.include_dirs.append(_HEADERS)
        if len(extension.sources) > 1:
            extension.depends, extension.sources = extension.sources, _joined(extension.sources)
    return made


def _joined(sources: list[str]) -> list[str]:
    """The same in fewer files. One is written again only if it changes, since its age decides what is compiled."""
    of_modules = [Path(source).name for source in sources if Path(source).name.startswith("__native_")]
    joined = [source for source in sources if Path(source).name not in of_modules]
    for first in range(0, len(of_modules), _MODULES_A_FILE):
        path = _C_FILES / f"joined_{first}.c"
        text = "".join(f'#include "{name}"\n' for name in of_modules[first : first + _MODULES_A_FILE])
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        joined.append(str(path))
    return joined


setup(ext_modules=extensions() if os.environ.get("CLEARHOLD_COMPILED") else [])
